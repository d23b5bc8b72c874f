"""What the writing verbs of `Memory` do: check, change, and let the embeddings follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings

from recall.arguments import (
    MAX_REVISION,
    Arguments,
    any_id,
    identifier,
    owner_id,
    revision,
)
from recall.embedding import indexing
from recall.filters import moment
from recall.results import CloneResult
from recall.working_memory import copy_for_clone
from threads import cloning, creating, deleting, editing, owners, saving, updating
from threads.errors import InvalidInput, ResourceNotFound
from threads.identifiers import whole_milliseconds
from threads.json_values import json_object
from threads.messages import normalise
from threads.models import Message, Resource, Thread
from threads.reach import Reach
from threads.text import storable
from threads.transactions import whole

_SAVED_THREAD = frozenset(
    {"id", "resource_id", "title", "metadata", "created_at", "updated_at"}
)
_CLONE_OPTIONS = frozenset({"message_limit", "message_filter"})
_CLONE_FILTER = frozenset({"start_date", "end_date", "message_ids"})


def create_thread(
    reach: Reach,
    *,
    resource_id: str,
    thread_id: str | None,
    title: str,
    metadata: Mapping[str, Any] | None,
    title_source: str | None,
    created_at: datetime | str | None,
    updated_at: datetime | str | None = None,
) -> Thread:
    """See :meth:`recall.memory.Memory.create_thread`."""
    resource_id = reached_resource(resource_id, reach)
    return creating.create_thread(
        reach,
        resource_id=resource_id,
        thread_id=_new_id(thread_id, "thread_id"),
        title=_title(title) or "",
        metadata=_metadata(metadata),
        title_source=_title_source(title_source),
        created_at=_moment(created_at, "created_at"),
        updated_at=_moment(updated_at, "updated_at"),
    )


def save_thread(reach: Reach, thread: Thread | Mapping[str, Any]) -> Thread:
    """See :meth:`recall.memory.Memory.save_thread`."""
    if isinstance(thread, Thread):
        thread = {name: getattr(thread, name) for name in _SAVED_THREAD}
    given = Arguments(thread, "thread", _SAVED_THREAD)
    return create_thread(
        reach,
        resource_id=given.get("resource_id"),
        thread_id=given.get("id"),
        title=given.get("title", ""),
        metadata=given.get("metadata"),
        title_source=None,
        created_at=given.get("created_at"),
        updated_at=given.get("updated_at"),
    )


def update_thread(
    reach: Reach,
    thread_id: str,
    *,
    resource_id: str | None,
    title: str | None,
    metadata: Mapping[str, Any] | None,
    title_source: str | None,
    expected_revision: int | None,
    replace: bool = False,
) -> Thread:
    """See :meth:`recall.memory.Memory.update_thread` and ``replace_thread``."""
    return updating.update_thread(
        any_id(thread_id, "thread_id"),
        reach,
        resource_id=owner_id(resource_id),
        title=_title(title),
        metadata=_metadata(metadata),
        title_source=_title_source(title_source),
        expected_revision=revision(expected_revision, "expected_revision"),
        replace=replace,
    )


def archive_thread(
    reach: Reach, thread_id: str, *, archived: bool, resource_id: str | None
) -> Thread:
    """See :meth:`recall.memory.Memory.archive_thread` and ``unarchive_thread``."""
    return updating.archive_thread(
        any_id(thread_id, "thread_id"),
        reach,
        archived=archived,
        resource_id=owner_id(resource_id),
    )


def delete_thread(
    reach: Reach,
    thread_id: str,
    *,
    resource_id: str | None,
    expected_revision: int | None,
) -> bool:
    """See :meth:`recall.memory.Memory.delete_thread`."""
    return deleting.delete_thread(
        any_id(thread_id, "thread_id"),
        reach,
        resource_id=owner_id(resource_id),
        expected_revision=revision(expected_revision, "expected_revision"),
    )


def delete_messages(reach: Reach, messages: Any, *, resource_id: str | None) -> int:
    """See :meth:`recall.memory.Memory.delete_messages`."""
    return deleting.delete_messages(
        message_ids(messages), reach, resource_id=owner_id(resource_id)
    )


def delete_all_messages(
    reach: Reach, thread_id: str, *, resource_id: str | None
) -> int:
    """See :meth:`recall.memory.Memory.delete_all_messages`."""
    return deleting.delete_all_messages(
        any_id(thread_id, "thread_id"), reach, resource_id=owner_id(resource_id)
    )


def delete_resource(reach: Reach, resource_id: str) -> bool:
    """See :meth:`recall.memory.Memory.delete_resource`."""
    return deleting.delete_resource(any_id(resource_id, "resource_id"), reach)


def save_messages(
    reach: Reach,
    messages: Any,
    *,
    thread_id: str | None,
    resource_id: str | None,
    limited: bool,
    then: Callable[[list[Message]], None],
) -> list[Message]:
    """See :meth:`recall.memory.Memory.save_messages`."""
    limit = settings.MEMORY.get("MAX_MESSAGE_BYTES") if limited else None
    batch = normalise(
        messages,
        thread_id=_given_id(thread_id, "thread_id"),
        resource_id=_given_id(resource_id, "resource_id"),
        max_bytes=limit,
    )
    return saving.save_messages(
        batch.drafts, reach, fresh_ids=batch.fresh_ids, then=then
    )


def update_messages(
    reach: Reach, changes: Any, *, then: Callable[[list[Message]], None]
) -> list[Message]:
    """See :meth:`recall.memory.Memory.update_messages`."""
    return editing.update_messages(changes, reach, then=then)


def set_model_title(reach: Reach, thread_id: str, title: str) -> bool:
    """See :meth:`recall.memory.Memory.set_model_title`."""
    return updating.set_model_title(
        any_id(thread_id, "thread_id"), reach, _title(title) or ""
    )


def message_ids(messages: Any) -> list[str]:
    """The ids in a list of ids and objects that have one."""
    if not isinstance(messages, (list, tuple, set, frozenset)):
        raise InvalidInput.of(
            "message_ids", "must be an array of message IDs or message objects"
        )
    ids = []
    for index, item in enumerate(messages):
        id = item.get("id") if isinstance(item, Mapping) else getattr(item, "id", item)
        if not isinstance(id, str):
            raise InvalidInput.of(
                f"message_ids.{index}",
                "must be a string or an object with an id property",
            )
        ids.append(storable(id))
    return list(dict.fromkeys(ids))


def clone_thread(
    reach: Reach,
    source_thread_id: str,
    *,
    new_thread_id: str | None,
    resource_id: str | None,
    title: str | None,
    metadata: Mapping[str, Any] | None,
    options: Mapping[str, Any] | None,
) -> CloneResult:
    """See :meth:`recall.memory.Memory.clone_thread`."""
    source_id = any_id(source_thread_id, "source_thread_id")
    thread_id = _new_id(new_thread_id, "new_thread_id")
    owner = _new_id(resource_id, "resource_id")
    if owner is not None:
        owner = reached_resource(owner, reach)
    title, metadata = _title(title), _metadata(metadata)
    selection = _selection(options)

    def work() -> cloning.Copy:
        copy = cloning.clone_thread(
            source_id,
            reach,
            thread_id=thread_id,
            resource_id=owner,
            title=title,
            metadata=metadata,
            selection=selection,
        )
        indexing.messages_cloned(list(copy.message_ids.items()))
        copy_for_clone(source_id, copy.thread)
        return copy

    copy = whole(work)
    return CloneResult(copy.thread, copy.messages, copy.message_ids)


def transfer_thread(
    reach: Reach,
    thread_id: str,
    *,
    resource_id: str,
    from_resource_id: str | None,
) -> Thread:
    """See :meth:`recall.memory.Memory.transfer_thread`."""
    thread_id = any_id(thread_id, "thread_id")
    resource_id = reached_resource(resource_id, reach)

    return whole(
        lambda: cloning.transfer_thread(
            thread_id,
            reach,
            resource_id=resource_id,
            from_resource_id=owner_id(from_resource_id),
        )
    )


def update_resource(
    reach: Reach, resource_id: str, *, metadata: Mapping[str, Any]
) -> Resource:
    """See :meth:`recall.memory.Memory.update_resource`."""
    resource_id = reached_resource(resource_id, reach)
    return owners.update_resource(
        resource_id, reach, metadata=json_object(metadata, "metadata")
    )


def reached_resource(resource_id: Any, reach: Reach) -> str:
    """A resource id that may be written to, existing or not."""
    resource_id = identifier(resource_id, "resource_id")
    if not reach.covers(resource_id):
        raise ResourceNotFound(resource_id)
    return resource_id


def _given_id(value: Any, field: str) -> str | None:
    return None if value is None else identifier(value, field)


def _new_id(value: Any, field: str) -> str | None:
    """An id that may be left to us: None and empty text do that."""
    return None if value is None or value == "" else identifier(value, field)


def _title(title: Any) -> str | None:
    if title is not None and not isinstance(title, str):
        raise InvalidInput.of("title", "must be a string")
    return storable(title)


def _title_source(value: Any) -> str | None:
    if value is not None and value not in Thread.TitleSource.values:
        raise InvalidInput.of(
            "title_source", f"must be one of {', '.join(Thread.TitleSource.values)}"
        )
    return value


def _metadata(value: Any) -> dict[str, Any] | None:
    return None if value is None else json_object(value, "metadata")


def _moment(value: Any, field: str) -> datetime | None:
    value = moment(value, field)
    return whole_milliseconds(value) if value is not None else None


def _selection(options: Mapping[str, Any] | None) -> cloning.Selection:
    if options is None:
        return cloning.Selection()
    given = Arguments(options, "options", _CLONE_OPTIONS)
    limit = given.get("message_limit")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
        raise InvalidInput.of(given.field("message_limit"), "must be an integer")
    if limit is not None and limit > MAX_REVISION:
        raise InvalidInput.of(given.field("message_limit"), "is out of range")
    narrowed = Arguments(
        given.get("message_filter", {}), given.field("message_filter"), _CLONE_FILTER
    )
    ids = narrowed.get("message_ids")
    if ids is not None and (
        not isinstance(ids, (list, tuple)) or not all(isinstance(i, str) for i in ids)
    ):
        raise InvalidInput.of(
            narrowed.field("message_ids"), "must be a list of strings"
        )
    return cloning.Selection(
        start=moment(narrowed.get("start_date"), narrowed.field("start_date")),
        end=moment(narrowed.get("end_date"), narrowed.field("end_date")),
        message_ids=None if ids is None else [storable(id) for id in ids],
        # As the reference has it, a limit of 0 or less is no limit.
        limit=limit if limit and limit > 0 else None,
    )
