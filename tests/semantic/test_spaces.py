"""A new model's space is built beside the searched one; the switch is one row."""

from io import StringIO

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from recall.embedding import registry, spaces
from recall.embedding.models import Embedding, EmbeddingSpace, PendingEmbedding
from tests.semantic.conftest import PlannedEmbedder
from threads.errors import Conflict, NotConfigured, NotFound

pytestmark = pytest.mark.django_db


class OtherEmbedder(PlannedEmbedder):
    """Another model, with longer vectors and its own idea of likeness."""

    name = "other"
    dimensions = 16

    def embed_documents(self, texts):
        return np.pad(super().embed_documents(texts)[:, ::-1], ((0, 0), (0, 8)))


@pytest.fixture
def other() -> OtherEmbedder:
    embedder = OtherEmbedder()
    registry.register(embedder)
    return embedder


def command(*args: str) -> str:
    out = StringIO()
    call_command("embeddings", *args, stdout=out)
    return out.getvalue()


def test_what_was_saved_before_the_first_space_is_asked_for(planned, say, embed):
    say("t1", {"m1": "blue", "m2": "red"})
    assert not EmbeddingSpace.objects.exists()
    assert embed() == 2
    space = EmbeddingSpace.objects.get()
    assert (space.embedder, space.dimensions, space.state) == ("planned", 8, "ready")


def test_queries_use_the_ready_space_until_the_switch(
    planned, other, memory, say, embed
):
    planned.plan = {"blue": [1, 0], "query": [1, 0]}
    other.plan = {"red": [1, 0], "query": [1, 0]}
    say("t1", {"m1": "blue", "m2": "red"})
    embed()
    space = spaces.build("other")
    assert space.state == "building"
    embed()
    assert Embedding.objects.filter(space=space).count() == 2

    def first() -> str:
        config = {"semantic_recall": {"mode": "vector", "top_k": 1}}
        result = memory.search("query", resource_id="res-a", config=config)
        return result.hits[0].message_id

    assert first() == "m1"
    spaces.switch(space.id)
    assert first() == "m2"
    say("t1", {"m3": "new"})
    embed()
    assert Embedding.objects.filter(message="m3").get().space_id == space.id
    assert spaces.prune() == 1
    assert EmbeddingSpace.objects.get() == space
    assert Embedding.objects.count() == 3


def test_messages_saved_while_a_space_is_built_are_embedded_in_both(
    planned, other, say, embed
):
    say("t1", {"m1": "blue"})
    embed()
    spaces.build("other")
    say("t1", {"m2": "red"})
    assert embed() == 3
    assert Embedding.objects.filter(message="m2").count() == 2


def test_a_space_with_gaps_is_not_switched_to(planned, other, say, embed):
    say("t1", {"m1": "blue"})
    embed()
    space = spaces.build("other")
    with pytest.raises(Conflict, match="1 texts"):
        spaces.switch(space.id)
    assert spaces.ready_space().embedder == "planned"
    assert spaces.switch(space.id, force=True).state == "ready"
    assert EmbeddingSpace.objects.filter(state="ready").count() == 1


def test_a_space_that_is_not_there_is_not_switched_to(planned):
    with pytest.raises(NotFound):
        spaces.switch(999)


def test_an_unknown_embedder_gets_no_space():
    with pytest.raises(NotConfigured):
        spaces.build("nonsense")
    assert not EmbeddingSpace.objects.exists()


def test_the_command_shows_coverage_and_backlog(planned, other, say, embed):
    say("t1", {"m1": "blue", "m2": "red"})
    embed()
    say("t1", {"m3": "green"})
    shown = command("status")
    assert "configured embedder: planned" in shown
    assert "2 of 3 messages embedded (66.7 %), 1 waiting, oldest waiting for" in shown


def test_the_command_builds_switches_and_prunes(planned, other, say, embed):
    say("t1", {"m1": "blue"})
    embed()
    assert "(other) is building" in command("build", "--embedder", "other", "--here")
    space = EmbeddingSpace.objects.get(embedder="other")
    assert f"searches use space {space.id}" in command("switch", str(space.id))
    assert "1 spaces removed" in command("prune")
    with pytest.raises(CommandError, match="no space"):
        command("switch", "999")


def test_build_asks_for_what_a_space_lacks(planned, say, embed):
    say("t1", {"m1": "blue"})
    embed()
    Embedding.objects.all().delete()
    spaces.build()
    assert PendingEmbedding.objects.count() == 1
    assert embed() == 1
