"""Writing messages: a batch is stored whole or not at all, in a fixed number of statements.

What exists under the same id is replaced: it keeps its time and its place in the order.
Under another thread of the same resource it moves; under another resource the batch is
refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

import orjson
from django.db import connection

from threads.activity import messages_changed
from threads.errors import Conflict, InvalidInput, OwnershipError, ThreadNotFound
from threads.identifiers import now
from threads.models import Message, Thread
from threads.reach import Reach
from threads.transactions import ATTEMPTS, locked_threads, whole

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
        raise InvalidInput.of("messages", f"at most {MAX_BATCH} at once")
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
    threads = locked_threads(to_lock, reach)
    for draft in batch:
        _put_into(draft, threads.get(draft.thread_id))
    before = _threads_of_existing(batch, given_ids)
    unlocked = set(before.values()) - set(threads)
    if unlocked:
        raise _OutOfSight(unlocked)
    written_at = now()
    added: Counter[str] = Counter()
    for draft, stored in zip(batch, _upsert(batch, written_at), strict=True):
        if stored.existed and draft.id not in before:
            # Somebody stored this id between our look and our write.
            raise _OutOfSight({draft.thread_id})
        if stored.existed:
            added[before[draft.id]] -= 1
        added[draft.thread_id] += 1
        draft.created_at, draft.position = stored.created_at, stored.position
        as_stored(draft, written_at)
    messages_changed(added)
    return list(batch)


def _put_into(draft: Message, thread: Thread | None) -> None:
    if thread is None:
        raise ThreadNotFound(draft.thread_id)
    if draft.resource_id and draft.resource_id != thread.resource_id:
        raise OwnershipError(
            f"Thread with id {thread.id} is for resource with id "
            f"{thread.resource_id} but resource {draft.resource_id} was queried."
        )
    draft.resource_id = thread.resource_id


def _threads_of_existing(
    batch: Sequence[Message], given_ids: list[str]
) -> dict[str, str]:
    """For each message of the batch that exists, the thread in which it is now."""
    if not given_ids:
        return {}
    rows = Message.objects.filter(id__in=given_ids)
    existing = {
        id: (thread, resource)
        for id, thread, resource in rows.values_list("id", "thread_id", "resource_id")
    }
    for draft in batch:
        if draft.id in existing and existing[draft.id][1] != draft.resource_id:
            raise OwnershipError(f"Message {draft.id} belongs to another resource")
    return {id: thread for id, (thread, _) in existing.items()}


_COLUMNS = "id, thread_id, resource_id, role, type, content, text, created_at"

# unnest() keeps the order of the arrays, so positions are given out in that order.
_UPSERT = f"""
WITH stored AS (
    INSERT INTO threads_message AS message ({_COLUMNS}, updated_at)
    SELECT {_COLUMNS.replace("content", "content::jsonb")}, %s FROM unnest(
        %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[],
        %s::text[], %s::timestamptz[]
    ) AS draft ({_COLUMNS})
    ON CONFLICT (id) DO UPDATE
    SET thread_id = excluded.thread_id, role = excluded.role, type = excluded.type,
        content = excluded.content, text = excluded.text,
        updated_at = excluded.updated_at
    WHERE message.resource_id = excluded.resource_id
    RETURNING id, created_at, position, xmax <> 0 AS existed
)
SELECT id, created_at, position, existed FROM stored
"""


class _Stored:
    __slots__ = ("created_at", "existed", "position")

    def __init__(self, created_at, position, existed) -> None:
        self.created_at = created_at
        self.position = position
        self.existed = existed


def _upsert(batch: Sequence[Message], written_at) -> list[_Stored]:
    """Writes the batch in one statement."""
    columns = [
        [draft.id for draft in batch],
        [draft.thread_id for draft in batch],
        [draft.resource_id for draft in batch],
        [draft.role for draft in batch],
        [draft.type for draft in batch],
        [json_text(draft.content) for draft in batch],
        [draft.text for draft in batch],
        [draft.created_at for draft in batch],
    ]
    with connection.cursor() as cursor:
        cursor.execute(_UPSERT, [written_at, *columns])
        rows = {id: _Stored(*rest) for id, *rest in cursor.fetchall()}
    refused = [draft.id for draft in batch if draft.id not in rows]
    if refused:
        raise OwnershipError(f"Message {refused[0]} belongs to another resource")
    return [rows[draft.id] for draft in batch]


_REWRITE = """
UPDATE threads_message AS message
SET thread_id = change.thread_id, role = change.role, type = change.type,
    content = change.content::jsonb, text = change.text, updated_at = %s
FROM unnest(
    %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[]
) AS change (id, thread_id, role, type, content, text)
WHERE message.id = change.id
"""


def write_changed(messages: Sequence[Message], written_at) -> None:
    """Writes changed messages of locked threads in one statement."""
    columns = [
        [message.id for message in messages],
        [message.thread_id for message in messages],
        [message.role for message in messages],
        [message.type for message in messages],
        [json_text(message.content) for message in messages],
        [message.text for message in messages],
    ]
    with connection.cursor() as cursor:
        cursor.execute(_REWRITE, [written_at, *columns])
    for message in messages:
        as_stored(message, written_at)


def json_text(value: object) -> str:
    """``value`` as JSON for the database."""
    return orjson.dumps(value).decode()


def as_stored(message: Message, updated_at) -> Message:
    """Marks a message as a row of the database, without reading it back."""
    message.updated_at = updated_at
    message.metadata = message.content.get("metadata")
    message._state.adding = False
    message._state.db = connection.alias
    return message
