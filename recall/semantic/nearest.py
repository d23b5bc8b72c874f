"""The nearest vectors of a scope, by the cheaper of two ways.

Exact: every vector of the scope is read. By index: the graph of the whole space is
walked, and what is outside the scope is passed over (pgvector's iterative scan), so the
smaller the scope's share, the longer the walk. Both bind scope and filters before the
cut: whoever has four messages among millions of others' gets all four.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from django.db import connection, transaction

from recall.embedding.spaces import has_index, index_name
from recall.semantic.scope import Matching, Scope
from recall.semantic.table import Question, integers

# Microseconds, measured by bench/semantic.py on 512 dimensions: one vector read and
# compared, and one step of the walk. Only their ratio matters.
READ = 2.0
STEP = 6.0
# Candidates that the walk keeps: recall@10 of 0.98 and more against exact search.
EF_SEARCH = 400
# A filter that leaves no more messages than this is answered from them alone.
FEW = 20_000

_EXACT = """
WITH compared AS MATERIALIZED (
    SELECT e.position, -(e.vector <#> %s::halfvec) AS similarity
    FROM recall_embedding e WHERE {condition} AND e.space_id = %s
), best AS (
    SELECT position, max(similarity) AS similarity FROM compared
    GROUP BY position ORDER BY similarity DESC LIMIT %s
)
SELECT
    string_agg(int8send(position), ''::bytea ORDER BY similarity DESC),
    string_agg(float4send(similarity::real), ''::bytea ORDER BY similarity DESC)
FROM best
"""

_BY_INDEX = """
SELECT
    string_agg(int8send(position), ''::bytea),
    string_agg(float4send(similarity::real), ''::bytea)
FROM (
    SELECT e.position,
        -(e.vector::halfvec({dimensions}) <#> %s::halfvec({dimensions})) AS similarity
    FROM recall_embedding e WHERE {condition} AND e.space_id = {space}
    ORDER BY e.vector::halfvec({dimensions}) <#> %s::halfvec({dimensions}) LIMIT %s
) AS best
"""

# The planner knows nothing of the walk's cost; it is told to take it.
_WALK = """
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.ef_search', %s, true),
    set_config('hnsw.max_scan_tuples', %s, true),
    set_config('enable_sort', 'off', true),
    set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true)
"""


def neighbours(
    question: Question,
    scope: Scope,
    matching: Matching | None,
    *,
    size: int,
    wanted: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Handles and similarities of the ``wanted`` nearest messages, best first.

    ``size`` is about how many messages the scope has.
    """
    if question.vector is None or question.space is None:
        return np.empty(0, dtype=np.int64), np.empty(0)
    remaining = size
    if matching is not None:
        remaining = matching.count(FEW + 1)
        if remaining > FEW:
            remaining = size // 2  # not few, and no way to tell
    share = remaining / max(_total(question.space.id), remaining)
    walked = wanted / share
    reading = remaining if matching is not None and remaining <= FEW else size
    found = None
    if has_index(question.space.id) and walked * STEP < reading * READ:
        found = by_index(question, scope, matching, wanted, walked)
    if found is None or len(found[0]) < min(wanted, remaining):
        found = exact(question, scope, matching, wanted)
    return found


def exact(
    question: Question, scope: Scope, matching: Matching | None, wanted: int
) -> tuple[np.ndarray, np.ndarray]:
    condition, params = _condition(scope, matching)
    with connection.cursor() as cursor:
        cursor.execute(
            _EXACT.format(condition=condition),
            [question.vector_text, *params, question.space.id, wanted],
        )
        return _numbers(cursor.fetchone())


def by_index(
    question: Question,
    scope: Scope,
    matching: Matching | None,
    wanted: int,
    walked: float,
) -> tuple[np.ndarray, np.ndarray]:
    condition, params = _condition(scope, matching)
    sql = _BY_INDEX.format(
        condition=condition,
        dimensions=int(question.space.dimensions),
        space=int(question.space.id),
    )
    vector = question.vector_text
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_WALK, [str(EF_SEARCH), str(int(20_000 + 4 * walked))])
        cursor.execute(sql, [vector, *params, vector, 2 * wanted])
        positions, similarities = _numbers(cursor.fetchone())
        # Inside a caller's transaction the settings would outlive the search.
        cursor.execute(
            "RESET enable_sort; RESET enable_seqscan; RESET enable_bitmapscan"
        )
    order = np.argsort(-similarities, kind="stable")
    # Of a message with several chunks the best counts.
    _, first = np.unique(positions[order], return_index=True)
    kept = order[np.sort(first)][:wanted]
    return positions[kept], similarities[kept]


def _condition(scope: Scope, matching: Matching | None) -> tuple[str, list[Any]]:
    if matching is None:
        return scope.sql("e"), scope.params
    sql, params = matching.select("id")
    return f"{scope.sql('e')} AND e.message_id IN ({sql})", [*scope.params, *params]


def _numbers(row: tuple) -> tuple[np.ndarray, np.ndarray]:
    return (
        integers(row[0], ">i8").astype(np.int64),
        integers(row[1], ">f4").astype(float),
    )


def _total(space_id: int) -> int:
    """About how many vectors the index of a space holds, as last analysed."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT greatest(reltuples, 0)::bigint FROM pg_class "
            "WHERE oid = to_regclass(%s)",
            [index_name(space_id)],
        )
        row = cursor.fetchone()
    return row[0] if row else 0
