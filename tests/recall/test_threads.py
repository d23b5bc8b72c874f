"""Making, finding, changing and listing threads."""

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
from threads.errors import (
    InvalidInput,
    NotConfigured,
    OwnershipError,
    PreconditionFailed,
    ResourceNotFound,
    ThreadNotFound,
)
from threads.models import Message, Resource, Thread
from threads.reach import Reach

pytestmark = pytest.mark.django_db


@pytest.fixture
def memory():
    return Memory()


def test_a_new_thread_has_an_id_no_title_and_no_metadata(memory):
    thread = memory.create_thread(resource_id="res-a")
    assert len(thread.id) == 36
    assert (thread.title, thread.title_source, thread.metadata) == ("", "none", {})
    assert thread.created_at == thread.updated_at
    assert thread.created_at.microsecond % 1000 == 0
    assert (thread.message_count, thread.last_message_at, thread.revision) == (
        0,
        None,
        1,
    )
    assert memory.get_thread(thread.id) == thread
    assert memory.get_resource("res-a").id == "res-a"


def test_creating_an_existing_thread_merges_and_returns_it(memory):
    first = make_thread(title="Plan", metadata={"a": 1, "b": 1})
    again = make_thread(title="", metadata={"b": 2})
    assert (again.title, again.metadata) == ("Plan", {"a": 1, "b": 2})
    assert again.created_at == first.created_at
    assert again.updated_at > first.updated_at
    assert make_thread(title="New").title == "New"
    unchanged = make_thread()
    assert unchanged.revision == 3
    assert Thread.objects.count() == 1


def test_a_thread_of_another_resource_is_not_taken_over(memory):
    make_thread(title="Mine", metadata={"a": 1})
    with pytest.raises(OwnershipError):
        make_thread("t1", "res-b", title="Yours", metadata={"z": 9})
    thread = memory.get_thread("t1")
    assert (thread.resource_id, thread.title, thread.metadata) == (
        "res-a",
        "Mine",
        {"a": 1},
    )
    assert not Resource.objects.filter(id="res-b").exists()


@pytest.mark.parametrize("resource_id", ["", "  ", None, 5, "x" * 256])
def test_a_resource_id_is_required(memory, resource_id):
    with pytest.raises(InvalidInput) as error:
        memory.create_thread(resource_id=resource_id)
    assert error.value.issues[0].field == "resource_id"
    assert not Thread.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"thread_id": "x" * 256}, "thread_id"),
        ({"thread_id": 5}, "thread_id"),
        ({"title": 5}, "title"),
        ({"metadata": ["a"]}, "metadata"),
        ({"metadata": "a"}, "metadata"),
        ({"metadata": {"a": object()}}, "metadata.a"),
        ({"title_source": "me"}, "title_source"),
        ({"created_at": "yesterday"}, "created_at"),
    ],
)
def test_a_wrong_argument_names_its_field(memory, arguments, field):
    with pytest.raises(InvalidInput) as error:
        memory.create_thread(resource_id="res-a", **arguments)
    assert error.value.issues[0].field == field
    assert not Thread.objects.exists()


@pytest.mark.parametrize(
    "text", ['it\'s "quoted" 🙂', "x" * 10_000, "  spaces  ", "%s %(a)s {}", "a\\b"]
)
def test_text_is_kept_as_given(memory, text):
    metadata = {"list": [{"n": n, "t": text} for n in range(10)], text[:50]: text}
    make_thread(title=text, metadata=metadata)
    thread = memory.get_thread("t1")
    assert (thread.title, thread.metadata) == (text, metadata)


def test_text_that_cannot_be_stored_is_replaced(memory):
    thread = memory.create_thread(
        resource_id="r\x00",
        thread_id="t\ud83d",
        title="a\x00b",
        metadata={"k\x00": "\udc00"},
    )
    assert (thread.id, thread.resource_id, thread.title) == (
        "t\ufffd",
        "r\ufffd",
        "a\ufffdb",
    )
    assert thread.metadata == {"k\ufffd": "\ufffd"}
    assert memory.get_thread("t\ud83d").id == "t\ufffd"


def test_an_id_of_emoji(memory):
    make_thread("🙂" * 200)
    assert memory.get_thread("🙂" * 200).id == "🙂" * 200


def test_unknown_and_empty_ids_find_nothing(memory):
    for id in ("nope", "", "x" * 1000, "\x00"):
        assert memory.get_thread_by_id(id) is None
        with pytest.raises(ThreadNotFound):
            memory.get_thread(id)


def test_a_thread_is_found_only_for_its_owner(memory):
    make_thread()
    assert memory.get_thread_by_id("t1", resource_id="res-a").id == "t1"
    assert memory.get_thread_by_id("t1", resource_id="res-b") is None


def test_saving_a_thread_keeps_given_times_and_merges(memory):
    saved = memory.save_thread(
        {
            "id": "t1",
            "resourceId": "res-a",
            "title": "Old",
            "createdAt": at(1),
            "updatedAt": at(2),
        }
    )
    assert (saved.created_at, saved.updated_at) == (at(1), at(2))
    again = memory.save_thread(
        {"id": "t1", "resource_id": "res-a", "metadata": {"a": 1}}
    )
    assert (again.title, again.metadata, again.created_at) == ("Old", {"a": 1}, at(1))
    restamped = memory.save_thread(
        {"id": "t1", "resource_id": "res-a", "createdAt": at(7)}
    )
    assert memory.get_thread("t1").created_at == restamped.created_at == at(7)
    copy = memory.save_thread(again)
    assert copy.id == "t1"


def test_update_merges_metadata(memory):
    made = make_thread(title="Plan", metadata={"a": 1, "n": None})
    updated = memory.update_thread("t1", metadata={"b": 2, "n": {"deep": 1}})
    assert updated.metadata == {"a": 1, "b": 2, "n": {"deep": 1}}
    assert (updated.title, updated.created_at) == ("Plan", made.created_at)
    assert updated.updated_at > made.updated_at
    stored = memory.get_thread("t1")
    assert (stored.metadata, stored.updated_at) == (
        updated.metadata,
        updated.updated_at,
    )
    listed = memory.list_threads().threads[0]
    assert (listed.updated_at, listed.created_at) == (
        stored.updated_at,
        stored.created_at,
    )


@pytest.mark.parametrize("change", [{}, {"metadata": {}}, {"title": "Same"}])
def test_every_update_moves_updated_at_and_the_revision(memory, change):
    before = make_thread(title="Same", metadata={"a": 1})
    after = memory.update_thread("t1", **change)
    assert after.updated_at > before.updated_at
    assert after.revision == before.revision + 1
    assert (after.title, after.metadata) == ("Same", {"a": 1})


def test_a_title_alone_leaves_metadata(memory):
    make_thread(metadata={"a": 1})
    updated = memory.update_thread("t1", title="Named")
    assert (updated.title, updated.title_source, updated.metadata) == (
        "Named",
        "user",
        {"a": 1},
    )
    cleared = memory.update_thread("t1", title="")
    assert (cleared.title, cleared.title_source) == ("", "none")


def test_replacing_leaves_nothing_of_before(memory):
    make_thread(title="Plan", metadata={"a": 1})
    replaced = memory.replace_thread("t1", metadata={"b": 2})
    assert (replaced.title, replaced.metadata) == ("", {"b": 2})


def test_updating_what_is_not_there_or_not_ones_own(memory):
    before = make_thread()
    with pytest.raises(ThreadNotFound, match="Thread none not found"):
        memory.update_thread("none", title="x")
    with pytest.raises(OwnershipError):
        memory.update_thread("t1", title="x", resource_id="res-b")
    with pytest.raises(ThreadNotFound):
        memory.within(Reach.of(["res-b"])).update_thread("t1", title="x")
    stored = memory.get_thread("t1")
    assert (stored.title, stored.revision) == ("", before.revision)


def test_an_outdated_revision_changes_nothing(memory):
    make_thread(title="One")
    memory.update_thread("t1", title="Two", expected_revision=1)
    with pytest.raises(PreconditionFailed) as error:
        memory.update_thread("t1", title="Three", expected_revision=1)
    assert error.value.current.title == "Two"
    assert memory.get_thread("t1").title == "Two"


def test_a_model_titles_only_what_nobody_titled(memory):
    make_thread()
    make_thread("t2", title="Mine")
    assert memory.set_model_title("t1", "Auto")
    assert not memory.set_model_title("t1", "Other")
    assert not memory.set_model_title("t2", "Auto")
    assert not memory.set_model_title("gone", "Auto")
    first, second = memory.get_thread("t1"), memory.get_thread("t2")
    assert (first.title, first.title_source) == ("Auto", "model")
    assert (second.title, second.title_source) == ("Mine", "user")


def test_archiving_and_taking_back(memory):
    make_thread()
    make_thread("t2")
    archived = memory.archive_thread("t1")
    assert archived.archived_at is not None
    assert ids(memory.list_threads(filter={"archived": True}).threads) == ["t1"]
    assert ids(memory.list_threads(filter={"archived": False}).threads) == ["t2"]
    assert memory.list_threads().total == 2
    again = memory.archive_thread("t1")
    assert (again.archived_at, again.revision) == (
        archived.archived_at,
        archived.revision,
    )
    assert memory.unarchive_thread("t1").archived_at is None
    assert memory.unarchive_thread("t1").revision == archived.revision + 1
    for verb in (memory.archive_thread, memory.unarchive_thread):
        with pytest.raises(ThreadNotFound):
            verb("none")
        with pytest.raises(OwnershipError):
            verb("t1", resource_id="res-b")


def test_transfer_takes_everything_along(memory):
    make_messages(["m1", "m2"])
    before = memory.get_thread("t1")
    moved = memory.transfer_thread("t1", resource_id="res-new")
    assert (moved.resource_id, moved.created_at) == ("res-new", before.created_at)
    assert moved.updated_at > before.updated_at
    assert {m.resource_id for m in memory.recall("t1", "res-new").messages} == {
        "res-new"
    }
    with pytest.raises(OwnershipError):
        memory.recall("t1", "res-a")
    with pytest.raises(ThreadNotFound):
        memory.transfer_thread("none", resource_id="res-b")
    with pytest.raises(OwnershipError):
        memory.transfer_thread("t1", resource_id="res-b", from_resource_id="res-a")
    with pytest.raises(ResourceNotFound):
        memory.within(Reach.of(["res-new"])).transfer_thread("t1", resource_id="res-b")
    assert memory.get_thread("t1").resource_id == "res-new"
    assert counters_are_true()


@pytest.fixture
def thirteen(memory):
    for n in range(13):
        make_thread(f"t{n:02d}", created_at=at(n))
    return memory


def test_newest_threads_come_first(thirteen):
    page = thirteen.list_threads()
    assert ids(page.threads) == [f"t{n:02d}" for n in reversed(range(13))]
    assert (page.total, page.page, page.per_page, page.has_more) == (13, 0, 100, False)


def test_pages_of_threads(thirteen):
    pages = [thirteen.list_threads(per_page=5, page=n) for n in range(4)]
    assert [len(page.threads) for page in pages] == [5, 5, 3, 0]
    assert [page.has_more for page in pages] == [True, True, False, False]
    assert {page.total for page in pages} == {13}
    assert thirteen.list_threads(per_page=False).per_page is False
    none = thirteen.list_threads(per_page=0)
    assert (none.threads, none.total, none.has_more) == ([], 13, True)


@pytest.mark.parametrize("field", ["createdAt", "updatedAt", "lastMessageAt"])
@pytest.mark.parametrize("direction", ["ASC", "DESC"])
def test_ties_are_broken_by_id_in_the_same_direction(memory, field, direction):
    Resource.objects.create(id="res-a")
    Thread.objects.bulk_create(
        Thread(id=id, resource_id="res-a", created_at=at(0), updated_at=at(0))
        for id in "cadb"
    )
    order = {"field": field, "direction": direction}
    pages = [
        ids(memory.list_threads(per_page=3, page=n, order_by=order).threads)
        for n in range(2)
    ]
    expected = list("abcd") if direction == "ASC" else list("dcba")
    assert pages[0] + pages[1] == expected


def test_threads_without_messages_are_the_least_active(memory):
    for id, seconds in (("june", 6), ("january", 1), ("empty", None)):
        make_thread(id)
        if seconds:
            memory.save_messages([draft(f"m-{id}", seconds)], thread_id=id)
    order = {"field": "last_message_at", "direction": "DESC"}
    assert ids(memory.list_threads(order_by=order).threads) == [
        "june",
        "january",
        "empty",
    ]
    order["direction"] = "ASC"
    assert ids(memory.list_threads(order_by=order).threads) == [
        "empty",
        "january",
        "june",
    ]


@pytest.mark.parametrize(
    "order_by",
    [{"field": "title"}, {"direction": "asc"}, {"field": "createdAt", "direction": 1}],
)
def test_an_unknown_thread_order_is_refused(memory, order_by):
    with pytest.raises(InvalidInput) as error:
        memory.list_threads(order_by=order_by)
    assert error.value.issues[0].field.startswith("order_by.")


def test_filters_of_threads_all_hold(memory):
    make_thread(
        "t1", metadata={"category": "support", "priority": "high"}, created_at=at(1)
    )
    make_thread(
        "t2", metadata={"category": "support", "priority": "low"}, created_at=at(2)
    )
    make_thread("t3", "res-b", metadata={"category": "support", "priority": "high"})
    wanted = {"metadata": {"category": "support", "priority": "high"}}
    assert set(ids(memory.list_threads(filter=wanted).threads)) == {"t1", "t3"}
    wanted["resourceId"] = "res-a"
    assert ids(memory.list_threads(filter=wanted).threads) == ["t1"]
    made = {"resource_id": "res-a", "created": {"start": at(2)}}
    assert ids(memory.list_threads(filter=made).threads) == ["t2"]
    made["created"] = {
        "start": at(1),
        "startExclusive": True,
        "end": at(2),
        "endExclusive": True,
    }
    assert memory.list_threads(filter=made).total == 0
    assert memory.list_threads(filter={"updated": {"end": at(3)}}).total == 2
    assert memory.list_threads(filter={"resource_id": "nobody"}).total == 0
    assert memory.list_threads(filter={"resource_id": ""}).total == 3
    for wrong in ({"resource_id": 5}, {"archived": "yes"}, {"title": "x"}):
        with pytest.raises(InvalidInput):
            memory.list_threads(filter=wrong)


def test_lists_show_only_what_is_within_reach(memory):
    make_thread("t1", "res-a")
    make_thread("t2", "team/1")
    make_thread("t3", "team/2")
    assert ids(memory.within(Reach.of(["res-a"])).list_threads().threads) == ["t1"]
    team = memory.within(Reach.of(["team/*"]))
    assert team.list_threads().total == 2
    assert team.list_threads(filter={"resource_id": "res-a"}).total == 0
    assert [r.id for r in team.list_resources().resources] == ["team/2", "team/1"]
    assert memory.within(Reach.of([])).list_threads().total == 0
    assert len(list(team.iter_threads())) == 2
    with pytest.raises(ResourceNotFound):
        team.create_thread(resource_id="res-a")
    with pytest.raises(OwnershipError):
        team.create_thread(resource_id="team/1", thread_id="t1")


def test_iterating_threads_gives_each_once(memory):
    Resource.objects.create(id="res-a")
    Thread.objects.bulk_create(
        Thread(id=f"t{n:04d}", resource_id="res-a", created_at=at(n // 300))
        for n in range(1203)
    )
    walked = ids(list(memory.iter_threads()))
    assert walked == ids(memory.list_threads(per_page=False).threads)
    assert len(set(walked)) == 1203


def test_a_resource_merges_its_metadata(memory):
    assert memory.get_resource("res-a") is None
    memory.update_resource("res-a", metadata={"a": 1})
    assert memory.update_resource("res-a", metadata={"b": 2}).metadata == {
        "a": 1,
        "b": 2,
    }
    assert memory.list_resources(per_page=1).total == 1
    stranger = memory.within(Reach.of(["res-b"]))
    assert stranger.get_resource("res-a") is None
    with pytest.raises(ResourceNotFound):
        stranger.update_resource("res-a", metadata={"c": 3})


def test_a_read_only_memory_writes_nothing(memory):
    make_messages(["m1"])
    before = list(Thread.objects.values()), list(Message.objects.values())
    reader = Memory({"readOnly": True})
    attempts = [
        lambda: reader.create_thread(resource_id="res-a"),
        lambda: reader.save_thread({"id": "t2", "resource_id": "res-a"}),
        lambda: reader.update_thread("t1", title="x"),
        lambda: reader.replace_thread("t1", title="x"),
        lambda: reader.set_model_title("t1", "x"),
        lambda: reader.archive_thread("t1"),
        lambda: reader.unarchive_thread("t1"),
        lambda: reader.transfer_thread("t1", resource_id="res-b"),
        lambda: reader.delete_thread("t1"),
        lambda: reader.save_messages("hello", thread_id="t1"),
        lambda: memory.save_messages(
            "hello", thread_id="t1", config={"read_only": True}
        ),
        lambda: reader.update_messages([{"id": "m1", "role": "assistant"}]),
        lambda: reader.delete_messages(["m1"]),
        lambda: reader.delete_all_messages("t1"),
        lambda: reader.clone_thread("t1"),
        lambda: reader.update_resource("res-a", metadata={}),
        lambda: reader.delete_resource("res-a"),
    ]
    for attempt in attempts:
        with pytest.raises(NotConfigured, match="read-only"):
            attempt()
    assert (list(Thread.objects.values()), list(Message.objects.values())) == before
    assert Resource.objects.count() == 1
    assert ids(reader.recall("t1").messages) == ["m1"]


@pytest.mark.parametrize("odd", ["a\x00b", "half \ud83d", "x" * 5000, "%s", "{}"])
def test_odd_ids_find_nothing_and_break_nothing(memory, odd):
    make_messages(["m1"])
    nothing = [
        lambda: memory.recall(odd).messages,
        lambda: memory.recall("t1", per_page=0, include=[{"id": odd}]).messages,
        lambda: memory.get_messages([odd]),
        lambda: memory.list_clones(odd),
        lambda: memory.list_clones("t1", odd),
        lambda: memory.get_clone_history(odd),
        lambda: memory.recall("t1", filter={"metadata": {"k": odd}}).messages,
        lambda: memory.list_threads(filter={"metadata": {"k": odd}}).threads,
    ]
    assert [call() for call in nothing] == [[]] * len(nothing)
    assert memory.get_source_thread(odd) is None
    assert memory.get_resource(odd) is None
    assert not memory.delete_thread(odd)
    assert not memory.delete_resource(odd)
    assert memory.delete_messages([odd]) == 0
    for verb in (
        memory.archive_thread,
        memory.delete_all_messages,
        memory.clone_thread,
    ):
        with pytest.raises(ThreadNotFound):
            verb(odd)
    with pytest.raises(OwnershipError):
        memory.update_thread("t1", title="x", resource_id=odd)


def test_a_number_too_big_for_a_machine_matches_nothing(memory):
    make_messages(["m1"], metadata={"k": 1})
    wanted = {"metadata": {"k": 10**30}}
    assert memory.recall("t1", filter=wanted).total == 0
    assert memory.list_threads(filter=wanted).total == 0
