"""Copying a conversation inside the database, and handing one over to another owner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.db import connection

from threads import anchors
from threads.creating import ensure_resource, insert_thread, named_by
from threads.errors import Conflict, ThreadNotFound
from threads.identifiers import new_id, now
from threads.models import Message, Thread
from threads.reach import Reach
from threads.rows import columns_of, messages_from
from threads.updating import changed, own_thread


@dataclass(frozen=True)
class Selection:
    """Which messages of a thread are copied.

    Times are inclusive, None leaves a side open. ``message_ids`` None means any id, an
    empty sequence none. Of what is left, ``limit`` keeps the newest; None keeps all.
    """

    start: datetime | None = None
    end: datetime | None = None
    message_ids: Sequence[str] | None = None
    limit: int | None = None


@dataclass(frozen=True)
class Copy:
    """A copied thread, its messages in order, and their ids by the ids of the sources."""

    thread: Thread
    messages: list[Message]
    message_ids: dict[str, str]


def clone_thread(
    source_id: str,
    reach: Reach,
    *,
    thread_id: str | None = None,
    resource_id: str | None = None,
    title: str | None = None,
    metadata: dict[str, Any] | None = None,
    selection: Selection = Selection(),
) -> Copy:
    """Copies a thread with the selected messages, which keep their times and order.

    Must run in a transaction. The source is neither locked nor changed: its messages
    are copied as they stand at one moment. Raises ThreadNotFound for the source and
    Conflict when ``thread_id`` is taken.
    """
    source = Thread.objects.within(reach).filter(id=source_id).first()
    if source is None:
        raise ThreadNotFound(source_id, f"Source thread with id {source_id} not found")
    owner = resource_id or source.resource_id
    ensure_resource(owner)
    default_title = f"Clone of {source.title}" if source.title else ""
    copied_at = now()
    clone = insert_thread(
        Thread(
            id=thread_id or new_id(),
            resource_id=owner,
            title=title or default_title,
            title_source=named_by(title) if title else source.title_source,
            source_thread=source,
            created_at=copied_at,
            updated_at=copied_at,
        )
    )
    if clone is None:
        raise Conflict(f"Thread with id {thread_id} already exists")
    messages, message_ids = _copy_messages(source_id, clone, selection, copied_at)
    record = {
        "sourceThreadId": source_id,
        "clonedAt": copied_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    if message_ids:
        record["lastMessageId"] = list(message_ids)[-1]
    clone.metadata = {**source.metadata, **(metadata or {}), "clone": record}
    clone.message_count = len(messages)
    clone.last_message_at = messages[-1].created_at if messages else None
    clone.save(force_update=True)
    anchors.fill(clone.id, clone.message_count)
    return Copy(clone, messages, message_ids)


# A version 7 UUID (RFC 9562, 5.7): 48 bits of Unix time in milliseconds, then random bits
# between the fixed ones. They come from a hash salted at random, which costs a tenth of
# a random number for each row.
_NEW_ID = """(
    stamp || '7' || substr(hash, 1, 3) || to_hex(8 | (ascii(substr(hash, 4, 1)) & 3))
    || substr(hash, 5, 15)
)::uuid::text"""

_COPY = f"""
WITH picked AS MATERIALIZED (
    SELECT message.*, {_NEW_ID} AS new_id FROM threads_message AS message
    CROSS JOIN LATERAL (
        SELECT %s AS stamp, md5(%s || message.id) AS hash
    ) AS bits
    WHERE {{condition}}
    ORDER BY message.created_at DESC, message.position DESC LIMIT %s
), copied AS (
    INSERT INTO threads_message (
        id, thread_id, resource_id, role, type, content, text, created_at, updated_at)
    SELECT new_id, %s, %s, role, type, content, text, created_at, %s FROM picked
    ORDER BY created_at, position
    RETURNING *
)
SELECT picked.id, {columns_of("copied")}
FROM copied JOIN picked ON picked.new_id = copied.id
ORDER BY copied.created_at, copied.position
"""


def _copy_messages(
    source_id: str, clone: Thread, selection: Selection, copied_at: datetime
) -> tuple[list[Message], dict[str, str]]:
    stamp = f"{int(copied_at.timestamp() * 1000):012x}"
    conditions = ["message.thread_id = %s"]
    values: list[Any] = [stamp, uuid4().hex, source_id]
    if selection.start is not None:
        conditions.append("message.created_at >= %s")
        values.append(selection.start)
    if selection.end is not None:
        conditions.append("message.created_at <= %s")
        values.append(selection.end)
    if selection.message_ids is not None:
        conditions.append("message.id = ANY(%s)")
        values.append(list(selection.message_ids))
    statement = _COPY.format(condition=" AND ".join(conditions))
    with connection.cursor() as cursor:
        cursor.execute(
            statement,
            [*values, selection.limit, clone.id, clone.resource_id, copied_at],
        )
        rows = cursor.fetchall()
    messages = messages_from(row[1:] for row in rows)
    pairs = zip(rows, messages, strict=True)
    return messages, {row[0]: message.id for row, message in pairs}


def transfer_thread(
    thread_id: str,
    reach: Reach,
    *,
    resource_id: str,
    from_resource_id: str | None = None,
) -> Thread:
    """Makes another resource the owner; the messages follow by their foreign key.

    Must run in a transaction. Raises ThreadNotFound, and OwnershipError when
    ``from_resource_id`` is named and is not the present owner.
    """
    thread = own_thread(thread_id, reach, from_resource_id)
    ensure_resource(resource_id)
    thread.resource_id = resource_id
    return changed(thread)
