"""Saving, changing and deleting messages."""

import pytest

from recall.memory import Memory
from tests.factories import (
    at,
    counters_are_true,
    draft,
    ids,
    make_messages,
    make_thread,
    numbered,
)
from threads.errors import InvalidInput, OwnershipError, ThreadNotFound, TooLarge
from threads.messages import NewMessage
from threads.models import Message, Thread
from threads.reach import Reach

pytestmark = pytest.mark.django_db


@pytest.fixture
def memory():
    make_thread()
    return Memory()


def snapshot():
    return list(Thread.objects.order_by("id").values()), list(
        Message.objects.order_by("id").values()
    )


def test_nothing_saved_touches_nothing(memory):
    before = snapshot()
    assert memory.save_messages([], thread_id="t1") == []
    assert snapshot() == before


def test_text_a_dictionary_and_a_dataclass(memory):
    saved = memory.save_messages(
        [
            "plain",
            {"role": "assistant", "content": "answer", "threadId": "t1"},
            NewMessage("third", role="user", id="m3", created_at=at(1)),
        ],
        thread_id="t1",
    )
    assert [m.role for m in saved] == ["user", "assistant", "user"]
    assert saved[0].content == {
        "format": 2,
        "parts": [{"type": "text", "text": "plain"}],
        "content": "plain",
    }
    stored = memory.recall("t1").messages
    assert {m.id: m.content for m in stored} == {m.id: m.content for m in saved}
    assert (saved[2].created_at, saved[2].resource_id) == (at(1), "res-a")
    assert [m.position for m in saved] == sorted(m.position for m in saved)


def test_what_is_returned_is_what_is_stored(memory):
    saved = memory.save_messages(
        [draft("m1", 1, metadata={"a": 1}, type="text")], thread_id="t1"
    )
    stored = Message.objects.get()
    for field in Message._meta.concrete_fields:
        assert getattr(saved[0], field.attname) == getattr(stored, field.attname)


def test_a_missing_thread_is_refused(memory):
    with pytest.raises(ThreadNotFound, match="ghost"):
        memory.save_messages(
            [draft("m1"), draft("m2", thread_id="ghost")], thread_id="t1"
        )
    with pytest.raises(ThreadNotFound):
        memory.within(Reach.of(["res-b"])).save_messages("hello", thread_id="t1")
    assert not Message.objects.exists()


def test_a_batch_is_saved_whole_or_not_at_all(memory):
    before = snapshot()
    batch = [draft(id) for id in numbered("m", 119)]
    for bad in (
        draft("m120", role="banana"),
        draft("m120", resource_id="res-b"),
        {"id": "m120", "role": "user"},
        draft("m120", thread_id=5),
    ):
        with pytest.raises((InvalidInput, OwnershipError)):
            memory.save_messages([*batch, bad], thread_id="t1")
    with pytest.raises(InvalidInput) as error:
        memory.save_messages([draft("m1", thread_id="t1"), draft("m2")])
    assert error.value.issues[0].field == "messages.1.thread_id"
    assert snapshot() == before


def test_every_touched_thread_moves(memory):
    make_thread("t2")
    make_thread("t3")
    before = {t.id: t for t in Thread.objects.all()}
    memory.save_messages([draft("a", thread_id="t1"), draft("b", thread_id="t2")])
    after = {t.id: t for t in Thread.objects.all()}
    assert after["t1"].updated_at > before["t1"].updated_at
    assert after["t2"].revision == 2
    assert after["t3"].updated_at == before["t3"].updated_at
    assert after["t1"].created_at == before["t1"].created_at


def test_a_known_id_is_replaced_and_keeps_its_time_and_place(memory):
    memory.save_messages(
        [draft("m1", 5, metadata={"a": 1, "b": 1}), draft("m2", 5)], thread_id="t1"
    )
    first = memory.get_messages(["m1"])[0]
    memory.save_messages(
        [
            {
                "id": "m1",
                "role": "assistant",
                "content": "new",
                "metadata": {"c": 1},
                "createdAt": at(99),
            }
        ],
        thread_id="t1",
    )
    result = memory.recall("t1")
    assert ids(result.messages) == ["m1", "m2"]
    again = result.messages[0]
    assert (again.role, again.text, again.metadata) == ("assistant", "new", {"c": 1})
    assert (again.created_at, again.position) == (first.created_at, first.position)
    assert again.updated_at >= first.updated_at
    assert (result.total, memory.get_thread("t1").last_message_at) == (2, at(5))


def test_of_equal_ids_in_a_batch_the_last_counts(memory):
    saved = memory.save_messages(
        [
            draft("m1", 1),
            draft("m2", 2),
            {"id": "m1", "role": "assistant", "content": "last"},
        ],
        thread_id="t1",
    )
    assert [(m.id, m.text) for m in saved] == [("m1", "last"), ("m2", "m2")]
    assert [m.text for m in memory.recall("t1").messages] == ["last", "m2"]
    assert memory.recall("t1").messages[0].created_at == at(1)
    assert counters_are_true()


def test_a_message_moves_within_its_resource(memory):
    make_messages(["m1", "m2"], "t1", start=10)
    make_thread("t2")
    before = memory.get_thread("t1")
    memory.save_messages([draft("m2", 500)], thread_id="t2")
    assert ids(memory.recall("t1").messages) == ["m1"]
    moved = memory.recall("t2").messages[0]
    assert (moved.id, moved.created_at) == ("m2", at(11))
    assert memory.get_thread("t1").updated_at > before.updated_at
    assert memory.get_thread("t1").last_message_at == at(10)
    assert memory.get_thread("t2").last_message_at == at(11)
    assert counters_are_true()


def test_a_message_of_another_resource_refuses_the_whole_batch(memory):
    make_messages(["b1"], "tb", resource_id="res-b")
    before = snapshot()
    with pytest.raises(OwnershipError):
        memory.save_messages([draft("m1"), draft("b1")], thread_id="t1")
    assert snapshot() == before


def test_last_message_at_is_the_newest_time(memory):
    assert memory.get_thread("t1").last_message_at is None
    memory.save_messages([draft("june", 600), draft("may", 500)], thread_id="t1")
    assert memory.get_thread("t1").last_message_at == at(600)
    memory.save_messages([draft("january", 100)], thread_id="t1")
    assert memory.get_thread("t1").last_message_at == at(600)
    memory.delete_messages(["june"])
    assert memory.get_thread("t1").last_message_at == at(500)
    memory.delete_all_messages("t1")
    assert memory.get_thread("t1").last_message_at is None


def test_ten_thousand_at_once_take_few_statements(
    memory, django_assert_max_num_queries
):
    batch = [draft(f"m{n:05d}", 1) for n in range(10_000)]
    with django_assert_max_num_queries(14):
        memory.save_messages(batch, thread_id="t1")
    page = memory.recall("t1", per_page=3)
    assert ids(page.messages) == ["m09997", "m09998", "m09999"]
    assert page.total == 10_000
    with pytest.raises(TooLarge):
        memory.save_messages([*batch, draft("one more")], thread_id="t1")


def test_odd_text_and_ids(memory):
    text = "🙂 'quoted' \"double\" \\ %s \x00 end"
    memory.save_messages(
        [{"id": 'it\'s "q"', "role": "user", "content": text}], thread_id="t1"
    )
    stored = memory.recall("t1").messages[0]
    assert stored.id == 'it\'s "q"'
    assert stored.text == text.replace("\x00", "\ufffd")
    memory.save_messages(
        [draft("half", content="ok \ud83d", metadata={"k": "\udc00"})], thread_id="t1"
    )
    assert memory.get_messages(["half"])[0].metadata == {"k": "\ufffd"}


def test_numbers_survive(memory):
    numbers = {"big": 2**63, "small": -(2**63), "float": 0.1, "exp": 1e300, "zero": 0.0}
    memory.save_messages([draft("m1", metadata=numbers)], thread_id="t1")
    assert memory.recall("t1").messages[0].metadata == numbers


# update_messages


def test_only_what_is_named_changes(memory):
    make_messages(["m1", "m2"], metadata={"a": 1})
    before = memory.get_thread("t1")
    changed = memory.update_messages(
        [
            {"id": "m1", "role": "assistant"},
            {"id": "m2", "content": {"metadata": {"b": 2}}},
        ]
    )
    assert ids(changed) == ["m1", "m2"]
    first, second = memory.recall("t1").messages
    assert (first.role, first.text, first.metadata) == ("assistant", "m1", {"a": 1})
    assert (second.role, second.text, second.metadata) == (
        "user",
        "m2",
        {"a": 1, "b": 2},
    )
    assert second.content["parts"] == [{"type": "text", "text": "m2"}]
    assert (first.created_at, second.created_at) == (at(1), at(2))
    assert memory.get_thread("t1").updated_at > before.updated_at
    assert memory.get_thread("t1").revision == before.revision + 1
    for given, stored in zip(changed, (first, second), strict=True):
        assert (given.content, given.metadata) == (stored.content, stored.metadata)


def test_parts_are_replaced_and_the_text_follows(memory):
    make_messages(["m1"])
    parts = [{"type": "text", "text": "other"}, {"type": "text", "text": "words"}]
    memory.update_messages([{"id": "m1", "content": {"parts": parts}}])
    stored = memory.recall("t1").messages[0]
    assert stored.content["parts"] == parts
    assert stored.content["content"] == "words"
    assert "other" in stored.text
    assert "m1" not in stored.text


def test_metadata_can_be_emptied_and_hold_null(memory):
    make_messages(["m1", "m2"], metadata={"a": 1})
    memory.update_messages(
        [
            {"id": "m1", "content": {"metadata": None}},
            {"id": "m2", "content": {"metadata": {"a": None}}},
        ]
    )
    first, second = memory.recall("t1").messages
    assert first.content["metadata"] is None
    assert second.metadata == {"a": None}


@pytest.mark.parametrize("changes", [[], [{"id": "nope", "role": "assistant"}]])
def test_nothing_to_change_changes_nothing(memory, changes):
    make_messages(["m1"])
    before = snapshot()
    assert memory.update_messages(changes) == []
    assert snapshot() == before


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": "m1", "foo": 1}, "messages.1.foo"),
        ({"id": "m1", "createdAt": at(9)}, "messages.1.createdAt"),
        ({"id": "m1", "content": None}, "messages.1.content"),
        ({"id": "m1", "content": {"parts": "x"}}, "messages.1.content.parts"),
        ({"id": "m1", "content": {"metadata": [1]}}, "messages.1.content.metadata"),
        ({"id": "m1", "role": "banana"}, "messages.1.role"),
        ({"role": "user"}, "messages.1.id"),
        ("m1", "messages.1"),
    ],
)
def test_a_wrong_change_changes_nothing(memory, change, field):
    make_messages(["m1", "m2"])
    before = snapshot()
    with pytest.raises(InvalidInput) as error:
        memory.update_messages([{"id": "m2", "role": "assistant"}, change])
    assert error.value.issues[0].field == field
    assert snapshot() == before


def test_a_message_cannot_be_moved_to_nowhere_or_to_another_owner(memory):
    make_messages(["m1"])
    make_thread("tb", "res-b")
    make_thread("t2")
    before = snapshot()
    with pytest.raises(ThreadNotFound):
        memory.update_messages([{"id": "m1", "threadId": "gone"}])
    with pytest.raises(OwnershipError):
        memory.update_messages([{"id": "m1", "threadId": "tb"}])
    with pytest.raises(OwnershipError):
        memory.update_messages([{"id": "m1", "resourceId": "res-b"}])
    assert (
        memory.within(Reach.of(["res-b"])).update_messages(
            [{"id": "m1", "role": "tool"}]
        )
        == []
    )
    assert snapshot() == before
    memory.update_messages([{"id": "m1", "threadId": "t2"}])
    assert ids(memory.recall("t2").messages) == ["m1"]
    assert counters_are_true()


# delete_messages


def test_ids_and_objects_are_deleted(memory):
    saved = make_messages(["m1", "m2", "m3", "m4"])
    assert memory.delete_messages(["m2", {"id": "m3"}, saved[3], "m2", "nope"]) == 3
    assert ids(memory.recall("t1").messages) == ["m1"]
    assert memory.delete_messages([]) == 0
    assert counters_are_true()


def test_only_touched_threads_move_on_delete(memory):
    make_messages(["a1", "a2"], "t1")
    make_messages(["b1", "b2"], "t2")
    make_messages(["c1"], "t3")
    before = {t.id: t.updated_at for t in Thread.objects.all()}
    assert memory.delete_messages(["a1", "b1"]) == 2
    after = {t.id: t.updated_at for t in Thread.objects.all()}
    assert after["t1"] > before["t1"]
    assert after["t2"] > before["t2"]
    assert after["t3"] == before["t3"]
    assert counters_are_true()


@pytest.mark.parametrize("wrong", [5, None, {"id": "m1"}, [None], [{}], [5], [["m1"]]])
def test_only_ids_can_be_deleted(memory, wrong):
    make_messages(["m1"])
    with pytest.raises(InvalidInput) as error:
        memory.delete_messages(wrong)
    assert error.value.issues[0].field.startswith("message_ids")
    assert Message.objects.count() == 1


def test_messages_of_others_stay(memory):
    make_messages(["m1"])
    make_messages(["b1"], "tb", resource_id="res-b")
    with pytest.raises(OwnershipError):
        memory.delete_messages(["m1", "b1"], resource_id="res-a")
    assert memory.within(Reach.of(["res-b"])).delete_messages(["m1"]) == 0
    assert Message.objects.count() == 2


def test_half_of_a_hundred(memory):
    make_messages(numbered("m", 100))
    gone = numbered("m", 100)[::2]
    assert memory.delete_messages(gone) == 50
    assert ids(memory.recall("t1", per_page=False).messages) == numbered("m", 100)[1::2]


def test_deleting_a_thread_deletes_everything_in_it(memory):
    make_messages(["m1", "m2"])
    make_messages(["x1"], "t2")
    with pytest.raises(OwnershipError):
        memory.delete_thread("t1", resource_id="res-b")
    assert not memory.within(Reach.of(["res-b"])).delete_thread("t1")
    assert memory.delete_thread("t1", resource_id="res-a")
    assert not memory.delete_thread("t1")
    assert not memory.delete_thread("t1", resource_id="res-a")
    assert ids(Message.objects.all()) == ["x1"]
    make_messages(["m1"])
    assert memory.recall("t1").total == 1


def test_emptying_a_thread(memory):
    make_messages(["m1", "m2"])
    for refused, error in (
        (lambda: memory.delete_all_messages("none"), ThreadNotFound),
        (lambda: memory.delete_all_messages("t1", resource_id="res-b"), OwnershipError),
    ):
        with pytest.raises(error):
            refused()
    assert memory.delete_all_messages("t1") == 2
    assert memory.recall("t1").total == 0
    before = memory.get_thread("t1").revision
    assert memory.delete_all_messages("t1") == 0
    assert memory.get_thread("t1").revision == before


def test_deleting_a_resource_deletes_all_of_it(memory):
    make_messages(["m1"])
    make_messages(["b1"], "tb", resource_id="res-b")
    assert memory.delete_resource("res-a")
    assert not memory.delete_resource("res-a")
    assert ids(Message.objects.all()) == ["b1"]


def test_messages_by_id_come_in_order(memory):
    make_messages(["m1", "m2", "m3"])
    assert ids(memory.get_messages(["m3", "nope", "m1"])) == ["m1", "m3"]
    assert memory.within(Reach.of(["res-b"])).get_messages(["m1"]) == []
