"""Keeping what a thread row says about its messages true."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import connection

from threads.identifiers import now

# updated_at always moves: a change within the same millisecond counts as the next one.
LATER = "greatest(%s, thread.updated_at + interval '1 millisecond')"

_TOUCH = f"""
UPDATE threads_thread AS thread
SET message_count = thread.message_count + change.added,
    last_message_at = (
        SELECT max(message.created_at) FROM threads_message AS message
        WHERE message.thread_id = thread.id
    ),
    updated_at = {LATER},
    revision = thread.revision + 1
FROM unnest(%s::text[], %s::integer[]) AS change (thread_id, added)
WHERE thread.id = change.thread_id
"""


def messages_changed(added: Mapping[str, int]) -> None:
    """Notes that messages of these threads were written, moved or removed.

    ``added`` gives for each thread by how many its messages became more (or fewer).
    The caller holds the locks of the threads and has changed the messages already.
    """
    if not added:
        return
    with connection.cursor() as cursor:
        cursor.execute(_TOUCH, [now(), list(added), list(added.values())])
