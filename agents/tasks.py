"""Periodic work: what was lost with a process is found again in the database."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from celery import shared_task
from django.db.models import Exists, OuterRef

from agents import runs
from agents.executing import shut_down
from agents.models import Run
from agents.title_task import generate_title
from agents.titles import title_wanted
from agents.turn import continue_thread
from agents.unclaimed import end_unclaimed
from threads.dispatch import publish
from threads.identifiers import now
from threads.models import Thread

__all__ = ["generate_title", "interrupt_dead_runs", "prune_run_events", "sweep_titles"]

# Seconds for which a queued run is left to the processes that serve requests.
GRACE = 5.0


@shared_task(name="agents.tasks.interrupt_dead_runs")
def interrupt_dead_runs() -> int:
    """Ends runs whose process died, and executes those that waited for them.

    A queued run whose agent nobody knows ends as failed.
    """
    ended = runs.interrupt_dead()
    ended += end_unclaimed()
    for thread_id in _left_waiting():
        asyncio.run(_execute_next(thread_id))
    return len(ended)


def _left_waiting() -> list[str]:
    """Threads with a queued run that nobody has begun although none speaks."""
    speaking = Run.objects.filter(
        thread_id=OuterRef("thread_id"), state=Run.State.RUNNING
    )
    waiting = Run.objects.filter(
        ~Exists(speaking),
        state=Run.State.QUEUED,
        created_at__lt=now() - timedelta(seconds=GRACE),
    )
    return list(waiting.values_list("thread_id", flat=True).distinct()[:20])


async def _execute_next(thread_id: str) -> None:
    task = await continue_thread(thread_id)
    if task is not None:
        await task
    await shut_down()


@shared_task(name="agents.tasks.prune_run_events")
def prune_run_events() -> int:
    """Removes the logs of runs that ended an hour ago."""
    return runs.prune_events()


@shared_task(name="agents.tasks.sweep_titles")
def sweep_titles() -> int:
    """Hands over again the titles whose task was lost; tells how many."""
    since = now() - timedelta(days=1)
    answered = Run.objects.filter(
        thread_id=OuterRef("id"),
        state=Run.State.COMPLETED,
        finished_at__lt=now() - timedelta(seconds=20),
    )
    untitled = Thread.objects.filter(
        Exists(answered),
        title_source=Thread.TitleSource.NONE,
        title="",
        updated_at__gt=since,
    ).order_by("-updated_at")[:200]
    from_lost = [thread.id for thread in untitled if title_wanted(thread)]
    return sum(publish(generate_title, thread_id) for thread_id in from_lost)
