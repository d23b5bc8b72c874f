"""From which thread a thread was cloned, and which were cloned from it.

A clone says so in ``metadata.clone``: ``{sourceThreadId, clonedAt, lastMessageId}``. The
column ``source_thread`` repeats the first, so that the clones of a thread are found by
an index.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection

from threads.identifiers import MAX_ID_LENGTH
from threads.models import Thread
from threads.reach import Reach


@dataclass(frozen=True)
class CloneRecord:
    """What a clone knows of its making.

    ``cloned_at`` is ISO 8601 text. ``last_message_id`` is the newest message of the
    source that was copied, None when none was.
    """

    source_thread_id: str
    cloned_at: str | None
    last_message_id: str | None


def clone_record(thread: Thread | None) -> CloneRecord | None:
    """The record of a clone; None for an original, or for None."""
    source = source_in(thread.metadata) if thread is not None else None
    if source is None:
        return None
    record = thread.metadata["clone"]
    return CloneRecord(source, record.get("clonedAt"), record.get("lastMessageId"))


def source_in(metadata: Mapping[str, Any]) -> str | None:
    """The id of the source that clone metadata names, None if it names none."""
    record = metadata.get("clone")
    source = record.get("sourceThreadId") if isinstance(record, dict) else None
    if isinstance(source, str) and 0 < len(source) <= MAX_ID_LENGTH:
        return source
    return None


def source_thread(thread_id: str, reach: Reach) -> Thread | None:
    """The direct parent of a clone, if it still exists."""
    threads = Thread.objects.within(reach)
    thread = threads.filter(id=thread_id).first()
    record = clone_record(thread)
    return threads.filter(id=record.source_thread_id).first() if record else None


def clones_of(
    thread_id: str, reach: Reach, *, resource_id: str | None = None
) -> list[Thread]:
    """The direct clones of a thread that ``resource_id`` owns, oldest first.

    Without ``resource_id``, those that the owner of the source owns; none when the
    source is gone.
    """
    threads = Thread.objects.within(reach)
    if resource_id is None:
        source = threads.filter(id=thread_id).only("resource_id").first()
        if source is None:
            return []
        resource_id = source.resource_id
    clones = threads.filter(source_thread_id=thread_id, resource_id=resource_id)
    return list(clones.order_by("created_at", "id"))


# The path guards against a cycle, which edited metadata can make.
_ANCESTRY = """
WITH RECURSIVE ancestry AS (
    SELECT thread.id, thread.source_thread_id, 0 AS depth, ARRAY[thread.id::text] AS path
    FROM threads_thread AS thread WHERE thread.id = %s
  UNION ALL
    SELECT parent.id, parent.source_thread_id, child.depth + 1, child.path || parent.id::text
    FROM ancestry AS child
    JOIN threads_thread AS parent ON parent.id = child.source_thread_id
    WHERE parent.id::text <> ALL (child.path)
)
SELECT thread.* FROM ancestry JOIN threads_thread AS thread USING (id)
ORDER BY ancestry.depth DESC
"""


# A version is a clone whose metadata says of which thread it is another version.
_VERSIONS = """
WITH RECURSIVE family (id) AS (
    SELECT thread.id FROM threads_thread AS thread WHERE thread.id = %s
  UNION
    SELECT relative.id FROM family, LATERAL (
        SELECT version.id FROM threads_thread AS version
        WHERE version.source_thread_id = family.id
        AND version.metadata -> 'version' ->> 'of' = family.id
      UNION ALL
        SELECT version.source_thread_id FROM threads_thread AS version
        WHERE version.id = family.id
        AND version.metadata -> 'version' ->> 'of' = version.source_thread_id
    ) AS relative
)
SELECT id FROM family WHERE id <> %s
"""


def other_versions(thread_id: str) -> list[str]:
    """The threads that are other versions of the same conversation.

    They went another way from some message on, so one must not remember the others:
    what they have in common is in each of them.
    """
    with connection.cursor() as cursor:
        cursor.execute(_VERSIONS, [thread_id, thread_id])
        return [id for (id,) in cursor.fetchall()]


def clone_history(thread_id: str, reach: Reach) -> list[Thread]:
    """The line of sources, oldest first, ending with the thread itself.

    Stops at a source that is gone or out of reach, and where a cycle would begin. Empty
    for an unknown thread.
    """
    history: list[Thread] = []
    for thread in reversed(list(Thread.objects.raw(_ANCESTRY, [thread_id]))):
        if not reach.covers(thread.resource_id):
            break
        history.insert(0, thread)
    return history
