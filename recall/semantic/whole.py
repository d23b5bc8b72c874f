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
    """Every message of the scope with its scores."""
    with connection.cursor() as cursor:
        cursor.execute(_WORDS.format(scope=scope.sql("t")), scope.params)
        positions, threads, lengths, sizes, terms, counts = cursor.fetchone()
        positions = integers(positions, ">i8").astype(np.int64)
        sizes = integers(sizes, ">i4")
        size = len(positions)
        meaning = np.full(size, np.nan)
        if question.vector is not None and question.space is not None and size:
            cursor.execute(
                _MEANING.format(scope=scope.sql("e")),
                [question.vector_text, *scope.params, question.space.id],
            )
            of_vectors, similarities = cursor.fetchone()
            meaning = best_of_chunks(
                positions,
                integers(of_vectors, ">i8"),
                integers(similarities, ">f4").astype(float),
            )
        allowed = np.ones(size, dtype=bool)
        if matching is not None:
            sql, params = matching.select("position")
            cursor.execute(
                "SELECT string_agg(int8send(m.position), ''::bytea) "
                f"FROM ({sql}) AS m (position)",
                params,
            )
            allowed = np.isin(positions, integers(cursor.fetchone()[0], ">i8"))
    word_counts = ranking.term_counts(
        question.terms,
        integers(terms, "<u4"),
        integers(counts, "u1"),
        np.repeat(np.arange(size), sizes),
        size,
    )
    lengths = integers(lengths, ">i4").astype(float)
    words = ranking.bm25(
        word_counts,
        lengths,
        total=size,
        found_in=(word_counts > 0).sum(axis=1),
        mean_length=float(lengths.mean()) if size else 0.0,
    )
    return Table(
        positions=positions,
        runs=integers(threads, ">i4"),
        word_counts=word_counts,
        words=words,
        words_z=ranking.standardised(words),
        words_rank=ranking.ranks(words),
        meaning=meaning,
        meaning_z=ranking.standardised(meaning),
        meaning_rank=ranking.ranks(meaning),
        allowed=allowed,
    )
