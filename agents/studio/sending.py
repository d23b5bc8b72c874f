"""Sending a message, asking again, stopping: what begins and ends runs.

These views are asynchronous because a run lives on the event loop that began it.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from agents.agent import Agent
from agents.models import Run
from agents.orders import Order
from agents.registry import get_agent_by_id
from agents.studio.conversation import AGENT, live_of
from agents.studio.entries import entry
from agents.studio.fragments import fragment
from agents.studio.sidebar import one_row
from agents.studio.viewer import Viewer, given, refusal_json, viewer_of
from agents.turn import start_run, stop_run
from agents.versions import edited, regenerated, version_before
from recall.asynchronous import in_database_thread
from threads.api.errors import Unauthorized
from threads.errors import (
    InvalidInput,
    MemoryFault,
    MessageNotFound,
    ThreadNotFound,
)
from threads.models import Message

AsyncView = Callable[..., Awaitable[HttpResponse]]


def async_action(view: AsyncView) -> AsyncView:
    """As :func:`agents.studio.viewer.action`, for asynchronous views."""

    @functools.wraps(view)
    async def wrapper(request: HttpRequest, **arguments: str) -> HttpResponse:
        try:
            viewer = await in_database_thread(viewer_of, request)
            return await view(request, viewer, **arguments)
        except Unauthorized:
            return refusal_json(401, "You are signed out. Sign in and try again.")
        except MemoryFault as error:
            return refusal_json(error.status, error.message)

    return wrapper


@require_POST
@async_action
async def send(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Sends ``text`` as the message ``message`` of ``thread``, which is made if missing.

    Sending the same message id again attaches to its run instead of doubling it.
    """
    text = request.POST.get("text", "")
    if not text.strip():
        raise InvalidInput("The message is empty.")
    order = Order(
        messages=[{"id": given(request, "message"), "role": "user", "content": text}],
        thread_id=given(request, "thread"),
        resource_id=request.POST.get("resource") or viewer.resource_id,
    )
    if not viewer.caller.reach.covers(order.resource_id):
        raise ThreadNotFound(order.thread_id or "")
    return await _begin(viewer, get_agent_by_id(AGENT), order)


@require_POST
@async_action
async def retry(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Asks for a reply to a stored message whose run did not complete.

    What the run had said stays in the conversation, and the new reply takes its place.
    """
    message = await in_database_thread(_message, viewer, given(request, "message"))
    order = await in_database_thread(_asked_again, message)
    return await _begin(viewer, get_agent_by_id(AGENT), order)


@require_POST
@async_action
async def edit(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Sends a message in another wording, in a copy of what came before it."""
    text = request.POST.get("text", "")
    if not text.strip():
        raise InvalidInput("The message is empty.")
    message = await in_database_thread(_message, viewer, given(request, "message"))
    agent = get_agent_by_id(AGENT)
    version = await in_database_thread(
        version_before, agent, viewer.caller.reach, message.thread_id, message.id
    )
    return await _begin(viewer, agent, edited(version, text, message.id))


@require_POST
@async_action
async def again(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Gives a reply again: beside the last one, an earlier one in a copy."""
    message = await in_database_thread(
        _message, viewer, given(request, "message"), Message.Role.ASSISTANT
    )
    agent = get_agent_by_id(AGENT)
    _, order = await in_database_thread(
        regenerated, agent, viewer.caller.reach, message.thread_id, message.id
    )
    return await _begin(viewer, agent, order)


@require_POST
@async_action
async def stop(request: HttpRequest, viewer: Viewer, run_id: str) -> HttpResponse:
    """Asks the run to stop; harmless when it has ended."""
    run = await stop_run(run_id, reach=viewer.caller.reach)
    return JsonResponse({"state": run.state})


async def _begin(viewer: Viewer, agent: Agent, order: Order) -> JsonResponse:
    started = await start_run(agent, order, reach=viewer.caller.reach)
    return JsonResponse(
        await in_database_thread(_sent, viewer, started.run, started.user_message)
    )


def _message(viewer: Viewer, message_id: str, role: str = Message.Role.USER) -> Message:
    reach = viewer.caller.reach
    message = Message.objects.filter(reach.q(), id=message_id, role=role).first()
    if message is None:
        raise MessageNotFound(message_id)
    return message


def _asked_again(message: Message) -> Order:
    runs = Run.objects.filter(
        thread_id=message.thread_id, user_message_id=message.id
    ).order_by("-created_at", "-id")
    last = runs.first()
    if last is not None and last.state in (*Run.ACTIVE, Run.State.COMPLETED):
        # Another page was quicker: its run is followed.
        run_id, cut = last.id, None
    else:
        run_id = None
        replies = Message.objects.filter(
            thread_id=message.thread_id,
            role=Message.Role.ASSISTANT,
            id__in=[run.message_id for run in runs],
        )
        cut = replies.order_by("-created_at", "-position").first()
    if cut is not None:
        return Order(
            messages=[],
            thread_id=message.thread_id,
            resource_id=message.resource_id,
            trigger=Run.Trigger.REGENERATE,
            replaces=cut.id,
        )
    return Order(
        messages=[{"id": message.id, "role": "user", "content": message.content}],
        thread_id=message.thread_id,
        resource_id=message.resource_id,
        run_id=run_id,
    )


def _sent(viewer: Viewer, run: Run, message: Message | None) -> dict[str, Any]:
    """What the page puts in place of the text that it sent."""
    row = one_row(viewer, run.thread_id)
    # The run of a message that is sent again may have ended already.
    reply = Message.objects.filter(id=run.message_id).first() if run.has_ended else None
    return {
        "run": run.id,
        "state": run.state,
        "thread": run.thread_id,
        "url": reverse("studio-thread", args=[run.thread_id]),
        "message": fragment("_message", entry=entry(message)) if message else "",
        "live": "" if run.has_ended else fragment("_live", live=live_of(run)),
        "reply": fragment("_message", entry=entry(reply)) if reply else "",
        "row": fragment("_row", row=row, current=run.thread_id) if row else "",
    }
