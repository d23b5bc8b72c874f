"""Scores and their fusion, by exact values."""

import math

import numpy as np
import pytest

from recall.semantic import ranking
from recall.semantic.lexical import QueryTerm


def test_bm25_weighs_rare_words_more():
    counts = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    scores = ranking.bm25(
        counts,
        np.array([5.0, 5.0, 5.0]),
        total=3,
        found_in=np.array([2.0, 1.0]),
        mean_length=5.0,
    )
    common = math.log(1 + 1.5 / 2.5)
    rare = math.log(1 + 2.5 / 1.5)
    assert scores == pytest.approx([common, common, rare])


def test_bm25_prefers_the_shorter_of_two_messages():
    scores = ranking.bm25(
        np.array([[1.0, 1.0]]),
        np.array([2.0, 20.0]),
        total=2,
        found_in=np.array([2.0]),
        mean_length=11.0,
    )
    assert scores[0] > scores[1] > 0


def test_all_forms_of_a_word_count_as_the_word():
    terms = np.array([1, 2, 3, 1], dtype="<u4")
    counts = np.array([2, 1, 5, 4], dtype="u1")
    owners = np.array([0, 0, 1, 2])
    query = [QueryTerm("w", frozenset({1, 2})), QueryTerm("v", frozenset({3}))]
    assert ranking.term_counts(query, terms, counts, owners, 3).tolist() == [
        [3, 0, 4],
        [0, 5, 0],
    ]


def test_standardised_scores_have_mean_0_and_deviation_1_and_unknown_ones_are_0():
    assert ranking.standardised(np.array([1.0, 3.0, np.nan])).tolist() == [-1, 1, 0]


@pytest.mark.parametrize("scores", [[], [2.0], [2.0, 2.0], [np.nan]])
def test_scores_that_do_not_differ_say_nothing(scores):
    assert not ranking.standardised(np.array(scores, dtype=float)).any()


def test_neighbours_help_within_their_thread_and_never_harm():
    scores = np.array([4.0, 0.0, 0.0, 0.0, -4.0])
    threads = np.array([1, 1, 1, 2, 2])
    near, far = ranking.NEIGHBOUR_SHARES
    assert ranking.neighbour_bonus(scores, threads).tolist() == [
        0.0,
        4 * near,
        4 * far,
        0.0,
        0.0,
    ]


def test_equal_scores_share_the_best_rank():
    assert ranking.ranks(np.array([1.0, 3.0, 3.0, 2.0])).tolist() == [4, 1, 1, 3]
