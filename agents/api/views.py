"""Asking agents: whole answers and streams, as ``@mastra/client-js`` calls them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from agents import turn
from agents.agent import Agent
from agents.api.idempotency import with_key
from agents.api.replies import agent_json, generation_json
from agents.api.requests import chat_order, turn_order
from agents.api.routing import route
from agents.models import Run
from agents.orders import Order, TurnOptions
from agents.registry import get_agent_by_id, list_agents
from agents.runs import active_run, get_run
from agents.streams.ai_sdk import HEADERS, UiMessageStream, ai_sdk_frames
from agents.streams.client_js import client_js_frames
from agents.streams.sse import EventStream
from recall.asynchronous import in_database_thread
from threads.access import Caller
from threads.api.encoding import JsonReply
from threads.api.errors import invalid_body, invalid_query
from threads.api.parsing import json_object
from threads.errors import Issue, ThreadNotFound
from threads.models import Message, Thread


@route("GET")
async def agents(request: HttpRequest, caller: Caller) -> HttpResponse:
    """All agents, by id."""
    partial = request.GET.get("partial") == "true"
    return JsonReply({a.id: agent_json(a, partial=partial) for a in list_agents()})


@route("GET")
async def agent(request: HttpRequest, caller: Caller, agent_id: str) -> HttpResponse:
    """One agent."""
    if request.GET.get("status", "published") not in ("draft", "published"):
        raise invalid_query(Issue("status", "must be draft or published"))
    return JsonReply(agent_json(get_agent_by_id(agent_id), partial=False))


@route("POST")
async def generate(request: HttpRequest, caller: Caller, agent_id: str) -> HttpResponse:
    """Answers in one reply, when the model is done."""
    answering = get_agent_by_id(agent_id)
    order = with_key(request, turn_order(request, json_object(request), caller), caller)
    started = await turn.start_run(answering, order, reach=caller.reach)
    events = [event async for event in turn.read_events(started.run.id)]
    body = await in_database_thread(generation_json, started, events)
    # A failed turn is told in the body: a client would send a 5xx three times more.
    return _replayed(JsonReply(body), order, started)


@route("POST")
async def stream(request: HttpRequest, caller: Caller, agent_id: str) -> HttpResponse:
    """Answers as it comes."""
    answering = get_agent_by_id(agent_id)
    order = with_key(request, turn_order(request, json_object(request), caller), caller)
    started = await turn.start_run(answering, order, reach=caller.reach)
    return _replayed(client_js_stream(started.run), order, started)


@route("POST")
async def observe(request: HttpRequest, caller: Caller, agent_id: str) -> HttpResponse:
    """Follows a run that was begun before, from ``offset`` events on."""
    body = json_object(request)
    offset = body.get("offset") or 0
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        raise invalid_body(Issue("offset", "must be a whole number of at least 0"))
    run = await in_database_thread(get_run, _run_id(body), caller.reach)
    return client_js_stream(run, offset)


def decide(approved: bool) -> Any:
    """The view that lets a waiting tool call run, or refuses it."""

    @route("POST")
    async def decided(
        request: HttpRequest, caller: Caller, agent_id: str
    ) -> HttpResponse:
        body = json_object(request)
        run = await in_database_thread(get_run, _run_id(body), caller.reach)
        call_id = body.get("toolCallId")
        if call_id is None:
            call_id = await in_database_thread(_only_waiting_call, run)
        if not await in_database_thread(_waits, run, call_id):
            raise invalid_body(Issue("toolCallId", "no such call waits"))
        decision = True if approved else str(body.get("reason") or "declined")
        order = Order(
            messages=[],
            thread_id=run.thread_id,
            resource_id=run.resource_id,
            options=TurnOptions(approvals={call_id: decision}),
            trigger=Run.Trigger.CONTINUE,
        )
        answering = get_agent_by_id(run.agent_id)
        started = await turn.start_run(answering, order, reach=caller.reach)
        return client_js_stream(started.run)

    return decided


def _waits(run: Run, call_id: Any) -> bool:
    """Whether a call in the run's thread waits for a decision."""
    if not isinstance(call_id, str) or run.thread_id is None:
        return False
    waiting = Message.objects.filter(
        thread_id=run.thread_id, metadata__pendingToolApprovals__has_key=call_id
    )
    return waiting.exists()


def _only_waiting_call(run: Run) -> str | None:
    message = Message.objects.filter(id=run.message_id).first()
    metadata = (message.content.get("metadata") or {}) if message else {}
    return next(iter(metadata.get("pendingToolApprovals") or ()), None)


@route("POST")
async def abort_thread(
    request: HttpRequest, caller: Caller, agent_id: str
) -> HttpResponse:
    """Stops whatever speaks in a thread; harmless when nothing does."""
    body = json_object(request)
    thread_id = body.get("threadId")
    if not isinstance(thread_id, str):
        raise invalid_body(Issue("threadId", "is required"))
    run = await in_database_thread(active_run, thread_id)
    stopped = run is not None and caller.reach.covers(run.resource_id or "")
    if run is not None and stopped:
        await turn.stop_run(run.id, reach=caller.reach)
    return JsonReply({"aborted": stopped, "success": True})


@route("GET")
async def suspended_runs(
    request: HttpRequest, caller: Caller, agent_id: str
) -> HttpResponse:
    """Runs that wait for a decision about a tool call."""
    found = await in_database_thread(
        _suspended, agent_id, caller, request.GET.get("threadId")
    )
    return JsonReply({"runs": found, "total": len(found)})


def _suspended(
    agent_id: str, caller: Caller, thread_id: str | None
) -> list[dict[str, Any]]:
    runs = Run.objects.filter(
        caller.reach.q(), agent_id=agent_id, finish_reason="suspended"
    )
    if thread_id:
        runs = runs.filter(thread_id=thread_id)
    messages = {
        m.id: (m.content.get("metadata") or {}).get("pendingToolApprovals") or {}
        for m in Message.objects.filter(id__in=runs.values("message_id"))
    }
    return [
        {
            "runId": run.id,
            "threadId": run.thread_id,
            "resourceId": run.resource_id,
            "toolCalls": list(messages[run.message_id].values()),
        }
        for run in runs.order_by("-created_at")[:100]
        if messages.get(run.message_id)
    ]


@route("POST")
async def chat(
    request: HttpRequest, caller: Caller, agent_id: str | None = None
) -> HttpResponse:
    """Answers ``useChat`` of the AI SDK."""
    answering = _chat_agent(agent_id)
    body = json_object(request)
    order = with_key(request, chat_order(request, body, caller), caller)
    started = await turn.start_run(answering, order, reach=caller.reach)
    return _replayed(ui_message_stream(started.run, request, body), order, started)


def _replayed(
    reply: HttpResponseBase, order: Order, started: turn.StartedRun
) -> HttpResponseBase:
    """Says so when a request under an idempotency key had come before."""
    if order.fingerprint and started.attached:
        reply.headers["Idempotent-Replayed"] = "true"
    return reply


@route("GET")
async def resume_chat(
    request: HttpRequest, caller: Caller, chat_id: str, agent_id: str | None = None
) -> HttpResponse:
    """The reply that is under way in a chat, from its beginning; 204 without one."""
    run = await in_database_thread(active_run, chat_id)
    if run is None or not caller.reach.covers(run.resource_id or ""):
        return HttpResponse(status=204)
    return ui_message_stream(run, request, {})


def _chat_agent(agent_id: str | None) -> Agent:
    return get_agent_by_id(agent_id or settings.MEMORY.get("CHAT_AGENT", "assistant"))


def _run_id(body: dict[str, Any]) -> str:
    if not isinstance(body.get("runId"), str) or not body["runId"]:
        raise invalid_body(Issue("runId", "is required"))
    return body["runId"]


def client_js_stream(run: Run, after: int = 0) -> EventStream:
    frames = client_js_frames(run.id, turn.read_events(run.id, after))
    return EventStream(frames, _about(run), _when_gone(run))


def ui_message_stream(
    run: Run, request: HttpRequest, body: dict[str, Any]
) -> EventStream:
    """The stream for ``useChat``; the version of its AI SDK is ``?version=``, v5 else."""
    version = request.GET.get("version") or body.get("version") or "v5"
    translated = UiMessageStream(
        run.id,
        version=version if version in ("v5", "v6", "v7") else "v5",
        reasoning=body.get("sendReasoning") is True,
        sources=body.get("sendSources") is True,
    )
    frames = ai_sdk_frames(translated, turn.read_events(run.id))
    return EventStream(frames, HEADERS | _about(run), _when_gone(run))


def _about(run: Run) -> dict[str, str]:
    """Headers that tell a client which run it follows, and whether it waits."""
    return {"X-Run-Id": run.id, "X-Run-State": run.state}


def _when_gone(run: Run) -> Any:
    """What a client's leaving does: nothing, unless the settings say that it stops."""
    if not settings.MEMORY.get("STOP_ON_DISCONNECT", False):
        return None
    return lambda: turn.stop_soon(run.id)


def thread_within(thread_id: str, caller: Caller) -> Thread:
    """The thread; raises ThreadNotFound outside the caller's reach."""
    thread = Thread.objects.filter(id=thread_id).first()
    if thread is None or not caller.reach.covers(thread.resource_id):
        raise ThreadNotFound(thread_id, "Thread not found")
    return thread
