"""Beginning a conversation, or finding that it exists already."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from psycopg.errors import UniqueViolation

from threads.errors import OwnershipError
from threads.identifiers import new_id, now
from threads.lineage import source_in
from threads.models import Resource, Thread
from threads.reach import Reach
from threads.transactions import locked_threads, whole
from threads.updating import apply_changes


def create_thread(
    reach: Reach,
    *,
    resource_id: str,
    thread_id: str | None = None,
    title: str = "",
    metadata: dict[str, Any] | None = None,
    title_source: str | None = None,
    created_at: datetime | None = None,
    updated_at: datetime | None = None,
) -> Thread:
    """The thread ``thread_id`` of ``resource_id``, made if it does not exist.

    An existing thread of the same resource is returned with a given title, metadata
    and times merged in. Raises OwnershipError when another resource has it. The
    resource is made when it is new.
    """

    def work() -> Thread:
        ensure_resource(resource_id)
        made = insert_thread(
            Thread(
                id=thread_id or new_id(),
                resource_id=resource_id,
                title=title,
                title_source=title_source or named_by(title),
                metadata=metadata or {},
                created_at=created_at or now(),
                updated_at=updated_at or created_at or now(),
                source_thread_id=source_in(metadata or {}),
            )
        )
        return made or _existing()

    def _existing() -> Thread:
        found = locked_threads([thread_id], Reach.of([resource_id]))
        if not found:
            raise OwnershipError(f"Thread {thread_id} belongs to another resource")
        thread = found[thread_id]
        if not (title or metadata or title_source or created_at or updated_at):
            return thread
        thread.created_at = created_at or thread.created_at
        return apply_changes(
            thread,
            title=title or None,
            metadata=metadata,
            title_source=title_source,
            updated_at=updated_at,
        )

    return whole(work)


def named_by(title: str) -> str:
    """Who a title is from when the caller does not say: a person, if there is one."""
    return Thread.TitleSource.USER if title else Thread.TitleSource.NONE


def ensure_resource(resource_id: str) -> None:
    """Makes the resource unless it exists. It must have been checked to be in reach."""
    if not Resource.objects.filter(id=resource_id).exists():
        Resource.objects.bulk_create([Resource(id=resource_id)], ignore_conflicts=True)


def insert_thread(thread: Thread) -> Thread | None:
    """Stores a new thread; None when its id is taken."""
    try:
        with transaction.atomic():
            thread.save(force_insert=True)
    except IntegrityError as error:
        if isinstance(error.__cause__, UniqueViolation):
            return None
        raise
    return thread
