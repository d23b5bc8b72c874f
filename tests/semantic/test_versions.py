"""Other versions of a conversation do not remember each other."""

import pytest

from recall.context import assemble_context
from recall.memory import Memory
from threads.lineage import other_versions
from threads.models import Message

pytestmark = pytest.mark.django_db


@pytest.fixture
def versions(memory: Memory, say) -> None:
    """``t1`` said one thing, its version ``v1`` another, ``v2`` is a version of that."""
    say("t1", {"m1": "A walk in the woods"})
    for source, version in [("t1", "v1"), ("v1", "v2")]:
        memory.clone_thread(
            source,
            new_thread_id=version,
            metadata={"version": {"of": source, "at": "m1"}},
        )
    say("t1", {"m2": "The vault code is ZEBRA991"})
    say("v1", {"m3": "The vault code is GIRAFFE7"})
    say("other", {"m4": "A vault code is a secret"})


def hit_ids(memory: Memory, thread_id: str) -> set[str]:
    found = memory.recall(thread_id, "res-a", vector_search_string="vault code")
    return {hit.message_id for hit in found.hits}


def test_recall_in_one_version_never_sees_what_another_said(way, memory, versions):
    assert hit_ids(memory, "t1") == {"m2", "m4"}
    assert hit_ids(memory, "v1") == {"m3", "m4"}
    assert hit_ids(memory, "v2") == {"m4"}
    assert hit_ids(memory, "other") == {"m2", "m3", "m4"}


def test_a_model_in_one_version_is_not_shown_another(memory, versions):
    question = Message(
        id="q", thread_id="v2", resource_id="res-a", role="user", text="vault code"
    )
    question.content = {"parts": [{"type": "text", "text": "vault code"}]}
    context = assemble_context(
        memory,
        thread_id="v2",
        resource_id="res-a",
        new_messages=[question],
        instructions="",
    )
    shown = " ".join(segment.text for segment in context.segments)
    assert "ZEBRA991" not in shown
    assert "GIRAFFE7" not in shown
    assert "A vault code is a secret" in shown


def test_versions_are_the_whole_family_and_a_plain_clone_is_none(memory, versions):
    memory.clone_thread("t1", new_thread_id="c1")
    assert set(other_versions("t1")) == {"v1", "v2"}
    assert set(other_versions("v2")) == {"t1", "v1"}
    assert other_versions("c1") == []
    assert other_versions("unknown") == []


def test_versions_that_name_each_other_are_counted_once(memory, versions):
    memory.update_thread(
        "t1",
        metadata={
            "version": {"of": "v2", "at": "m1"},
            "clone": {"sourceThreadId": "v2"},
        },
    )
    assert set(other_versions("t1")) == {"v1", "v2"}
