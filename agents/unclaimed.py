"""Queued runs that no process takes, because none knows their agent any more."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import InterfaceError, OperationalError
from django.db.models import DateTimeField, F, OuterRef, Subquery
from django.db.models.functions import Coalesce, Greatest

from agents import runs
from agents.chunks import Chunk
from agents.models import Run
from agents.registry import is_known
from threads.identifiers import now

logger = logging.getLogger(__name__)

# Seconds for which a run that could begin waits for a process that knows its agent.
PATIENCE = 60.0
# Runs ended in one sweep.
AT_ONCE = 100


def end_unclaimed(*, after: float = PATIENCE) -> list[Run]:
    """Fails the queued runs that have waited for an agent that nobody knows.

    Only the first in the queue of a thread in which no run speaks, counted from when it
    could have begun. Returns the runs that this call ended; the next in the queue may
    begin then.
    """
    of_thread = Run.objects.filter(thread_id=OuterRef("thread_id"))
    speaking = of_thread.filter(state=Run.State.RUNNING)
    ended = of_thread.order_by(F("finished_at").desc(nulls_last=True))
    queued = of_thread.filter(state=Run.State.QUEUED).order_by("created_at", "id")
    waiting = (
        Run.objects.filter(state=Run.State.QUEUED, id=Subquery(queued.values("id")[:1]))
        .exclude(thread_id__in=speaking.values("thread_id"))
        .annotate(
            could_begin=Greatest(
                "created_at",
                Coalesce(
                    Subquery(
                        ended.values("finished_at")[:1],
                        output_field=DateTimeField(),
                    ),
                    F("created_at"),
                ),
            )
        )
        .filter(could_begin__lt=now() - timedelta(seconds=after))
        .order_by("created_at")
    )
    return [r for r in waiting[:AT_ONCE] if not is_known(r.agent_id) and _fail(r)]


def _fail(run: Run) -> bool:
    message = f"The agent {run.agent_id} is not known here any more."
    error = {"name": "AgentNotFound", "message": message}
    ending = runs.Ending(
        Run.State.FAILED, "error", message, [Chunk("error", {"error": error})]
    )
    try:
        return runs.end(run, ending, [], from_state=Run.State.QUEUED) is not None
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("Queued run %s cannot be ended", run.id)
        return False
