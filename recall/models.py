"""What is kept beside the conversations so that they can be remembered."""

from __future__ import annotations

from django.db import models

from recall.embedding.models import (
    Embedding,
    EmbeddingSpace,
    MessageTerms,
    PendingEmbedding,
)
from threads.identifiers import now
from threads.models import IdField, Resource, Thread

__all__ = [
    "Embedding",
    "EmbeddingSpace",
    "MessageTerms",
    "PendingEmbedding",
    "WorkingMemory",
    "WorkingMemoryRevision",
]


class WorkingMemory(models.Model):
    """The notes kept about a resource, or about one thread: exactly one of the two.

    ``value`` is the whole text: Markdown for a template, a JSON object for a schema.
    ``revision`` is the number of the newest :class:`WorkingMemoryRevision`.
    """

    resource = models.ForeignKey(
        Resource,
        models.DO_NOTHING,
        related_name="working_memories",
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
    )
    thread = models.ForeignKey(
        Thread,
        models.DO_NOTHING,
        related_name="working_memories",
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
    )
    value = models.TextField(default="", blank=True)
    revision = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=now)
    updated_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name_plural = "working memories"
        constraints = [
            models.CheckConstraint(
                name="working_memory_one_owner",
                condition=models.Q(resource__isnull=True, thread__isnull=False)
                | models.Q(resource__isnull=False, thread__isnull=True),
            ),
            models.UniqueConstraint(
                name="working_memory_of_resource", fields=["resource"]
            ),
            models.UniqueConstraint(name="working_memory_of_thread", fields=["thread"]),
        ]

    def __str__(self) -> str:
        return f"{self.resource_id or self.thread_id} v{self.revision}"

    @property
    def scope(self) -> str:
        """``thread`` or ``resource``."""
        return "thread" if self.thread_id is not None else "resource"


class WorkingMemoryRevision(models.Model):
    """One value that a working memory had, with who wrote it and from which message."""

    class Author(models.TextChoices):
        USER = "user", "person"
        MODEL = "model", "model"
        TOOL = "tool", "tool"
        ADMIN = "admin", "operator"
        API = "api", "program"
        IMPORT = "import", "import"

    memory = models.ForeignKey(
        WorkingMemory,
        models.DO_NOTHING,
        related_name="revisions",
        db_constraint=False,
        db_index=False,
    )
    number = models.PositiveIntegerField()
    value = models.TextField(blank=True)
    author = models.CharField(max_length=10, choices=Author)
    author_name = models.TextField(default="", blank=True)
    # Plain text: the revision outlives the message that it came from.
    message_id = IdField(default="", blank=True)
    restored_from = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["memory", "number"]
        constraints = [
            # Also the history of one working memory, newest first.
            models.UniqueConstraint(
                name="working_memory_revision_number", fields=["memory", "number"]
            ),
        ]

    def __str__(self) -> str:
        return f"v{self.number} by {self.author}"
