"""Handing work to Celery without ever harming the request that asks for it."""

from __future__ import annotations

import logging

from celery import Task
from django.db import transaction

logger = logging.getLogger(__name__)


def enqueue_on_commit(task: Task, *args: str | int) -> None:
    """Publishes a task once the open transaction has committed, at once without one.

    The row is the truth and the task a hint: a broker that cannot be reached is logged
    and otherwise ignored, and the periodic sweeps find the work later. Waits for an
    unreachable broker about a second, and does not retry.
    """
    transaction.on_commit(lambda: publish(task, *args), robust=True)


def publish(task: Task, *args: str | int) -> bool:
    """Hands a task over now; False when the broker could not take it."""
    try:
        task.apply_async(args, retry=False)
    except Exception:
        # Clients of the supported brokers raise errors without a common base.
        logger.warning("Task %s was not handed over", task.name, exc_info=True)
        return False
    return True
