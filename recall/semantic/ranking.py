"""How messages are ordered: BM25, cosine similarity, and their fusion.

Every constant was chosen on four of LoCoMo's conversations and measured on the others;
docs/explanation/recall-quality.md has the figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from recall.semantic.lexical import QueryTerm

# BM25 (Robertson and Zaragoza 2009). Chat messages are short and repeat little, so
# both saturation and the correction for length are weaker than the usual 1.2 and 0.75.
K1 = 0.9
B = 0.4
# A message gains this share of the scores of the message next to it, and of the one
# after that, on both sides: an answer is often recognised by its question.
NEIGHBOUR_SHARES = (0.5, 0.25)
# Standard deviations above the mean from which one side is a reason by itself.
REASON = 0.75


def bm25(
    counts: np.ndarray, lengths: np.ndarray, *, total: int, found_in: np.ndarray,
    mean_length: float,
) -> np.ndarray:  # fmt: skip
    """BM25 of each message, with inverse document frequency within the scope.

    ``counts`` has a row for each query term and a column for each message; ``total`` is
    the number of messages in the scope, and ``found_in`` for each term in how many of
    them it occurs.
    """
    idf = np.log1p((total - found_in + 0.5) / (found_in + 0.5))
    norm = K1 * (1 - B + B * lengths / max(mean_length, 1.0))
    return (idf[:, None] * counts * (K1 + 1) / (counts + norm)).sum(axis=0)


def term_counts(
    query: Sequence[QueryTerm],
    terms: np.ndarray,
    counts: np.ndarray,
    owners: np.ndarray,
    size: int,
) -> np.ndarray:
    """How often each query term occurs in each of ``size`` messages.

    ``terms``, ``counts`` and ``owners`` are parallel: the term, how often, and in which
    message. All forms of a word count as the word.
    """
    table = np.zeros((len(query), size))
    if not len(terms) or not query:
        return table
    wanted = np.fromiter({form for term in query for form in term.forms}, "<u4")
    hits = np.flatnonzero(np.isin(terms, wanted))
    terms, counts, owners = terms[hits], counts[hits], owners[hits]
    for row, term in zip(table, query, strict=True):
        of_term = np.isin(terms, np.fromiter(term.forms, "<u4"))
        np.add.at(row, owners[of_term], counts[of_term])
    return table


def standardised(
    scores: np.ndarray, mean: float | None = None, deviation: float | None = None
) -> np.ndarray:
    """Scores in standard deviations from the mean; what is not known (NaN) gets 0.

    Mean and deviation are those of the given scores unless the scope's are known.
    """
    known = scores[np.isfinite(scores)]
    if mean is None or deviation is None:
        mean = float(known.mean()) if known.size else 0.0
        deviation = float(known.std()) if known.size else 0.0
    if not math.isfinite(deviation) or deviation < 1e-9:
        return np.zeros_like(scores)
    return np.nan_to_num((scores - mean) / deviation, nan=0.0)


def neighbour_bonus(scores: np.ndarray, threads: np.ndarray) -> np.ndarray:
    """What each message gains from its neighbours; they never count against it.

    ``threads`` says for each message which thread it is in; messages are in the order
    of their threads, and a thread's messages follow each other.
    """
    bonus = np.zeros_like(scores)
    for distance, share in enumerate(NEIGHBOUR_SHARES, start=1):
        if len(scores) <= distance:
            break
        together = threads[distance:] == threads[:-distance]
        bonus[distance:] += share * np.where(together, scores[:-distance], 0.0)
        bonus[:-distance] += share * np.where(together, scores[distance:], 0.0)
    return np.maximum(bonus, 0.0)


def ranks(scores: np.ndarray) -> np.ndarray:
    """The rank of each score from 1, equal scores sharing the best; NaN counts last."""
    return rank_among(scores, scores[np.isfinite(scores)])


def rank_among(scores: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The rank that each score has among ``others``, from 1."""
    ordered = np.sort(others)
    return len(ordered) - np.searchsorted(ordered, scores, side="right") + 1
