"""Conversations in bulk, made by PostgreSQL itself: the same ones at every run."""

from __future__ import annotations

from django.db import connection

from threads import anchors

LONG, LONG_OWNER, LONG_SIZE = "long0", "res-long0", 100_000
MID, MID_OWNER, MID_SIZE = "mid0", "res-mid0", 1_000
MANY_OWNER, MANY_THREADS = "res-many0", 5_000
THREAD_SIZE = 20

_RESOURCES = """
INSERT INTO threads_resource (id, metadata, created_at, updated_at)
SELECT %s || g, '{}', t, t FROM generate_series(%s::int, %s::int) AS g,
    (SELECT timestamptz '2024-01-01 00:00:00+00' AS t) AS start
"""
_THREADS = """
INSERT INTO threads_thread (
    id, resource_id, title, title_source, metadata, created_at, updated_at,
    last_message_at, message_count, revision)
SELECT %(prefix)s || g, %(owner)s || g / %(per_owner)s, 'thread ' || g, 'import',
    jsonb_build_object('category', 'c' || g %% 20, 'escalated', g %% 1000 = 137),
    t + g * interval '1 second', t + g * interval '1 second',
    t + %(size)s * interval '1 second', %(size)s, 1
FROM generate_series(%(first)s::int, %(last)s::int) AS g,
    (SELECT timestamptz '2024-01-01 00:00:00+00' AS t) AS start
"""
# 0.1 percent are escalated, in every thread alike; 45 words are an ordinary message.
_MESSAGES = """
INSERT INTO threads_message (
    id, thread_id, resource_id, role, type, content, text, created_at, updated_at)
SELECT thread.id || '-' || n, thread.id, thread.resource_id,
    CASE n %% 2 WHEN 0 THEN 'user' ELSE 'assistant' END, '',
    jsonb_build_object('format', 2, 'content', words,
        'parts', jsonb_build_array(jsonb_build_object('type', 'text', 'text', words)),
        'metadata', jsonb_build_object('category', 'c' || n %% 20,
            'escalated', (hashtext(thread.id) + n) %% 1000 = 137, 'priority', n %% 5)),
    words, moment, moment
FROM threads_thread AS thread
CROSS JOIN LATERAL generate_series(0, thread.message_count - 1) AS n
CROSS JOIN LATERAL (
    SELECT thread.id || ' ' || n || repeat(' lorem ipsum dolor', 15) AS words,
        timestamptz '2024-01-01 00:00:00+00' + n * interval '1 second' AS moment
) AS made
WHERE thread.id = ANY(%s)
ORDER BY thread.id, n
"""


def load_fixed() -> None:
    """A thread of 100,000 messages, one of 1,000, and a resource of 5,000 threads."""
    with connection.cursor() as cursor:
        for name, size, threads in (
            ("long", LONG_SIZE, 1),
            ("mid", MID_SIZE, 1),
            ("many", 2, MANY_THREADS),
        ):
            cursor.execute(_RESOURCES, [f"res-{name}", 0, 0])
            _fill(cursor, name, size, 0, threads - 1, per_owner=10**9)
    anchors.fill(LONG, LONG_SIZE)


def grow_background(before: int, after: int) -> None:
    """From ``before`` to ``after`` messages in threads of 20, ten threads a resource."""
    first, last = before // THREAD_SIZE, after // THREAD_SIZE - 1
    step = 5_000
    with connection.cursor() as cursor:
        cursor.execute(_RESOURCES, ["res-s", first // 10, last // 10])
        for start in range(first, last + 1, step):
            stop = min(start + step - 1, last)
            _fill(cursor, "s", THREAD_SIZE, start, stop, per_owner=10)


def settle() -> None:
    """What autovacuum does in time, at once."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE) threads_message")
        cursor.execute("VACUUM (ANALYZE) threads_thread")


def _fill(cursor, name, size, first, last, *, per_owner) -> None:
    cursor.execute(
        _THREADS,
        {
            "prefix": name,
            "owner": f"res-{name}",
            "size": size,
            "first": first,
            "last": last,
            "per_owner": per_owner,
        },
    )
    cursor.execute(_MESSAGES, [[f"{name}{n}" for n in range(first, last + 1)]])


def loaded() -> int | None:
    """How many background messages there are from an earlier run; None before any."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM threads_thread WHERE id = 'long0'")
        if not cursor.fetchone()[0]:
            return None
        cursor.execute("SELECT count(*) FROM threads_thread WHERE id ~ '^s[0-9]+$'")
        return cursor.fetchone()[0] * THREAD_SIZE
