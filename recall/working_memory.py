"""Working memory: notes about a resource or a thread, with every value they had.

A :class:`~recall.models.WorkingMemory` row holds the present value and its revisions. A
thread's notes are also in its metadata, under ``workingMemory``, where clients read and
seed them: a text there is the present value, whoever wrote it, and becomes a revision
with the next write. Writers lock the row, so that updates of different fields all
survive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F
from django.db.models.functions import Greatest

from recall import notes
from recall.arguments import owner_id
from recall.arguments import revision as checked_revision
from recall.config import MemoryConfig, WorkingMemoryConfig
from recall.models import WorkingMemory, WorkingMemoryRevision
from recall.notes import DEFAULT_TEMPLATE, instructions
from recall.working_memory_owner import METADATA_KEY, Owner, owner_of
from threads.creating import ensure_resource
from threads.errors import (
    Conflict,
    InvalidInput,
    NotConfigured,
    NotFound,
    PreconditionFailed,
    TooLarge,
)
from threads.identifiers import MAX_ID_LENGTH, now
from threads.models import Resource, Thread
from threads.reach import Reach
from threads.text import storable
from threads.transactions import ATTEMPTS, whole
from threads.updating import apply_changes

__all__ = [
    "DEFAULT_TEMPLATE",
    "WorkingMemoryState",
    "copy_for_clone",
    "get_working_memory",
    "instructions",
    "list_working_memory_revisions",
    "restore_working_memory",
    "update_working_memory",
]

MAX_BYTES = 1024 * 1024

NOT_ENABLED = "Working memory is not enabled for this memory instance"

Author = WorkingMemoryRevision.Author


@dataclass(frozen=True)
class WorkingMemoryState:
    """Working memory as it is.

    ``value`` is None when nothing was written, ``revision`` then 0. ``template`` is
    ``{"format": "markdown" | "json", "content": text}``, None when working memory is
    off. ``thread_exists`` tells about the thread that was named, if one was.
    """

    value: str | None
    scope: str
    revision: int = 0
    template: dict[str, str] | None = None
    thread_exists: bool = False
    updated_at: datetime | None = None


def get_working_memory(
    reach: Reach,
    config: MemoryConfig,
    *,
    thread_id: str | None = None,
    resource_id: str | None = None,
) -> WorkingMemoryState:
    """The notes in the scope that the configuration says.

    In scope ``resource`` the resource may be named, or is the thread's. Off: no value and
    no template. Raises InvalidInput when the owner cannot be told, OwnershipError when
    the thread is another resource's.
    """
    options = config.working_memory
    owner = owner_of(reach, options, thread_id, resource_id)
    exists = owner.thread is not None
    if not options.enabled:
        return WorkingMemoryState(None, owner.scope, thread_exists=exists)
    return _state(owner, options, owner.rows().first())


def _state(
    owner: Owner, options: WorkingMemoryConfig, row: WorkingMemory | None
) -> WorkingMemoryState:
    value = owner.in_metadata()
    if value is None and row is not None:
        value = row.value
    return WorkingMemoryState(
        value=value,
        scope=owner.scope,
        revision=row.revision if row is not None else 0,
        template=notes.template(options),
        thread_exists=owner.thread is not None,
        updated_at=row.updated_at if row is not None else None,
    )


def update_working_memory(
    reach: Reach,
    config: MemoryConfig,
    *,
    value: str | Mapping[str, Any] | None = None,
    merge: str | Mapping[str, Any] | None = None,
    thread_id: str | None = None,
    resource_id: str | None = None,
    author: str = "api",
    author_name: str = "",
    message_id: str = "",
    expected_revision: int | None = None,
) -> WorkingMemoryState:
    """Writes the notes and returns them: ``value`` replaces, ``merge`` updates them.

    See :func:`recall.notes.replaced` and :func:`recall.notes.merged` for what each
    accepts. A write that changes nothing is no revision. ``author`` is one of user,
    model, tool, admin, api, import; ``message_id`` the message that the change came from.

    Raises NotConfigured when working memory is off, PreconditionFailed when the notes
    are not at ``expected_revision`` (0: not written yet), InvalidInput when the change
    does not fit the template or schema, and what :func:`get_working_memory` raises.
    """
    options = _enabled(config)
    if (value is None) == (merge is None):
        raise InvalidInput.of("value", "give either value or merge")
    _known_author(author)
    author_name = _text(author_name, "author_name")
    message_id = owner_id(message_id or None, "message_id") or ""
    if len(message_id) > MAX_ID_LENGTH:
        raise InvalidInput.of(
            "message_id", f"must be at most {MAX_ID_LENGTH} characters"
        )
    expected_revision = checked_revision(expected_revision, "expected_revision")

    def change(current: str | None) -> str:
        if merge is not None:
            return notes.merged(current, merge, options)
        return notes.replaced(value, options)

    def work() -> WorkingMemoryState:
        owner = owner_of(reach, options, thread_id, resource_id, lock=True)
        row = _locked(owner)
        _expect(expected_revision, owner, options, row)
        _adopt(owner, row)
        new = change(row.value if row.revision else None)
        if len(new.encode()) > MAX_BYTES:
            raise TooLarge(f"value: working memory may have {MAX_BYTES} bytes")
        if new != row.value or not row.revision:
            _write(
                row,
                new,
                author=author,
                author_name=author_name,
                message_id=message_id,
            )
            _tell_owner(owner, new)
        return _state(owner, options, row)

    return whole(work)


def list_working_memory_revisions(
    reach: Reach,
    config: MemoryConfig,
    *,
    thread_id: str | None = None,
    resource_id: str | None = None,
) -> list[WorkingMemoryRevision]:
    """Every value that the notes had, newest first."""
    owner = owner_of(reach, config.working_memory, thread_id, resource_id)
    return list(
        WorkingMemoryRevision.objects.filter(memory__in=owner.rows()).order_by(
            "-number"
        )
    )


def restore_working_memory(
    reach: Reach,
    config: MemoryConfig,
    revision: int,
    *,
    thread_id: str | None = None,
    resource_id: str | None = None,
    author: str = "api",
    author_name: str = "",
    expected_revision: int | None = None,
) -> WorkingMemoryState:
    """Makes the value of an earlier revision the newest one, as a revision of its own.

    Raises NotFound when there is no such revision.
    """
    options = _enabled(config)
    _known_author(author)
    author_name = _text(author_name, "author_name")
    revision = checked_revision(revision, "revision")
    if revision is None:
        raise InvalidInput.of("revision", "must be the number of a revision")
    expected_revision = checked_revision(expected_revision, "expected_revision")

    def work() -> WorkingMemoryState:
        owner = owner_of(reach, options, thread_id, resource_id, lock=True)
        row = _locked(owner)
        _expect(expected_revision, owner, options, row)
        _adopt(owner, row)
        earlier = row.revisions.filter(number=revision).first()
        if earlier is None:
            raise NotFound(f"Working memory has no revision {revision}")
        _write(
            row,
            earlier.value,
            author=author,
            author_name=author_name,
            restored_from=revision,
        )
        _tell_owner(owner, earlier.value)
        return _state(owner, options, row)

    return whole(work)


def copy_for_clone(source_thread_id: str, clone: Thread) -> None:
    """Gives a clone the notes of its source, in the caller's transaction.

    The clone begins with them as its first revision; what either thread notes later is
    its own. Notes of the resource are shared and need no copy.
    """
    thread = Thread.objects.filter(id=source_thread_id).first()
    source = Owner(None, thread, "thread")
    row = source.rows().first()
    value = source.in_metadata() or (row.value if row is not None else None)
    if value is None:
        return
    owner = Owner(clone.resource_id, clone, "thread")
    name = f"clone of {source_thread_id}"
    _write(_locked(owner), value, author=Author.IMPORT, author_name=name)
    if owner.in_metadata() is None:
        clone.metadata = {**clone.metadata, METADATA_KEY: value}
        clone.save(update_fields=["metadata"])


def _enabled(config: MemoryConfig) -> WorkingMemoryConfig:
    if not config.working_memory.enabled:
        raise NotConfigured(NOT_ENABLED)
    return config.working_memory


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput.of(field, "must be a string")
    return storable(value)


def _known_author(author: str) -> None:
    if not isinstance(author, str) or author not in Author.values:
        raise InvalidInput.of("author", f"must be one of {', '.join(Author.values)}")


def _locked(owner: Owner) -> WorkingMemory:
    """The owner's row, made if it is missing, locked until the transaction ends.

    Two first writers both try to insert; the second waits for the first on the unique
    owner, finds the row there, and then waits for its lock.
    """
    for _ in range(ATTEMPTS):
        if owner.scope == "resource":
            ensure_resource(owner.resource_id)
            blank = WorkingMemory(resource_id=owner.resource_id)
        else:
            blank = WorkingMemory(thread=owner.thread)
        WorkingMemory.objects.bulk_create([blank], ignore_conflicts=True)
        row = owner.rows().select_for_update().first()
        if row is not None:
            return row
        # The resource was deleted between the two statements.
    raise Conflict("The owner of the working memory keeps being deleted")


def _adopt(owner: Owner, row: WorkingMemory) -> None:
    """Makes a revision of notes that were written into the thread's metadata."""
    text = owner.in_metadata()
    if text is not None and (text != row.value or not row.revision):
        _write(row, text, author=Author.API, author_name="thread metadata")


def _expect(
    expected: int | None,
    owner: Owner,
    options: WorkingMemoryConfig,
    row: WorkingMemory,
) -> None:
    if expected is not None and expected != row.revision:
        raise PreconditionFailed(
            f"Working memory is at revision {row.revision}, not {expected}",
            current=_state(owner, options, row),
        )


def _write(row: WorkingMemory, value: str, **about: Any) -> None:
    row.value = value
    row.revision += 1
    row.updated_at = max(now(), row.updated_at)
    row.save(update_fields=["value", "revision", "updated_at"])
    row.revisions.create(
        number=row.revision, value=value, created_at=row.updated_at, **about
    )


def _tell_owner(owner: Owner, value: str) -> None:
    """The owner has changed too, and a thread shows its notes in its metadata."""
    if owner.scope == "thread":
        apply_changes(owner.thread, metadata={METADATA_KEY: value})
    else:
        Resource.objects.filter(id=owner.resource_id).update(
            updated_at=Greatest(now(), F("updated_at") + timedelta(milliseconds=1))
        )
