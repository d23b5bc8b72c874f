"""The stream of a run, for the page that shows it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_GET

from agents.event_reader import read_events
from agents.runs import get_run
from agents.studio.entries import entry
from agents.studio.fragments import fragment
from agents.studio.live import frames
from agents.studio.sidebar import one_row
from agents.studio.viewer import Viewer, refusal_json, viewer_of
from recall.asynchronous import in_database_thread
from threads.errors import MemoryFault
from threads.models import Message


@require_GET
async def events(request: HttpRequest, run_id: str) -> HttpResponse:
    """Server-sent events of a run after number ``after``, until it has ended.

    A browser that connects again names the last number it has in ``Last-Event-ID``.
    """
    try:
        viewer = await in_database_thread(_viewer_within_reach, request, run_id)
    except MemoryFault as error:
        return refusal_json(error.status, error.message)

    async def ending() -> dict[str, Any]:
        return await in_database_thread(_ending, viewer, run_id)

    response = StreamingHttpResponse(
        frames(read_events(run_id), _after(request), ending),
        content_type="text/event-stream",
    )
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response


def _viewer_within_reach(request: HttpRequest, run_id: str) -> Viewer:
    viewer = viewer_of(request)
    get_run(run_id, viewer.caller.reach)
    return viewer


def _after(request: HttpRequest) -> int:
    given = request.headers.get("Last-Event-ID") or request.GET.get("after", "0")
    return int(given) if given.isascii() and given.isdecimal() else 0


def _ending(viewer: Viewer, run_id: str) -> dict[str, Any]:
    """The last frame: the reply as it is stored, in place of what was put together."""
    try:
        run = get_run(run_id, viewer.caller.reach)
    except MemoryFault:
        return {"state": "deleted", "html": "", "known": "", "row": ""}
    row = one_row(viewer, run.thread_id) if run.thread_id else None
    return {
        "state": run.state,
        "html": _message(run.message_id),
        # The question, with what was remembered for it or why it has no reply, and
        # the reply in whose place this one was given.
        "known": _message(run.user_message_id) + _message(run.replaces_message_id),
        "row": fragment("_row", row=row, current=run.thread_id) if row else "",
    }


def _message(message_id: str) -> str:
    message = Message.objects.filter(id=message_id).first()
    return fragment("_message", entry=entry(message)) if message else ""
