"""Which space is searched, which is being filled, and the change from one to another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction
from django.db.models import Count, Min, Q
from django.utils import timezone

from recall.embedding.base import PREPARATION
from recall.embedding.models import (
    Embedding,
    EmbeddingSpace,
    MessageTerms,
    PendingEmbedding,
)
from recall.embedding.registry import configured_name, embedder
from threads.errors import Conflict, NotFound

# Below this many vectors, reading them all is as fast as an index.
INDEX_FROM = 10_000
# hnsw: links of a node, and candidates while building. bench/semantic.py measures them.
INDEX_M = 16
INDEX_EF_CONSTRUCTION = 64
# pgvector cannot index longer halfvec vectors.
INDEX_MAX_DIMENSIONS = 4000

_ASK_FOR_MISSING = """
INSERT INTO recall_pendingembedding (
    message_id, space_id, not_before, attempts, error, created_at
)
SELECT t.message_id, %s, now(), 0, '', now()
FROM recall_messageterms t
WHERE NOT EXISTS (
    SELECT FROM recall_embedding e
    WHERE e.message_id = t.message_id AND e.space_id = %s AND e.digest = t.digest
)
ON CONFLICT (message_id, space_id) DO NOTHING
"""


@dataclass(frozen=True)
class SpaceStatus:
    """How far a space is. ``coverage`` is the share of texts with a vector, 0 to 1."""

    space: EmbeddingSpace
    messages: int
    embedded: int
    waiting: int
    failing: int
    oldest: datetime | None
    indexed: bool

    @property
    def coverage(self) -> float:
        return self.embedded / self.messages if self.messages else 1.0


def ready_space() -> EmbeddingSpace | None:
    """The space that searches use, None before anything was ever embedded."""
    return EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.READY).first()


def ensure_ready_space() -> EmbeddingSpace:
    """The ready space; the first one is made for the configured embedder.

    What was saved before it existed is asked for.
    """
    space = ready_space()
    if space is not None:
        return space
    with transaction.atomic():
        _one_at_a_time()
        space = ready_space()
        if space is None:
            space = _new_space(configured_name(), EmbeddingSpace.State.READY)
            ask_for_missing(space)
    return space


def build(name: str | None = None) -> EmbeddingSpace:
    """Starts a space for an embedder (the configured one) beside the searched one.

    Returns the space that is there when it exists already, with everything that it
    still lacks asked for. Raises :class:`NotConfigured` for an unknown embedder.
    """
    name = name or configured_name()
    with transaction.atomic():
        _one_at_a_time()
        space = EmbeddingSpace.objects.filter(
            ~Q(state=EmbeddingSpace.State.RETIRED),
            embedder=name,
            preparation=PREPARATION,
        ).first()
        if space is None:
            first = ready_space() is None
            space = _new_space(
                name,
                EmbeddingSpace.State.READY if first else EmbeddingSpace.State.BUILDING,
            )
        ask_for_missing(space)
    return space


def switch(space_id: int, *, force: bool = False) -> EmbeddingSpace:
    """Has searches use another space from now on; the former one is retired.

    Refused with :class:`Conflict` while texts are without a vector in it, unless
    ``force`` is given.
    """
    with transaction.atomic():
        _one_at_a_time()
        space = (
            EmbeddingSpace.objects.filter(id=space_id)
            .exclude(state=EmbeddingSpace.State.RETIRED)
            .first()
        )
        if space is None:
            raise NotFound(f"There is no space {space_id} that could be used")
        if space.state == EmbeddingSpace.State.READY:
            return space
        lacking = _lacking(space)
        if lacking and not force:
            raise Conflict(f"{lacking} texts have no vector in space {space_id} yet")
        EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.READY).update(
            state=EmbeddingSpace.State.RETIRED
        )
        space.state = EmbeddingSpace.State.READY
        space.ready_at = timezone.now()
        space.save(update_fields=["state", "ready_at"])
    return space


def prune() -> int:
    """Removes retired spaces with their vectors and indexes; the number of spaces."""
    retired = EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.RETIRED)
    spaces = list(retired.values_list("id", flat=True))
    for space_id in spaces:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP INDEX IF EXISTS {index_name(space_id)}")
    retired.filter(id__in=spaces).delete()
    return len(spaces)


def status() -> list[SpaceStatus]:
    """Every space that is not retired, the searched one first."""
    messages = MessageTerms.objects.count()
    found = []
    for space in EmbeddingSpace.objects.exclude(
        state=EmbeddingSpace.State.RETIRED
    ).order_by("-state", "id"):
        waiting = PendingEmbedding.objects.filter(space=space).aggregate(
            count=Count("id"),
            failing=Count("id", filter=~Q(error="")),
            oldest=Min("created_at"),
        )
        embedded = (
            Embedding.objects.filter(space=space)
            .aggregate(count=Count("message_id", distinct=True))
            .get("count")
        )
        found.append(
            SpaceStatus(
                space=space,
                messages=messages,
                embedded=embedded or 0,
                waiting=waiting["count"],
                failing=waiting["failing"],
                oldest=waiting["oldest"],
                indexed=has_index(space.id),
            )
        )
    return found


def ask_for_missing(space: EmbeddingSpace) -> int:
    """Asks for the vector of every text that has none in the space; how many."""
    with connection.cursor() as cursor:
        cursor.execute(_ASK_FOR_MISSING, [space.id, space.id])
        return cursor.rowcount


def index_name(space_id: int) -> str:
    """Name of the nearest-neighbour index of a space."""
    return f"recall_embedding_hnsw_{int(space_id)}"


def has_index(space_id: int) -> bool:
    """Whether the space can be searched by its index."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)",
            [index_name(space_id)],
        )
        row = cursor.fetchone()
    return bool(row and row[0])


def build_index(space: EmbeddingSpace) -> bool:
    """Builds the nearest-neighbour index of a space that has grown to need one.

    Runs beside reads and writes, outside a transaction; a half-built index of a worker
    that was killed is replaced. Returns whether an index was built.
    """
    if not space.dimensions or space.dimensions > INDEX_MAX_DIMENSIONS:
        return False
    if has_index(space.id) or not _needs_index(space.id):
        return False
    name = index_name(space.id)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtext(%s))", [name])
        if not cursor.fetchone()[0]:
            return False
        try:
            cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            cursor.execute("SET maintenance_work_mem = '512MB'")
            cursor.execute(
                f"CREATE INDEX CONCURRENTLY {name} ON recall_embedding "
                f"USING hnsw ((vector::halfvec({int(space.dimensions)})) "
                f"halfvec_ip_ops) WITH (m = {INDEX_M}, "
                f"ef_construction = {INDEX_EF_CONSTRUCTION}) "
                f"WHERE space_id = {int(space.id)}"
            )
        finally:
            cursor.execute("RESET maintenance_work_mem")
            cursor.execute("SELECT pg_advisory_unlock(hashtext(%s))", [name])
    return True


def _needs_index(space_id: int) -> bool:
    some = Embedding.objects.filter(space_id=space_id)[INDEX_FROM : INDEX_FROM + 1]
    return some.exists()


def _new_space(name: str, state: str) -> EmbeddingSpace:
    return EmbeddingSpace.objects.create(
        embedder=name,
        dimensions=embedder(name).dimensions,
        preparation=PREPARATION,
        state=state,
        ready_at=timezone.now() if state == EmbeddingSpace.State.READY else None,
    )


def _lacking(space: EmbeddingSpace) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM recall_messageterms t WHERE NOT EXISTS ("
            "SELECT FROM recall_embedding e WHERE e.message_id = t.message_id "
            "AND e.space_id = %s AND e.digest = t.digest)",
            [space.id],
        )
        return cursor.fetchone()[0]


def _one_at_a_time() -> None:
    """Serialises changes of spaces until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('recall_spaces'))")
