"""Hits with their ids and their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from recall.semantic.hits import Window
from recall.semantic.scope import Scope

# Neighbours are messages of any kind, also those without text.
_PLACES = """
SELECT t.position, t.message_id, t.thread_id,
    ARRAY(
        SELECT m.id FROM threads_message m
        WHERE m.thread_id = t.thread_id
            AND (m.created_at, m.position) < (t.created_at, t.position)
        ORDER BY m.created_at DESC, m.position DESC LIMIT %s
    ),
    ARRAY(
        SELECT m.id FROM threads_message m
        WHERE m.thread_id = t.thread_id
            AND (m.created_at, m.position) > (t.created_at, t.position)
        ORDER BY m.created_at, m.position LIMIT %s
    )
FROM recall_messageterms t
WHERE t.position = ANY(%s) AND {scope}
"""


@dataclass(frozen=True)
class Place:
    """Where a message stands."""

    message_id: str
    thread_id: str
    window: Window


def places(
    positions: Sequence[int], scope: Scope, *, before: int, after: int
) -> dict[int, Place]:
    """For each handle the message, with up to so many neighbours of its own thread."""
    with connection.cursor() as cursor:
        cursor.execute(
            _PLACES.format(scope=scope.sql("t")),
            [before, after, list(positions), *scope.params],
        )
        return {
            position: Place(
                message_id,
                thread_id,
                Window(tuple(reversed(earlier)), tuple(later)),
            )
            for position, message_id, thread_id, earlier, later in cursor.fetchall()
        }
