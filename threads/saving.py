"""Writing messages: a batch is stored whole or not at all, in a fixed number of statements.

What exists under the same id is replaced: it keeps its time and its place in the order.
Under another thread of the same resource it moves; under another resource the batch is
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import orjson
from django.db import connection

from threads.activity import LATER, Movements, messages_changed
from threads.errors import (
    Conflict,
    Issue,
    OwnershipError,
    ThreadNotFound,
    TooLarge,
)
from threads.identifiers import now
from threads.models import Message
from threads.reach import Reach
from threads.rows import place
from threads.transactions import ATTEMPTS, Locked, locked, whole

MAX_BATCH = 10_000


class _OutOfSight(Exception):
    """Messages of the batch were found in threads that are not locked yet."""

    def __init__(self, thread_ids: Collection[str]) -> None:
        super().__init__()
        self.thread_ids = thread_ids


def save_messages(
    drafts: Sequence[Message],
    reach: Reach,
    *,
    fresh_ids: Collection[str] = (),
    then: Callable[[list[Message]], None] = lambda saved: None,
) -> list[Message]:
    """Stores the drafts and returns them as stored, in the order given.

    A draft is an unsaved Message with ``thread_id`` and content; without a resource it
    takes its thread's. Of drafts with the same id the last one counts. ``fresh_ids``
    are ids known to be new, which need not be looked for. ``then`` is called with what
    was saved, in the same transaction.

    Raises ThreadNotFound for a thread that does not exist within reach, OwnershipError
    when a thread or an existing message is another resource's.
    """
    batch = list(_last_of_each(drafts))
    if len(batch) > MAX_BATCH:
        raise TooLarge(
            f"messages: at most {MAX_BATCH} at once",
            [Issue("messages", f"at most {MAX_BATCH} at once")],
        )
    if not batch:
        return []
    given_ids = [draft.id for draft in batch if draft.id not in fresh_ids]
    to_lock = {draft.thread_id for draft in batch}

    def work() -> list[Message]:
        saved = _save(batch, given_ids, to_lock, reach)
        then(saved)
        return saved

    for _ in range(ATTEMPTS):
        try:
            return whole(work)
        except _OutOfSight as found:
            to_lock = to_lock | set(found.thread_ids)
    raise Conflict("The messages keep being moved by somebody else")


def _last_of_each(drafts: Sequence[Message]) -> Iterable[Message]:
    """One draft per id: where the first stood, with its time, else as the last says."""
    by_id: dict[str, Message] = {}
    for draft in drafts:
        earlier = by_id.get(draft.id)
        if earlier is not None:
            draft.created_at = earlier.created_at
        by_id[draft.id] = draft
    return by_id.values()


def _save(
    batch: Sequence[Message], given_ids: list[str], to_lock: set[str], reach: Reach
) -> list[Message]:
    threads = locked(to_lock, reach)
    for draft in batch:
        _put_into(draft, threads.get(draft.thread_id))
    written_at = now()
    stored = _upsert(batch, given_ids, written_at)
    _check(batch, stored, threads)
    movements = Movements()
    for draft in batch:
        row = stored[draft.id]
        draft.created_at, draft.position = row.created_at, row.position
        movements.note(place(draft), row.former_thread, draft.thread_id)
        as_stored(draft, written_at)
    # The statement noted the messages that came; those that left are few.
    messages_changed({id: -movements.went(id) for id in movements.left})
    movements.follow(threads)
    return list(batch)


def _put_into(draft: Message, thread: Locked | None) -> None:
    if thread is None:
        raise ThreadNotFound(draft.thread_id)
    owner = thread.resource_id
    if draft.resource_id and draft.resource_id != owner:
        raise OwnershipError(
            f"Thread with id {draft.thread_id} is for resource with id {owner} "
            f"but resource {draft.resource_id} was queried."
        )
    draft.resource_id = owner


class _Row(NamedTuple):
    """What the database made of a draft. ``former_thread`` is where it was before."""

    created_at: datetime
    position: int
    existed: bool
    former_thread: str | None


_COLUMNS = "id, thread_id, resource_id, role, type, content, text, created_at"

# One statement looks for the ids, writes the rows and notes them with their threads.
# The batch travels as one JSON text, whose order is the order of the positions.
_UPSERT = f"""
WITH former AS (
    SELECT id, thread_id FROM threads_message WHERE id = ANY(%s)
), stored AS (
    INSERT INTO threads_message AS message ({_COLUMNS}, updated_at)
    SELECT {_COLUMNS}, %s FROM json_to_recordset(%s) AS draft (
        id text, thread_id text, resource_id text, role text, type text,
        content jsonb, text text, created_at timestamptz)
    ON CONFLICT (id) DO UPDATE
    SET thread_id = excluded.thread_id, role = excluded.role, type = excluded.type,
        content = excluded.content, text = excluded.text,
        updated_at = excluded.updated_at
    WHERE message.resource_id = excluded.resource_id
    RETURNING id, thread_id, created_at, position, xmax <> 0 AS existed
), entered AS (
    SELECT stored.*, former.thread_id AS former_thread
    FROM stored LEFT JOIN former USING (id)
), noted AS (
    UPDATE threads_thread AS thread
    SET message_count = thread.message_count + change.added,
        last_message_at = greatest(thread.last_message_at, change.newest),
        updated_at = {LATER},
        revision = thread.revision + 1
    FROM (
        SELECT thread_id, max(created_at) AS newest,
            count(*) FILTER (WHERE former_thread IS DISTINCT FROM thread_id) AS added
        FROM entered GROUP BY thread_id
    ) AS change
    WHERE thread.id = change.thread_id
)
SELECT id, created_at, position, existed, former_thread FROM entered
"""


def _upsert(
    batch: Sequence[Message], given_ids: list[str], written_at: datetime
) -> dict[str, _Row]:
    """Writes the batch; what became of each id, without those of other resources."""
    rows = [
        {
            "id": draft.id,
            "thread_id": draft.thread_id,
            "resource_id": draft.resource_id,
            "role": draft.role,
            "type": draft.type,
            "content": draft.content,
            "text": draft.text,
            "created_at": draft.created_at,
        }
        for draft in batch
    ]
    with connection.cursor() as cursor:
        cursor.execute(_UPSERT, [given_ids, written_at, json_text(rows), written_at])
        return {id: _Row(*rest) for id, *rest in cursor.fetchall()}


def _check(
    batch: Sequence[Message], stored: Mapping[str, _Row], threads: Collection[str]
) -> None:
    """Undoes the write by an error where it must not have happened."""
    for draft in batch:
        if draft.id not in stored:
            raise OwnershipError(f"Message {draft.id} belongs to another resource")
    unlocked = {
        row.former_thread
        for row in stored.values()
        if row.former_thread is not None and row.former_thread not in threads
    }
    unseen = any(row.existed and row.former_thread is None for row in stored.values())
    if unlocked or unseen:
        # Unseen: somebody stored this id after our statement began to look.
        raise _OutOfSight(unlocked)


_REWRITE = """
UPDATE threads_message AS message
SET thread_id = change.thread_id, role = change.role, type = change.type,
    content = change.content, text = change.text, updated_at = %s
FROM json_to_recordset(%s) AS change (
    id text, thread_id text, role text, type text, content jsonb, text text)
WHERE message.id = change.id
"""
_REWRITTEN = ("id", "thread_id", "role", "type", "content", "text")


def write_changed(messages: Sequence[Message], written_at: datetime) -> None:
    """Writes changed messages of locked threads in one statement."""
    rows = [
        {name: getattr(message, name) for name in _REWRITTEN} for message in messages
    ]
    with connection.cursor() as cursor:
        cursor.execute(_REWRITE, [written_at, json_text(rows)])
    for message in messages:
        as_stored(message, written_at)


def json_text(value: object) -> str:
    """``value`` as JSON for the database."""
    return orjson.dumps(value).decode()


def as_stored(message: Message, updated_at: datetime) -> Message:
    """Marks a message as a row of the database, without reading it back."""
    message.updated_at = updated_at
    message.metadata = message.content.get("metadata")
    message._state.adding = False
    message._state.db = connection.alias
    return message
