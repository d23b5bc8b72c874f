"""Removing messages, threads and resources, with all that hangs on them."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from threads.activity import Movements, messages_changed
from threads.anchors import clear
from threads.errors import OwnershipError, PreconditionFailed
from threads.models import Message, Resource, Thread
from threads.reach import Reach
from threads.transactions import locked, whole
from threads.updating import own_thread


def delete_thread(
    thread_id: str,
    reach: Reach,
    *,
    resource_id: str | None = None,
    expected_revision: int | None = None,
) -> bool:
    """Removes a thread and everything in it; False when there is none.

    Raises OwnershipError when ``resource_id`` is named and does not own it, and
    PreconditionFailed when the thread is not at ``expected_revision``.
    """
    rows = Thread.objects.within(reach).filter(id=thread_id)
    if resource_id is not None:
        owner = rows.values_list("resource_id", flat=True).first()
        if owner is not None and owner != resource_id:
            raise OwnershipError(
                f"Thread with id {thread_id} is for resource with id {owner} "
                f"but resource {resource_id} was queried."
            )
        rows = rows.filter(resource_id=resource_id)
    if expected_revision is None:
        return whole(lambda: rows.delete()[0] > 0)

    def work() -> bool:
        if rows.filter(revision=expected_revision).delete()[0]:
            return True
        present = rows.first()
        if present is None:
            return False
        raise PreconditionFailed(
            f"Thread {thread_id} is at revision {present.revision}, "
            f"not {expected_revision}",
            current=present,
        )

    return whole(work)


def delete_resource(resource_id: str, reach: Reach) -> bool:
    """Removes a resource with all its threads and memory; False when there is none."""
    rows = Resource.objects.within(reach).filter(id=resource_id)
    return whole(lambda: rows.delete()[0] > 0)


_DELETE = """
DELETE FROM threads_message WHERE id = ANY(%s) AND thread_id = ANY(%s)
RETURNING thread_id, created_at, position
"""


def delete_messages(
    ids: Sequence[str], reach: Reach, *, resource_id: str | None = None
) -> int:
    """Removes the messages of ``ids`` that exist; tells how many there were.

    All or none: raises OwnershipError when ``resource_id`` is named and does not own
    every one of them.
    """

    rows = Message.objects.within(reach).filter(id__in=ids)

    def work() -> int:
        deleted = 0
        # Once more as long as something was moved away between the look and the lock.
        while found := list(rows.values_list("thread_id", "resource_id")):
            if resource_id is not None and any(o != resource_id for _, o in found):
                raise OwnershipError(
                    f"Not all messages belong to resource {resource_id}"
                )
            threads = locked({thread for thread, _ in found}, reach)
            with connection.cursor() as cursor:
                cursor.execute(_DELETE, [list(ids), list(threads)])
                gone = cursor.fetchall()
            movements = Movements()
            for thread_id, *place in gone:
                movements.note(tuple(place), thread_id, None)
            messages_changed({id: movements.added(id) for id in movements.left})
            movements.follow(threads)
            deleted += len(gone)
        return deleted

    return whole(work) if ids else 0


def delete_all_messages(
    thread_id: str, reach: Reach, *, resource_id: str | None = None
) -> int:
    """Empties a thread; tells how many messages there were.

    Raises ThreadNotFound and OwnershipError.
    """

    def work() -> int:
        own_thread(thread_id, reach, resource_id)
        count, _ = Message.objects.filter(thread_id=thread_id).delete()
        if count:
            messages_changed({thread_id: -count})
            clear(thread_id)
        return count

    return whole(work)
