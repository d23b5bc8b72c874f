"""The order of a turn.

    1. the user's message and the run are committed           accepting.accept
    2. the context is assembled and kept with the run         prompt.assemble
    3. the model speaks; every piece is committed, then shown speaking.speak → event_log
    4. the reply, the end of the log and the state commit     runs.end
    5. then the title, and the next run of the thread         tasks, claim_next

Between these steps no transaction is open and no connection of the ORM is held. The run
belongs to no request: whoever asked may go away, and others may watch or stop it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import InterfaceError, OperationalError

from agents import runs
from agents.accepting import accept, options_of
from agents.chunks import Chunk, size_in_reply
from agents.endings import failed, stopped, too_long, used
from agents.event_log import LiveLog
from agents.event_reader import read_events
from agents.executing import Executor, executor_of_loop
from agents.metrics import observe
from agents.model_events import Meter
from agents.model_messages import to_model_messages
from agents.models import Run
from agents.orders import Order
from agents.prompt import LookUp, assemble, look_up
from agents.providers.choosing import (
    chosen_model,
    configured_model_name,
    takes_tools,
)
from agents.providers.failures import described
from agents.providers.offline import OFFLINE
from agents.registry import get_agent_by_id
from agents.speaking import Speech, speak
from agents.title_task import title_after
from agents.tools import client_tools, working_memory_tool
from recall.asynchronous import in_database_thread
from threads.identifiers import now
from threads.models import Message
from threads.reach import Reach

if TYPE_CHECKING:
    from agents.agent import Agent

__all__ = ["StartedRun", "read_events", "start_run", "stop_run"]

logger = logging.getLogger(__name__)

# Seconds for which the end of a turn waits for a database that is away.
PATIENCE = 120.0

# Chunks that are written at once, not with the next batch.
_URGENT = frozenset({"tool-call", "tool-result", "tool-error", "tool-call-approval"})


@dataclass(frozen=True)
class StartedRun:
    """A run that was asked for.

    ``queued``: another run of the thread speaks; this one begins when it has ended.
    ``attached``: the same message had been sent before, and this is its run.
    """

    run: Run
    user_message: Message | None
    queued: bool
    attached: bool


async def start_run(
    agent: Agent, order: Order, *, reach: Reach | None = None
) -> StartedRun:
    """Commits the user's message and its run, and begins to answer.

    Returns as soon as both are stored; follow the reply with :func:`read_events`. Raises
    the :class:`~threads.errors.MemoryFault` that refuses the order; then nothing is
    stored. A caller that goes away meanwhile leaves no run that nobody executes.
    """
    return await asyncio.shield(_executor().in_background(_start(agent, order, reach)))


async def _start(agent: Agent, order: Order, reach: Reach | None) -> StartedRun:
    executor = _executor()
    memory = agent.get_memory(reach=reach)
    given = None
    if memory is None or order.thread_id is None and order.resource_id is None:
        given = order.drafts()
    accepted = await in_database_thread(accept, agent.id, memory, order, executor.owner)
    run = accepted.run
    if not accepted.attached and run.state == Run.State.RUNNING:
        if given is None and not order.options.remember and accepted.user_message:
            given = [accepted.user_message]
        question = accepted.user_message
        executor.launch(
            run,
            partial(
                take_turn, agent=agent, given=given, order=order, question=question
            ),
        )
    executor.keep_up()
    if not accepted.attached and run.state == Run.State.QUEUED and run.thread_id:
        # What is before it in the queue may be left over from a process that stopped.
        executor.continue_soon(run.thread_id)
    return StartedRun(
        run, accepted.user_message, run.state == Run.State.QUEUED, accepted.attached
    )


async def stop_run(run_id: str, *, reach: Reach | None = None) -> Run:
    """Stops a run wherever it is executed; harmless when it has ended.

    What was said stays, marked as stopped. Raises RunNotFound.
    """
    run = await in_database_thread(runs.request_stop, run_id, reach)
    _executor().stop(run_id)
    return run


def stop_soon(run_id: str) -> None:
    """:func:`stop_run` for callers that cannot wait."""
    _executor().in_background(stop_run(run_id))


async def continue_thread(thread_id: str) -> asyncio.Task[None] | None:
    """Begins the next queued run of a thread, unless one speaks or none waits."""
    executor = _executor()
    if executor.is_closing:
        # Another process begins it, or the sweep.
        return None
    run = await in_database_thread(runs.claim_next, thread_id, executor.owner)
    if run is None:
        return None
    agent = get_agent_by_id(run.agent_id)
    return executor.launch(run, partial(take_turn, agent=agent))


def _executor() -> Executor:
    return executor_of_loop(continue_thread)


async def take_turn(
    run: Run,
    log: LiveLog,
    *,
    agent: Agent,
    given: list[Message] | None = None,
    order: Order | None = None,
    question: Message | None = None,
) -> None:
    """Executes a run that this process has claimed, to its end."""
    log.append(
        Chunk("start", {"id": agent.id, "messageId": run.message_id}), urgent=True
    )
    meter = Meter()
    speech: Speech | None = None
    last: list[Chunk] = []
    try:
        prepared = await in_database_thread(
            _prepared, run, agent, given, order, question
        )
        log.append(
            Chunk(
                "context",
                {
                    "hash": prepared.record["hash"],
                    "tokens": prepared.record["tokens"],
                    "segments": len(prepared.record["segments"]),
                },
            )
        )
        speech = _speech(run, agent, prepared, meter)
        room = settings.MEMORY.get("MAX_REPLY_BYTES", 8 * 1024 * 1024)
        async with aclosing(speak(speech)) as chunks:
            async for chunk in chunks:
                first = meter.first_token_ms is not None and not run.first_token_ms
                if first:
                    run.first_token_ms = meter.first_token_ms or 1
                if chunk.type == "finish":
                    # Told with the stored message, not before it.
                    last.append(chunk)
                else:
                    log.append(chunk, urgent=first or chunk.type in _URGENT)
                room -= size_in_reply(chunk)
                if room < 0:
                    break
        if room < 0 and not last:
            ending = too_long([*log.events, *log.pending], run)
        else:
            ending = runs.Ending(Run.State.COMPLETED, speech.finish_reason, chunks=last)
    except asyncio.CancelledError:
        if log.lost.is_set():
            return
        asked = _executor().is_stopping(run.id)
        said = [*log.events, *log.pending]
        ending = stopped(said) if asked else failed(said, run, runs.INTERRUPTED)
    except Exception as error:
        failure = described(error)
        if failure.name == "Error":
            logger.exception("Run %s failed", run.id)
        else:
            logger.warning("Run %s failed: %s", run.id, failure.name)
        said = [*log.events, *log.pending]
        ending = failed(said, run, failure.message, failure.name)
    usage = used(speech, meter)
    await _executor().to_the_end(_finish(run, log, agent, ending, usage))


@dataclass(frozen=True)
class _Prepared:
    """The input of the turn; ``record`` is kept with the run."""

    instructions: str
    messages: list[Message]
    record: dict[str, Any]
    look_up: LookUp | None = None


def _prepared(
    run: Run,
    agent: Agent,
    given: list[Message] | None,
    order: Order | None,
    question: Message | None,
) -> _Prepared:
    """The context of the turn, kept with the run before the model sees it."""
    options = options_of(run)
    thread_id, resource_id = run.thread_id, run.resource_id
    if given is not None and order is not None:
        messages = [m for m in given if m.role != "system"]
        thread_id, resource_id = order.thread_id, order.resource_id
    elif run.trigger == Run.Trigger.CONTINUE:
        messages = []
    else:
        messages = [question] if question is not None else _question(run)
    if order is not None and order.system_text():
        texts = [options.system, order.system_text()]
        options = options.with_(system="\n\n".join(filter(None, texts)))
    context = assemble(
        agent,
        agent.get_memory(),
        options,
        thread_id=thread_id,
        resource_id=resource_id,
        messages=messages,
        trigger=run.trigger,
    )
    record = context.as_json()
    runs.record_context(run.id, run.owner, record)
    offline = (options.model or agent.model or configured_model_name()) == OFFLINE
    return _Prepared(
        context.system_text,
        context.messages,
        record,
        look_up(context, thread_id) if offline else None,
    )


def _question(run: Run) -> list[Message]:
    return list(Message.objects.filter(id=run.user_message_id))


def _speech(run: Run, agent: Agent, prepared: _Prepared, meter: Meter) -> Speech:
    """The model with everything that it is given for this turn."""
    options = options_of(run)
    model = chosen_model(options.model or agent.model)
    tools = dict(agent.tools)
    memory = agent.get_memory()
    if memory is not None and run.thread_id and options.remember:
        own = working_memory_tool(
            memory.config.merged(options.memory),
            thread_id=run.thread_id,
            resource_id=run.resource_id or "",
            message_id=run.user_message_id,
        )
        if own is not None:
            tools[own.name] = own
    if options.active_tools is not None:
        tools = {name: tools[name] for name in options.active_tools if name in tools}
    model_settings = agent.model_settings | options.model_settings
    if not takes_tools(options.model or agent.model):
        tools = {}
    if prepared.look_up is not None:
        model_settings["remembered"] = prepared.look_up.remembered
        model_settings["notes"] = prepared.look_up.notes
    return Speech(
        model=model,
        message_id=run.message_id,
        messages=to_model_messages(prepared.messages),
        instructions=prepared.instructions,
        tools=tools,
        client_tools=client_tools(options.client_tools),
        approved=frozenset(c for c, yes in options.approvals.items() if yes is True),
        ask_first=options.ask_first,
        settings=model_settings,
        max_steps=options.max_steps or agent.max_steps,
        run_id=run.id,
        request_context=options.request_context,
        meter=meter,
    )


async def _finish(
    run: Run, log: LiveLog, agent: Agent, ending: runs.Ending, usage: runs.Usage
) -> None:
    """Commits the reply with the end of its run, then lets the follow-up begin.

    Waits for a database that is away. When somebody else has ended the run, or its
    thread is gone, there is nothing left to do.
    """
    ending = runs.with_usage(ending, usage)
    give_up = time.monotonic() + PATIENCE
    tries = 0
    while True:
        tries += 1
        try:
            await log.flushed()
            if log.lost.is_set():
                return
            added = await in_database_thread(runs.end, run, ending, log.events)
            break
        except (OperationalError, InterfaceError):
            # The commit may have arrived although its answer did not.
            if time.monotonic() > give_up:
                raise
            await asyncio.sleep(min(0.1 * tries, 1.0))
    if added is None:
        if tries == 1:
            return
        added = await in_database_thread(runs.events_after, run, log.last_seq)
    log.committed(added)
    observe(
        agent=run.agent_id,
        model=usage.model,
        state=ending.state,
        input_tokens=usage.input_tokens or 0,
        output_tokens=usage.output_tokens or 0,
        first_token_ms=usage.first_token_ms,
        seconds=(now() - (run.started_at or now())).total_seconds(),
    )
    if run.thread_id is None:
        return
    titled = ending.state == Run.State.COMPLETED and options_of(run).remember
    if await in_database_thread(_follow_up, run, agent if titled else None):
        await continue_thread(run.thread_id)


def _follow_up(run: Run, agent: Agent | None) -> bool:
    """Asks for a title after a reply of ``agent``; tells whether another run waits."""
    waiting = Run.objects.filter(thread_id=run.thread_id, state=Run.State.QUEUED)
    another = waiting.exists()
    if agent is not None:
        title_after(run, agent)
    return another
