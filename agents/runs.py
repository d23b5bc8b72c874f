"""The states of a run, and the only ways from one to another.

    queued ──claim──▶ running ──end──▶ completed | stopped | failed | interrupted
       └──────────────end──────────▶ stopped | failed

Every step is a conditional update whose count is checked, under the lock of the thread's
row, so that a run starts once and ends once whoever tries. The end of a run, its message
and the last entries of its log are one transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import QuerySet
from psycopg.errors import ProgramLimitExceeded

from agents.chunks import Chunk, Event
from agents.closing import broken_off
from agents.models import Run, RunEvent
from agents.registry import is_known
from agents.reply import save_reply
from agents.transcript import Transcript
from agents.wakes import RUN_EVENTS, RUN_QUEUED, RUN_STOP, notify
from threads.errors import NotFound
from threads.identifiers import now
from threads.reach import Reach
from threads.text import storable
from threads.transactions import locked_threads, whole

logger = logging.getLogger(__name__)

# Seconds: how often a process says that its runs live, and when they count as dead.
HEARTBEAT = 3.0
DEAD_AFTER = 15.0

INTERRUPTED = "The server stopped in the middle of this reply."
FAULT = "The reply failed because of a fault in the server."

State = Run.State


class RunNotFound(NotFound):
    def __init__(self, run_id: str) -> None:
        super().__init__(f"Run {run_id} not found")


@dataclass(frozen=True)
class Usage:
    """What a turn cost. Times in milliseconds from the start of the run."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    first_token_ms: int | None = None
    provider: str = ""
    model: str = ""


@dataclass(frozen=True)
class Ending:
    """How a run ends. ``chunks`` close its log; ``error`` is in words for people."""

    state: str
    finish_reason: str = ""
    error: str = ""
    chunks: Sequence[Chunk] = ()
    usage: Usage = field(default_factory=Usage)


def with_usage(ending: Ending, usage: Usage) -> Ending:
    return replace(ending, usage=usage)


def events_after(run: Run, seq: int) -> list[Event]:
    """The entries of a run's log after a number, as the table has them."""
    rows = run.events.filter(seq__gt=seq).order_by("seq")
    return [Event(row.seq, row.type, row.payload) for row in rows]


def get_run(run_id: str, reach: Reach | None = None) -> Run:
    """The run; raises RunNotFound when there is none within reach."""
    run = Run.objects.filter(id=run_id).first()
    within = reach is None or reach.everything
    if run is None or not (within or reach.covers(run.resource_id or "")):
        raise RunNotFound(run_id)
    return run


def active_run(thread_id: str) -> Run | None:
    """The run of a thread that speaks, else the next that waits."""
    runs = Run.objects.filter(thread_id=thread_id, state__in=Run.ACTIVE)
    # "running" sorts after "queued".
    return runs.order_by("-state", "created_at", "id").first()


def claim_next(thread_id: str, owner: str) -> Run | None:
    """Takes the next queued run of a thread for the process ``owner``.

    None while another run of the thread speaks, when none waits, and when its agent is
    not known in this process, which may run other code than the one that accepted it.
    """

    def work() -> Run | None:
        if not locked_threads([thread_id], Reach.all()):
            return None
        runs = Run.objects.filter(thread_id=thread_id)
        if runs.filter(state=State.RUNNING).exists():
            return None
        run = runs.filter(state=State.QUEUED).order_by("created_at", "id").first()
        if run is None or not is_known(run.agent_id):
            return None
        mark_running(run, owner)
        run.save(update_fields=["state", "owner", "started_at", "heartbeat_at"])
        notify(RUN_EVENTS, run.id)
        return run

    return whole(work)


def mark_running(run: Run, owner: str) -> None:
    """Sets the fields of a run that begins now; saves nothing."""
    run.state = State.RUNNING
    run.owner = owner
    run.started_at = run.heartbeat_at = now()


def beat(owner: str, run_ids: Sequence[str]) -> set[str]:
    """Says that these runs of ``owner`` live; returns those that are to stop."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE agents_run SET heartbeat_at = statement_timestamp() "
            "WHERE id = ANY(%s::varchar[]) AND owner = %s AND state = 'running' "
            "RETURNING id, stop_requested",
            [list(run_ids), owner],
        )
        return {run_id for run_id, stop in cursor.fetchall() if stop}


def record_context(run_id: str, owner: str, context: dict[str, Any]) -> bool:
    """Keeps what the model is shown; False when the run is not ours any more."""
    return (
        Run.objects.filter(id=run_id, owner=owner, state=State.RUNNING).update(
            context=storable(context), context_hash=context.get("hash", "")
        )
        == 1
    )


def request_stop(run_id: str, reach: Reach | None = None) -> Run:
    """Asks a run to stop, wherever it is executed; harmless when it has ended.

    A queued run ends at once. Raises RunNotFound.
    """
    run = get_run(run_id, reach)
    if run.state == State.QUEUED:
        ending = Ending(State.STOPPED, "stopped", chunks=[Chunk("abort")])
        if end(run, ending, [], from_state=State.QUEUED) is not None:
            return get_run(run_id)
    asked = Run.objects.filter(id=run_id, state=State.RUNNING)
    if asked.update(stop_requested=True):
        notify(RUN_STOP, run_id)
    return get_run(run_id)


def end(
    run: Run,
    ending: Ending,
    events: Iterable[Event],
    *,
    from_state: str = State.RUNNING,
    quiet_since: datetime | None = None,
) -> list[Event] | None:
    """Ends a run once: its state, its message and the last entries of its log.

    ``events`` is the whole log so far, from which the message is made. With ``quiet_since``
    the run ends only if no heartbeat came after that moment. Returns the entries that
    were added, or None when the run had ended, was taken over or is deleted: then
    nothing is written. An end that cannot be written as it is, is written as failed,
    with as much of the reply as can be stored; only a database that is away raises.
    """
    events = list(events)
    mine = Run.objects.filter(id=run.id, state=from_state, owner=run.owner)
    if quiet_since is not None:
        mine = mine.filter(heartbeat_at__lt=quiet_since)
    try:
        return whole(lambda: _end(run, mine, ending, events))
    except (OperationalError, InterfaceError) as error:
        if not isinstance(error.__cause__, ProgramLimitExceeded):
            raise
        logger.exception("Run %s cannot end as %s", run.id, ending.state)
    except Exception:
        logger.exception("Run %s cannot end as %s", run.id, ending.state)
    failure = Ending(
        State.FAILED, "error", FAULT, broken_off(events, run.message_id, FAULT)
    )
    return whole(lambda: _end(run, mine, failure, events, strict=False))


def _end(
    run: Run,
    mine: QuerySet[Run],
    ending: Ending,
    events: list[Event],
    *,
    strict: bool = True,
) -> list[Event] | None:
    """Writes the end of a run; unless ``strict`` also when its reply cannot be stored."""
    if run.thread_id is not None:
        locked_threads([run.thread_id], Reach.all())
    if mine.update(**_final_fields(run, ending, now())) != 1:
        return None
    last = events[-1].seq if events else 0
    state = Chunk("run", {"state": ending.state, "messageId": run.message_id})
    added = [
        Event(number, chunk.type, storable(chunk.payload))
        for number, chunk in enumerate([*ending.chunks, state], last + 1)
    ]
    try:
        with transaction.atomic():
            save_reply(run, ending, [*events, *added])
    except Exception:
        if strict:
            raise
        logger.exception("The reply of run %s cannot be stored", run.id)
    RunEvent.objects.bulk_create(
        RunEvent(run_id=run.id, seq=e.seq, type=e.type, payload=e.payload)
        for e in added
    )
    notify(RUN_EVENTS, run.id)
    waiting = Run.objects.filter(thread_id=run.thread_id, state=State.QUEUED)
    if run.thread_id is not None and waiting.exists():
        notify(RUN_QUEUED, run.thread_id)
    return added


def _final_fields(run: Run, ending: Ending, finished_at: datetime) -> dict[str, Any]:
    usage = ending.usage
    fields: dict[str, Any] = {
        "state": ending.state,
        "finish_reason": ending.finish_reason,
        "error": storable(ending.error),
        "finished_at": finished_at,
    }
    if run.started_at is not None:
        elapsed = finished_at - run.started_at
        fields["duration_ms"] = max(0, round(elapsed.total_seconds() * 1000))
    if usage.model:
        fields |= {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "first_token_ms": usage.first_token_ms,
            "provider": usage.provider,
            "model": usage.model,
        }
    return fields


def interrupt_dead(*, dead_after: float = DEAD_AFTER) -> list[Run]:
    """Ends the runs whose process has died, and keeps what they had said.

    Returns the runs that this call ended.
    """
    quiet_since = now() - timedelta(seconds=dead_after)
    dead = Run.objects.filter(state=State.RUNNING, heartbeat_at__lt=quiet_since)
    return [run for run in dead if _interrupted(run, quiet_since)]


def _interrupted(run: Run, quiet_since: datetime) -> bool:
    """:func:`interrupt`; what one run does wrong keeps no other from its end."""
    try:
        return interrupt(run, quiet_since)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("Dead run %s cannot be ended", run.id)
        return False


def interrupt(run: Run, quiet_since: datetime) -> bool:
    """Ends one run unless its process has been heard of since ``quiet_since``."""
    events = events_after(run, 0)
    if run.stop_requested:
        closing = Transcript.of(events).closing()
        ending = Ending(State.STOPPED, "stopped", chunks=[*closing, Chunk("abort")])
    else:
        chunks = broken_off(events, run.message_id, INTERRUPTED)
        ending = Ending(State.INTERRUPTED, "error", INTERRUPTED, chunks)
    return end(run, ending, events, quiet_since=quiet_since) is not None


def prune_events(*, older_than: timedelta = timedelta(hours=1)) -> int:
    """Removes the logs of runs that ended before; the runs stay. Returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH ended AS (UPDATE agents_run SET events_pruned_at = now() "
            "WHERE finished_at < %s AND events_pruned_at IS NULL RETURNING id) "
            "DELETE FROM agents_runevent e USING ended WHERE e.run_id = ended.id",
            [now() - older_than],
        )
        return cursor.rowcount
