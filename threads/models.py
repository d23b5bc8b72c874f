"""What was said: resources own threads, threads hold messages.

Rows are changed through :class:`recall.memory.Memory` alone.
"""

from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models.expressions import RawSQL
from django.db.models.fields.json import KeyTransform

# Models that are kept beside what they serve.
from threads.access import ApiKey, ApiKeyUse  # noqa: F401
from threads.idempotent_reply import IdempotentReply  # noqa: F401
from threads.identifiers import MAX_ID_LENGTH, new_id, now
from threads.json_field import JsonField
from threads.querysets import MessageQuerySet, ResourceQuerySet, ThreadQuerySet


class IdField(models.CharField):
    """A client-chosen text identifier, compared byte by byte."""

    def __init__(self, **options) -> None:
        options.setdefault("max_length", MAX_ID_LENGTH)
        options.setdefault("db_collation", "C")
        super().__init__(**options)

    def db_type(self, connection) -> str:
        # The long name of varchar: by the short one Django would add a second index
        # for LIKE, which a byte-ordered column does not need.
        return f"character varying({self.max_length})"


class Resource(models.Model):
    """The owner of conversations: a user, an organisation, a project."""

    id = IdField(primary_key=True, default=new_id)
    metadata = JsonField(default=dict, blank=True)
    created_at = models.DateTimeField(default=now)
    updated_at = models.DateTimeField(default=now)

    objects = ResourceQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="resource_id_not_blank", condition=~models.Q(id="")
            ),
        ]
        indexes = [
            # Resources page of the API and the admin, newest first.
            models.Index(fields=["created_at", "id"], name="resource_by_creation"),
        ]

    def __str__(self) -> str:
        return self.id


class Thread(models.Model):
    """One conversation of one resource.

    ``updated_at`` moves on every change of the thread or its messages, never on reads.
    ``revision`` counts those changes and serves as the entity tag. ``message_count``
    and ``last_message_at`` are kept true by every write, so that neither a page's total
    nor the order by activity needs to visit the messages.
    """

    class TitleSource(models.TextChoices):
        """Who named the thread. A model's title only ever replaces ``none``."""

        NONE = "none", "not titled"
        MODEL = "model", "written by a model"
        USER = "user", "given by a person or program"
        IMPORT = "import", "came with imported data"

    id = IdField(primary_key=True, default=new_id)
    resource = models.ForeignKey(
        Resource,
        models.DO_NOTHING,
        related_name="threads",
        db_constraint=False,
        db_index=False,
    )
    title = models.TextField(default="", blank=True)
    title_source = models.CharField(
        max_length=10, choices=TitleSource, default=TitleSource.NONE
    )
    metadata = JsonField(default=dict, blank=True)
    created_at = models.DateTimeField(default=now)
    updated_at = models.DateTimeField(default=now)
    last_message_at = models.DateTimeField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    message_count = models.PositiveIntegerField(default=0)
    revision = models.PositiveBigIntegerField(default=1)
    # No constraint: a clone outlives its source and still tells where it came from.
    source_thread = models.ForeignKey(
        "self",
        models.DO_NOTHING,
        related_name="clones",
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
    )

    objects = ThreadQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="thread_id_not_blank", condition=~models.Q(id="")
            ),
            models.CheckConstraint(
                name="thread_title_source_known",
                condition=models.Q(
                    title_source__in=["none", "model", "user", "import"]
                ),
            ),
            # Target of the messages' key, which keeps their resource equal to ours.
            models.UniqueConstraint(
                name="thread_with_resource", fields=["id", "resource"]
            ),
        ]
        indexes = [
            # Threads page of a resource by creation (the API's default order).
            models.Index(
                fields=["resource", "created_at", "id"], name="thread_page_by_creation"
            ),
            # Threads page of a resource by last change.
            models.Index(
                fields=["resource", "updated_at", "id"], name="thread_page_by_update"
            ),
            # Sidebar: threads of a resource by last message.
            models.Index(
                "resource",
                models.F("last_message_at").asc(nulls_first=True),
                "id",
                name="thread_page_by_activity",
            ),
            # The same three orders over all resources: operator, admin.
            models.Index(fields=["created_at", "id"], name="thread_by_creation"),
            models.Index(fields=["updated_at", "id"], name="thread_by_update"),
            models.Index(
                models.F("last_message_at").asc(nulls_first=True),
                "id",
                name="thread_by_activity",
            ),
            # Metadata equality: metadata @> {"key": value}.
            GinIndex(
                name="thread_metadata",
                fields=["metadata"],
                opclasses=["jsonb_path_ops"],
            ),
            # Clones of a thread.
            models.Index(
                fields=["source_thread"],
                name="thread_by_source",
                condition=models.Q(source_thread__isnull=False),
            ),
            # Sweep for threads whose title is still to be written.
            models.Index(
                fields=["updated_at"],
                name="thread_untitled",
                condition=models.Q(title_source="none"),
            ),
        ]

    def __str__(self) -> str:
        return self.title or self.id


class Message(models.Model):
    """One entry of a thread.

    ``content`` is format 2 as given (see :mod:`threads.messages`); ``text`` is its plain
    text, and ``metadata`` is ``content.metadata``, derived by the database. Order is
    ``(created_at, position)``: ``position`` grows with each insertion. Neither changes
    when the message is saved again.
    """

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"
        SYSTEM = "system"
        TOOL = "tool"
        SIGNAL = "signal"

    id = IdField(primary_key=True, default=new_id)
    thread = models.ForeignKey(
        Thread,
        models.DO_NOTHING,
        related_name="messages",
        db_constraint=False,
        db_index=False,
    )
    resource = models.ForeignKey(
        Resource,
        models.DO_NOTHING,
        related_name="messages",
        db_constraint=False,
        db_index=False,
    )
    role = models.CharField(max_length=10, choices=Role)
    type = models.TextField(default="", blank=True)
    content = JsonField()
    metadata = models.GeneratedField(
        expression=KeyTransform("metadata", "content"),
        output_field=JsonField(null=True),
        db_persist=True,
    )
    text = models.TextField(default="", blank=True)
    created_at = models.DateTimeField(default=now)
    updated_at = models.DateTimeField(default=now)
    position = models.BigIntegerField(
        db_default=RawSQL("nextval('threads_message_position')", []), editable=False
    )

    objects = MessageQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "position"]
        constraints = [
            models.CheckConstraint(
                name="message_id_not_blank", condition=~models.Q(id="")
            ),
            models.CheckConstraint(
                name="message_role_known",
                condition=models.Q(
                    role__in=["user", "assistant", "system", "tool", "signal"]
                ),
            ),
        ]
        indexes = [
            # Message page of a thread, date ranges in it, neighbours of a message.
            models.Index(
                fields=["thread", "created_at", "position"], name="message_page"
            ),
            # Message page over all threads of a resource.
            models.Index(
                fields=["resource", "created_at", "position"],
                name="message_page_of_resource",
            ),
            # Metadata equality: metadata @> {"key": value}.
            GinIndex(
                name="message_metadata",
                fields=["metadata"],
                opclasses=["jsonb_path_ops"],
            ),
            # The same within one thread, however common the metadata is in others. No
            # pending list: it would be read through by every search after a big save.
            GinIndex(
                OpClass(
                    models.Func(
                        models.F("thread"),
                        models.F("metadata"),
                        function="message_facets",
                    ),
                    name="array_ops",
                ),
                name="message_facets",
                fastupdate=False,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role}: {self.text[:60]}"


class Anchor(models.Model):
    """A place in a long thread with the number of messages before it.

    Derived from the messages, see :mod:`threads.anchors`.
    """

    thread = models.ForeignKey(
        Thread,
        models.DO_NOTHING,
        related_name="anchors",
        db_constraint=False,
        db_index=False,
    )
    ordinal = models.IntegerField()
    created_at = models.DateTimeField()
    position = models.BigIntegerField()

    class Meta:
        indexes = [
            # The anchor nearest to a message's number.
            models.Index(fields=["thread", "ordinal"], name="anchor_by_ordinal"),
        ]

    def __str__(self) -> str:
        return f"{self.thread_id} [{self.ordinal}]"
