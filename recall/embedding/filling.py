"""Computing what is due: claimed in batches across messages, written once.

A batch is claimed with its lease, embedded with no transaction open, and written in one
short transaction that looks at the texts again. So two workers never embed the same
row, a worker that dies loses nothing (the lease ends), and a vector is never stored for
a text that has changed meanwhile.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import numpy as np
from django.db import connection, transaction
from django.utils import timezone

from recall.embedding.base import BadVector, Embedder, EmbedderUnavailable, checked
from recall.embedding.chunks import split, text_digest
from recall.embedding.models import (
    Embedding,
    EmbeddingSpace,
    MessageTerms,
    PendingEmbedding,
)
from recall.embedding.registry import embedder
from recall.embedding.spaces import ensure_ready_space
from threads.models import Message

logger = logging.getLogger(__name__)

# Messages claimed at once.
BATCH = 256
# How long a claim holds. Above the task's time limit, so that a running batch is not
# claimed a second time.
LEASE = timedelta(minutes=6)
# Seconds before a failed message is tried again: doubled each time, up to a day.
FIRST_DELAY = 5.0
LONGEST_DELAY = 24 * 3600.0

_CLAIM = """
UPDATE recall_pendingembedding SET not_before = now() + %s, attempts = attempts + 1
WHERE id IN (
    SELECT id FROM recall_pendingembedding
    WHERE space_id = %s AND not_before <= now()
    ORDER BY not_before LIMIT %s FOR UPDATE SKIP LOCKED
)
RETURNING id, message_id, attempts
"""


@dataclass(frozen=True)
class Claim:
    """One row to be filled. ``attempts`` tells this claim from a later one."""

    id: int
    message_id: str
    attempts: int


@dataclass(frozen=True)
class Computed:
    """The vectors of one text, one for each of its chunks."""

    claim: Claim
    digest: UUID
    vectors: np.ndarray


def embed_due(*, seconds: float = 120.0) -> int:
    """Embeds what is due in every space, the searched one first; how many messages.

    Stops after about ``seconds``, or when an embedder cannot be reached. Never raises
    for what a message or an embedder does: that is kept with the row and tried later.
    """
    ensure_ready_space()
    until = time.monotonic() + seconds
    done = 0
    spaces = EmbeddingSpace.objects.exclude(state=EmbeddingSpace.State.RETIRED)
    for space in spaces.order_by("-state", "id"):
        while time.monotonic() < until:
            claims = claim(space)
            if not claims:
                break
            try:
                done += fill(space, embedder(space.embedder), claims)
            except EmbedderUnavailable as error:
                _release(claims, str(error))
                logger.warning("Embedder of space %s: %s", space.id, error)
                break
    return done


def anything_due() -> bool:
    """Whether a worker would find something to embed now."""
    return PendingEmbedding.objects.filter(
        not_before__lte=timezone.now(),
        space__in=EmbeddingSpace.objects.exclude(state=EmbeddingSpace.State.RETIRED),
    ).exists()


def claim(space: EmbeddingSpace, size: int = BATCH) -> list[Claim]:
    """Takes up to ``size`` due rows for this worker alone."""
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, [LEASE, space.id, size])
        return [Claim(*row) for row in cursor.fetchall()]


def fill(space: EmbeddingSpace, model: Embedder, claims: Sequence[Claim]) -> int:
    """Embeds the claimed messages and writes their vectors; how many were written.

    Raises :class:`EmbedderUnavailable` when the model cannot answer at all.
    """
    ids = [claim.message_id for claim in claims]
    texts = dict(Message.objects.filter(id__in=ids).values_list("id", "text"))
    chunks = {id: split(text, model) for id, text in texts.items()}
    wanted = [claim for claim in claims if chunks.get(claim.message_id)]
    try:
        computed = _compute(space, model, wanted, texts, chunks)
    except EmbedderUnavailable:
        raise
    except Exception as error:
        if len(wanted) > 1:
            # One text spoils the answer for all: find out which.
            return sum(fill(space, model, [claim]) for claim in claims)
        if not isinstance(error, BadVector):
            logger.exception("Embedding failed in space %s", space.id)
        _release(wanted, f"{type(error).__name__}: {error}")
        return 0
    return _write(space, claims, computed)


def _compute(
    space: EmbeddingSpace,
    model: Embedder,
    claims: Sequence[Claim],
    texts: dict[str, str],
    chunks: dict[str, list[str]],
) -> list[Computed]:
    # Equal texts are embedded once; every message still gets its own rows.
    distinct = list(
        dict.fromkeys(chunk for claim in claims for chunk in chunks[claim.message_id])
    )
    if not distinct:
        return []
    tables = []
    for start in range(0, len(distinct), model.batch_size):
        part = distinct[start : start + model.batch_size]
        vectors = model.embed_documents(part)
        tables.append(checked(vectors, count=len(part), dimensions=space.dimensions))
    table = np.concatenate(tables)
    _learn_dimensions(space, table.shape[1])
    row_of = {chunk: row for row, chunk in enumerate(distinct)}
    return [
        Computed(
            claim,
            text_digest(texts[claim.message_id]),
            table[[row_of[chunk] for chunk in chunks[claim.message_id]]],
        )
        for claim in claims
    ]


def _learn_dimensions(space: EmbeddingSpace, dimensions: int) -> None:
    """Fixes the length of the space's vectors with the first that come."""
    if space.dimensions is None:
        EmbeddingSpace.objects.filter(id=space.id, dimensions=None).update(
            dimensions=dimensions
        )
        space.refresh_from_db(fields=["dimensions"])
    if space.dimensions != dimensions:
        raise BadVector(
            f"vectors of {space.dimensions} dimensions were expected, {dimensions} came"
        )


@transaction.atomic
def _write(
    space: EmbeddingSpace, claims: Sequence[Claim], computed: Sequence[Computed]
) -> int:
    """Stores the vectors whose text is still the same, and forgets their claims."""
    # Locked, so that a change of text waits until the vectors are written, and then
    # removes them itself. Always in the same order, or two workers could deadlock.
    current = {
        terms.message_id: terms
        for terms in MessageTerms.objects.select_for_update(no_key=True)
        .filter(message_id__in=[claim.message_id for claim in claims])
        .order_by("message_id")
        .defer("terms", "counts", "keys")
    }
    valid = [
        result
        for result in computed
        if result.claim.message_id in current
        and current[result.claim.message_id].digest == result.digest
    ]
    Embedding.objects.filter(
        space=space, message_id__in=[result.claim.message_id for result in valid]
    ).delete()
    Embedding.objects.bulk_create(
        Embedding(
            message_id=result.claim.message_id,
            space=space,
            chunk=number,
            digest=result.digest,
            vector=vector,
            resource_id=place.resource_id,
            thread_id=place.thread_id,
            created_at=place.created_at,
            position=place.position,
        )
        for result in valid
        for place in [current[result.claim.message_id]]
        for number, vector in enumerate(result.vectors)
    )
    # Rows without text have nothing to wait for. A row that was asked for again since
    # it was claimed (the text changed) keeps waiting: its attempts began anew.
    finished = [result.claim for result in valid] + [
        claim for claim in claims if claim.message_id not in current
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM recall_pendingembedding p "
            "USING unnest(%s::bigint[], %s::integer[]) AS c (id, attempts) "
            "WHERE p.id = c.id AND p.attempts = c.attempts",
            [
                [claim.id for claim in finished],
                [claim.attempts for claim in finished],
            ],
        )
    return len(valid)


def _release(claims: Sequence[Claim], error: str) -> None:
    """Lets the rows fall due again later, each after its own number of failures."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE recall_pendingembedding p SET error = %s, "
            "not_before = now() + make_interval(secs => "
            "least(%s * 2.0 ^ least(p.attempts - 1, 30), %s)) "
            "FROM unnest(%s::bigint[], %s::integer[]) AS c (id, attempts) "
            "WHERE p.id = c.id AND p.attempts = c.attempts",
            [
                error[:500],
                FIRST_DELAY,
                LONGEST_DELAY,
                [claim.id for claim in claims],
                [claim.attempts for claim in claims],
            ],
        )
