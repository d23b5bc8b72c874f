"""Writing the logs of the runs that this process executes.

Nothing is shown before it is committed. One task writes for all runs of the process: it
takes whatever has gathered, commits it in a single statement, tells other processes by
NOTIFY, and hands the committed events to the readers in this process. The first words of
a reply are written at once, later ones about every 30 ms, so a hundred runs need one
connection and some thirty commits a second.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
import weakref
from collections.abc import Callable
from typing import Any

import psycopg

from agents.chunks import Chunk, Event
from agents.connections import connect
from threads.api.encoding import json_bytes
from threads.text import storable

logger = logging.getLogger(__name__)

# Seconds between two commits, unless something urgent waits.
INTERVAL = 0.03

_APPEND = """
WITH mine AS (
    SELECT id FROM agents_run
    WHERE id = ANY(%(runs)s::varchar[]) AND state = 'running' AND owner = %(owner)s
    FOR KEY SHARE
), written AS (
    INSERT INTO agents_runevent (run_id, seq, type, payload, created_at)
    SELECT g.run_id, g.seq, g.type, g.payload::jsonb, statement_timestamp()
    FROM unnest(%(run_ids)s::varchar[], %(seqs)s::int[], %(types)s::varchar[],
                %(payloads)s::text[]) AS g (run_id, seq, type, payload)
    JOIN mine ON mine.id = g.run_id
    ON CONFLICT (run_id, seq) DO NOTHING
)
SELECT id, pg_notify('run_events', id) FROM mine
"""


class LiveLog:
    """The log of one run that this process executes, committed entries in ``events``.

    ``lost`` is set when the run is not ours any more: ended by somebody else, or deleted
    with its thread. Nothing is written from then on.
    """

    def __init__(self, run_id: str, writer: EventWriter) -> None:
        self.run_id = run_id
        self.events: list[Event] = []
        self.ended = False
        self.lost = asyncio.Event()
        self.on_lost: Callable[[], object] = lambda: None
        self.pending: list[Event] = []
        self._writer = writer
        self._last = 0
        self._changed = asyncio.Event()

    def append(self, chunk: Chunk, *, urgent: bool = False) -> Event:
        """Numbers an event and hands it to the writer."""
        self._last += 1
        event = Event(self._last, chunk.type, storable(chunk.payload))
        self.pending.append(event)
        self._writer.wake(urgent)
        return event

    @property
    def is_complete(self) -> bool:
        """Whether the last entry of all is here: the one that tells the end state."""
        return bool(self.events) and self.events[-1].type == "run"

    @property
    def last_seq(self) -> int:
        return self._last

    async def flushed(self) -> None:
        """Waits until everything appended so far is committed, or the run is lost."""
        target = self._last
        self._writer.wake(urgent=True)
        while self.pending or (self.events[-1].seq if self.events else 0) < target:
            if self.lost.is_set() or self.ended:
                return
            await self.change()

    async def change(self) -> None:
        """Waits for the next commit or the end."""
        await self._changed.wait()

    def committed(self, events: list[Event]) -> None:
        """Shows events that are in the database now."""
        self.events.extend(events)
        self._notify()

    def end(self) -> None:
        """No more events will come; readers finish what there is."""
        self.ended = True
        self._notify()

    def lose(self) -> None:
        self.lost.set()
        self.pending.clear()
        self._notify()
        self.on_lost()

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class EventWriter:
    """The one writer of an event loop. ``owner`` names it in the runs that it executes."""

    def __init__(self) -> None:
        self.owner = str(uuid.uuid4())
        self.live: dict[str, LiveLog] = {}
        self._work = asyncio.Event()
        self._urgent = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._connection: psycopg.AsyncConnection | None = None

    def open(self, run_id: str) -> LiveLog:
        """The log of a run that this process has just claimed."""
        log = self.live[run_id] = LiveLog(run_id, self)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write_forever(), name="event-writer")
        return log

    def close(self, log: LiveLog) -> None:
        """The run has ended; late readers read the table."""
        log.end()
        self.live.pop(log.run_id, None)

    def wake(self, urgent: bool) -> None:
        self._work.set()
        if urgent:
            self._urgent.set()

    async def _write_forever(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            self._urgent.clear()
            await self._write({log: log.pending for log in self._waiting()})
            try:
                async with asyncio.timeout(INTERVAL):
                    await self._urgent.wait()
            except TimeoutError:
                pass

    def _waiting(self) -> list[LiveLog]:
        return [log for log in self.live.values() if log.pending]

    async def _write(self, batch: dict[LiveLog, list[Event]]) -> None:
        """Commits a batch, however long the database is away."""
        if not batch:
            return
        batch = {log: list(events) for log, events in batch.items()}
        pause = 0.05
        while True:
            try:
                mine = await self._commit(batch)
                break
            except psycopg.DataError:
                await self._write_apart(batch)
                return
            except psycopg.IntegrityError:
                # A run was deleted between our look and our insert: look again.
                continue
            except (psycopg.OperationalError, psycopg.InterfaceError, OSError) as error:
                logger.warning("Events wait for the database: %s", type(error).__name__)
                await self._disconnect()
                await asyncio.sleep(pause)
                pause = min(pause * 2, 1.0)
        for log, events in batch.items():
            if log.run_id in mine:
                del log.pending[: len(events)]
                log.committed(events)
            else:
                log.lose()

    async def _write_apart(self, batch: dict[LiveLog, list[Event]]) -> None:
        """One run's event cannot be stored; the other runs must not suffer."""
        for log, events in batch.items():
            if len(batch) > 1:
                await self._write({log: events})
            else:
                logger.error("Run %s has an event that cannot be stored", log.run_id)
                log.lose()

    async def _commit(self, batch: dict[LiveLog, list[Event]]) -> set[str]:
        """Inserts the events of runs that are still ours; returns those runs."""
        rows: list[tuple[str, int, str, str]] = [
            (log.run_id, event.seq, event.type, json_bytes(event.payload).decode())
            for log, events in batch.items()
            for event in events
        ]
        runs = [log.run_id for log in batch]
        given: dict[str, Any] = dict(
            zip(
                ("run_ids", "seqs", "types", "payloads"),
                map(list, zip(*rows, strict=True)),
                strict=True,
            )
        )
        if self._connection is None:
            self._connection = await connect()
        cursor = await self._connection.execute(
            _APPEND, given | {"runs": runs, "owner": self.owner}
        )
        return {row[0] for row in await cursor.fetchall()}

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def shut_down(self) -> None:
        """Stops writing; what is pending stays unwritten."""
        if self._task is not None:
            self._task.cancel()
        await self._disconnect()


_writers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, EventWriter] = (
    weakref.WeakKeyDictionary()
)


def event_writer() -> EventWriter:
    """The writer of the running event loop."""
    return _writers.setdefault(asyncio.get_running_loop(), EventWriter())
