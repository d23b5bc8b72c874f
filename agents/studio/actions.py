"""What a person does in Studio; each answers with what the page needs to go on."""

from __future__ import annotations

from urllib.parse import quote

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from agents.studio.fragments import fragment
from agents.studio.sidebar import one_row
from agents.studio.viewer import (
    RESOURCE_COOKIE,
    THEME_COOKIE,
    THEMES,
    YEAR,
    Viewer,
    action,
    given,
)
from threads.errors import InvalidInput

MAX_TITLE = 200


@require_POST
@action
def rename(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Gives a thread the title that a person typed."""
    title = " ".join(request.POST.get("title", "").split())
    if not title:
        raise InvalidInput("A title cannot be empty.")
    if len(title) > MAX_TITLE:
        raise InvalidInput(f"A title has at most {MAX_TITLE} characters.")
    thread = viewer.memory.update_thread(
        given(request, "thread"), title=title, title_source="user"
    )
    return _changed(viewer, thread.id, request)


@require_POST
@action
def archive(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Moves a thread to the archive, or with ``undo`` back to the list."""
    thread_id = given(request, "thread")
    if request.POST.get("undo"):
        viewer.memory.unarchive_thread(thread_id)
    else:
        viewer.memory.archive_thread(thread_id)
    return _changed(viewer, thread_id, request)


@require_POST
@action
def delete(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Deletes a thread with everything that belongs to it."""
    viewer.memory.delete_thread(given(request, "thread"))
    return JsonResponse({"home": reverse("studio")})


def _changed(viewer: Viewer, thread_id: str, request: HttpRequest) -> JsonResponse:
    row = one_row(viewer, thread_id)
    current = request.POST.get("current", "")
    html = fragment("_row", row=row, current=current) if row else ""
    return JsonResponse({"row": html, "title": row.title if row else ""})


@require_POST
@action
def choose_resource(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Lists another resource's threads from now on, and speaks in its name."""
    resource = request.POST.get("resource", "").strip()
    response = redirect("studio")
    if viewer.may_switch and resource and len(resource) <= 255:
        _remember(response, RESOURCE_COOKIE, quote(resource, safe=""))
    return response


@require_POST
def choose_theme(request: HttpRequest) -> HttpResponse:
    """Keeps the chosen look in a cookie, so that pages come in it at once."""
    theme = request.POST.get("theme", "")
    response = JsonResponse({"theme": theme if theme in THEMES else "system"})
    if theme in THEMES:
        _remember(response, THEME_COOKIE, theme)
    return response


def _remember(response: HttpResponse, cookie: str, value: str) -> None:
    response.set_cookie(cookie, value, max_age=YEAR, samesite="Lax", httponly=True)
