"""Whose working memory is meant: a thread's, or a resource's."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from recall.arguments import owner_id
from recall.config import WorkingMemoryConfig
from recall.models import WorkingMemory
from threads.errors import (
    InvalidInput,
    OwnershipError,
    ResourceNotFound,
    ThreadNotFound,
)
from threads.models import Thread
from threads.reach import Reach
from threads.updating import own_thread

METADATA_KEY = "workingMemory"


@dataclass(frozen=True)
class Owner:
    """The owner of working memory in the scope that is configured.

    ``thread`` is the thread that was named, whatever the scope; None when none was, or
    when it does not exist within reach. ``resource_id`` is None when it is not known.
    """

    resource_id: str | None
    thread: Thread | None
    scope: str

    @property
    def exists(self) -> bool:
        """Whether there can be working memory of this owner."""
        owner = self.thread if self.scope == "thread" else self.resource_id
        return owner is not None

    def rows(self) -> QuerySet[WorkingMemory]:
        """The owner's working memory: one row or none."""
        if not self.exists:
            return WorkingMemory.objects.none()
        if self.scope == "thread":
            return WorkingMemory.objects.filter(thread=self.thread)
        return WorkingMemory.objects.filter(resource=self.resource_id)

    def in_metadata(self) -> str | None:
        """The notes in the thread's metadata, where scope ``thread`` has them."""
        if self.scope != "thread" or self.thread is None:
            return None
        text = self.thread.metadata.get(METADATA_KEY)
        return text if isinstance(text, str) else None


def owner_of(
    reach: Reach,
    options: WorkingMemoryConfig,
    thread_id: str | None,
    resource_id: str | None,
    *,
    lock: bool = False,
) -> Owner:
    """The owner of the working memory that ``options`` speaks of.

    With ``lock``, for a write, the thread must exist within reach and is locked if the
    notes are its own; the resource must be within reach. Without it, what is missing or
    out of reach has no notes.

    Raises InvalidInput when the owner cannot be told, OwnershipError when the thread is
    another resource's, and for a write ThreadNotFound or ResourceNotFound.
    """
    thread = None
    thread_id = owner_id(thread_id, "thread_id")
    resource_id = owner_id(resource_id)
    if thread_id is not None and lock and options.scope == "thread":
        thread = own_thread(thread_id, reach, resource_id)
    elif thread_id is not None:
        thread = Thread.objects.within(reach).filter(id=thread_id).first()
        if thread is None and lock:
            raise ThreadNotFound(thread_id)
    if thread is not None and resource_id not in (None, thread.resource_id):
        raise OwnershipError(
            f"Thread with id {thread.id} is for resource with id "
            f"{thread.resource_id} but resource {resource_id} was queried."
        )
    if thread is not None:
        resource_id = thread.resource_id
    if options.scope == "thread":
        if thread_id is None and options.enabled:
            raise InvalidInput.of("thread_id", "is required for working memory")
        return Owner(resource_id, thread, "thread")
    if resource_id is None and thread_id is None and options.enabled:
        raise InvalidInput.of(
            "resource_id",
            "Resource-scoped working memory is enabled but no resource_id was given. "
            "Give one, or set working_memory.scope to 'thread'.",
        )
    if resource_id is not None and not reach.covers(resource_id):
        if lock:
            raise ResourceNotFound(resource_id)
        resource_id = None
    return Owner(resource_id, thread, "resource")
