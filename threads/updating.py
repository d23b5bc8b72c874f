"""Changing what is known about a conversation. Its messages have their own modules."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from threads.errors import OwnershipError, PreconditionFailed, ThreadNotFound
from threads.identifiers import now
from threads.lineage import source_in
from threads.models import Thread
from threads.reach import Reach
from threads.transactions import locked_threads, whole

TitleSource = Thread.TitleSource


def own_thread(thread_id: str, reach: Reach, resource_id: str | None = None) -> Thread:
    """The thread, locked for a change.

    Raises ThreadNotFound when it does not exist within reach, OwnershipError when
    ``resource_id`` is named and does not own it.
    """
    thread = locked_threads([thread_id], reach).get(thread_id)
    if thread is None:
        raise ThreadNotFound(thread_id)
    if resource_id is not None and thread.resource_id != resource_id:
        raise OwnershipError(
            f"Thread with id {thread_id} is for resource with id "
            f"{thread.resource_id} but resource {resource_id} was queried."
        )
    return thread


def update_thread(
    thread_id: str,
    reach: Reach,
    *,
    resource_id: str | None = None,
    title: str | None = None,
    metadata: dict[str, Any] | None = None,
    title_source: str | None = None,
    expected_revision: int | None = None,
    replace: bool = False,
) -> Thread:
    """Changes the title and merges metadata into the thread's, or ``replace`` s both."""

    def work() -> Thread:
        thread = own_thread(thread_id, reach, resource_id)
        if expected_revision is not None and thread.revision != expected_revision:
            raise PreconditionFailed(
                f"Thread {thread_id} is at revision {thread.revision}, "
                f"not {expected_revision}",
                current=thread,
            )
        if replace:
            thread.metadata = {}
        return apply_changes(
            thread, title=title, metadata=metadata, title_source=title_source
        )

    return whole(work)


def apply_changes(
    thread: Thread,
    *,
    title: str | None = None,
    metadata: dict[str, Any] | None = None,
    title_source: str | None = None,
    updated_at: datetime | None = None,
) -> Thread:
    """Writes changes to a locked thread. None leaves a value as it is."""
    if title is not None:
        thread.title = title
        thread.title_source = title_source or (
            TitleSource.USER if title else TitleSource.NONE
        )
    elif title_source is not None:
        thread.title_source = title_source
    thread.metadata = {**thread.metadata, **(metadata or {})}
    thread.source_thread_id = source_in(thread.metadata)
    return changed(thread, updated_at=updated_at)


def changed(thread: Thread, *, updated_at: datetime | None = None) -> Thread:
    """Saves a locked thread as changed now: later than before, one revision on."""
    later = max(now(), thread.updated_at + timedelta(milliseconds=1))
    thread.updated_at = updated_at or later
    thread.revision += 1
    thread.save(force_update=True)
    return thread


def set_model_title(thread_id: str, reach: Reach, title: str) -> bool:
    """Titles a thread that nobody has titled; False when somebody has, or it is gone."""

    def work() -> bool:
        thread = locked_threads([thread_id], reach).get(thread_id)
        if thread is None or thread.title or thread.title_source != TitleSource.NONE:
            return False
        apply_changes(thread, title=title, title_source=TitleSource.MODEL)
        return True

    return whole(work)


def archive_thread(
    thread_id: str, reach: Reach, *, archived: bool, resource_id: str | None = None
) -> Thread:
    """Puts the thread aside or takes it back; nothing is written if it is so already."""

    def work() -> Thread:
        thread = own_thread(thread_id, reach, resource_id)
        if archived == (thread.archived_at is not None):
            return thread
        thread.archived_at = now() if archived else None
        return changed(thread)

    return whole(work)
