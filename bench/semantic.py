"""Times semantic recall as the table of messages grows, the query's embedding apart.

    python -m bench.semantic                        10k and 100k messages
    python -m bench.semantic --sizes 10000,100000,1000000
    python -m bench.semantic --throughput           embedding, messages a second

Of every table, 200 messages belong to one resource, 1,000 to another, and 10,000 (and
100,000, where there are so many) to further ones; the rest is a thousand others'.
Vectors have 512 dimensions and lie near a 64-dimensional surface, as those of sentences
do; words follow Zipf's law over a vocabulary of 20,000.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import numpy as np

from bench.server import prepare

DIMENSIONS = 512
SURFACE = 64
VOCABULARY = 20_000
START = datetime(2024, 1, 1, tzinfo=UTC)
SCOPES = {"res-200": 200, "res-1k": 1_000, "res-10k": 10_000, "res-100k": 100_000}
OTHERS = 1_000
THREADS = 10
CALLS = 100
WORDS = 14


class Texts:
    """Messages, queries and their vectors, the same at every run."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        shape = np.random.default_rng(0)
        self.words = [f"w{number:05d}" for number in range(VOCABULARY)]
        weights = 1 / np.arange(1, VOCABULARY + 1)
        self.weights = weights / weights.sum()
        self.surface = shape.standard_normal((SURFACE, DIMENSIONS)) / SURFACE**0.5

    def texts(self, count: int, words: int = WORDS) -> list[str]:
        picks = self.random.choice(VOCABULARY, (count, words), p=self.weights)
        return [" ".join(self.words[pick] for pick in row) for row in picks]

    def vectors(self, count: int) -> np.ndarray:
        near = self.random.standard_normal((count, SURFACE)) @ self.surface
        near += 0.2 * self.random.standard_normal((count, DIMENSIONS))
        return near / np.linalg.norm(near, axis=1, keepdims=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--var-dir")
    parser.add_argument("--throughput", action="store_true")
    options = parser.parse_args()
    prepare(options.var_dir)
    if options.throughput:
        throughput()
        return
    space = make_space()
    loaded = 0
    for size in (int(size) for size in options.sizes.split(",")):
        began = time.perf_counter()
        load(space, loaded, size)
        loaded = size
        settle(space)
        print(f"\n{size:,} messages ({time.perf_counter() - began:.0f} s to load)")
        print_sizes(space)
        measure(size)
        index_recall(space, size)


def make_space():
    """A ready space whose embedder answers from memory."""
    from recall.embedding.base import Embedder
    from recall.embedding.models import EmbeddingSpace
    from recall.embedding.registry import register

    class Instant(Embedder):
        name = "bench"
        dimensions = DIMENSIONS
        max_tokens = 8192

        def __init__(self) -> None:
            self.vectors = itertools.cycle(Texts(2).vectors(CALLS))

        def embed_documents(self, texts):
            return np.stack([next(self.vectors) for _ in texts])

    register(Instant())
    return EmbeddingSpace.objects.create(
        embedder="bench", dimensions=DIMENSIONS, preparation=1, state="ready"
    )


def owners(size: int) -> Iterator[tuple[str, int]]:
    """Resources of a table of ``size`` messages, with the number of theirs."""
    left = size
    for resource, count in SCOPES.items():
        if count <= size // 2 or count <= left // 2:
            yield resource, count
            left -= count
    each, more = divmod(left, OTHERS)
    for number in range(OTHERS):
        yield f"res-{number:04d}", each + (number < more)


def load(space, before: int, size: int) -> None:
    """Grows the table: what a resource has already is not loaded again."""
    from django.db import connection

    have = dict(owners(before)) if before else {}
    texts = Texts(size)
    rows = [
        (resource, number)
        for resource, count in owners(size)
        for number in range(have.get(resource, 0), count)
    ]
    # As they would come in: everybody's messages one after another.
    texts.random.shuffle(rows)
    with connection.cursor() as cursor:
        for resource, count in owners(size):
            cursor.execute(
                "INSERT INTO threads_resource (id, metadata, created_at, updated_at) "
                "VALUES (%s, '{}', now(), now()) ON CONFLICT DO NOTHING",
                [resource],
            )
            for thread in range(THREADS):
                cursor.execute(
                    "INSERT INTO threads_thread (id, resource_id, title, title_source, "
                    "metadata, created_at, updated_at, message_count, revision) VALUES "
                    "(%s, %s, '', 'none', '{}', now(), now(), %s, 1) "
                    "ON CONFLICT (id) DO UPDATE "
                    "SET message_count = excluded.message_count",
                    [f"{resource}-{thread}", resource, count // THREADS],
                )
    for start in range(0, len(rows), 5_000):
        part = rows[start : start + 5_000]
        save(space, part, texts, before + start)


def save(space, rows, texts: Texts, first: int) -> None:
    """Writes messages with their words and vectors."""
    from pgvector import HalfVector

    from recall.embedding.indexing import messages_saved
    from recall.embedding.models import Embedding, PendingEmbedding
    from threads.models import Message

    messages = [
        Message(
            id=f"{resource}/{number}",
            thread_id=f"{resource}-{number % THREADS}",
            resource_id=resource,
            role="user",
            text=text,
            content={"format": 2, "parts": [{"type": "text", "text": text}]},
            created_at=START + timedelta(seconds=first + offset),
        )
        for offset, ((resource, number), text) in enumerate(
            zip(rows, texts.texts(len(rows)), strict=True)
        )
    ]
    Message.objects.bulk_create(messages, batch_size=1000)
    messages_saved(messages, embed=False)
    positions = dict(
        Message.objects.filter(id__in=[m.id for m in messages]).values_list(
            "id", "position"
        )
    )
    Embedding.objects.bulk_create(
        (
            Embedding(
                message_id=message.id,
                space=space,
                digest="00000000-0000-0000-0000-000000000000",
                vector=HalfVector(vector),
                resource_id=message.resource_id,
                thread_id=message.thread_id,
                created_at=message.created_at,
                position=positions[message.id],
            )
            for message, vector in zip(
                messages, texts.vectors(len(messages)), strict=True
            )
        ),
        batch_size=1000,
    )
    PendingEmbedding.objects.all().delete()


def settle(space) -> None:
    """The state in which a server is after a while: indexed, vacuumed, analysed."""
    from django.db import connection

    from recall.embedding.spaces import build_index

    build_index(space)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def print_sizes(space) -> None:
    from django.db import connection

    from recall.embedding.spaces import index_name

    with connection.cursor() as cursor:
        for label, relation in {
            "messages": "threads_message",
            "words": "recall_messageterms",
            "words, index": "terms_by_key",
            "vectors": "recall_embedding",
            "vectors, index": index_name(space.id),
        }.items():
            cursor.execute("SELECT pg_relation_size(to_regclass(%s))", [relation])
            size = cursor.fetchone()[0]
            print(f"  {label:16}{(size or 0) / 2**20:10.1f} MB")


def measure(size: int) -> None:
    from recall.config import SemanticRecall
    from recall.semantic.search import search
    from threads.models import Message

    half = START + timedelta(seconds=size / 2)
    print(f"\n  {'milliseconds':36}{'p50':>8}{'p95':>8}")
    queries = Texts(3).texts(CALLS, 6)
    for resource, count in owners(size):
        if resource not in SCOPES:
            break
        for mode in ("vector", "hybrid", "lexical"):
            config = SemanticRecall(top_k=10, mode=mode)
            print_times(
                f"{resource} ({count:,} in scope) {mode}",
                queries,
                lambda query, r=resource, c=config: search(
                    query, resource_id=r, config=c
                ),
            )
        print_times(
            f"{resource} hybrid, one thread",
            queries,
            lambda query, r=resource: search(
                query, resource_id=r, thread_ids=[f"{r}-0"]
            ),
        )
        print_times(
            f"{resource} hybrid, half of the dates",
            queries,
            lambda query, r=resource: search(
                query,
                resource_id=r,
                matching=Message.objects.filter(created_at__gte=half),
            ),
        )


def print_times(label: str, queries: list[str], call: Callable[[str], object]) -> None:
    for query in queries[:10]:
        call(query)
    times = []
    for query in queries:
        began = time.perf_counter()
        call(query)
        times.append(1000 * (time.perf_counter() - began))
    times.sort()
    p95 = times[int(0.95 * len(times))]
    print(f"  {label:36}{statistics.median(times):8.1f}{p95:8.1f}", flush=True)


def index_recall(space, size: int) -> None:
    """Share of the true nearest ten that a search by the index finds."""
    from recall.embedding.spaces import has_index
    from recall.semantic import nearest
    from recall.semantic.scope import Scope
    from recall.semantic.table import Question

    if not has_index(space.id):
        return
    for resource, count in owners(size):
        if resource not in SCOPES or count < 10_000:
            continue
        scope = Scope(resource)
        shares = []
        for vector in Texts(4).vectors(CALLS // 2):
            question = Question([], vector, space)
            exact, _ = nearest.exact(question, scope, None, 10)
            found, _ = nearest.by_index(question, scope, None, 150, 150 * size / count)
            shares.append(len(set(exact) & set(found[:10])) / 10)
        print(f"  recall@10 of the index, {resource}: {statistics.mean(shares):.3f}")


def throughput() -> None:
    """Messages a second on one core, of about twenty words."""
    from recall.embedding.base import EmbedderUnavailable
    from recall.embedding.registry import embedder

    sentence = (
        "I told Anna about the trip to the lake, and she asked number {} of us to "
        "bring warm clothes and something to eat."
    )
    texts = [sentence.format(number) for number in range(512)]
    print(f"  {'messages a second':28}{'in batches':>12}{'one by one':>12}")
    for name in ("local:multilingual", "local:english"):
        model = embedder(name)
        try:
            model.embed_documents(texts[:8])
        except EmbedderUnavailable as error:
            print(f"  {name:28}{error}")
            continue
        began = time.perf_counter()
        for start in range(0, len(texts), model.batch_size):
            model.embed_documents(texts[start : start + model.batch_size])
        batched = len(texts) / (time.perf_counter() - began)
        began = time.perf_counter()
        for text in texts[:128]:
            model.embed_documents([text])
        single = 128 / (time.perf_counter() - began)
        print(f"  {name:28}{batched:12.0f}{single:12.0f}")


if __name__ == "__main__":
    main()
