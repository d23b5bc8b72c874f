"""Messages under comparison, as parallel arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recall.embedding.models import EmbeddingSpace
from recall.semantic.lexical import QueryTerm


@dataclass(frozen=True)
class Question:
    """What is looked for: words, and a vector of a space unless meaning is not asked."""

    terms: Sequence[QueryTerm]
    vector: np.ndarray | None = None
    space: EmbeddingSpace | None = None

    @property
    def vector_text(self) -> str:
        """The vector as PostgreSQL reads it."""
        if self.vector is None:
            raise ValueError("the question has no vector")
        return "[" + ",".join(f"{value:.6g}" for value in self.vector.tolist()) + "]"


@dataclass(frozen=True)
class Table:
    """Messages in the order of their threads, and within a thread in its own order.

    ``positions`` are their handles. Rows with equal ``runs`` that are next to each other
    here are next to each other in their thread. ``word_counts`` has a row for each term
    of the question. ``words`` is BM25 and ``meaning`` cosine similarity, NaN where a
    message has no vector; ``words_z`` and ``meaning_z`` are the two standardised over
    the whole scope, and the ranks are those in the whole scope. ``allowed`` marks the
    messages that may be hits.
    """

    positions: np.ndarray
    runs: np.ndarray
    word_counts: np.ndarray
    words: np.ndarray
    words_z: np.ndarray
    words_rank: np.ndarray
    meaning: np.ndarray
    meaning_z: np.ndarray
    meaning_rank: np.ndarray
    allowed: np.ndarray


def integers(raw: bytes | memoryview | None, kind: str) -> np.ndarray:
    """Numbers that PostgreSQL sent end to end (``int8send``, ``float4send`` …)."""
    return np.frombuffer(raw or b"", dtype=kind)


def best_of_chunks(
    positions: np.ndarray, of_vectors: np.ndarray, similarities: np.ndarray
) -> np.ndarray:
    """For each message the similarity of its best chunk, NaN without any."""
    best = np.full(len(positions), np.nan)
    if not len(positions) or not len(of_vectors):
        return best
    order = np.argsort(positions)
    at = np.searchsorted(positions[order], of_vectors)
    at = np.minimum(at, len(positions) - 1)
    known = positions[order][at] == of_vectors
    np.fmax.at(best, order[at[known]], similarities[known])
    return best
