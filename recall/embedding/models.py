"""Rows from which messages are found: their words, their vectors, and what is due.

All of them belong to a message by a foreign key that the database cascades, and carry
a copy of the message's place (``resource_id``, ``thread_id``, ``created_at``), so that
a search is bound to its scope before anything is ranked. A trigger on the message
table keeps the copies equal when a message or its thread moves.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils import timezone
from pgvector.django import HalfVectorField

from threads.models import IdField, Message


class EmbeddingSpace(models.Model):
    """Vectors that may be compared with each other.

    One row for each embedder, length of vector and way of preparing the text. Searches
    use the one space that is ``ready``; a new one is filled while ``building``.
    """

    class State(models.TextChoices):
        BUILDING = "building", "being filled"
        READY = "ready", "searched"
        RETIRED = "retired", "no longer used"

    class Metric(models.TextChoices):
        COSINE = "cosine", "cosine similarity"

    embedder = models.TextField()
    # Unknown until the first batch, for models that do not tell their length.
    dimensions = models.PositiveIntegerField(null=True, blank=True)
    metric = models.CharField(max_length=10, choices=Metric, default=Metric.COSINE)
    preparation = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.BUILDING)
    created_at = models.DateTimeField(default=timezone.now)
    ready_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        app_label = "recall"
        constraints = [
            models.UniqueConstraint(
                name="embedding_space_one_ready",
                fields=["state"],
                condition=models.Q(state="ready"),
            ),
            models.UniqueConstraint(
                name="embedding_space_once",
                fields=["embedder", "metric", "preparation"],
                condition=~models.Q(state="retired"),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.embedder} ({self.state})"


class PlacedRow(models.Model):
    """A row of a message, with a copy of where the message stands."""

    resource_id = IdField()
    thread_id = IdField()
    created_at = models.DateTimeField()
    # The message's own position: a short handle that is unique among messages.
    position = models.BigIntegerField()

    class Meta:
        abstract = True


class MessageTerms(PlacedRow):
    """The words of one message, ready for ranking.

    ``terms`` holds the distinct terms, four bytes each, and ``counts`` one byte each for
    how often they occur (see :mod:`recall.semantic.lexical`); ``keys`` are the same
    terms joined with the resource, which the index answers from; ``length`` is the
    number of words; ``digest`` identifies the text.
    """

    message = models.OneToOneField(
        Message,
        models.DO_NOTHING,
        primary_key=True,
        related_name="indexed_terms",
        db_constraint=False,
    )
    digest = models.UUIDField()
    length = models.PositiveIntegerField()
    terms = models.BinaryField()
    counts = models.BinaryField()
    keys = ArrayField(models.BigIntegerField())

    class Meta:
        app_label = "recall"
        verbose_name_plural = "message terms"
        indexes = [
            # All messages of a resource; a sample of them.
            models.Index(
                fields=["resource_id", "created_at", "position"],
                name="terms_of_resource",
            ),
            # All messages of a thread; neighbours of a message.
            models.Index(
                fields=["thread_id", "created_at", "position"], name="terms_of_thread"
            ),
            # A message by its handle.
            models.Index(fields=["position"], name="terms_by_position"),
            # Messages of a resource that hold a word. The waiting list is short, for
            # every search reads it through.
            GinIndex(fields=["keys"], name="terms_by_key", gin_pending_list_limit=512),
        ]

    def __str__(self) -> str:
        return self.message_id


class Embedding(PlacedRow):
    """The vector of one chunk of a message's text, in one space.

    ``digest`` is that of the whole text from which it was computed. The vector has the
    length of its space, is normalised, and holds only finite numbers.
    """

    message = models.ForeignKey(
        Message,
        models.DO_NOTHING,
        related_name="embeddings",
        db_constraint=False,
        db_index=False,
    )
    space = models.ForeignKey(
        EmbeddingSpace,
        models.DO_NOTHING,
        related_name="embeddings",
        db_constraint=False,
        db_index=False,
    )
    chunk = models.PositiveSmallIntegerField(default=0)
    digest = models.UUIDField()
    vector = HalfVectorField()
    embedded_at = models.DateTimeField(default=timezone.now)

    class Meta:
        app_label = "recall"
        constraints = [
            models.UniqueConstraint(
                name="embedding_once", fields=["message", "space", "chunk"]
            ),
        ]
        indexes = [
            # All vectors of a resource, of a thread: exact search in a small scope.
            models.Index(fields=["resource_id", "space"], name="embedding_of_resource"),
            models.Index(fields=["thread_id", "space"], name="embedding_of_thread"),
            # Removal of a space.
            models.Index(fields=["space"], name="embedding_of_space"),
        ]

    def __str__(self) -> str:
        return f"{self.message_id}#{self.chunk} in space {self.space_id}"


class PendingEmbedding(models.Model):
    """A message whose vector in a space is still to be computed.

    A worker claims a row by moving ``not_before`` into the future; if it dies, the row
    falls due again by itself. ``attempts`` counts the claims since the text last
    changed; rows that failed too often stay, with ``error``, and are tried once a day.
    """

    message = models.ForeignKey(
        Message,
        models.DO_NOTHING,
        related_name="pending_embeddings",
        db_constraint=False,
        db_index=False,
    )
    space = models.ForeignKey(
        EmbeddingSpace,
        models.DO_NOTHING,
        related_name="pending",
        db_constraint=False,
        db_index=False,
    )
    not_before = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(default="", blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        app_label = "recall"
        constraints = [
            models.UniqueConstraint(
                name="pending_embedding_once", fields=["message", "space"]
            ),
        ]
        indexes = [
            # What is due, oldest first; the backlog of a space.
            models.Index(fields=["space", "not_before"], name="pending_embedding_due"),
        ]

    def __str__(self) -> str:
        return f"{self.message_id} for space {self.space_id}"
