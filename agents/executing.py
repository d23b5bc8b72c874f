"""The runs that this process executes: their tasks, heartbeats and stops."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import ExitStack
from typing import Any, TypeVar

from django.db import Error as DatabaseError

from agents import runs
from agents.closing import broken_off
from agents.connections import close_readers
from agents.event_log import EventWriter, LiveLog, event_writer
from agents.models import Run
from agents.wakes import RUN_QUEUED, RUN_STOP, wakes
from recall.asynchronous import in_database_thread

logger = logging.getLogger(__name__)

# Seconds that the runs of a process that is told to stop have to store their replies.
CLOSING = 5.0

T = TypeVar("T")
Turn = Callable[[Run, LiveLog], Coroutine[Any, Any, None]]


class Executor:
    """Runs of one event loop, each an asyncio task that no request can cancel.

    ``continue_thread`` is told the id of a thread whose next run may start.
    """

    def __init__(self, continue_thread: Callable[[str], Awaitable[None]]) -> None:
        self.writer: EventWriter = event_writer()
        self._continue_thread = continue_thread
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopping: set[str] = set()
        self._upkeep: asyncio.Task[None] | None = None
        self._helpers: set[asyncio.Task[Any]] = set()
        self.is_closing = False

    @property
    def owner(self) -> str:
        """What the runs that this process executes say about whose they are."""
        return self.writer.owner

    def launch(self, run: Run, turn: Turn) -> asyncio.Task[None]:
        """Executes a run that has been claimed for :attr:`owner`."""
        self.keep_up()
        log = self.writer.open(run.id)
        task = asyncio.create_task(self._execute(run, log, turn), name=f"run-{run.id}")
        log.on_lost = task.cancel
        self._tasks[run.id] = task
        return task

    def stop(self, run_id: str) -> None:
        """Stops a run of this process; harmless for any other."""
        task = self._tasks.get(run_id)
        if task is not None and run_id not in self._stopping:
            self._stopping.add(run_id)
            task.cancel()

    def is_stopping(self, run_id: str) -> bool:
        """Whether somebody asked the run to stop, rather than the process."""
        return run_id in self._stopping

    async def interrupt_all(self) -> None:
        """Ends every run of this process as interrupted, and takes no new one.

        Returns when what they had said is stored, or after ``CLOSING`` seconds; what
        is left then is found by the sweep of dead runs.
        """
        self.is_closing = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSING)

    def in_background(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """A task that goes on whether or not somebody awaits it."""
        task = asyncio.create_task(work)
        self._helpers.add(task)
        task.add_done_callback(self._helpers.discard)
        return task

    async def to_the_end(self, work: Coroutine[Any, Any, None]) -> None:
        """Carries out ``work`` whole, also when a stop arrives meanwhile.

        Only the end of the event loop, which ends every task, cuts it off.
        """
        task = self.in_background(work)
        while not task.done():
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError:
                if task.cancelled():
                    raise
        await task

    async def _execute(self, run: Run, log: LiveLog, turn: Turn) -> None:
        try:
            await turn(run, log)
        except asyncio.CancelledError:
            if not log.lost.is_set() and not self.is_stopping(run.id):
                raise
        except Exception:
            logger.exception("Run %s ended by a fault", run.id)
            await self._guarded(_fail, run)
        finally:
            self.writer.close(log)
            self._tasks.pop(run.id, None)
            self._stopping.discard(run.id)

    def keep_up(self) -> None:
        """Starts the heartbeat and the listening, when they do not go on already."""
        if self._upkeep is None or self._upkeep.done():
            self._upkeep = asyncio.create_task(self._keep_up(), name="run-upkeep")

    async def _keep_up(self) -> None:
        with ExitStack() as listening:
            listening.enter_context(wakes().on(RUN_STOP, None, self.stop))
            listening.enter_context(wakes().on(RUN_QUEUED, None, self.continue_soon))
            await self._guarded(runs.interrupt_dead)
            while True:
                await asyncio.sleep(runs.HEARTBEAT)
                if self._tasks:
                    ids = list(self._tasks)
                    for run_id in await self._guarded(runs.beat, self.owner, ids) or ():
                        self.stop(run_id)

    async def _guarded(self, work: Callable[..., Any], *args: Any) -> Any:
        try:
            return await in_database_thread(work, *args)
        except DatabaseError as error:
            logger.warning("Upkeep of runs waits: %s", type(error).__name__)
            return None
        except Exception:
            logger.exception("Upkeep of runs met a fault")
            return None

    def continue_soon(self, thread_id: str) -> None:
        """Begins the next run of a thread, if one may begin."""
        self.in_background(self._continue(thread_id))

    async def _continue(self, thread_id: str) -> None:
        try:
            await self._continue_thread(thread_id)
        except DatabaseError as error:
            logger.warning("The next run waits: %s", type(error).__name__)
        except Exception:
            logger.exception("The next run of thread %s cannot begin", thread_id)


def _fail(run: Run) -> None:
    """Ends a run whose own end met a fault, with what the table has of its reply."""
    said = runs.events_after(run, 0)
    chunks = broken_off(said, run.message_id, runs.FAULT)
    runs.end(run, runs.Ending(Run.State.FAILED, "error", runs.FAULT, chunks), said)


_executors: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Executor] = (
    weakref.WeakKeyDictionary()
)


def executor_of_loop(continue_thread: Callable[[str], Awaitable[Any]]) -> Executor:
    """The executor of the running event loop, made for the first who asks."""
    loop = asyncio.get_running_loop()
    if loop not in _executors:
        _executors[loop] = Executor(continue_thread)
    return _executors[loop]


async def interrupt_runs() -> None:
    """Ends the runs of this process, which is told to stop; their text is stored."""
    executor = _executors.get(asyncio.get_running_loop())
    if executor is not None:
        await executor.interrupt_all()


async def shut_down() -> None:
    """:func:`interrupt_runs`, then closes what executing and reading had opened."""
    await interrupt_runs()
    await event_writer().shut_down()
    await wakes().shut_down()
    await close_readers()
