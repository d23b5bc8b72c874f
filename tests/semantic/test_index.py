"""The nearest-neighbour index: built beside reads and writes, bound to the scope."""

import numpy as np
import pytest

from recall.embedding import spaces
from recall.semantic import nearest
from recall.semantic.scope import Matching, Scope
from recall.semantic.table import Question
from threads.models import Message


@pytest.fixture
def many(transactional_db, planned, monkeypatch, say, embed):
    """Enough vectors for an index: res-a has 30 among 600 of res-b's nearer ones."""
    monkeypatch.setattr(spaces, "INDEX_FROM", 100)
    random = np.random.default_rng(1)
    near, mine = {}, {}
    for number in range(600):
        planned.plan[f"near {number}"] = [1, *(0.1 * random.standard_normal(7))]
        near[f"o{number}"] = f"near {number}"
    for number in range(30):
        planned.plan[f"mine {number}"] = [0.3, *random.standard_normal(7)]
        mine[f"m{number}"] = f"mine {number}"
    say("tb", near, resource_id="res-b")
    say("t1", mine)
    embed()
    space = spaces.ready_space()
    assert spaces.build_index(space)
    return Question([], np.eye(8, dtype=np.float32)[0], space)


def test_the_index_is_built_once_and_finds_what_exact_search_finds(many):
    assert spaces.has_index(many.space.id)
    assert not spaces.build_index(many.space)
    for resource_id, wanted in (("res-a", 10), ("res-a", 30), ("res-b", 10)):
        scope = Scope(resource_id)
        exact, _ = nearest.exact(many, scope, None, wanted)
        found, scores = nearest.by_index(many, scope, None, wanted, 600.0)
        assert len(found) == wanted
        assert len(set(found) & set(exact)) >= 0.9 * wanted
        assert list(scores) == sorted(scores, reverse=True)


def test_filters_bind_before_the_cut_of_the_index(many):
    few = Message.objects.filter(id__in=["m3", "m7"])
    scope = Scope("res-a")
    found, _ = nearest.by_index(many, scope, Matching(few, scope), 10, 5000.0)
    positions = Message.objects.filter(id__in=["m3", "m7"])
    assert sorted(found) == sorted(positions.values_list("position", flat=True))


def test_settings_of_the_walk_do_not_outlive_it(many):
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor:
        nearest.by_index(many, Scope("res-a"), None, 5, 10.0)
        for setting in ("enable_sort", "enable_seqscan", "enable_bitmapscan"):
            cursor.execute(f"SHOW {setting}")
            assert cursor.fetchone() == ("on",)


def test_pruning_a_space_drops_its_index(many, planned):
    spaces.EmbeddingSpace.objects.update(state="retired")
    assert spaces.prune() == 1
    assert not spaces.has_index(many.space.id)
