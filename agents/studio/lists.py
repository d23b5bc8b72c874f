"""Fragments that a page asks for after it has been loaded."""

from __future__ import annotations

from datetime import datetime

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from agents.registry import get_agent_by_id
from agents.runs import get_run
from agents.studio.conversation import AGENT
from agents.studio.entries import context_view, transcript
from agents.studio.fragments import fragment
from agents.studio.sidebar import changed_rows, list_rows
from agents.studio.viewer import Viewer, action
from threads.errors import InvalidInput, MessageNotFound, NotConfigured
from threads.models import Message


@require_safe
@action
def threads(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """A page of the sidebar: the first, the next after ``cursor``, or what ``q`` finds."""
    query = request.GET.get("q", "").strip()
    archived = request.GET.get("archived") == "1"
    cursor = request.GET.get("cursor", "")
    rows = list_rows(
        _listed(viewer, request), cursor=cursor, query=query, archived=archived
    )
    context = {
        "rows": rows,
        "query": query,
        "archived": archived,
        "first": not cursor,
        "current": request.GET.get("current", ""),
        "resource": request.GET.get("resource", ""),
    }
    return render(request, "studio/_rows.html", context)


@require_safe
@action
def changes(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Rows of threads that changed after ``since``, and the moment to ask with next."""
    try:
        since = datetime.fromisoformat(request.GET.get("since", ""))
    except ValueError as error:
        raise InvalidInput.of("since", "not a time") from error
    if timezone.is_naive(since):
        raise InvalidInput.of("since", "a time without its zone")
    current = request.GET.get("current", "")
    rows = changed_rows(_listed(viewer, request), since)
    latest = max((row.updated_at for row in rows), default=since)
    return JsonResponse(
        {
            "since": latest.isoformat(),
            "rows": [
                {
                    "id": row.id,
                    "title": row.title,
                    "titled": row.titled,
                    "archived": row.archived,
                    "html": fragment("_row", row=row, current=current),
                }
                for row in rows
            ],
        }
    )


def _listed(viewer: Viewer, request: HttpRequest) -> Viewer:
    """The viewer in the resource that the page lists, where that is within reach."""
    resource = request.GET.get("resource", "")
    if not resource or "\x00" in resource or not viewer.caller.reach.covers(resource):
        return viewer
    return Viewer(viewer.caller, resource, viewer.may_switch, viewer.zone)


@require_safe
@action
def older_messages(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """The messages before ``before``, to be put above it."""
    thread = viewer.memory.get_thread(request.GET.get("thread", ""))
    page = transcript(thread, before=request.GET.get("before", ""))
    context = {"page": page, "thread_id": thread.id}
    return render(request, "studio/_older.html", context)


@require_safe
@action
def source(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """The text of a message as it is stored, for copying."""
    message_id = request.GET.get("message", "").replace("\x00", "")
    text = (
        Message.objects.filter(viewer.caller.reach.q(), id=message_id)
        .values_list("text", flat=True)
        .first()
    )
    if text is None:
        raise MessageNotFound(message_id)
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


@require_safe
@action
def context(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """What a run's model was shown, as it was stored then."""
    run = get_run(request.GET.get("run", ""), viewer.caller.reach)
    return render(request, "studio/_context.html", {"context": context_view(run)})


@require_http_methods(["GET", "HEAD", "POST"])
@action
def working_memory(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """The notes kept about the viewer's resource; a POST writes them.

    What was written since the page was loaded is not overwritten: 412 says so.
    """
    viewer = _listed(viewer, request)
    memory = get_agent_by_id(AGENT).get_memory(reach=viewer.caller.reach)
    if memory is None or not memory.config.working_memory:
        raise NotConfigured("Working memory is switched off for this agent.")
    if request.method == "POST":
        memory.update_working_memory(
            value=request.POST.get("value", ""),
            resource_id=viewer.resource_id,
            author="user",
            author_name=viewer.caller.name,
            expected_revision=int(request.POST.get("revision", "0")),
        )
    state = memory.get_working_memory(resource_id=viewer.resource_id)
    return render(
        request, "studio/_working_memory.html", {"state": state, "viewer": viewer}
    )
