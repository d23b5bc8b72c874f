"""Semantic recall with embedders whose vectors a test can foresee."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from recall.embedding import filling, registry
from recall.embedding.base import Embedder, EmbedderUnavailable
from recall.memory import Memory
from recall.semantic import search


class PlannedEmbedder(Embedder):
    """Gives each text the direction that a test planned for it.

    Texts without a plan lie apart from all planned ones. ``failure`` is raised instead
    of an answer; ``answers`` collects the texts that were embedded.
    """

    name = "planned"
    dimensions = 8
    max_tokens = 50

    def __init__(self) -> None:
        self.plan: dict[str, Sequence[float]] = {}
        self.failure: Exception | None = None
        self.answers: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        if self.failure is not None:
            raise self.failure
        self.answers.extend(texts)
        table = np.zeros((len(texts), 8), dtype=np.float32)
        for row, text in zip(table, texts, strict=True):
            planned = self.plan.get(text, [0, 0, 0, 0, 0, 0, 0, 1])
            row[: len(planned)] = planned
        return table

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class Unreachable(EmbedderUnavailable):
    """As a provider that is down."""


@pytest.fixture
def planned(settings) -> PlannedEmbedder:
    """The configured embedder, for tests that plan their vectors."""
    embedder = PlannedEmbedder()
    registry.register(embedder)
    settings.MEMORY = {**settings.MEMORY, "EMBEDDER": "planned"}
    return embedder


@pytest.fixture(params=["whole scope", "candidates"])
def way(request, monkeypatch) -> str:
    """Both ways of comparing: every message, or the candidates of a large scope."""
    if request.param == "candidates":
        monkeypatch.setattr(search, "WHOLE_SCOPE", 0)
    return request.param


@pytest.fixture
def memory() -> Memory:
    """Semantic recall without history: what a recall brings was found."""
    return Memory({"semantic_recall": True, "last_messages": False})


@pytest.fixture
def say(memory: Memory) -> Callable[..., None]:
    """Saves messages, given as id and text, into a thread that is made if need be."""

    def save(
        thread_id: str, said: dict[str, str], *, resource_id: str = "res-a", **fields
    ) -> None:
        memory.create_thread(thread_id=thread_id, resource_id=resource_id)
        memory.save_messages(
            [
                {"id": id, "role": "user", "content": text, **fields}
                for id, text in said.items()
            ],
            thread_id=thread_id,
        )

    return save


@pytest.fixture
def embed() -> Callable[[], int]:
    """Does a worker's work here; how many messages were embedded."""
    return lambda: filling.embed_due(seconds=60)
