"""Runs: looking at them, following their logs, stopping them, what they cost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from django.db.models import Avg, Count, QuerySet, Sum
from django.http import HttpRequest, HttpResponse

from agents import turn
from agents.api.replies import run_json
from agents.api.routing import route
from agents.chunks import Event
from agents.event_reader import read_log
from agents.models import Run
from agents.runs import get_run
from agents.streams.sse import EventStream, frame
from recall.asynchronous import in_database_thread
from threads.access import Caller
from threads.api.encoding import JsonReply
from threads.api.errors import invalid_query
from threads.api.parsing import json_body
from threads.errors import Issue, MemoryFault
from threads.text import storable

MOST = 200


class EventsGone(MemoryFault):
    """The log has been removed; the message has it all."""

    status = 410


@route("GET")
async def run_list(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Runs, newest first, with the sums of what they cost."""
    return JsonReply(await in_database_thread(_page, request.GET, caller))


def _page(query: Any, caller: Caller) -> dict[str, Any]:
    runs = Run.objects.filter(caller.reach.q())
    names = {
        "threadId": "thread_id",
        "resourceId": "resource_id",
        "agentId": "agent_id",
        "state": "state",
        "model": "model",
        "messageId": "message_id",
    }
    if query.get("state") and query["state"] not in Run.State.values:
        known = ", ".join(Run.State.values)
        raise invalid_query(Issue("state", f"must be one of {known}"))
    for given, field in names.items():
        if query.get(given):
            runs = runs.filter(**{field: storable(query[given])})
    page = _natural(query, "page", 0)
    per_page = min(_natural(query, "perPage", 50), MOST)
    total = runs.count()
    rows = runs.defer("context", "options").order_by("-created_at", "-id")
    shown = rows[page * per_page : (page + 1) * per_page]
    return {
        "runs": [run_json(run) for run in shown],
        "total": total,
        "page": page,
        "perPage": per_page,
        "hasMore": (page + 1) * per_page < total,
        "usage": _usage(runs),
    }


def _usage(runs: QuerySet[Run]) -> dict[str, Any]:
    sums = runs.aggregate(
        runs=Count("id"),
        inputTokens=Sum("input_tokens"),
        outputTokens=Sum("output_tokens"),
        firstTokenMs=Avg("first_token_ms"),
        durationMs=Avg("duration_ms"),
    )
    return {
        **sums,
        "inputTokens": sums["inputTokens"] or 0,
        "outputTokens": sums["outputTokens"] or 0,
    }


def _natural(query: Any, name: str, default: int) -> int:
    given = query.get(name) or str(default)
    if not (given.isascii() and given.isdigit() and len(given) < 9):
        raise invalid_query(Issue(name, "must be a whole number of at least 0"))
    return int(given)


@route("GET")
async def run(request: HttpRequest, caller: Caller, run_id: str) -> HttpResponse:
    """One run, with what the model was shown."""
    found = await in_database_thread(get_run, run_id, caller.reach)
    return JsonReply(run_json(found, context=True))


@route("POST")
async def stop(request: HttpRequest, caller: Caller, run_id: str) -> HttpResponse:
    """Asks a run to stop; harmless when it has ended."""
    json_body(request)
    found = await turn.stop_run(run_id, reach=caller.reach)
    return JsonReply(run_json(found))


@route("GET")
async def events(request: HttpRequest, caller: Caller, run_id: str) -> HttpResponse:
    """The log after a number: as it comes, or what there is when JSON is asked for."""
    found = await in_database_thread(get_run, run_id, caller.reach)
    if found.events_pruned_at is not None:
        raise EventsGone("The log of this run has been removed: fetch the message")
    last = request.headers.get("Last-Event-ID", "")
    after = _natural(request.GET, "after", int(last) if last.isdigit() else 0)
    accept = request.headers.get("Accept", "")
    if "application/json" in accept and "text/event-stream" not in accept:
        page = await read_log(run_id, after)
        return JsonReply(
            {
                "runId": run_id,
                "state": page.state,
                "events": [_event_json(event) for event in page.events],
            }
        )
    return EventStream(_numbered(turn.read_events(run_id, after)))


async def _numbered(events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    async for event in events:
        yield frame(_event_json(event), event.seq)


def _event_json(event: Event) -> dict[str, Any]:
    return {"seq": event.seq, "type": event.type, "payload": event.payload}
