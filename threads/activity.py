"""Keeping what a thread row says about its messages true."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from django.db import connection

from threads.anchors import Place, follow
from threads.identifiers import now
from threads.transactions import Locked

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


class Movements:
    """Which messages came into which threads, and which went from where."""

    def __init__(self) -> None:
        self._came: defaultdict[str, list[Place]] = defaultdict(list)
        self._went: defaultdict[str, list[Place]] = defaultdict(list)

    def note(self, place: Place, former: str | None, present: str | None) -> None:
        """A message at ``place`` was in one thread and is in the other; None: in none."""
        if former != present:
            if present is not None:
                self._came[present].append(place)
            if former is not None:
                self._went[former].append(place)

    def added(self, thread_id: str) -> int:
        """By how many the messages of a thread became more."""
        return len(self._came[thread_id]) - len(self._went[thread_id])

    def went(self, thread_id: str) -> int:
        """How many messages went from a thread."""
        return len(self._went[thread_id])

    @property
    def left(self) -> set[str]:
        """The threads that messages went from."""
        return {thread_id for thread_id, places in self._went.items() if places}

    def follow(self, threads: Mapping[str, Locked]) -> None:
        """Brings the anchors of the locked threads up to date."""
        for thread_id in {*self._came, *self._went}:
            follow(
                thread_id,
                threads[thread_id].before,
                added=self._came[thread_id],
                removed=self._went[thread_id],
            )


def messages_changed(added: Mapping[str, int]) -> None:
    """Notes that messages of these threads were written, moved or removed.

    ``added`` gives for each thread by how many its messages became more (or fewer).
    The caller holds the locks of the threads and has changed the messages already.
    """
    if not added:
        return
    with connection.cursor() as cursor:
        cursor.execute(_TOUCH, [now(), list(added), list(added.values())])
