"""Which messages a page holds, and in which order."""

import pytest

from recall.memory import Memory
from tests.factories import at, draft, ids, make_messages, make_thread, numbered
from threads.errors import InvalidInput, OwnershipError, ThreadNotFound
from threads.reach import Reach

pytestmark = pytest.mark.django_db

ASC = {"field": "createdAt", "direction": "ASC"}
DESC = {"field": "created_at", "direction": "DESC"}


@pytest.fixture
def memory():
    make_messages(numbered("m", 12))
    return Memory()


def shape(result):
    return result.total, result.page, result.per_page, result.has_more


def test_default_is_the_newest_ten_oldest_first(memory):
    result = memory.recall("t1")
    assert ids(result.messages) == numbered("m", 12)[2:]
    assert shape(result) == (12, 0, 10, True)


@pytest.mark.parametrize(
    ("page", "expected", "more"),
    [
        (0, ["m08", "m09", "m10", "m11", "m12"], True),
        (1, ["m03", "m04", "m05", "m06", "m07"], True),
        (2, ["m01", "m02"], False),
        (3, [], False),
        (99, [], False),
    ],
)
def test_pages_without_order_go_back_in_time(memory, page, expected, more):
    result = memory.recall("t1", per_page=5, page=page)
    assert ids(result.messages) == expected
    assert shape(result) == (12, page, 5, more)


@pytest.mark.parametrize(
    ("page", "expected", "more"),
    [
        (0, ["m01", "m02", "m03", "m04", "m05"], True),
        (1, ["m06", "m07", "m08", "m09", "m10"], True),
        (2, ["m11", "m12"], False),
    ],
)
def test_ascending_order_begins_with_the_oldest(memory, page, expected, more):
    result = memory.recall("t1", per_page=5, page=page, order_by=ASC)
    assert ids(result.messages) == expected
    assert result.has_more is more


def test_descending_order_is_taken_literally(memory):
    assert ids(memory.recall("t1", per_page=3, order_by=DESC).messages) == [
        "m12",
        "m11",
        "m10",
    ]


def test_last_page_of_an_exact_division_has_no_more(memory):
    result = memory.recall("t1", per_page=4, page=2)
    assert ids(result.messages) == ["m01", "m02", "m03", "m04"]
    assert not result.has_more


def test_false_is_everything(memory):
    result = memory.recall("t1", per_page=False)
    assert ids(result.messages) == numbered("m", 12)
    assert shape(result) == (12, 0, False, False)


def test_zero_is_no_message_but_the_true_total(memory):
    result = memory.recall("t1", per_page=0)
    assert (result.messages, result.total, result.per_page) == ([], 12, 0)


def test_a_million_a_page_is_no_error(memory):
    assert shape(memory.recall("t1", per_page=1_000_000)) == (12, 0, 1_000_000, False)


def test_page_alone_keeps_the_default_size(memory):
    result = memory.recall("t1", page=1)
    assert ids(result.messages) == ["m01", "m02"]
    assert shape(result) == (12, 1, 10, False)


def test_last_messages_is_the_default_size(memory):
    three = {"lastMessages": 3}
    assert ids(memory.recall("t1", config=three).messages) == ["m10", "m11", "m12"]
    assert ids(memory.recall("t1", page=1, config=three).messages) == [
        "m07",
        "m08",
        "m09",
    ]
    assert ids(memory.recall("t1", order_by=ASC, config=three).messages) == [
        "m01",
        "m02",
        "m03",
    ]


@pytest.mark.parametrize("off", [False, 0])
def test_history_off_recalls_no_page(memory, off):
    result = memory.recall("t1", config={"last_messages": off})
    assert (result.messages, result.per_page) == ([], 0)


@pytest.mark.parametrize("page", [-1, 1.5, "1", float("nan"), True, None])
def test_page_must_be_an_integer(memory, page):
    with pytest.raises(InvalidInput) as error:
        memory.recall("t1", page=page)
    assert error.value.issues[0].field == "page"


@pytest.mark.parametrize(
    "per_page", [-1, 2.5, float("nan"), float("inf"), "5", True, [5]]
)
def test_per_page_must_be_an_integer_or_false(memory, per_page):
    for call in (memory.recall, lambda _, **rest: memory.list_threads(**rest)):
        with pytest.raises(InvalidInput) as error:
            call("t1", per_page=per_page)
        assert error.value.issues[0].field == "per_page"


def test_a_page_beyond_what_a_database_counts_is_refused(memory):
    for call in (memory.recall, lambda _, **rest: memory.list_threads(**rest)):
        with pytest.raises(InvalidInput) as error:
            call("t1", page=10**20, per_page=10)
        assert error.value.issues[0].field == "page"


@pytest.mark.parametrize(
    ("order_by", "field"),
    [
        ({"field": "zzz", "direction": "ASC"}, "order_by.field"),
        ({"field": "updatedAt", "direction": "ASC"}, "order_by.field"),
        ({"field": "createdAt", "direction": "sideways"}, "order_by.direction"),
        ({"field": "createdAt", "direction": "desc"}, "order_by.direction"),
        ({"by": "createdAt"}, "order_by.by"),
        ("createdAt", "order_by"),
    ],
)
def test_an_unknown_order_is_refused(memory, order_by, field):
    with pytest.raises(InvalidInput) as error:
        memory.recall("t1", order_by=order_by)
    assert error.value.issues[0].field == field


@pytest.mark.parametrize("thread_id", ["", "   ", [], ["t1", ""], None, 5])
def test_thread_id_must_name_something(memory, thread_id):
    with pytest.raises(InvalidInput) as error:
        memory.recall(thread_id)
    assert error.value.issues[0].field == "thread_id"


def test_equal_times_keep_the_order_of_insertion():
    make_messages(["e", "a", "d", "b", "c"], step=0)
    memory = Memory()
    assert ids(memory.recall("t1").messages) == ["e", "a", "d", "b", "c"]
    pages = [ids(memory.recall("t1", per_page=2, page=n).messages) for n in range(3)]
    assert pages == [["b", "c"], ["a", "d"], ["e"]]
    everything = memory.recall("t1", per_page=False, order_by=DESC)
    assert ids(everything.messages) == ["c", "b", "d", "a", "e"]


def test_times_far_away_sort_as_times():
    make_thread()
    Memory().save_messages(
        [
            draft("far", created_at="9999-12-31T00:00:00Z"),
            draft("old", created_at="0001-01-02T00:00:00Z"),
            draft("now", created_at=at(0)),
        ],
        thread_id="t1",
    )
    assert ids(Memory().recall("t1").messages) == ["old", "now", "far"]


def test_several_threads_read_as_one(memory):
    make_messages(["x1", "x2", "x3"], "t2", start=1.5, step=4)
    result = memory.recall(["t1", "t2"], per_page=False)
    assert ids(result.messages)[:3] == ["m01", "x1", "m02"]
    assert result.total == 15
    newest = memory.recall(["t2", "t1"], "res-a", per_page=3)
    assert ids(newest.messages) == ["x3", "m10", "m11", "m12"][1:]
    assert newest.has_more


def test_threads_of_two_resources_are_not_one_history(memory):
    make_messages(["b1"], "tb", resource_id="res-b")
    with pytest.raises(InvalidInput):
        memory.recall(["t1", "tb"])
    with pytest.raises(OwnershipError):
        memory.recall(["t1", "tb"], "res-a")


def test_another_owner_is_refused(memory):
    with pytest.raises(OwnershipError, match="Thread with id t1 is for resource"):
        memory.recall("t1", "res-b")


def test_a_missing_thread_is_empty_unless_a_resource_is_named(memory):
    assert shape(memory.recall("nope")) == (0, 0, 10, False)
    with pytest.raises(ThreadNotFound, match="No thread found with id nope"):
        memory.recall("nope", "res-a")


def test_out_of_reach_looks_like_missing(memory):
    stranger = memory.within(Reach.of(["res-b", "team/*"]))
    assert shape(stranger.recall("t1")) == (0, 0, 10, False)
    with pytest.raises(ThreadNotFound) as hidden:
        stranger.recall("t1", "res-a")
    with pytest.raises(ThreadNotFound) as missing:
        stranger.recall("t9", "res-a")
    assert hidden.value.message == missing.value.message.replace("t9", "t1")


def test_a_resource_recalls_all_its_threads_from_the_oldest(memory):
    make_messages(["x1", "x2"], "t2", start=0.5, step=100)
    make_messages(["b1"], "tb", resource_id="res-b")
    result = memory.recall_by_resource("res-a")
    assert ids(result.messages) == ["x1", *numbered("m", 12), "x2"]
    assert shape(result) == (14, 0, 40, False)
    newest = memory.recall_by_resource("res-a", per_page=2, order_by=DESC)
    assert ids(newest.messages) == ["x2", "m12"]
    assert shape(memory.recall_by_resource("nobody")) == (0, 0, 40, False)
    assert memory.within(Reach.of(["res-b"])).recall_by_resource("res-a").total == 0
    with pytest.raises(InvalidInput):
        memory.recall_by_resource("")


@pytest.mark.parametrize("order_by", [None, ASC, DESC])
def test_deep_pages_seek_to_the_same_messages(order_by):
    make_messages([f"m{n:03d}" for n in range(450)], step=0.001)
    memory = Memory()
    walked = []
    for page in range(7):
        rows = ids(
            memory.recall("t1", per_page=70, page=page, order_by=order_by).messages
        )
        walked = rows + walked if order_by is None else walked + rows
    expected = [f"m{n:03d}" for n in range(450)]
    assert walked == (expected[::-1] if order_by is DESC else expected)


def test_iterating_gives_every_message_once(memory):
    make_messages([f"x{n}" for n in range(1203)], "t2", step=0)
    assert ids(list(memory.iter_messages("t2"))) == [f"x{n}" for n in range(1203)]
    backwards = ids(list(memory.iter_messages("t2", newest_first=True)))
    assert backwards == [f"x{n}" for n in reversed(range(1203))]
    with pytest.raises(ThreadNotFound):
        memory.iter_messages("nope")
