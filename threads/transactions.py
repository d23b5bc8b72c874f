"""Units of work that either happen whole or not at all, also beside other writers.

Writers of messages lock the rows of all threads concerned, in the order of their ids,
before they change anything. Two writers can still meet on the unique index of message
ids, in opposite orders; PostgreSQL then stops one of them, which simply begins again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from django.db import IntegrityError, OperationalError, connection, transaction
from psycopg import errors as postgres

from threads.anchors import Before
from threads.models import Thread
from threads.reach import Reach

T = TypeVar("T")

ATTEMPTS = 5

# What another writer's good timing can cause, and a second try cannot repeat for ever:
# a deadlock, or a parent row that was deleted between two statements.
_OUTRUN = (
    postgres.DeadlockDetected,
    postgres.SerializationFailure,
    postgres.ForeignKeyViolation,
)


def whole(work: Callable[[], T]) -> T:
    """Runs ``work`` in a transaction, again when other writers got in its way.

    Inside a caller's transaction there is one attempt only: the caller owns the rest.
    """
    attempts = 1 if connection.in_atomic_block else ATTEMPTS
    for attempt in range(1, attempts + 1):
        try:
            with transaction.atomic():
                return work()
        except (OperationalError, IntegrityError) as error:
            if attempt == attempts or not isinstance(error.__cause__, _OUTRUN):
                raise
    raise AssertionError("unreachable")


class Locked(NamedTuple):
    """What a locked thread's row says of its owner and of its messages."""

    resource_id: str
    before: Before


def locked(ids: Iterable[str], reach: Reach) -> dict[str, Locked]:
    """The threads within reach by id, locked for a change of their messages.

    Threads are locked in the order of their ids, against other writers and against
    deletion. Written by hand: every save begins with it.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, resource_id, message_count, last_message_at "
            "FROM threads_thread WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE",
            [list(ids)],
        )
        return {
            id: Locked(owner, Before(*before))
            for id, owner, *before in cursor.fetchall()
            if reach.covers(owner)
        }


def locked_threads(ids: Iterable[str], reach: Reach) -> dict[str, Thread]:
    """The threads of ``ids`` within reach, by id, locked against other writers."""
    rows = (
        Thread.objects.within(reach)
        .filter(id__in=list(ids))
        .order_by("id")
        .select_for_update(no_key=True)
    )
    return {thread.id: thread for thread in rows}
