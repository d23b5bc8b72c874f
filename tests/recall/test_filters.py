"""Narrowing a page by dates, metadata and roles."""

from datetime import date, datetime

import pytest

from recall.memory import Memory
from tests.factories import at, draft, ids, make_messages, make_thread, numbered
from threads.errors import InvalidInput

pytestmark = pytest.mark.django_db


@pytest.fixture
def five():
    make_messages(["m1", "m2", "m3", "m4", "m5"])
    return Memory()


def dated(memory, **date_range):
    result = memory.recall("t1", filter={"dateRange": date_range})
    assert result.total == len(result.messages)
    return ids(result.messages)


@pytest.mark.parametrize(
    ("date_range", "expected"),
    [
        ({"start": at(2), "end": at(4)}, ["m2", "m3", "m4"]),
        ({"start": at(2), "end": at(4), "startExclusive": True}, ["m3", "m4"]),
        ({"start": at(2), "end": at(4), "end_exclusive": True}, ["m2", "m3"]),
        (
            {
                "start": at(2),
                "end": at(4),
                "startExclusive": True,
                "endExclusive": True,
            },
            ["m3"],
        ),
        ({"start": at(3)}, ["m3", "m4", "m5"]),
        ({"end": at(3)}, ["m1", "m2", "m3"]),
        ({"end": at(3), "endExclusive": True}, ["m1", "m2"]),
        (
            {"startExclusive": True, "endExclusive": True},
            ["m1", "m2", "m3", "m4", "m5"],
        ),
        ({}, ["m1", "m2", "m3", "m4", "m5"]),
        ({"start": None, "end": at(3)}, ["m1", "m2", "m3"]),
        ({"start": "2025-01-01T00:00:04Z"}, ["m4", "m5"]),
        ({"start": "2025-01-01T01:00:04+01:00"}, ["m4", "m5"]),
        ({"start": "2025-01-01T00:00:04.000Z", "end": "2025-01-01T00:00:04"}, ["m4"]),
        ({"end": "2025-01-01"}, []),
        ({"start": datetime(2025, 1, 1, 0, 0, 5)}, ["m5"]),
        ({"start": at(50)}, []),
        ({"start": at(4), "end": at(2)}, []),
    ],
)
def test_date_range(five, date_range, expected):
    assert dated(five, **date_range) == expected


@pytest.mark.parametrize(
    ("date_range", "field"),
    [
        ({"start": "garbage"}, "filter.dateRange.start"),
        ({"end": "2025-13-01"}, "filter.dateRange.end"),
        ({"end": date(2025, 1, 1)}, "filter.dateRange.end"),
        ({"start": 5}, "filter.dateRange.start"),
        ({"start": "9999-12-31T23:59:59-10:00"}, "filter.dateRange.start"),
        ({"startExclusive": "yes"}, "filter.dateRange.startExclusive"),
        ({"since": at(1)}, "filter.dateRange.since"),
        ([], "filter.dateRange"),
    ],
)
def test_a_wrong_date_names_its_field(five, date_range, field):
    with pytest.raises(InvalidInput) as error:
        five.recall("t1", filter={"dateRange": date_range})
    assert error.value.issues[0].field == field


def test_pages_of_a_date_range():
    make_messages(numbered("m", 10))
    wanted = {"date_range": {"start": at(3), "end": at(8)}}
    pages = [
        Memory().recall("t1", per_page=2, page=page, filter=wanted) for page in range(3)
    ]
    assert [ids(page.messages) for page in pages] == [
        ["m07", "m08"],
        ["m05", "m06"],
        ["m03", "m04"],
    ]
    assert [page.total for page in pages] == [6, 6, 6]
    assert [page.has_more for page in pages] == [True, True, False]


def test_the_default_size_holds_for_a_filter(five):
    wanted = {"date_range": {"start": at(1)}}
    result = five.recall("t1", filter=wanted, config={"last_messages": 2})
    assert (ids(result.messages), result.total) == (["m4", "m5"], 5)


VALUES = {
    "number": 1,
    "text": "1",
    "true": True,
    "half": 1.5,
    "null": None,
    "object": {"a": 1},
    "list": [1],
    "same": 1.0,
    "word": "null",
    "zero": 0,
    "false": False,
    "big": 2**60,
}


@pytest.fixture
def metadata():
    make_thread()
    memory = Memory()
    memory.save_messages(
        [draft(name, metadata={"k": value}) for name, value in VALUES.items()]
        + [draft("missing", metadata={"j": 1}), draft("bare")],
        thread_id="t1",
    )
    for name, value in VALUES.items():
        make_thread(f"t-{name}", "res-m", metadata={"k": value})
    make_thread("t-missing", "res-m")
    make_thread("t0")
    return memory


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, {"number", "same"}),
        (1.0, {"number", "same"}),
        ("1", {"text"}),
        (True, {"true"}),
        ("true", set()),
        (1.5, {"half"}),
        (None, {"null"}),
        ("null", {"word"}),
        (0, {"zero"}),
        (False, {"false"}),
        (2**60, {"big"}),
        (2**60 + 1, set()),
    ],
)
def test_metadata_matches_by_exact_type(metadata, value, expected):
    wanted = {"metadata": {"k": value}}
    result = metadata.recall("t1", per_page=False, filter=wanted)
    assert set(ids(result.messages)) == expected
    assert result.total == len(expected)
    everywhere = metadata.recall_by_resource("res-a", filter=wanted)
    assert set(ids(everywhere.messages)) == expected
    several = metadata.recall(["t1", "t0"], filter=wanted)
    assert set(ids(several.messages)) == expected
    threads = metadata.list_threads(filter={"resourceId": "res-m", **wanted})
    assert {id.removeprefix("t-") for id in ids(threads.threads)} == expected
    assert threads.total == len(expected)


def test_all_keys_must_match():
    make_thread()
    memory = Memory()
    memory.save_messages(
        [
            draft("both", metadata={"k": 1, "j": "x"}),
            draft("one", metadata={"k": 1, "j": "y"}),
            draft("case", metadata={"K": 1, "j": "x"}),
            draft("nested", metadata={"a": {"k": 1, "j": "x"}}),
        ],
        thread_id="t1",
    )
    both = memory.recall("t1", filter={"metadata": {"k": 1, "j": "x"}})
    assert ids(both.messages) == ["both"]
    assert memory.recall("t1", filter={"metadata": {"j": "X"}}).total == 0
    assert memory.recall("t1", filter={"metadata": {"zz": None}}).total == 0


@pytest.mark.parametrize("nothing", [{}, None])
def test_an_empty_metadata_filter_is_none(five, nothing):
    assert five.recall("t1", filter={"metadata": nothing}).total == 5
    assert five.list_threads(filter={"metadata": nothing}).total == 1


@pytest.mark.parametrize(
    "value",
    [{"a": 1}, [1], {"$eq": 1}, float("nan"), float("inf"), -float("inf"), at(1), {1}],
)
def test_only_finite_scalars_can_be_looked_for(five, value):
    for call in (lambda **rest: five.recall("t1", **rest), five.list_threads):
        with pytest.raises(
            InvalidInput, match="Invalid metadata filter value"
        ) as error:
            call(filter={"metadata": {"k": value}})
        assert error.value.issues[0].field == "filter.metadata.k"


@pytest.mark.parametrize(
    "key",
    ["a-b", "a.b", "", "1a", "a b", "$eq", "é", "it's", 'q"uote', "0", "back\\slash"]
    + ["__proto__", "constructor", "prototype", "k" * 129, "k\n", 5],
)
def test_a_key_that_is_no_name_is_refused(five, key):
    for call in (lambda **rest: five.recall("t1", **rest), five.list_threads):
        with pytest.raises(InvalidInput, match="Invalid metadata filter key"):
            call(filter={"metadata": {key: 1}})


@pytest.mark.parametrize(
    "key",
    ["regex", "contains", "isnull", "in", "exact", "lt", "has_key", "a__b", "_x"]
    + ["toString", "k" * 128],
)
def test_keys_that_look_like_lookups_are_just_keys(key):
    memory = Memory()
    decoys = [{"a": {"b": "v"}}, {"xs": ["v"]}, {"other": "v"}]
    for n, metadata in enumerate([{key: "v"}, *decoys]):
        make_thread(f"t{n}", metadata=metadata)
    memory.save_messages(
        [draft(f"m{n}", metadata=m) for n, m in enumerate([{key: "v"}, *decoys])],
        thread_id="t0",
    )
    assert ids(memory.list_threads(filter={"metadata": {key: "v"}}).threads) == ["t0"]
    found = memory.recall("t0", filter={"metadata": {key: "v"}})
    assert ids(found.messages) == ["m0"]
    assert memory.list_threads(filter={"metadata": {key: "(a+)+$"}}).total == 0


def test_metadata_and_dates_must_both_hold():
    make_messages(["m1", "m2", "m3"], metadata={"k": 1})
    wanted = {"metadata": {"k": 1}, "date_range": {"start": at(2), "end": at(2)}}
    assert ids(Memory().recall("t1", filter=wanted).messages) == ["m2"]


def test_pages_of_a_metadata_filter():
    make_messages(["m1", "x1", "m2", "m3"], metadata={"k": 1})
    memory = Memory()
    memory.update_messages([{"id": "x1", "content": {"metadata": {"k": 2}}}])
    pages = [
        memory.recall("t1", per_page=2, page=n, filter={"metadata": {"k": 1}})
        for n in range(3)
    ]
    assert [ids(page.messages) for page in pages] == [["m2", "m3"], ["m1"], []]
    assert [page.total for page in pages] == [3, 3, 3]
    assert [page.has_more for page in pages] == [True, False, False]


def test_metadata_of_a_moved_message_is_found_in_its_new_thread():
    make_messages(["m1", "m2"], metadata={"k": 1})
    make_thread("t2")
    memory = Memory()
    memory.save_messages([draft("m1", metadata={"k": 1})], thread_id="t2")
    found = memory.recall("t2", filter={"metadata": {"k": 1}})
    assert ids(found.messages) == ["m1"]
    assert memory.recall("t1", filter={"metadata": {"k": 1}}).total == 1


def test_roles():
    make_thread()
    memory = Memory()
    roles = ["user", "assistant", "tool", "system"]
    memory.save_messages(
        [draft(r, n, role=r) for n, r in enumerate(roles)], thread_id="t1"
    )
    chosen = memory.recall("t1", filter={"roles": ["system", "user"]})
    assert (ids(chosen.messages), chosen.total) == (["user", "system"], 2)
    assert memory.recall("t1", filter={"roles": []}).total == 0
    for wrong in ("user", ["banana"], [5]):
        with pytest.raises(InvalidInput):
            memory.recall("t1", filter={"roles": wrong})


@pytest.mark.parametrize("wanted", [{"text": "x"}, "x", ["metadata"], {"date": {}}])
def test_an_unknown_filter_is_refused(five, wanted):
    for call in (lambda **rest: five.recall("t1", **rest), five.list_threads):
        with pytest.raises(InvalidInput) as error:
            call(filter=wanted)
        assert error.value.issues[0].field.startswith("filter")


def test_a_key_in_two_spellings_is_refused(five):
    with pytest.raises(InvalidInput):
        five.recall("t1", filter={"dateRange": {}, "date_range": {"start": at(1)}})
