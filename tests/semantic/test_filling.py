"""Vectors that are due: claimed, computed, written once."""

from datetime import timedelta

import numpy as np
import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from recall.embedding import filling, spaces
from recall.embedding.indexing import messages_saved
from recall.embedding.models import Embedding, MessageTerms, PendingEmbedding
from recall.memory import Memory
from tests.semantic.conftest import Unreachable
from threads.errors import MemoryFault
from threads.models import Message, Thread

pytestmark = pytest.mark.django_db


def everything_due() -> None:
    """As if the waiting were over. For the database, a test is one moment."""
    PendingEmbedding.objects.update(not_before=timezone.now() - timedelta(days=1))


def test_messages_are_embedded_in_batches_and_equal_texts_once(
    planned, memory, say, embed
):
    say("t1", {"m1": "yes", "m2": "yes", "m3": "no"})
    assert embed() == 3
    assert sorted(planned.answers) == ["no", "yes"]
    assert Embedding.objects.count() == 3
    assert PendingEmbedding.objects.count() == 0
    assert embed() == 0


def test_only_messages_with_text_are_embedded(planned, memory, say, embed):
    memory.create_thread(thread_id="t1", resource_id="res-a")
    memory.save_messages(
        [
            {
                "id": "m1",
                "role": "assistant",
                "content": {
                    "format": 2,
                    "parts": [
                        {
                            "type": "tool-invocation",
                            "toolInvocation": {
                                "state": "call",
                                "toolCallId": "c1",
                                "toolName": "look",
                                "args": {},
                            },
                        }
                    ],
                },
            },
            {"id": "m2", "role": "user", "content": "   "},
        ],
        thread_id="t1",
    )
    assert embed() == 0
    assert MessageTerms.objects.count() == 0
    assert PendingEmbedding.objects.count() == 0


def test_a_message_that_loses_its_text_loses_words_and_vector(
    planned, memory, say, embed
):
    say("t1", {"m1": "blue"})
    embed()
    say("t1", {"m1": ""})
    assert Embedding.objects.count() == 0
    assert MessageTerms.objects.count() == 0
    assert embed() == 0


def test_a_change_of_metadata_does_not_embed_again(planned, memory, say, embed):
    say("t1", {"m1": "blue"})
    embed()
    before = Embedding.objects.get().embedded_at
    memory.update_messages([{"id": "m1", "content": {"metadata": {"a": 1}}}])
    say("t1", {"m1": "blue"}, metadata={"b": 2})
    assert PendingEmbedding.objects.count() == 0
    assert embed() == 0
    assert Embedding.objects.get().embedded_at == before


def test_a_change_by_a_memory_without_semantic_recall_is_followed(
    planned, memory, say, embed
):
    say("t1", {"m1": "blue"})
    embed()
    Memory().update_messages([{"id": "m1", "content": "red"}])
    assert embed() == 1
    assert planned.answers == ["blue", "red"]


def test_nothing_is_embedded_while_semantic_recall_is_off(planned, embed):
    memory = Memory()
    memory.create_thread(thread_id="t1", resource_id="res-a")
    memory.save_messages(
        [{"id": "m1", "role": "user", "content": "blue"}], thread_id="t1"
    )
    spaces.ensure_ready_space()
    PendingEmbedding.objects.all().delete()  # what the new space asked for
    memory.save_messages(
        [{"id": "m2", "role": "user", "content": "red"}], thread_id="t1"
    )
    assert embed() == 0


def test_a_broken_embedder_neither_fails_nor_delays_a_save_and_is_tried_again(
    planned, memory, say, embed
):
    planned.failure = Unreachable("down")
    say("t1", {"m1": "blue", "m2": "red"})
    assert embed() == 0
    assert Message.objects.count() == 2
    assert Embedding.objects.count() == 0
    waiting = PendingEmbedding.objects.order_by("message_id")
    assert [(row.attempts, row.error) for row in waiting] == [(1, "down")] * 2
    assert waiting.filter(not_before__gt=Now()).count() == 2
    assert embed() == 0  # not before its time
    planned.failure = None
    everything_due()
    assert embed() == 2


def test_the_waits_between_attempts_grow_and_end_at_a_day(planned, memory, say, embed):
    planned.failure = Unreachable("down")
    say("t1", {"m1": "blue"})
    waits = []
    for _ in range(25):
        everything_due()
        embed()
        row = PendingEmbedding.objects.get()
        # Made in the same transaction, which is one moment for the database.
        waits.append((row.not_before - row.created_at).total_seconds())
    assert waits[:3] == [5, 10, 20]
    assert waits[-1] == 24 * 3600


@pytest.mark.parametrize(
    "bad", [[[1.0]], [[float("nan")] * 8], [[float("inf")] * 8], [[0.0] * 8], "no"]
)
def test_a_bad_vector_is_never_stored_and_spoils_no_other(
    bad, planned, memory, say, embed
):
    good = type(planned).embed_documents

    def embed_documents(texts):
        return bad if "poison" in texts else good(planned, texts)

    planned.embed_documents = embed_documents
    say("t1", {"m1": "fine", "m2": "poison", "m3": "fine too"})
    assert embed() == 2
    stored = Embedding.objects.values_list("message_id", flat=True)
    assert sorted(stored) == ["m1", "m3"]
    assert PendingEmbedding.objects.get().message_id == "m2"
    del planned.embed_documents
    everything_due()
    assert embed() == 1


def test_a_text_that_changes_while_it_is_embedded_is_not_stored_under_the_new_one(
    planned, memory, say, embed
):
    say("t1", {"m1": "blue"})
    space = spaces.ensure_ready_space()
    claims = filling.claim(space)
    answer = type(planned).embed_documents

    def embed_documents(texts):
        del planned.embed_documents
        say("t1", {"m1": "red"})
        return answer(planned, texts)

    planned.embed_documents = embed_documents
    assert filling.fill(space, planned, claims) == 0
    assert Embedding.objects.count() == 0
    assert embed() == 1
    assert planned.answers == ["blue", "red"]


def test_a_message_deleted_while_it_is_embedded_leaves_nothing(planned, memory, say):
    say("t1", {"m1": "blue"})
    space = spaces.ensure_ready_space()
    claims = filling.claim(space)
    memory.delete_messages(["m1"])
    assert filling.fill(space, planned, claims) == 0
    assert Embedding.objects.count() == 0
    assert PendingEmbedding.objects.count() == 0


def test_two_workers_never_claim_the_same_message(planned, memory, say):
    say("t1", {f"m{n}": f"text {n}" for n in range(5)})
    space = spaces.ensure_ready_space()
    first, second = filling.claim(space, 3), filling.claim(space, 3)
    taken = [claim.message_id for claim in (*first, *second)]
    assert sorted(taken) == [f"m{n}" for n in range(5)]
    assert filling.claim(space, 3) == []


def test_a_claim_that_is_not_fulfilled_falls_due_again(planned, memory, say, embed):
    say("t1", {"m1": "blue"})
    filling.claim(spaces.ensure_ready_space())
    assert embed() == 0
    everything_due()  # the lease has ended
    assert embed() == 1


@pytest.mark.parametrize(
    "delete",
    [
        lambda: Message.objects.all().delete(),
        lambda: Message.objects.filter(id="m1")._raw_delete("default"),
        lambda: Thread.objects.filter(id="t1").delete(),
        lambda: Memory().delete_thread("t1"),
        lambda: Memory().delete_resource("res-a"),
    ],
)
def test_every_deletion_takes_words_vectors_and_what_is_due_along(
    delete, planned, memory, say, embed
):
    say("t1", {"m1": "blue"})
    embed()
    say("t1", {"m1": "red"})
    embed()
    PendingEmbedding.objects.create(message_id="m1", space=spaces.ready_space())
    delete()
    assert Embedding.objects.count() == 0
    assert MessageTerms.objects.count() == 0
    assert PendingEmbedding.objects.count() == 0


def test_a_refused_batch_indexes_nothing(planned, memory, say):
    say("tb", {"b1": "blue"}, resource_id="res-b")
    memory.create_thread(thread_id="t1", resource_id="res-a")
    with pytest.raises(MemoryFault):
        memory.save_messages(
            [
                {"id": "m1", "role": "user", "content": "red"},
                {"id": "b1", "role": "user", "content": "red"},
            ],
            thread_id="t1",
        )
    assert list(MessageTerms.objects.values_list("message_id", flat=True)) == ["b1"]


def test_words_are_written_in_the_transaction_that_saves(planned, memory, say):
    say("t1", {"m1": "blue"})
    message = Message.objects.get()
    message.text = "red"
    with transaction.atomic():
        messages_saved([message])
        transaction.set_rollback(True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT length, encode(counts, 'hex') FROM recall_messageterms")
        assert cursor.fetchall() == [(1, "01")]


def test_many_messages_are_indexed_in_one_statement(
    planned, memory, say, django_assert_num_queries
):
    say("t1", {f"m{n}": f"text {n}" for n in range(100)})
    messages = list(Message.objects.all())
    for message in messages:
        message.text += " changed"
    with django_assert_num_queries(1):
        messages_saved(messages)


def test_stored_vectors_have_length_one(planned, memory, say, embed):
    planned.plan = {"blue": [3, 4]}
    say("t1", {"m1": "blue"})
    embed()
    vector = Embedding.objects.get().vector
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-3)
