"""What is found, in both ways of comparing."""

from datetime import UTC, datetime

import pytest

from recall.memory import Memory
from tests.semantic.conftest import Unreachable
from threads.errors import InvalidInput
from threads.models import Message

pytestmark = pytest.mark.django_db


def found(memory: Memory, query: str, resource_id: str = "res-a", **options):
    thread_id, filter = options.pop("thread_id", None), options.pop("filter", None)
    config = {"semantic_recall": {"message_range": 0, **options}}
    result = memory.search(
        query,
        resource_id=resource_id,
        thread_id=thread_id,
        filter=filter,
        config=config,
    )
    return [hit.message_id for hit in result.hits]


def test_a_message_just_written_is_found_by_its_words_before_it_is_embedded(
    way, memory, say
):
    say("t1", {"m1": "The build stops with ERR-4021", "m2": "Lunch at noon"})
    result = memory.search("err-4021", resource_id="res-a")
    assert [hit.message_id for hit in result.hits] == ["m1"]
    assert result.hits[0].why == "words"
    assert result.hits[0].words == ("err", "4021", "err-4021")
    assert not result.meaning_available
    assert result.problem


def test_a_hit_says_how_each_side_judged_it(way, planned, memory, say, embed):
    planned.plan = {"blue": [1, 0], "azure sky": [0.8, 0.6], "red": [0, 1]}
    say("t1", {"m1": "red", "m2": "azure sky", "m3": "blue"})
    embed()
    result = memory.search("blue", resource_id="res-a")
    first, second = result.hits[:2]
    assert (first.message_id, first.why) == ("m3", "both")
    assert first.words == ("blue",)
    assert first.legs["vector"].rank == first.legs["lexical"].rank == 1
    assert first.legs["vector"].score == pytest.approx(1, abs=1e-3)
    assert (second.message_id, second.why) == ("m2", "meaning")
    assert second.legs["vector"].score == pytest.approx(0.8, abs=1e-3)
    assert "lexical" not in second.legs
    assert result.meaning_available


def test_without_a_common_word_the_nearest_are_found(way, planned, memory, say, embed):
    planned.plan = {"a": [1, 0], "b": [0.6, 0.8], "query": [1, 0]}
    say("t1", {"m1": "b", "m2": "a"})
    embed()
    assert found(memory, "query", top_k=2) == ["m2", "m1"]


def test_turning_a_side_off_loses_what_only_it_finds(way, planned, memory, say, embed):
    planned.plan = {"pet": [1, 0], "my dog barks": [0.9, 0.4], "pet ERR-4021": [0, 1]}
    say("t1", {"m1": "my dog barks", "m2": "pet ERR-4021", "m3": "other"})
    embed()
    assert found(memory, "pet", mode="vector", threshold=0.5) == ["m1"]
    assert found(memory, "pet", mode="lexical") == ["m2"]
    assert set(found(memory, "pet", top_k=2)) == {"m1", "m2"}


def test_a_person_with_four_messages_among_many_gets_all_four(
    way, planned, memory, say, embed
):
    planned.plan = {"near": [1, 0], "mine": [0.8, 0.6], "q": [1, 0]}
    say("tb", {f"o{n}": "near" for n in range(500)}, resource_id="res-b")
    say("t1", {f"a{n}": "mine" for n in range(4)})
    embed()
    for mode in ("hybrid", "vector"):
        assert set(found(memory, "q", mode=mode)) == {"a0", "a1", "a2", "a3"}


@pytest.mark.parametrize("mode", ["hybrid", "vector", "lexical"])
def test_another_resource_is_never_found(mode, way, planned, memory, say, embed):
    planned.plan = {"blue": [1, 0]}
    say("t1", {"a1": "blue"})
    say("t2", {"a2": "blue"})
    say("tb", {"b1": "blue"}, resource_id="res-b")
    embed()
    both = found(memory, "blue", mode=mode, top_k=10)
    assert set(both) == {"a1", "a2"}
    assert found(memory, "blue", mode=mode, top_k=10, thread_id="t1") == ["a1"]
    assert found(memory, "blue", "res-b", mode=mode, top_k=10) == ["b1"]
    assert found(memory, "blue", "res-c", mode=mode, top_k=10) == []


def test_filters_bind_before_the_best_are_chosen(way, planned, memory, say, embed):
    planned.plan = {"blue": [1, 0], "bluish": [0.8, 0.6]}
    early, late = datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)
    say("t1", {f"e{n}": "blue" for n in range(20)}, createdAt=early)
    say("t1", {"l1": "bluish"}, createdAt=late, metadata={"kind": "note"})
    embed()
    for narrowed in (
        {"date_range": {"start": late}},
        {"metadata": {"kind": "note"}},
        {"metadata": {"kind": "note"}, "date_range": {"start": late, "end": late}},
    ):
        for mode in ("hybrid", "vector"):
            assert found(memory, "blue", mode=mode, top_k=1, filter=narrowed) == ["l1"]
    assert (
        found(memory, "blue", mode="lexical", filter={"metadata": {"kind": "x"}}) == []
    )


def test_filters_do_not_limit_the_neighbours(way, planned, memory, say, embed):
    planned.plan = {"blue": [1, 0]}
    say("t1", {"m1": "one"})
    say("t1", {"m2": "blue"}, metadata={"kind": "note"})
    say("t1", {"m3": "three"})
    embed()
    result = memory.search(
        "blue", resource_id="res-a", filter={"metadata": {"kind": "note"}}
    )
    assert [hit.message_ids for hit in result.hits] == [("m1", "m2", "m3")]


def test_a_threshold_keeps_what_reaches_it(way, planned, memory, say, embed):
    planned.plan = {"blue": [1, 0], "cyan": [0.8, 0.6]}
    say("t1", {"m1": "blue", "m2": "cyan", "m3": "other"})
    embed()
    for mode in ("hybrid", "vector"):
        assert found(memory, "blue", mode=mode, threshold=1) == ["m1"]
        assert found(memory, "blue", mode=mode, threshold=0.8) == ["m1", "m2"]
        assert len(found(memory, "blue", mode=mode, threshold=-1)) == 3


def test_an_edited_message_is_found_by_its_new_text_alone(
    way, planned, memory, say, embed
):
    planned.plan = {"blue": [1, 0], "red": [0, 1]}
    say("t1", {"m1": "blue"})
    embed()
    say("t1", {"m1": "red"})
    assert found(memory, "blue", threshold=0.9) == []
    assert found(memory, "red", threshold=0.9) == ["m1"]  # by its words already
    embed()
    assert found(memory, "red", threshold=0.9, mode="vector") == ["m1"]
    assert found(memory, "blue", threshold=0.9) == []


def test_a_deleted_message_does_not_use_up_the_hits(way, planned, memory, say, embed):
    planned.plan = {"blue": [1, 0], "red": [0.6, 0.8]}
    say("t1", {"m1": "blue"})
    say("t2", {"m2": "red"})
    embed()
    memory.delete_thread("t1")
    assert found(memory, "blue", top_k=1) == ["m2"]
    Message.objects.filter(id="m2").delete()
    assert found(memory, "blue", top_k=1) == []


def test_a_moved_message_is_found_where_it_is(way, planned, memory, say, embed):
    planned.plan = {"blue": [1, 0]}
    say("t1", {"m1": "blue", "m2": "other"})
    say("t2", {"n1": "something"})
    embed()
    say("t2", {"m1": "blue"})
    for mode in ("hybrid", "vector", "lexical"):
        options = {"mode": mode, "threshold": 0.5}
        assert found(memory, "blue", thread_id="t1", **options) == []
        assert found(memory, "blue", thread_id="t2", **options) == ["m1"]


def test_a_transferred_thread_is_found_by_its_new_owner_alone(
    way, planned, memory, say, embed
):
    planned.plan = {"blue": [1, 0]}
    say("t1", {"m1": "blue"})
    embed()
    memory.transfer_thread("t1", resource_id="res-b")
    for mode in ("hybrid", "vector", "lexical"):
        assert found(memory, "blue", "res-a", mode=mode) == []
        assert found(memory, "blue", "res-b", mode=mode) == ["m1"]


def test_a_clone_is_found_at_once_without_being_embedded_again(
    way, planned, memory, say, embed
):
    planned.plan = {"blue": [1, 0]}
    say("t1", {"m1": "blue", "m2": "other"})
    embed()
    planned.answers.clear()
    clone = memory.clone_thread("t1", new_thread_id="c1", resource_id="res-b")
    copy = clone.message_id_map["m1"]
    for mode in ("hybrid", "vector", "lexical"):
        options = {"mode": mode, "threshold": 0.5}
        assert found(memory, "blue", "res-b", **options) == [copy]
        assert found(memory, "blue", "res-a", **options) == ["m1"]
    assert embed() == 0
    assert planned.answers == ["blue"] * 4  # the queries


def test_a_long_message_is_found_by_any_of_its_parts_and_once(
    way, planned, memory, say, embed
):
    say("t1", {"m1": "word " * 60 + "end " * 60, "m2": "short"})
    embed()
    parts = [text for text in planned.answers if len(text.split()) > 1]
    assert len(parts) > 1
    assert all(len(text.split()) <= planned.max_tokens for text in parts)
    planned.plan = {"q": [0, 0, 0, 0, 0, 0, 0, 1]}
    assert sorted(found(memory, "q", mode="vector", top_k=10)) == ["m1", "m2"]


def test_neighbours_come_from_the_hits_own_thread_and_are_clipped(
    way, planned, memory, say, embed
):
    planned.plan = {"blue": [1, 0]}
    say("t1", {"a0": "x", "a1": "blue", "a2": "y", "a3": "z"})
    say("t2", {"b0": "other"})
    embed()

    def window(message_range):
        result = memory.search(
            "blue",
            resource_id="res-a",
            config={"semantic_recall": {"top_k": 1, "message_range": message_range}},
        )
        return result.hits[0].message_ids

    assert window(1) == ("a0", "a1", "a2")
    assert window({"before": 2, "after": 0}) == ("a0", "a1")
    assert window({"before": 0, "after": 3}) == ("a1", "a2", "a3")
    assert window(50) == ("a0", "a1", "a2", "a3")
    assert window(0) == ("a1",)


def test_words_answer_when_the_embedder_does_not(way, planned, memory, say, embed):
    say("t1", {"m1": "blue", "m2": "red"})
    embed()
    planned.failure = Unreachable("down")
    result = memory.search("blue", resource_id="res-a")
    assert [hit.message_id for hit in result.hits] == ["m1"]
    assert not result.meaning_available
    planned.failure = ValueError("broken in some other way")
    assert found(memory, "blue") == ["m1"]
    assert found(memory, "blue", mode="vector") == []


def test_a_query_vector_of_the_wrong_length_is_not_compared(
    planned, memory, say, embed
):
    say("t1", {"m1": "blue"})
    embed()
    planned.embed_query = lambda text: [1.0, float("nan")]
    result = memory.search("blue", resource_id="res-a")
    assert [hit.message_id for hit in result.hits] == ["m1"]
    assert not result.meaning_available


@pytest.mark.parametrize("query", ["", "   ", "\n", None, 7])
def test_a_blank_query_is_refused_by_name(query, memory, say):
    say("t1", {"m1": "blue"})
    with pytest.raises(InvalidInput) as refusal:
        memory.search(query, resource_id="res-a")
    assert [issue.field for issue in refusal.value.issues] == ["query"]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"top_k": 0}, "semantic_recall.top_k"),
        ({"top_k": 100_000}, "semantic_recall.top_k"),
        ({"top_k": 1.5}, "semantic_recall.top_k"),
        ({"message_range": -1}, "semantic_recall.message_range"),
        ({"message_range": {"before": -1}}, "semantic_recall.message_range.before"),
        ({"threshold": 1.01}, "semantic_recall.threshold"),
        ({"threshold": float("nan")}, "semantic_recall.threshold"),
        ({"mode": "magic"}, "semantic_recall.mode"),
        ({"scope": "world"}, "semantic_recall.scope"),
    ],
)
def test_wrong_options_are_refused_by_name(options, field, memory, say):
    say("t1", {"m1": "blue"})
    with pytest.raises(InvalidInput) as refusal:
        memory.search("blue", resource_id="res-a", config={"semantic_recall": options})
    assert [issue.field for issue in refusal.value.issues] == [f"config.{field}"]


@pytest.mark.parametrize(
    "query",
    [
        "🦊",
        "%s %d {x} '; DROP TABLE",
        "\x00",
        "\ud800",
        "a" * 100_000,
        "!!! ???",
        "' OR 1=1",
    ],
)
def test_no_query_is_an_error(query, way, planned, memory, say, embed):
    say("t1", {"m1": "blue"})
    embed()
    assert found(memory, query, top_k=1) in (["m1"], [])


def test_recall_merges_hits_and_their_neighbours_in_time_order(
    planned, memory, say, embed
):
    planned.plan = {"blue": [1, 0]}
    say("t1", {"a0": "x", "a1": "blue", "a2": "y"})
    say("t1", {f"z{n}": f"later {n}" for n in range(5)})
    embed()
    result = memory.recall(
        "t1",
        "res-a",
        per_page=2,
        vector_search_string="blue",
        config={"semantic_recall": {"top_k": 1}},
    )
    assert [message.id for message in result.messages] == ["a0", "a1", "a2", "z3", "z4"]
    assert (result.total, result.has_more) == (8, True)
    assert [hit.message_id for hit in result.hits] == ["a1"]


def test_a_search_takes_a_fixed_number_of_statements(
    planned, memory, say, embed, django_assert_num_queries
):
    say("t1", {f"m{n}": f"blue {n}" for n in range(30)})
    embed()
    with django_assert_num_queries(5):
        assert len(found(memory, "blue", top_k=20)) == 20
