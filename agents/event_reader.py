"""Reading the log of a run, from any process, as often as one likes.

A reader in the process that executes the run is handed the committed events; any other
is woken by NOTIFY and reads the table after the number it knows. Both see the same
events in the same order, none missing and none twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import psycopg
from psycopg_pool import PoolTimeout

from agents.chunks import Event
from agents.closing import broken_off
from agents.connections import readers
from agents.event_log import event_writer
from agents.wakes import RUN_EVENTS, wakes

logger = logging.getLogger(__name__)

# Seconds after which a reader looks on its own.
LOOK = 2.0

_READ = """
SELECT r.state, e.seq, e.type, e.payload
FROM agents_run r LEFT JOIN agents_runevent e ON e.run_id = r.id AND e.seq > %s
WHERE r.id = %s ORDER BY e.seq
"""

GONE = "The conversation was deleted."


@dataclass(frozen=True)
class LogPage:
    """What the table holds after a number. ``state`` is empty when the run is gone."""

    state: str
    events: list[Event]

    @property
    def complete(self) -> bool:
        """Whether nothing will be added."""
        return self.state not in ("queued", "running")


async def read_log(run_id: str, after: int = 0) -> LogPage:
    """The events after number ``after`` that are in the table now, with the state."""
    pool = await readers()
    async with pool.connection() as connection:
        cursor = await connection.execute(_READ, [after, run_id])
        rows = await cursor.fetchall()
    events = [Event(seq, type_, payload) for _, seq, type_, payload in rows if seq]
    return LogPage(rows[0][0] if rows else "", events)


async def read_events(run_id: str, after: int = 0) -> AsyncIterator[Event]:
    """Every event of a run after number ``after``, as it comes, until the run has ended.

    A run that is deleted meanwhile ends as a failed one does. A log that has been
    pruned is empty: read the message instead.
    """
    log = event_writer().live.get(run_id)
    shown: list[Event] = []
    if log is not None:
        position = after
        while True:
            while position < len(log.events):
                event = log.events[position]
                position += 1
                _remember(shown, event)
                yield event
            if log.is_complete:
                return
            if log.ended or log.lost.is_set():
                # Somebody else ended it, or is going to: the table will tell.
                break
            await log.change()
        after = position
    async for event in _read_table(run_id, after, shown):
        yield event


def _remember(shown: list[Event], event: Event) -> None:
    """Keeps what tells how the log must end should its run be deleted."""
    if event.type.endswith(("start", "-end")):
        shown.append(event)


def _end_of_deleted(shown: list[Event], after: int) -> Iterator[Event]:
    starts = [event.payload["messageId"] for event in shown if event.type == "start"]
    chunks = broken_off(shown, "".join(starts[:1]), GONE, "NotFound")
    for number, chunk in enumerate(chunks, after + 1):
        yield Event(number, chunk.type, chunk.payload)


async def _read_table(
    run_id: str, after: int, shown: list[Event]
) -> AsyncIterator[Event]:
    woken = asyncio.Event()
    with wakes().on(RUN_EVENTS, run_id, lambda _: woken.set()):
        while True:
            woken.clear()
            try:
                page = await read_log(run_id, after)
            except (psycopg.Error, PoolTimeout, OSError) as error:
                logger.warning("A reader waits: %s", type(error).__name__)
                await asyncio.sleep(0.5)
                continue
            for event in page.events:
                after = event.seq
                _remember(shown, event)
                yield event
            if not page.state:
                for event in _end_of_deleted(shown, after):
                    yield event
                return
            if page.complete:
                return
            try:
                async with asyncio.timeout(LOOK):
                    await woken.wait()
            except TimeoutError:
                continue
