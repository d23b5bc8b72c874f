"""Comparing every message of a small scope: exact, and in two statements."""

from __future__ import annotations

import numpy as np
from django.db import connection

from recall.semantic import ranking
from recall.semantic.scope import Matching, Scope
from recall.semantic.table import Question, Table, best_of_chunks, integers

_WORDS = """
SELECT
    string_agg(int8send(s.position), ''::bytea),
    string_agg(int4send(s.thread), ''::bytea),
    string_agg(int4send(s.length), ''::bytea),
    string_agg(int4send(octet_length(s.counts)), ''::bytea),
    string_agg(s.terms, ''::bytea),
    string_agg(s.counts, ''::bytea)
FROM (
    SELECT t.position, t.length, t.terms, t.counts,
        dense_rank() OVER (ORDER BY t.thread_id)::integer AS thread
    FROM recall_messageterms t WHERE {scope}
    ORDER BY t.thread_id, t.created_at, t.position
) AS s
"""

_MEANING = """
SELECT
    string_agg(int8send(e.position), ''::bytea),
    string_agg(float4send((-(e.vector <#> %s::halfvec))::real), ''::bytea)
FROM recall_embedding e WHERE {scope} AND e.space_id = %s
"""


def compare(question: Question, scope: Scope, matching: Matching | None) -> Table:
    """Every message of the scope with its scores.

    Without words to look for, only the messages that have a vector.
    """
    of_vectors, similarities = _similarities(question, scope)
    if not question.terms:
        positions = np.unique(of_vectors)
        nothing = np.zeros(len(positions))
        return _table(
            positions=positions,
            runs=np.arange(len(positions)),
            word_counts=np.zeros((0, len(positions))),
            words=nothing,
            meaning=best_of_chunks(positions, of_vectors, similarities),
            allowed=_allowed(positions, matching),
        )
    with connection.cursor() as cursor:
        cursor.execute(_WORDS.format(scope=scope.sql("t")), scope.params)
        row = cursor.fetchone()
    positions = integers(row[0], ">i8").astype(np.int64)
    lengths = integers(row[2], ">i4").astype(float)
    size = len(positions)
    word_counts = ranking.term_counts(
        question.terms,
        integers(row[4], "<u4"),
        integers(row[5], "u1"),
        np.repeat(np.arange(size), integers(row[3], ">i4")),
        size,
    )
    words = ranking.bm25(
        word_counts,
        lengths,
        total=size,
        found_in=(word_counts > 0).sum(axis=1),
        mean_length=float(lengths.mean()) if size else 0.0,
    )
    return _table(
        positions=positions,
        runs=integers(row[1], ">i4"),
        word_counts=word_counts,
        words=words,
        meaning=best_of_chunks(positions, of_vectors, similarities),
        allowed=_allowed(positions, matching),
    )


def _similarities(question: Question, scope: Scope) -> tuple[np.ndarray, np.ndarray]:
    """Handles and similarities of all vectors in the scope."""
    row = (None, None)
    if question.vector is not None and question.space is not None:
        with connection.cursor() as cursor:
            cursor.execute(
                _MEANING.format(scope=scope.sql("e")),
                [question.vector_text, *scope.params, question.space.id],
            )
            row = cursor.fetchone()
    return (
        integers(row[0], ">i8").astype(np.int64),
        integers(row[1], ">f4").astype(float),
    )


def _allowed(positions: np.ndarray, matching: Matching | None) -> np.ndarray:
    if matching is None:
        return np.ones(len(positions), dtype=bool)
    sql, params = matching.select("position")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT string_agg(int8send(m.position), ''::bytea) "
            f"FROM ({sql}) AS m (position)",
            params,
        )
        return np.isin(positions, integers(cursor.fetchone()[0], ">i8"))


def _table(
    *,
    positions: np.ndarray,
    runs: np.ndarray,
    word_counts: np.ndarray,
    words: np.ndarray,
    meaning: np.ndarray,
    allowed: np.ndarray,
) -> Table:
    return Table(
        positions=positions,
        runs=runs,
        word_counts=word_counts,
        words=words,
        words_z=ranking.standardised(words),
        words_rank=ranking.ranks(words),
        meaning=meaning,
        meaning_z=ranking.standardised(meaning),
        meaning_rank=ranking.ranks(meaning),
        allowed=allowed,
    )
