"""Answering in one go, and piece by piece, for programs in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents import turn
from agents.chunks import Event
from agents.models import Run
from agents.orders import Order, TurnOptions, as_messages
from agents.transcript import Transcript
from threads.errors import InvalidInput
from threads.reach import Reach

if TYPE_CHECKING:
    from agents.agent import Agent


@dataclass(frozen=True)
class Generation:
    """A whole reply. ``error`` is set, in plain words, when it failed."""

    run_id: str
    message_id: str
    state: str
    text: str
    finish_reason: str
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    tool_results: list[dict[str, Any]] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)
    error: str = ""
    thread_id: str | None = None
    resource_id: str | None = None


def order_of(
    messages: Any,
    *,
    memory: dict[str, Any] | None = None,
    run_id: str | None = None,
    **options: Any,
) -> Order:
    """An order from Python's arguments; ``options`` are those of TurnOptions."""
    memory = memory or {}
    thread = memory.get("thread")
    if isinstance(thread, str) or thread is None:
        thread = {"id": thread}
    unknown = set(memory) - {"thread", "resource", "options", "read_only"}
    if unknown:
        raise InvalidInput.of(f"memory.{sorted(unknown)[0]}", "is not known here")
    return Order(
        messages=as_messages(messages),
        thread_id=thread.get("id"),
        resource_id=memory.get("resource"),
        title=thread.get("title") or "",
        metadata=thread.get("metadata"),
        options=TurnOptions(
            memory=memory.get("options"),
            remember=not memory.get("read_only", False),
            **options,
        ),
        run_id=run_id,
    )


async def generate(
    agent: Agent, messages: Any, *, reach: Reach | None = None, **options: Any
) -> Generation:
    """See :meth:`agents.agent.Agent.generate`."""
    started = await turn.start_run(agent, order_of(messages, **options), reach=reach)
    events = [event async for event in turn.read_events(started.run.id)]
    return generation_of(started.run, events)


async def stream(
    agent: Agent, messages: Any, *, reach: Reach | None = None, **options: Any
) -> AsyncIterator[Event]:
    """See :meth:`agents.agent.Agent.stream`."""
    started = await turn.start_run(agent, order_of(messages, **options), reach=reach)
    async for event in turn.read_events(started.run.id):
        yield event


def generation_of(run: Run, events: list[Event]) -> Generation:
    """The log of a run that has ended, as one answer."""
    finish: dict[str, Any] = {}
    error, state = "", run.state
    calls, results = [], []
    for event in events:
        if event.type == "finish":
            finish = event.payload
        elif event.type == "error":
            error = event.payload["error"]["message"]
        elif event.type == "run":
            state = event.payload["state"]
        elif event.type == "tool-call":
            calls.append(event.payload)
        elif event.type in ("tool-result", "tool-error"):
            results.append(event.payload)
    reason = finish.get("stepResult", {}).get("reason")
    suspended = any(event.type == "tool-call-approval" for event in events)
    return Generation(
        run_id=run.id,
        message_id=run.message_id,
        state=state,
        text=Transcript.of(events).text,
        finish_reason=reason or ("suspended" if suspended else "other"),
        tool_calls=calls,
        tool_results=results,
        usage=finish.get("output", {}).get("usage", {}),
        error=error,
        thread_id=run.thread_id,
        resource_id=run.resource_id,
    )
