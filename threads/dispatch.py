"""Handing work to Celery without ever harming the request that asks for it."""

from __future__ import annotations

import logging
import time

from celery import Task
from django.db import transaction

logger = logging.getLogger(__name__)

# Seconds. A broker that took longer than SLOW to fail is left alone for REST, so that
# not every request waits for it.
SLOW = 0.5
REST = 5.0


class BrokerRest:
    """Until when this process leaves a slow broker alone (a monotonic time)."""

    until = 0.0


def publish(task: Task, *args: str | int) -> bool:
    """Hands a task over now; False when the broker cannot take it, or is resting."""
    begun = time.monotonic()
    if begun < BrokerRest.until:
        return False
    try:
        task.apply_async(args, retry=False)
    except Exception as error:
        # Clients of the supported brokers raise errors without a common base.
        if time.monotonic() - begun > SLOW:
            BrokerRest.until = time.monotonic() + REST
        logger.warning("Task %s was not handed over: %r", task.name, error)
        return False
    return True


def enqueue_on_commit(task: Task, *args: str | int) -> None:
    """Publishes a task once the open transaction has committed, at once without one.

    The row is the truth and the task a hint: a broker that cannot be reached is logged
    and otherwise ignored, and the periodic sweeps find the work later.
    """
    transaction.on_commit(lambda: publish(task, *args), robust=True)
