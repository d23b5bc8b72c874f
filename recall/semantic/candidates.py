"""Comparing a large scope: candidates of both sides first, then they and their
neighbours message by message.

Means and deviations, which a whole scope gives exactly, are taken from a sample of it
for meaning, and from all messages that hold a word of the query for words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from django.db import connection

from recall.semantic import nearest, ranking
from recall.semantic.lexical import QueryTerm, scoped_keys
from recall.semantic.scope import Matching, Scope
from recall.semantic.table import Question, Table, best_of_chunks, integers

# Candidates of each side, at least; a search for more hits takes twice their number.
CANDIDATES = 100
# Messages of the sample: the deviation is then known within about 4 %.
SAMPLE = 300
# Messages that the words may bring in for ranking. Beyond it only the rarer words of
# the query choose candidates; the frequent ones still count for those chosen.
MATCHES = 20_000
# A neighbour of a neighbour still counts for a candidate (ranking.NEIGHBOUR_SHARES).
REACH = len(ranking.NEIGHBOUR_SHARES)

_SAMPLE = """
WITH bound AS (
    SELECT min(t.created_at) AS first, max(t.created_at) AS last
    FROM recall_messageterms t WHERE {scope}
)
SELECT DISTINCT ON (t.position) t.length, -(e.vector <#> %s::halfvec)
FROM bound
CROSS JOIN generate_series(0, %s) AS step
CROSS JOIN LATERAL (
    SELECT t.message_id, t.position, t.length FROM recall_messageterms t
    WHERE {scope}
        AND t.created_at >= bound.first + (bound.last - bound.first) * (step / %s)
    ORDER BY t.created_at, t.position LIMIT 1
) AS t
LEFT JOIN recall_embedding e
    ON e.message_id = t.message_id AND e.space_id = %s AND e.chunk = 0
"""
_FIRST = """
SELECT t.length, -(e.vector <#> %s::halfvec)
FROM (
    SELECT t.message_id, t.length FROM recall_messageterms t WHERE {scope} LIMIT %s
) AS t
LEFT JOIN recall_embedding e
    ON e.message_id = t.message_id AND e.space_id = %s AND e.chunk = 0
"""

_FREQUENCIES = """
SELECT (
    SELECT count(*) FROM recall_messageterms t WHERE t.keys && w.keys::bigint[]
)
FROM unnest(%s::text[]) WITH ORDINALITY AS w (keys, number) ORDER BY w.number
"""

_MATCHES = """
SELECT
    string_agg(int8send(t.position), ''::bytea),
    string_agg(int4send(t.length), ''::bytea),
    string_agg(int4send(octet_length(t.counts)), ''::bytea),
    string_agg(t.terms, ''::bytea),
    string_agg(t.counts, ''::bytea),
    string_agg(int4send(({allowed})::integer), ''::bytea)
FROM recall_messageterms t WHERE t.keys && %s::bigint[] AND {scope}
"""

# Each candidate with what comes before and after it in its thread, in order.
_NEIGHBOURHOODS = """
SELECT c.position, array_agg(n.position ORDER BY n.created_at, n.position)
FROM recall_messageterms c
CROSS JOIN LATERAL (
    SELECT c.created_at, c.position
    UNION ALL (
        SELECT t.created_at, t.position FROM recall_messageterms t
        WHERE t.thread_id = c.thread_id
            AND (t.created_at, t.position) < (c.created_at, c.position)
        ORDER BY t.created_at DESC, t.position DESC LIMIT %s
    ) UNION ALL (
        SELECT t.created_at, t.position FROM recall_messageterms t
        WHERE t.thread_id = c.thread_id
            AND (t.created_at, t.position) > (c.created_at, c.position)
        ORDER BY t.created_at, t.position LIMIT %s
    )
) AS n
WHERE c.position = ANY(%s)
GROUP BY c.position
"""

_ROWS = """
SELECT
    string_agg(int8send(s.position), ''::bytea),
    string_agg(int4send(s.length), ''::bytea),
    string_agg(int4send(octet_length(s.counts)), ''::bytea),
    string_agg(s.terms, ''::bytea),
    string_agg(s.counts, ''::bytea),
    string_agg(int4send(s.allowed::integer), ''::bytea)
FROM (
    SELECT t.position, t.length, t.terms, t.counts, ({allowed}) AS allowed
    FROM recall_messageterms t WHERE t.position = ANY(%s) AND {scope}
    ORDER BY t.thread_id, t.created_at, t.position
) AS s
"""

_MEANING = """
SELECT
    string_agg(int8send(e.position), ''::bytea),
    string_agg(float4send((-(e.vector <#> %s::halfvec))::real), ''::bytea)
FROM recall_messageterms t
JOIN recall_embedding e ON e.message_id = t.message_id AND e.space_id = %s
WHERE t.position = ANY(%s)
"""


@dataclass(frozen=True)
class _Words:
    """What the words found: all scores, the best allowed ones, the scope's figures."""

    best: np.ndarray
    scores: np.ndarray
    found_in: np.ndarray
    mean: float
    deviation: float


@dataclass(frozen=True)
class _Sample:
    """Figures of the scope, from some of its messages."""

    mean_length: float
    mean: float
    deviation: float


def compare(
    question: Question, scope: Scope, matching: Matching | None, *, top_k: int
) -> Table:
    """The messages that may be among the best, and their neighbours, with scores."""
    wanted = max(CANDIDATES, 2 * top_k)
    size = max(scope.size(), 1)
    sample = _sample(question, scope) if question.terms else _Sample(1.0, 0.0, 0.0)
    words = _words(question.terms, scope, matching, size, sample.mean_length, wanted)
    similar, similarities = nearest.neighbours(
        question, scope, matching, size=size, wanted=wanted
    )
    chosen = np.union1d(words.best, similar)
    if question.terms and question.vector is not None:
        runs = _neighbourhoods(chosen)
    else:  # one side alone has no use for neighbours
        runs = [[position] for position in chosen.tolist()]
    return _table(question, scope, matching, size, sample, words, similarities, runs)


def _sample(question: Question, scope: Scope) -> _Sample:
    if question.vector is None or question.space is None:
        vector, space = None, None
    else:
        vector, space = question.vector_text, question.space.id
    condition = scope.sql("t")
    with connection.cursor() as cursor:
        cursor.execute(
            _SAMPLE.format(scope=condition),
            [
                *scope.params,
                vector,
                SAMPLE - 1,
                *scope.params,
                float(SAMPLE - 1),
                space,
            ],
        )
        rows = cursor.fetchall()
        if len(rows) < SAMPLE // 4:  # many messages of one moment: imported, say
            cursor.execute(
                _FIRST.format(scope=condition), [vector, *scope.params, SAMPLE, space]
            )
            rows = cursor.fetchall()
    lengths = [length for length, _ in rows]
    known = [similarity for _, similarity in rows if similarity is not None]
    return _Sample(
        mean_length=float(np.mean(lengths)) if lengths else 1.0,
        mean=float(np.mean(known)) if known else 0.0,
        deviation=float(np.std(known)) if known else 0.0,
    )


def _words(
    terms: Sequence[QueryTerm],
    scope: Scope,
    matching: Matching | None,
    size: int,
    mean_length: float,
    wanted: int,
) -> _Words:
    nothing = np.empty(0)
    if not terms:
        return _Words(nothing.astype(np.int64), nothing, nothing, 0.0, 0.0)
    keys = [scoped_keys(scope.resource_id, term.forms) for term in terms]
    choosing = list(range(len(terms)))
    frequencies = None
    with connection.cursor() as cursor:
        if size > MATCHES:
            cursor.execute(
                _FREQUENCIES, [[f"{{{','.join(map(str, k))}}}" for k in keys]]
            )
            frequencies = np.array([row[0] for row in cursor.fetchall()], dtype=float)
            choosing = _rarest(frequencies)
        allowed, allowed_params = _allowed(matching)
        cursor.execute(
            _MATCHES.format(scope=scope.sql("t"), allowed=allowed),
            [
                *allowed_params,
                [key for number in choosing for key in keys[number]],
                *scope.params,
            ],
        )
        row = cursor.fetchone()
    positions = integers(row[0], ">i8").astype(np.int64)
    counts = ranking.term_counts(
        terms,
        integers(row[3], "<u4"),
        integers(row[4], "u1"),
        np.repeat(np.arange(len(positions)), integers(row[2], ">i4")),
        len(positions),
    )
    found_in = (counts > 0).sum(axis=1).astype(float)
    if frequencies is not None:
        dropped = np.setdiff1d(np.arange(len(terms)), choosing)
        found_in[dropped] = np.minimum(frequencies[dropped], size)
    scores = ranking.bm25(
        counts,
        integers(row[1], ">i4").astype(float),
        total=size,
        found_in=found_in,
        mean_length=mean_length,
    )
    may = np.flatnonzero((integers(row[5], ">i4") > 0) & (scores > 0))
    best = may[np.argsort(-scores[may], kind="stable")[:wanted]]
    mean = float(scores.sum()) / size
    variance = float((scores**2).sum()) / size - mean**2
    return _Words(
        positions[best], scores, found_in, mean, float(np.sqrt(max(variance, 0.0)))
    )


def _rarest(frequencies: np.ndarray) -> list[int]:
    """The rarer words, as many as together bring no more than ``MATCHES`` messages."""
    order = np.argsort(frequencies, kind="stable")
    fits = np.cumsum(frequencies[order]) <= MATCHES
    fits[0] = True
    return sorted(order[fits].tolist())


def _neighbourhoods(positions: np.ndarray) -> list[list[int]]:
    with connection.cursor() as cursor:
        cursor.execute(_NEIGHBOURHOODS, [REACH, REACH, positions.tolist()])
        return [around for _, around in cursor.fetchall()]


def _table(
    question: Question,
    scope: Scope,
    matching: Matching | None,
    size: int,
    sample: _Sample,
    words: _Words,
    similarities: np.ndarray,
    neighbourhoods: list[list[int]],
) -> Table:
    together = {pair for around in neighbourhoods for pair in pairwise(around)}
    wanted = sorted({position for around in neighbourhoods for position in around})
    allowed, allowed_params = _allowed(matching)
    meaning_rows: tuple = (None, None)
    with connection.cursor() as cursor:
        cursor.execute(
            _ROWS.format(scope=scope.sql("t"), allowed=allowed),
            [*allowed_params, wanted, *scope.params],
        )
        row = cursor.fetchone()
        if question.vector is not None and question.space is not None:
            cursor.execute(_MEANING, [question.vector_text, question.space.id, wanted])
            meaning_rows = cursor.fetchone()
    positions = integers(row[0], ">i8").astype(np.int64)
    breaks = [pair not in together for pair in pairwise(positions.tolist())]
    counts = ranking.term_counts(
        question.terms,
        integers(row[3], "<u4"),
        integers(row[4], "u1"),
        np.repeat(np.arange(len(positions)), integers(row[2], ">i4")),
        len(positions),
    )
    scores = ranking.bm25(
        counts,
        integers(row[1], ">i4").astype(float),
        total=size,
        found_in=words.found_in,
        mean_length=sample.mean_length,
    )
    meaning = best_of_chunks(
        positions,
        integers(meaning_rows[0], ">i8"),
        integers(meaning_rows[1], ">f4").astype(float),
    )
    return Table(
        positions=positions,
        runs=np.cumsum([0, *breaks])[: len(positions)],
        word_counts=counts,
        words=scores,
        words_z=ranking.standardised(scores, words.mean, words.deviation),
        words_rank=ranking.rank_among(scores, words.scores),
        meaning=meaning,
        meaning_z=ranking.standardised(meaning, sample.mean, sample.deviation),
        meaning_rank=ranking.rank_among(meaning, similarities),
        allowed=integers(row[5], ">i4") > 0,
    )


def _allowed(matching: Matching | None) -> tuple[str, list]:
    if matching is None:
        return "true", []
    sql, params = matching.select("id")
    return f"t.message_id IN ({sql})", params
