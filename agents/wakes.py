"""Waking readers and runs in this process when another process wrote something.

PostgreSQL's NOTIFY carries the hint, never the news: whoever is woken reads the table. A
hint that is lost while the connection is down costs a delay, because everybody also
looks on their own from time to time.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection

from agents.connections import connect

logger = logging.getLogger(__name__)

# Payload: id of a run whose log has grown, or whose state has changed.
RUN_EVENTS = "run_events"
# Payload: id of a run that has been asked to stop.
RUN_STOP = "run_stop"
# Payload: id of a thread whose next run may start.
RUN_QUEUED = "run_queued"
# Payload: id of a thread whose title or activity has changed.
THREAD_CHANGED = "thread_changed"

CHANNELS = (RUN_EVENTS, RUN_STOP, RUN_QUEUED, THREAD_CHANGED)

Heard = Callable[[str], None]


def notify(channel: str, payload: str) -> None:
    """Sends a hint with the ORM's open transaction, or at once without one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [channel, payload])


class Wakes:
    """The one listening connection of an event loop, opened when somebody waits."""

    def __init__(self) -> None:
        self._heard: dict[tuple[str, str | None], set[Heard]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def on(self, channel: str, payload: str | None, heard: Heard) -> Iterator[None]:
        """Calls ``heard`` with the payload of every notification while in the context.

        ``payload`` ``None`` stands for all of them. ``heard`` must not block.
        """
        self.start()
        key = (channel, payload)
        self._heard[key].add(heard)
        try:
            yield
        finally:
            self._heard[key].discard(heard)
            if not self._heard[key]:
                del self._heard[key]

    def start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._listen_forever(), name="wakes")

    async def _listen_forever(self) -> None:
        pause = 0.1
        while True:
            try:
                async with await connect() as listening:
                    for channel in CHANNELS:
                        await listening.execute(f"LISTEN {channel}")
                    pause = 0.1
                    # Whatever was said while nobody listened.
                    self._everybody()
                    async for notification in listening.notifies():
                        self._tell(notification.channel, notification.payload)
            except (psycopg.Error, OSError) as error:
                logger.warning("Not listening: %s", type(error).__name__)
            await asyncio.sleep(pause)
            pause = min(pause * 2, 2.0)

    def _tell(self, channel: str, payload: str) -> None:
        for key in ((channel, payload), (channel, None)):
            for heard in list(self._heard.get(key, ())):
                heard(payload)

    def _everybody(self) -> None:
        for (_channel, payload), listeners in list(self._heard.items()):
            if payload is not None:
                for heard in list(listeners):
                    heard(payload)

    async def shut_down(self) -> None:
        if self._task is not None:
            self._task.cancel()


_wakes: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Wakes] = (
    weakref.WeakKeyDictionary()
)


def wakes() -> Wakes:
    """The wakes of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _wakes:
        _wakes[loop] = Wakes()
    return _wakes[loop]
