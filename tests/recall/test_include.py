"""Messages included by id, with their neighbours."""

import pytest

from recall.memory import Memory
from tests.factories import ids, make_messages, numbered
from threads.errors import InvalidInput
from threads.reach import Reach

pytestmark = pytest.mark.django_db

ASC = {"field": "createdAt", "direction": "ASC"}
DESC = {"field": "createdAt", "direction": "DESC"}


@pytest.fixture
def memory():
    make_messages(numbered("a", 10))
    make_messages([f"b{n}" for n in range(1, 6)], "t2", start=2.5)
    make_messages([f"c{n}" for n in range(1, 6)], "t3", resource_id="res-b", start=3.2)
    return Memory()


def included(memory, *items, resource_id="res-a", **arguments):
    arguments.setdefault("per_page", 0)
    return memory.recall("t1", resource_id, include=list(items), **arguments)


def around(id, before=0, after=0):
    return {"id": id, "withPreviousMessages": before, "withNextMessages": after}


def test_page_and_include_are_merged_in_order(memory):
    result = included(memory, {"id": "a09"}, per_page=2, order_by=ASC)
    assert ids(result.messages) == ["a01", "a02", "a09"]
    assert (result.total, result.per_page, result.has_more) == (10, 2, True)


def test_what_is_on_the_page_already_comes_once(memory):
    result = included(memory, around("a02", 0, 1), per_page=2, order_by=ASC)
    assert ids(result.messages) == ["a01", "a02", "a03"]


def test_windows_that_overlap_bring_each_message_once(memory):
    result = included(memory, around("a04", 2, 2), around("a06", 2, 2))
    assert ids(result.messages) == numbered("a", 8)[1:]


def test_descending_order_holds_for_includes(memory):
    result = included(memory, {"id": "a01"}, per_page=2, order_by=DESC)
    assert ids(result.messages) == ["a10", "a09", "a01"]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (around("a05", 2, 2), ["a03", "a04", "a05", "a06", "a07"]),
        (around("a01", 5), ["a01"]),
        (around("a10", 0, 5), ["a10"]),
        ({"id": "a05"}, ["a05"]),
        ({"id": "a05", "with_previous_messages": 1}, ["a04", "a05"]),
        ({"id": "a05", "threadId": "t1"}, ["a05"]),
        ({"id": "a05", "threadId": "t2"}, []),
        ({"id": "nope"}, []),
        ({"id": ""}, []),
        (around("b2", 1), ["b1", "b2"]),
        (around("a05", 10**30, 10**30), numbered("a", 10)),
    ],
)
def test_window(memory, item, expected):
    assert ids(included(memory, item).messages) == expected


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (around("a05", -1), "include.0.withPreviousMessages"),
        (around("a05", 1.5), "include.0.withPreviousMessages"),
        (around("a05", "1"), "include.0.withPreviousMessages"),
        (around("a05", 0, True), "include.0.withNextMessages"),
        ({"id": "a05", "with_next_messages": -1}, "include.0.with_next_messages"),
        ({"id": "a05", "before": 1}, "include.0.before"),
        ({"id": 5}, "include.0.id"),
        ({}, "include.0.id"),
        ("a05", "include.0"),
    ],
)
def test_a_wrong_include_names_its_field(memory, item, field):
    with pytest.raises(InvalidInput) as error:
        included(memory, item)
    assert error.value.issues[0].field == field


def test_include_must_be_a_list(memory):
    with pytest.raises(InvalidInput) as error:
        memory.recall("t1", include={"id": "a05"})
    assert error.value.issues[0].field == "include"


def test_neighbours_come_from_the_own_thread_and_join_the_page(memory):
    result = included(memory, around("b2", 1), per_page=3, order_by=ASC)
    assert ids(result.messages) == ["a01", "a02", "b1", "a03", "b2"]
    assert result.total == 10


def test_another_resource_is_never_included(memory):
    hidden = included(memory, around("c2", 5, 5))
    missing = included(memory, around("c9", 5, 5))
    assert hidden == missing
    assert hidden.messages == []


def test_out_of_reach_is_never_included(memory):
    stranger = memory.within(Reach.of(["res-a"]))
    result = stranger.recall("t1", per_page=0, include=[{"id": "c2"}, {"id": "b2"}])
    assert ids(result.messages) == ["b2"]
    prefixed = memory.within(Reach.of(["res-*"]))
    result = prefixed.recall("t1", per_page=0, include=[{"id": "c2"}])
    assert ids(result.messages) == ["c2"]


def test_without_a_resource_anything_within_reach_is_included(memory):
    result = included(memory, {"id": "c2"}, resource_id=None)
    assert ids(result.messages) == ["c2"]


def test_a_missing_thread_still_includes(memory):
    result = memory.recall("gone", include=[{"id": "a03"}])
    assert (ids(result.messages), result.total) == (["a03"], 0)


def test_filters_apply_to_the_page_and_not_to_includes(memory):
    nine = {"date_range": {"start": "2025-01-01T00:00:09Z"}}
    result = included(memory, {"id": "a01"}, per_page=1, filter=nine)
    assert ids(result.messages) == ["a01", "a10"]
    assert (result.total, result.has_more) == (2, True)


def test_beyond_the_end_only_includes_are_left(memory):
    result = included(memory, {"id": "a01"}, per_page=5, page=9)
    assert (ids(result.messages), result.total, result.has_more) == (["a01"], 10, False)


def test_includes_do_not_change_has_more(memory):
    result = included(memory, around("a04", 0, 2), per_page=3, order_by=ASC)
    assert len(result.messages) == 6
    assert result.has_more


def test_many_windows_of_a_long_thread():
    make_messages([f"m{n:03d}" for n in range(200)])
    items = [around(f"m{n:03d}", 2, 2) for n in (10, 50, 100, 150, 190)]
    result = Memory().recall("t1", per_page=0, include=items)
    expected = [f"m{n + d:03d}" for n in (10, 50, 100, 150, 190) for d in range(-2, 3)]
    assert ids(result.messages) == expected


def test_the_target_is_returned_among_equal_times():
    make_messages(["e", "a", "d", "b", "c"], step=0)
    memory = Memory()
    assert ids(memory.recall("t1", per_page=0, include=[{"id": "a"}]).messages) == ["a"]
    window = memory.recall("t1", per_page=0, include=[around("d", 1, 1)])
    assert ids(window.messages) == ["a", "d", "b"]


def test_a_resource_includes_only_its_own(memory):
    result = memory.recall_by_resource(
        "res-a", per_page=0, include=[{"id": "c2"}, {"id": "b2"}]
    )
    assert ids(result.messages) == ["b2"]
