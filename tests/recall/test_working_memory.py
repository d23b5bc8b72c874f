"""Working memory: what a write makes of the notes, and who may write them."""

import pytest

from recall.config import MemoryConfig
from recall.models import WorkingMemory
from recall.notes import DEFAULT_TEMPLATE
from recall.working_memory import (
    copy_for_clone,
    get_working_memory,
    list_working_memory_revisions,
    restore_working_memory,
    update_working_memory,
)
from threads.creating import create_thread
from threads.errors import (
    InvalidInput,
    NotConfigured,
    NotFound,
    OwnershipError,
    PreconditionFailed,
    ResourceNotFound,
    ThreadNotFound,
)
from threads.models import Resource, Thread
from threads.reach import Reach

pytestmark = pytest.mark.django_db

EVERYTHING = Reach.all()
RESOURCE = MemoryConfig(working_memory=True)
THREAD = MemoryConfig(working_memory={"scope": "thread"})
ABOUT = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "about": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "role": {"type": "string"},
                "city": {"type": "string"},
            },
            "required": ["name"],
        },
        "tags": {"type": "array", "items": {"type": "string"}},
        "work": {"type": "object"},
        "age": {"type": "integer"},
        "open": {"type": "boolean"},
    },
    "required": ["name"],
}
SCHEMA = MemoryConfig(working_memory={"schema": ABOUT})


def read(config=RESOURCE, reach=EVERYTHING, **whose):
    return get_working_memory(reach, config, **whose)


def write(config=RESOURCE, reach=EVERYTHING, **change):
    return update_working_memory(reach, config, **change)


@pytest.fixture
def thread():
    return create_thread(EVERYTHING, resource_id="res-a", thread_id="t1")


def nothing_written():
    return not WorkingMemory.objects.exists()


# Scopes


def test_notes_of_a_resource_are_seen_from_each_of_its_threads(thread):
    create_thread(EVERYTHING, resource_id="res-a", thread_id="t2")
    create_thread(EVERYTHING, resource_id="res-b", thread_id="other")
    write(value="likes tea", thread_id="t1", resource_id="res-a")
    assert read(thread_id="t2").value == "likes tea"
    assert read(resource_id="res-a").value == "likes tea"
    assert read(thread_id="other").value is None


def test_resource_of_the_notes_is_the_threads_when_none_is_named(thread):
    write(value="likes tea", thread_id="t1")
    assert read(resource_id="res-a").value == "likes tea"


def test_first_notes_make_the_resource():
    write(value="x", resource_id="res-new")
    assert Resource.objects.filter(id="res-new").exists()


def test_notes_of_a_resource_without_resource_or_thread_are_an_error():
    for verb in (read, lambda: write(value="x")):
        with pytest.raises(InvalidInput) as refusal:
            verb()
        assert refusal.value.issues[0].field == "resource_id"
    assert nothing_written()


def test_notes_of_a_thread_stand_in_its_metadata(thread):
    Thread.objects.filter(id="t1").update(metadata={"pinned": True})
    create_thread(EVERYTHING, resource_id="res-a", thread_id="t2")
    write(THREAD, value="be brief", thread_id="t1")
    changed = Thread.objects.get(id="t1")
    assert changed.metadata == {"pinned": True, "workingMemory": "be brief"}
    assert changed.updated_at > thread.updated_at
    assert read(THREAD, thread_id="t1").value == "be brief"
    assert read(THREAD, thread_id="t2").value is None


def test_notes_seeded_in_metadata_are_read_and_become_a_revision():
    metadata = {"workingMemory": "seeded"}
    create_thread(EVERYTHING, resource_id="res-a", thread_id="t3", metadata=metadata)
    assert read(THREAD, thread_id="t3").value == "seeded"
    write(THREAD, value="written", thread_id="t3")
    revisions = list_working_memory_revisions(EVERYTHING, THREAD, thread_id="t3")
    assert [r.value for r in revisions] == ["written", "seeded"]


def test_metadata_that_is_no_text_is_no_notes():
    metadata = {"workingMemory": {"a": 1}}
    create_thread(EVERYTHING, resource_id="res-a", thread_id="t3", metadata=metadata)
    write(value="of the resource", resource_id="res-a")
    assert read(THREAD, thread_id="t3").value is None
    assert read(resource_id="res-a").value == "of the resource"


def test_notes_of_a_missing_thread_are_empty_and_cannot_be_written():
    state = read(THREAD, thread_id="ghost")
    assert (state.value, state.thread_exists) == (None, False)
    for config in (THREAD, RESOURCE):
        with pytest.raises(ThreadNotFound):
            write(config, value="x", thread_id="ghost", resource_id="res-a")
    assert nothing_written()


def test_resource_notes_are_read_beside_a_missing_thread():
    write(value="likes tea", resource_id="res-a")
    state = read(thread_id="ghost", resource_id="res-a")
    assert (state.value, state.thread_exists) == ("likes tea", False)


def test_resource_that_does_not_own_the_thread_is_refused(thread):
    for config in (THREAD, RESOURCE):
        for verb, change in ((read, {}), (write, {"value": "x"})):
            with pytest.raises(OwnershipError):
                verb(config, thread_id="t1", resource_id="res-b", **change)
    assert nothing_written()


def test_what_is_out_of_reach_looks_as_if_it_did_not_exist(thread):
    write(value="secret", resource_id="res-a")
    reach = Reach.of(["res-b"])
    assert read(reach=reach, resource_id="res-a").value is None
    assert read(reach=reach, thread_id="t1").value is None
    assert not read(THREAD, reach, thread_id="t1").thread_exists
    with pytest.raises(ResourceNotFound):
        write(reach=reach, value="x", resource_id="res-a")
    with pytest.raises(ThreadNotFound):
        write(THREAD, reach, value="x", thread_id="t1")
    assert read(resource_id="res-a").revision == 1


def test_off_means_no_value_no_template_and_no_writing(thread):
    off = MemoryConfig()
    state = read(off, thread_id="t1")
    assert (state.value, state.template, state.thread_exists) == (None, None, True)
    with pytest.raises(NotConfigured) as refusal:
        write(off, value="x", thread_id="t1")
    assert (
        refusal.value.message
        == "Working memory is not enabled for this memory instance"
    )
    assert nothing_written()


# Templates


def test_default_template_asks_for_the_usual_things():
    template = read(resource_id="res-a").template
    assert template == {"format": "markdown", "content": DEFAULT_TEMPLATE}
    for heading in (
        "First Name",
        "Last Name",
        "Location",
        "Occupation",
        "Interests",
        "Goals",
        "Events",
        "Facts",
        "Projects",
    ):
        assert heading in DEFAULT_TEMPLATE
    assert DEFAULT_TEMPLATE.strip() == DEFAULT_TEMPLATE


def test_write_to_a_template_replaces_the_text():
    write(value="# User\n- name: Ann", resource_id="res-a")
    state = write(merge="only", resource_id="res-a")
    assert (state.value, state.revision) == ("only", 2)


def test_template_takes_no_object():
    with pytest.raises(InvalidInput) as refusal:
        write(merge={"name": "Kim"}, resource_id="res-a")
    assert "memory: must be string" in refusal.value.message
    assert nothing_written()


def test_text_that_cannot_be_stored_is_replaced():
    assert write(value="a\x00b\ud83d", resource_id="res-a").value == "a\ufffdb\ufffd"


# Schemas


def test_schema_shows_an_empty_instance():
    assert read(SCHEMA, resource_id="res-a").template == {
        "format": "json",
        "content": '{"name":"","about":{"name":"","role":"","city":""},"tags":[],'
        '"work":{},"age":0,"open":false}',
    }


def test_updates_merge_all_the_way_down():
    for change in (
        {"about": {"name": "Kim", "role": None}, "tags": ["a", "b"]},
        {"about": {"city": "Oslo"}, "work": {"firm": "X", "boss": None}},
        {},
        {"about": {"name": None}, "tags": ["c"]},
    ):
        state = write(SCHEMA, merge=change, resource_id="res-a")
    assert state.value == '{"about":{"city":"Oslo"},"tags":["c"],"work":{"firm":"X"}}'
    assert state.revision == 3


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ('{"age":3}', {"age": 0}, '{"age":0}'),
        ('{"name":"A"}', {"name": ""}, '{"name":""}'),
        ('{"open":true}', {"open": False}, '{"open":false}'),
        ('{"tags":["a"]}', {"tags": []}, '{"tags":[]}'),
        ('{"work":{"a":1}}', {"work": {"b": {"c": None}}}, '{"work":{"a":1,"b":{}}}'),
        ('{"work":{"a":1}}', {"work": {"a": {"b": 2}}}, '{"work":{"a":{"b":2}}}'),
        ('{"work":{"a":[1]}}', {"work": {"a": {"b": 2}}}, '{"work":{"a":{"b":2}}}'),
        ('{"name":"A"}', {"name": None}, "{}"),
    ],
)
def test_merge_of(before, change, after):
    write(SCHEMA, value=before, resource_id="res-a")
    assert write(SCHEMA, merge=change, resource_id="res-a").value == after


def test_stored_text_that_is_no_object_is_given_up():
    for text in ("# Kim", "[1]", "3"):
        write(value=text, resource_id="res-a")
        state = write(SCHEMA, merge={"name": "Kim"}, resource_id="res-a")
        assert state.value == '{"name":"Kim"}'


def test_direct_write_replaces_the_object():
    write(SCHEMA, value={"name": "Kim", "age": 3}, resource_id="res-a")
    state = write(SCHEMA, value='{"name": "Ann"}', resource_id="res-a")
    assert state.value == '{"name":"Ann"}'


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"age": "three"}, "merge.age"),
        ({"about": {"city": 3}}, "merge.about.city"),
        ("# Kim", "merge"),
        ("[1]", "merge"),
    ],
)
def test_what_does_not_fit_the_schema_is_refused(change, field):
    write(SCHEMA, value={"name": "Kim"}, resource_id="res-a")
    with pytest.raises(InvalidInput) as refusal:
        write(SCHEMA, merge=change, resource_id="res-a")
    assert refusal.value.issues[0].field == field
    assert read(SCHEMA, resource_id="res-a").value == '{"name":"Kim"}'


def test_schema_elsewhere_is_not_fetched():
    schema = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/s"}}}
    config = MemoryConfig(working_memory={"schema": schema})
    with pytest.raises(InvalidInput):
        write(config, merge={"a": 1}, resource_id="res-a")
    assert nothing_written()


@pytest.mark.parametrize(
    "inner",
    [
        {"$ref": "#/properties/a"},
        {"$ref": "#/nowhere"},
    ],
)
def test_schema_that_cannot_be_applied_is_refused(inner):
    schema = {"type": "object", "properties": {"a": inner}}
    config = MemoryConfig(working_memory={"schema": schema})
    with pytest.raises(InvalidInput):
        write(config, merge={"a": "x"}, resource_id="res-a")
    assert nothing_written()


def test_empty_instance_of_a_schema_that_refers_to_itself_has_an_end():
    fields = {f"f{n}": {"$ref": "#"} for n in range(30)}
    schema = {"type": "object", "properties": fields}
    state = read(MemoryConfig(working_memory={"schema": schema}), resource_id="res-a")
    assert len(state.template["content"]) < 100_000


def test_either_value_or_merge_must_be_given():
    for change in ({}, {"value": "a", "merge": "b"}):
        with pytest.raises(InvalidInput):
            write(resource_id="res-a", **change)
    assert nothing_written()


# Revisions


def test_each_change_is_a_revision_with_its_author():
    write(value="one", resource_id="res-a", author="user", author_name="alice")
    write(value="one", resource_id="res-a", author="model")
    write(value="two", resource_id="res-a", author="model", message_id="m7")
    revisions = list_working_memory_revisions(EVERYTHING, RESOURCE, resource_id="res-a")
    assert [
        (r.number, r.value, r.author, r.author_name, r.message_id) for r in revisions
    ] == [(2, "two", "model", "", "m7"), (1, "one", "user", "alice", "")]
    assert read(resource_id="res-a").updated_at == revisions[0].created_at


def test_unknown_author_is_refused():
    with pytest.raises(InvalidInput) as refusal:
        write(value="x", resource_id="res-a", author="robot")
    assert refusal.value.issues[0].field == "author"
    assert nothing_written()


def test_restoring_adds_a_revision(thread):
    write(THREAD, value="one", thread_id="t1")
    write(THREAD, value="two", thread_id="t1")
    state = restore_working_memory(EVERYTHING, THREAD, 1, thread_id="t1")
    assert (state.value, state.revision) == ("one", 3)
    newest = list_working_memory_revisions(EVERYTHING, THREAD, thread_id="t1")[0]
    assert (newest.number, newest.value, newest.restored_from) == (3, "one", 1)
    assert Thread.objects.get(id="t1").metadata == {"workingMemory": "one"}


def test_restoring_a_revision_that_never_was_is_refused():
    write(value="one", resource_id="res-a")
    with pytest.raises(NotFound):
        restore_working_memory(EVERYTHING, RESOURCE, 9, resource_id="res-a")
    with pytest.raises(InvalidInput):
        restore_working_memory(EVERYTHING, RESOURCE, "1", resource_id="res-a")
    assert read(resource_id="res-a").revision == 1


def test_write_over_another_revision_than_expected_is_refused():
    write(value="one", resource_id="res-a", expected_revision=0)
    write(value="two", resource_id="res-a", expected_revision=1)
    with pytest.raises(PreconditionFailed) as refusal:
        write(value="mine", resource_id="res-a", expected_revision=1)
    assert refusal.value.current.value == "two"
    assert read(resource_id="res-a").value == "two"


# Deletion and copies


def test_notes_of_a_thread_go_with_it(thread):
    write(THREAD, value="x", thread_id="t1")
    write(value="stays", resource_id="res-a")
    Thread.objects.filter(id="t1").delete()
    assert [row.value for row in WorkingMemory.objects.all()] == ["stays"]


def test_clone_begins_with_the_notes_of_its_source_and_goes_its_own_way(thread):
    write(THREAD, value="prefers metric", thread_id="t1")
    clone = create_thread(EVERYTHING, resource_id="res-a", thread_id="c1")
    copy_for_clone("t1", clone)
    assert read(THREAD, thread_id="c1").value == "prefers metric"
    write(THREAD, value="prefers imperial", thread_id="c1")
    assert read(THREAD, thread_id="t1").value == "prefers metric"
    assert read(THREAD, thread_id="c1").value == "prefers imperial"


def test_clone_of_a_thread_without_notes_has_none(thread):
    clone = create_thread(EVERYTHING, resource_id="res-a", thread_id="c1")
    copy_for_clone("t1", clone)
    assert read(THREAD, thread_id="c1").value is None
    assert nothing_written()
