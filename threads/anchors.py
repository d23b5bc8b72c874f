"""Knowing where in a long thread the n-th message is, without counting up to it.

An anchor is a place in a thread's order, ``(created_at, position)``, with the number of
messages before it. A page deep inside is found from the nearest anchor. Anchors stand
about ``STRIDE`` messages apart; threads of less than two strides have none. Writers keep
them exact while they hold the thread's lock: appending needs nothing, any other change
shifts the numbers behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connection

STRIDE = 1_000

Place = tuple[datetime, int]


class Before(NamedTuple):
    """What a thread's row said before the change: read under its lock."""

    message_count: int
    last_message_at: datetime | None


_SHIFT = """
UPDATE threads_anchor AS anchor SET ordinal = anchor.ordinal + moved.by
FROM (
    SELECT anchor.id, sum(change.added) AS by
    FROM threads_anchor AS anchor
    JOIN unnest(%s::timestamptz[], %s::bigint[], %s::integer[])
        AS change (created_at, position, added)
        ON (change.created_at, change.position) < (anchor.created_at, anchor.position)
    WHERE anchor.thread_id = %s
    GROUP BY anchor.id
) AS moved
WHERE anchor.id = moved.id
"""

# Every gap of two strides or more gets anchors in it.
_FILL = """
WITH place AS (
    SELECT ordinal, created_at, position FROM threads_anchor WHERE thread_id = %(id)s
    UNION ALL SELECT 0, '-infinity', 0
), gap AS (
    SELECT place.*,
        lead(ordinal, 1, %(count)s) OVER ahead AS next_ordinal,
        lead(created_at, 1, 'infinity') OVER ahead AS next_created_at,
        lead(position, 1, 0) OVER ahead AS next_position
    FROM place WINDOW ahead AS (ORDER BY created_at, position)
)
INSERT INTO threads_anchor (thread_id, ordinal, created_at, position)
SELECT %(id)s, gap.ordinal + found.rank, found.created_at, found.position
FROM gap CROSS JOIN LATERAL (
    SELECT m.created_at, m.position,
        row_number() OVER (ORDER BY m.created_at, m.position) - 1 AS rank
    FROM threads_message AS m
    WHERE m.thread_id = %(id)s
        AND (m.created_at, m.position) >= (gap.created_at, gap.position)
        AND (m.created_at, m.position) < (gap.next_created_at, gap.next_position)
) AS found
WHERE gap.next_ordinal - gap.ordinal >= 2 * %(stride)s
    AND found.rank > 0 AND found.rank %% %(stride)s = 0
"""


def follow(
    thread_id: str,
    before: Before,
    *,
    added: Sequence[Place] = (),
    removed: Sequence[Place] = (),
) -> None:
    """Makes the anchors of a locked thread true after messages came or went."""
    count = before.message_count
    after = count + len(added) - len(removed)
    if after < 2 * STRIDE:
        if count >= 2 * STRIDE:
            clear(thread_id)
        return
    newest = before.last_message_at
    inside = [place for place in added if newest is not None and place[0] <= newest]
    if count >= 2 * STRIDE and (inside or removed):
        _shift(thread_id, inside, removed)
    if after // STRIDE > count // STRIDE:
        fill(thread_id, after)


def fill(thread_id: str, message_count: int) -> None:
    """Sets anchors where a thread of ``message_count`` messages lacks them."""
    if message_count < 2 * STRIDE:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            _FILL, {"id": thread_id, "count": message_count, "stride": STRIDE}
        )


def clear(thread_id: str) -> None:
    """Removes the anchors of a thread that has become short."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM threads_anchor WHERE thread_id = %s", [thread_id])


def _shift(thread_id: str, added: Sequence[Place], removed: Sequence[Place]) -> None:
    changes = [*added, *removed]
    with connection.cursor() as cursor:
        cursor.execute(
            _SHIFT,
            [
                [created_at for created_at, _ in changes],
                [position for _, position in changes],
                [1] * len(added) + [-1] * len(removed),
                thread_id,
            ],
        )
