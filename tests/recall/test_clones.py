"""Copies of threads and their lineage."""

import pytest

from recall.memory import Memory
from tests.factories import (
    at,
    counters_are_true,
    draft,
    ids,
    make_messages,
    make_thread,
)
from threads.errors import Conflict, InvalidInput, ResourceNotFound, ThreadNotFound
from threads.models import Message, Thread
from threads.reach import Reach

pytestmark = pytest.mark.django_db

SOURCE = ["m1", "m2", "m3", "m4", "m5", "m6"]


@pytest.fixture
def memory():
    make_messages(SOURCE, metadata={"k": 1})
    Memory().update_thread("t1", title="Src", metadata={"proj": "p", "k": 1})
    return Memory()


def texts(messages):
    return [message.text for message in messages]


def test_a_clone_is_the_source_under_new_ids(memory):
    source = memory.get_thread("t1")
    result = memory.clone_thread("t1")
    thread, copies = result.thread, result.cloned_messages
    assert thread.title == "Clone of Src"
    assert thread.resource_id == "res-a"
    originals = memory.recall("t1", per_page=False).messages
    for original, copy in zip(originals, copies, strict=True):
        assert copy.id != original.id
        assert len(copy.id) == 36
        assert copy.id[14] == "7"
        assert copy.thread_id == thread.id
        for field in ("role", "type", "content", "metadata", "text", "created_at"):
            assert getattr(copy, field) == getattr(original, field)
    assert result.message_id_map == dict(zip(SOURCE, ids(copies), strict=True))
    recalled = memory.recall(thread.id, per_page=False)
    assert ids(recalled.messages) == ids(copies)
    assert recalled.total == 6
    assert memory.get_thread("t1").updated_at == source.updated_at
    assert memory.get_thread(thread.id).last_message_at == at(6)
    assert counters_are_true()


def test_the_record_of_a_clone(memory):
    result = memory.clone_thread("t1", metadata={"a": 1, "k": 2, "clone": "mine"})
    stored = memory.get_thread(result.thread.id)
    record = stored.metadata.pop("clone")
    assert stored.metadata == {"proj": "p", "k": 2, "a": 1}
    assert record["sourceThreadId"] == "t1"
    assert record["lastMessageId"] == "m6"
    assert record["clonedAt"].endswith("Z")
    assert len(record["clonedAt"]) == 24
    clone = memory.get_thread(result.thread.id)
    known = memory.get_clone_metadata(clone)
    assert (known.source_thread_id, known.last_message_id) == ("t1", "m6")
    assert memory.is_clone(clone)
    assert not memory.is_clone(memory.get_thread("t1"))
    assert not memory.is_clone(None)
    assert memory.get_clone_metadata(None) is None


@pytest.mark.parametrize(
    ("title", "expected"), [("My", "My"), ("", "Clone of Src"), (None, "Clone of Src")]
)
def test_title_of_a_clone(memory, title, expected):
    assert memory.clone_thread("t1", title=title).thread.title == expected


def test_a_clone_of_an_untitled_thread_is_untitled(memory):
    make_thread("bare")
    clone = memory.clone_thread("bare").thread
    assert (clone.title, clone.title_source) == ("", "none")
    assert "lastMessageId" not in clone.metadata["clone"]
    assert (clone.message_count, clone.last_message_at) == (0, None)


def test_the_id_of_a_clone(memory):
    assert memory.clone_thread("t1", new_thread_id="c1").thread.id == "c1"
    assert memory.clone_thread("t1", new_thread_id="").thread.id not in ("", "c1")
    before = Thread.objects.count(), Message.objects.count()
    for taken in ("c1", "t1"):
        with pytest.raises(Conflict, match=f"Thread with id {taken} already exists"):
            memory.clone_thread("t1", new_thread_id=taken)
    with pytest.raises(ThreadNotFound, match="Source thread with id nope not found"):
        memory.clone_thread("nope")
    with pytest.raises(ThreadNotFound):
        memory.within(Reach.of(["res-b"])).clone_thread("t1")
    with pytest.raises(ResourceNotFound):
        memory.within(Reach.of(["res-a"])).clone_thread("t1", resource_id="res-b")
    assert (Thread.objects.count(), Message.objects.count()) == before


def test_a_clone_for_another_resource(memory):
    result = memory.clone_thread("t1", resource_id="res-z")
    assert {m.resource_id for m in result.cloned_messages} == {"res-z"}
    assert memory.recall(result.thread.id, "res-z").total == 6
    assert memory.clone_thread("t1", resource_id="").thread.resource_id == "res-a"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"messageLimit": 2}, ["m5", "m6"]),
        ({"message_limit": 100}, SOURCE),
        ({"messageLimit": 0}, SOURCE),
        ({"messageLimit": -1}, SOURCE),
        ({"messageFilter": {"startDate": at(3)}}, ["m3", "m4", "m5", "m6"]),
        ({"messageFilter": {"endDate": at(3)}}, ["m1", "m2", "m3"]),
        (
            {"message_filter": {"start_date": at(2), "end_date": at(4)}},
            ["m2", "m3", "m4"],
        ),
        (
            {"messageFilter": {"messageIds": ["m4", "m2", "m4", "x1", "no"]}},
            ["m2", "m4"],
        ),
        ({"messageFilter": {"messageIds": []}}, []),
        ({"messageLimit": 1, "messageFilter": {"endDate": at(3)}}, ["m3"]),
        ({}, SOURCE),
        (None, SOURCE),
    ],
)
def test_what_is_copied(memory, options, expected):
    make_messages(["x1"], "other")
    result = memory.clone_thread("t1", options=options)
    assert texts(result.cloned_messages) == expected
    assert list(result.message_id_map) == expected
    record = result.thread.metadata["clone"]
    assert record.get("lastMessageId") == (expected[-1] if expected else None)
    assert counters_are_true()


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"messageLimit": 1.5}, "options.messageLimit"),
        ({"messageLimit": True}, "options.messageLimit"),
        ({"limit": 1}, "options.limit"),
        ({"messageFilter": {"startDate": "x"}}, "options.messageFilter.startDate"),
        ({"messageFilter": {"messageIds": "m1"}}, "options.messageFilter.messageIds"),
        ({"messageFilter": {"ids": []}}, "options.messageFilter.ids"),
        ({"messageFilter": []}, "options.messageFilter"),
    ],
)
def test_wrong_options_copy_nothing(memory, options, field):
    with pytest.raises(InvalidInput) as error:
        memory.clone_thread("t1", options=options)
    assert error.value.issues[0].field == field
    assert Thread.objects.count() == 1


def test_clone_keeps_order_when_timestamps_are_equal():
    make_messages(["e", "a", "d", "b", "c"], step=0)
    result = Memory().clone_thread("t1", options={"message_limit": 3})
    assert texts(result.cloned_messages) == ["d", "b", "c"]
    assert result.thread.metadata["clone"]["lastMessageId"] == "c"
    assert texts(Memory().recall(result.thread.id).messages) == ["d", "b", "c"]


def test_old_messages_keep_their_times(memory):
    memory.save_messages(
        [draft("ancient", created_at="2001-02-03T04:05:06.789Z")], thread_id="t1"
    )
    result = memory.clone_thread("t1")
    assert texts(result.cloned_messages)[0] == "ancient"
    assert (
        result.cloned_messages[0].created_at.isoformat()
        == "2001-02-03T04:05:06.789000+00:00"
    )


def test_clone_and_source_go_their_own_ways(memory):
    result = memory.clone_thread("t1", new_thread_id="c1")
    memory.delete_messages(["m1"])
    memory.save_messages([draft("late", 99)], thread_id="c1")
    assert memory.recall("c1").total == 7
    assert memory.recall("t1").total == 5
    memory.delete_thread("t1")
    assert memory.recall("c1").total == 7
    assert memory.is_clone(memory.get_thread("c1"))
    assert memory.get_source_thread("c1") is None
    assert memory.list_clones("t1") == []
    assert ids(memory.list_clones("t1", "res-a")) == [result.thread.id]
    assert ids(memory.get_clone_history("c1")) == ["c1"]


def test_lineage(memory):
    memory.clone_thread("t1", new_thread_id="c1")
    second = memory.clone_thread("c1", new_thread_id="c2").thread
    memory.clone_thread("c2", new_thread_id="c3")
    assert second.title == "Clone of Clone of Src"
    assert second.metadata["clone"]["sourceThreadId"] == "c1"
    assert memory.get_source_thread("c2").id == "c1"
    assert memory.get_source_thread("t1") is None
    assert memory.get_source_thread("nope") is None
    assert ids(memory.get_clone_history("c3")) == ["t1", "c1", "c2", "c3"]
    assert ids(memory.get_clone_history("t1")) == ["t1"]
    assert memory.get_clone_history("nope") == []
    assert ids(memory.list_clones("t1")) == ["c1"]
    assert memory.list_clones("nope") == []
    memory.transfer_thread("c1", resource_id="res-z")
    assert memory.list_clones("t1") == []
    assert ids(memory.list_clones("t1", "res-z")) == ["c1"]
    within = memory.within(Reach.of(["res-a"]))
    assert ids(within.get_clone_history("c3")) == ["c2", "c3"]
    assert within.list_clones("t1", "res-z") == []


def test_more_than_a_hundred_clones_are_all_listed(memory):
    make_thread("bare")
    made = [memory.clone_thread("bare").thread.id for _ in range(105)]
    assert set(ids(memory.list_clones("bare"))) == set(made)


def test_history_stops_where_a_cycle_begins(memory):
    memory.clone_thread("t1", new_thread_id="c1")
    memory.update_thread("t1", metadata={"clone": {"sourceThreadId": "c1"}})
    assert ids(memory.get_clone_history("c1")) == ["t1", "c1"]
    memory.update_thread("c1", metadata={"clone": {"sourceThreadId": "c1"}})
    assert ids(memory.get_clone_history("c1")) == ["c1"]


def test_the_record_can_be_kept_and_removed(memory):
    memory.clone_thread("t1", new_thread_id="c1")
    assert memory.is_clone(memory.update_thread("c1", metadata={"x": 1}))
    assert not memory.is_clone(memory.update_thread("c1", metadata={"clone": None}))
    assert memory.list_clones("t1") == []
    for odd in ("x", 5, [], {}, {"sourceThreadId": 5}, {"sourceThreadId": "x" * 300}):
        assert not memory.is_clone(memory.update_thread("c1", metadata={"clone": odd}))
