"""Keeping words and vectors true to the messages, inside the transaction that saves.

What the words say is written at once, so that a message is found by them as soon as it
is committed. Vectors are only asked for here (:class:`PendingEmbedding`) and computed
by workers, see :mod:`recall.embedding.filling`. Deletions and moves need no call: the
database follows them by foreign keys and a trigger.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import connection, transaction

from recall.embedding.chunks import text_digest
from recall.semantic.lexical import document_terms, scoped_keys
from threads.models import Message

# Rows in one statement; keeps its parameters to a few megabytes.
ROWS = 2000

_SAVED = """
WITH given AS (
    SELECT * FROM unnest(
        %s::text[], %s::uuid[], %s::integer[], %s::bytea[], %s::bytea[], %s::text[]
    ) AS g (message_id, digest, length, terms, counts, keys)
), saved AS (
    INSERT INTO recall_messageterms AS old (
        message_id, resource_id, thread_id, created_at, position,
        digest, length, terms, counts, keys
    )
    SELECT m.id, m.resource_id, m.thread_id, m.created_at, m.position,
        g.digest, g.length, g.terms, g.counts, g.keys::bigint[]
    FROM given g JOIN threads_message m ON m.id = g.message_id
    ON CONFLICT (message_id) DO UPDATE SET
        digest = excluded.digest, length = excluded.length, terms = excluded.terms,
        counts = excluded.counts, keys = excluded.keys
    WHERE old.digest <> excluded.digest
    RETURNING message_id, digest, xmax = 0 AS fresh
), outdated AS (
    DELETE FROM recall_embedding e USING saved s
    WHERE NOT s.fresh AND e.message_id = s.message_id AND e.digest <> s.digest
), asked AS (
    INSERT INTO recall_pendingembedding (
        message_id, space_id, not_before, attempts, error, created_at
    )
    SELECT s.message_id, space.id, now(), 0, '', now()
    FROM saved s CROSS JOIN recall_embeddingspace space
    WHERE space.state <> 'retired' AND (%s OR EXISTS (
        SELECT FROM recall_embedding e
        WHERE NOT s.fresh AND e.message_id = s.message_id
    ))
    ON CONFLICT (message_id, space_id) DO UPDATE SET
        not_before = excluded.not_before, attempts = 0, error = '',
        created_at = excluded.created_at
    RETURNING 1
)
SELECT (SELECT count(*) FROM saved), (SELECT count(*) FROM asked)
"""

_WITHOUT_TEXT = """
WITH words AS (
    DELETE FROM recall_messageterms WHERE message_id = ANY(%s)
), vectors AS (
    DELETE FROM recall_embedding WHERE message_id = ANY(%s)
)
DELETE FROM recall_pendingembedding WHERE message_id = ANY(%s)
"""

_PAIRS = """
WITH pair AS (
    SELECT * FROM unnest(%s::text[], %s::text[]) AS p (source_id, copy_id)
)
"""
_CLONED = (
    _PAIRS
    + """
INSERT INTO recall_messageterms (
    message_id, resource_id, thread_id, created_at, position,
    digest, length, terms, counts, keys
)
SELECT m.id, m.resource_id, m.thread_id, m.created_at, m.position,
    t.digest, t.length, t.terms, t.counts,
    CASE WHEN m.resource_id = t.resource_id THEN t.keys ELSE ARRAY(
        SELECT recall_resource_key(m.resource_id) | (key & 4294967295)
        FROM unnest(t.keys) AS key
    ) END
FROM pair
JOIN recall_messageterms t ON t.message_id = pair.source_id
JOIN threads_message m ON m.id = pair.copy_id
ON CONFLICT (message_id) DO NOTHING
""",
    _PAIRS
    + """
INSERT INTO recall_embedding (
    message_id, resource_id, thread_id, created_at, position,
    space_id, chunk, digest, vector, embedded_at
)
SELECT m.id, m.resource_id, m.thread_id, m.created_at, m.position,
    e.space_id, e.chunk, e.digest, e.vector, e.embedded_at
FROM pair
JOIN recall_embedding e ON e.message_id = pair.source_id
JOIN threads_message m ON m.id = pair.copy_id
ON CONFLICT (message_id, space_id, chunk) DO NOTHING
""",
    _PAIRS
    + """
INSERT INTO recall_pendingembedding (
    message_id, space_id, not_before, attempts, error, created_at
)
SELECT pair.copy_id, p.space_id, now(), 0, '', now()
FROM pair
JOIN recall_pendingembedding p ON p.message_id = pair.source_id
ON CONFLICT (message_id, space_id) DO NOTHING
""",
)


def messages_saved(messages: Iterable[Message], *, embed: bool = True) -> None:
    """Indexes the words of saved messages, and has changed texts embedded after commit.

    To be called in the transaction that inserted or updated the rows, with their new
    ``text`` and ``resource_id``. A message whose text is as before costs nothing more:
    its vectors stay. Vectors of a former text are removed at once, so that the message
    is no longer found by it. With ``embed`` false (semantic recall is off) words are
    indexed, but vectors are only asked for in place of former ones.
    """
    rows = list(messages)
    with_text = [message for message in rows if message.text.strip()]
    without = [message.id for message in rows if not message.text.strip()]
    if without:
        with connection.cursor() as cursor:
            cursor.execute(_WITHOUT_TEXT, [without] * 3)
    hint = False
    for start in range(0, len(with_text), ROWS):
        changed, asked = _index(with_text[start : start + ROWS], embed)
        # Before the first space exists nothing can be asked for: a worker makes it.
        hint = hint or asked > 0 or (embed and changed > 0)
    if hint:
        _hint()


def messages_cloned(pairs: Sequence[tuple[str, str]]) -> None:
    """Gives copies of messages the words and vectors of their sources.

    ``pairs`` are ids ``(source, copy)``; the copies are saved already. Everything is
    copied inside the database; what is still to be embedded of the source is asked for
    again for the copy.
    """
    if not pairs:
        return
    sources = [source for source, _ in pairs]
    copies = [copy for _, copy in pairs]
    with connection.cursor() as cursor:
        for statement in _CLONED:
            cursor.execute(statement, [sources, copies])
        asked = cursor.rowcount
    if asked:
        _hint()


def _index(messages: Sequence[Message], embed: bool) -> tuple[int, int]:
    """Writes the words.

    Returns how many messages were new or had another text before, and how many vectors
    were asked for.
    """
    terms = [document_terms(message.text) for message in messages]
    with connection.cursor() as cursor:
        cursor.execute(
            _SAVED,
            [
                [message.id for message in messages],
                [text_digest(message.text) for message in messages],
                [found.length for found in terms],
                [found.packed_terms() for found in terms],
                [found.packed_counts() for found in terms],
                [
                    f"{{{','.join(map(str, scoped_keys(message.resource_id, found.terms)))}}}"
                    for message, found in zip(messages, terms, strict=True)
                ],
                embed,
            ],
        )
        return cursor.fetchone()


def _hint() -> None:
    """Tells a worker, once the open transaction has committed."""
    # The task module imports the operations of this package.
    from recall.tasks import embed_pending
    from threads.dispatch import publish

    transaction.on_commit(lambda: publish(embed_pending), robust=True)
