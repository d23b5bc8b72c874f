"""Arguments that no caller should give: each is refused by name, and changes nothing."""

import pytest

from recall.memory import Memory
from threads.errors import InvalidInput, MemoryFault, NotConfigured, TooLarge
from threads.models import Message, Thread
from threads.reach import Reach

pytestmark = pytest.mark.django_db

NOTES = {"working_memory": {"enabled": True}}
HUGE = 10**5000
# With a name of its own: pytest would print it.
HUGE_NUMBER = pytest.param(HUGE, id="huge")
WRONG_IDS = [0, 5, True, b"x", ["t1"], {"a": 1}, HUGE_NUMBER]


@pytest.fixture
def memory() -> Memory:
    memory = Memory(NOTES)
    memory.create_thread(resource_id="res-a", thread_id="t1")
    memory.create_thread(resource_id="res-b", thread_id="t2")
    memory.save_messages([{"id": "m1", "role": "user", "content": "x"}], thread_id="t1")
    return memory


@pytest.mark.parametrize("resource_id", [0, False, {}, (), []])
def test_a_resource_filter_of_another_type_never_lists_everything(memory, resource_id):
    with pytest.raises(InvalidInput) as refused:
        memory.list_threads(filter={"resource_id": resource_id})
    assert refused.value.issues[0].field == "filter.resource_id"


@pytest.mark.parametrize("field", ["thread_id", "resource_id"])
@pytest.mark.parametrize("value", ["", " ", *WRONG_IDS])
def test_saving_checks_whose_and_where(memory, field, value):
    given = {"thread_id": "t1", "resource_id": "res-a", field: value}
    with pytest.raises(InvalidInput) as refused:
        memory.save_messages(["y"], **given)
    assert refused.value.issues[0].field == field
    assert Message.objects.count() == 1


def test_the_thread_to_save_to_is_storable_text(memory):
    memory.create_thread(resource_id="res-a", thread_id="a\0b")
    saved = memory.save_messages(["y"], thread_id="a\0b")
    assert saved[0].thread_id == "a\N{REPLACEMENT CHARACTER}b"


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_text_given_to_an_update_is_storable(memory, text):
    (changed,) = memory.update_messages([{"id": "m1", "content": text}])
    assert changed.text == "a\N{REPLACEMENT CHARACTER}b"


@pytest.mark.parametrize("limit", [2**63, 10**30, "2", True, 1.5])
def test_a_clone_limit_that_is_no_count_is_refused(memory, limit):
    with pytest.raises(InvalidInput) as refused:
        memory.clone_thread("t1", options={"message_limit": limit})
    assert refused.value.issues[0].field == "options.message_limit"
    assert Thread.objects.count() == 2


@pytest.mark.parametrize("resource_id", [0, False, {}, (), 5])
def test_a_clone_for_a_resource_of_another_type_is_refused(memory, resource_id):
    with pytest.raises(InvalidInput):
        memory.clone_thread("t1", resource_id=resource_id)
    assert Thread.objects.count() == 2


def test_a_number_that_nothing_can_equal_is_no_filter_value(memory):
    with pytest.raises(InvalidInput):
        memory.recall("t1", filter={"metadata": {"k": HUGE}})
    with pytest.raises(InvalidInput):
        memory.list_threads(filter={"metadata": {"k": HUGE}})
    assert memory.recall("t1", filter={"metadata": {"k": 10**30}}).total == 0


@pytest.mark.parametrize(
    "about",
    [
        {"author_name": None},
        {"author_name": 5},
        {"author_name": HUGE},
        {"message_id": "x" * 256},
        {"message_id": 5},
        {"author": ""},
        {"author": 5},
        {"expected_revision": HUGE},
        {"expected_revision": False},
        {"expected_revision": "1"},
        {"resource_id": 5},
        {"resource_id": {"a": 1}},
        {"thread_id": ["t1"]},
    ],
)
def test_what_is_said_about_a_note_is_checked(memory, about):
    with pytest.raises(InvalidInput):
        memory.update_working_memory(**{"value": "x", "resource_id": "res-a"} | about)
    assert memory.get_working_memory(resource_id="res-a").value is None


@pytest.mark.parametrize("revision", [HUGE_NUMBER, -1, "1", 1.0, True])
def test_an_expected_revision_is_a_count(memory, revision):
    for write in (memory.update_thread, memory.replace_thread):
        with pytest.raises(InvalidInput) as refused:
            write("t1", title="New", expected_revision=revision)
        assert refused.value.issues[0].field == "expected_revision"
    assert memory.get_thread("t1").title == ""


@pytest.mark.parametrize("value", [*WRONG_IDS, None, ()])
@pytest.mark.parametrize("verb", ["get_source_thread", "list_clones"])
def test_lineage_asks_for_ids(memory, verb, value):
    with pytest.raises(InvalidInput):
        getattr(memory, verb)(value)
    with pytest.raises(InvalidInput):
        memory.get_clone_history(value)


def test_a_reach_is_made_of_ids_as_they_are_stored(memory):
    for wrong in ([5], [["t1"]], [None]):
        with pytest.raises(InvalidInput):
            Reach.of(wrong)
    memory.create_thread(resource_id="r\0x", thread_id="t3")
    assert memory.within(Reach.of(["r\0x"])).get_thread("t3").id == "t3"
    assert memory.within(Reach.of("res-a")).get_thread("t1").id == "t1"


@pytest.mark.parametrize("value", [0, 5, b"x", {"a": 1}, True])
def test_a_search_is_text_even_where_nothing_is_searched(value):
    with pytest.raises(InvalidInput) as refused:
        Memory({"semantic_recall": False}).recall("t1", vector_search_string=value)
    assert refused.value.issues[0].field == "vector_search_string"


def test_a_flag_is_true_or_false(memory):
    with pytest.raises(InvalidInput):
        list(memory.iter_messages("t1", newest_first="yes"))


@pytest.mark.parametrize("verb", ["delete_messages", "get_messages"])
def test_a_bare_id_is_no_list_of_ids(memory, verb):
    with pytest.raises(InvalidInput):
        getattr(memory, verb)("m1")
    assert Message.objects.count() == 1


def test_a_call_cannot_make_a_read_only_memory_write(memory):
    reader = Memory({"read_only": True})
    with pytest.raises(NotConfigured):
        reader.save_messages(["y"], thread_id="t1", config={"read_only": False})
    assert Message.objects.count() == 1


def test_a_page_of_nothing_is_the_last(memory):
    result = memory.recall("t1", per_page=0)
    assert (result.messages, result.total, result.has_more) == ([], 1, False)


def test_more_than_ten_thousand_messages_are_too_many(memory):
    with pytest.raises(TooLarge) as refused:
        memory.save_messages(["y"] * 10_001, thread_id="t1")
    assert refused.value.issues[0].field == "messages"
    assert Message.objects.count() == 1


def test_every_refusal_is_a_fault_with_a_status(memory):
    with pytest.raises(MemoryFault) as refused:
        memory.recall("t1", page=-1)
    assert refused.value.status == 400
