"""Semantic recall: messages found by meaning and by words."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import QuerySet

from recall.config import SemanticRecall
from recall.embedding.base import checked
from recall.embedding.models import EmbeddingSpace
from recall.embedding.registry import embedder
from recall.embedding.spaces import ready_space
from recall.semantic import candidates, ranking, whole
from recall.semantic.hits import Hit, Leg, SearchResult, Why
from recall.semantic.lexical import QueryTerm, query_terms
from recall.semantic.scope import Matching, Scope
from recall.semantic.table import Question, Table
from recall.semantic.windows import places
from threads.errors import InvalidInput
from threads.models import Message

logger = logging.getLogger(__name__)

# Scopes up to this many messages are compared message by message: exact, and as fast as
# choosing candidates by an index. Measured by bench/semantic.py.
WHOLE_SCOPE = 8_000
# Vectors are stored in half precision: an equal text comes out up to this far below 1.
HALF_PRECISION = 1e-3


@dataclass(frozen=True)
class _Meaning:
    """The query's vector in the searched space, or the problem with it."""

    vector: np.ndarray | None = None
    space: EmbeddingSpace | None = None
    tokens: int = 0
    problem: str = ""


def search(
    query: str,
    *,
    resource_id: str,
    thread_ids: Sequence[str] | None = None,
    config: SemanticRecall | None = None,
    matching: QuerySet[Message] | None = None,
    without: Sequence[str] = (),
    without_threads: Sequence[str] = (),
    field: str = "search",
) -> SearchResult:
    """The ``config.top_k`` messages that fit ``query`` best, each once, best first.

    ``thread_ids`` limits the search to threads of the resource (``config.scope`` is the
    caller's to turn into them). ``matching`` limits which messages of the scope may be
    hits (dates, metadata, roles), before the best are chosen; neighbours are not limited
    by it. ``without`` are ids of messages that the search shall not know of, such as the
    one that asks; ``without_threads`` are ids of threads, such as other versions of the
    conversation that asks.

    With ``config.threshold`` only messages whose cosine similarity reaches it are hits;
    those that have no vector yet cannot be judged and stay, if the words fit. In mode
    ``lexical`` there is no similarity, and the threshold does nothing.

    When meaning cannot be compared the words alone decide, and the result says so; in
    mode ``vector`` nothing is found then. Raises :class:`InvalidInput`, naming
    ``field``, for a blank query.
    """
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput.of(field, "must be a non-empty string")
    config = config or SemanticRecall()
    scope = Scope(
        resource_id,
        None if thread_ids is None else tuple(thread_ids),
        tuple(without),
        tuple(without_threads),
    )
    if scope.thread_ids == ():
        return SearchResult()
    meaning = _Meaning()
    if config.mode != "lexical":
        meaning = _meaning_of(query)
    question = Question(
        terms=[] if config.mode == "vector" else query_terms(query),
        vector=meaning.vector,
        space=meaning.space,
    )
    among = None if matching is None else Matching(matching, scope)
    size = scope.count(WHOLE_SCOPE + 1)
    if size <= WHOLE_SCOPE:
        table = whole.compare(question, scope, among)
    else:
        table = candidates.compare(question, scope, among, top_k=config.top_k)
    problem = meaning.problem
    if meaning.vector is not None and size and not np.isfinite(table.meaning).any():
        problem = "nothing in this scope is embedded yet"
    return SearchResult(
        hits=_hits(table, question.terms, scope, config),
        meaning_available=not problem,
        problem=problem,
        tokens=meaning.tokens,
    )


def _meaning_of(query: str) -> _Meaning:
    space = ready_space()
    if space is None:
        return _Meaning(problem="nothing is embedded yet")
    try:
        model = embedder(space.embedder)
        vector = checked(
            [model.embed_query(query.strip())], count=1, dimensions=space.dimensions
        )[0]
        tokens = model.count_tokens(query)
    except Exception as error:
        # Whatever is wrong with a model, words are still there to answer with.
        logger.warning("The query was not embedded: %s", error)
        return _Meaning(problem=f"the embedder {space.embedder} did not answer")
    return _Meaning(vector, space, tokens)


def _hits(
    table: Table, terms: Sequence[QueryTerm], scope: Scope, config: SemanticRecall
) -> tuple[Hit, ...]:
    embedded = np.isfinite(table.meaning)
    own = table.words_z + table.meaning_z
    context = np.zeros(len(own))
    if config.mode == "vector":
        score, eligible = table.meaning, embedded
    elif config.mode == "lexical":
        score, eligible = table.words, table.words > 0
    else:
        context = ranking.neighbour_bonus(own, table.runs)
        score, eligible = own + context, embedded | (table.words > 0)
    eligible = eligible & table.allowed
    if config.threshold is not None and config.mode != "lexical":
        too_low = table.meaning + HALF_PRECISION < config.threshold
        eligible = eligible & ~(embedded & too_low)
    found = np.flatnonzero(eligible)
    # The newest first among equals.
    best = found[np.lexsort((-table.positions[found], -score[found]))][: config.top_k]
    where = places(
        table.positions[best].tolist(),
        scope,
        before=config.message_range.before,
        after=config.message_range.after,
    )
    hits = []
    for row in best:
        place = where.get(int(table.positions[row]))
        if place is None:  # deleted or moved meanwhile
            continue
        hits.append(
            Hit(
                message_id=place.message_id,
                thread_id=place.thread_id,
                score=round(float(score[row]), 6),
                why=_why(table, row),
                legs=_legs(table, row),
                words=tuple(
                    term.word
                    for term, counts in zip(terms, table.word_counts, strict=True)
                    if counts[row]
                ),
                context=round(float(context[row]), 6),
                window=place.window,
            )
        )
    return tuple(hits)


def _why(table: Table, row: int) -> Why:
    """The side that speaks for the message; both when each does by itself."""
    if not np.isfinite(table.meaning[row]):
        return "words"
    if table.words[row] <= 0:
        return "meaning"
    words, meaning = table.words_z[row], table.meaning_z[row]
    if min(words, meaning) >= ranking.REASON or words == meaning:
        return "both"
    return "words" if words > meaning else "meaning"


def _legs(table: Table, row: int) -> dict[str, Leg]:
    legs = {}
    if np.isfinite(table.meaning[row]):
        legs["vector"] = Leg(
            score=round(float(min(1.0, max(-1.0, table.meaning[row]))), 6),
            rank=int(table.meaning_rank[row]),
        )
    if table.words[row] > 0:
        legs["lexical"] = Leg(
            score=round(float(table.words[row]), 6), rank=int(table.words_rank[row])
        )
    return legs
