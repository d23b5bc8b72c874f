"""Working memory and the indexes of recall in the admin."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.utils.safestring import SafeString

from recall.models import (
    EmbeddingSpace,
    PendingEmbedding,
    WorkingMemory,
    WorkingMemoryRevision,
)
from threads.inspection import (
    MAX_RELATED,
    InspectionAdmin,
    lines,
    link_to,
    list_link,
    shortened,
    text_block,
)
from threads.models import Message, Resource, Thread


@admin.register(WorkingMemory)
class WorkingMemoryAdmin(InspectionAdmin):
    list_display = ["owner", "scope", "revision", "opening", "updated_at"]
    search_fields = ["resource_id__exact", "thread_id__exact"]
    search_help_text = "Id of a resource or thread"
    ordering = ["-id"]
    fields = ["owner", "scope", "revision", "updated_at", "value_block", "history"]
    readonly_fields = fields

    @admin.display(description="Owner")
    def owner(self, memory: WorkingMemory) -> SafeString | str:
        if memory.resource_id:
            return link_to(Resource, memory.resource_id)
        return link_to(Thread, memory.thread_id)

    @admin.display(description="Scope")
    def scope(self, memory: WorkingMemory) -> str:
        return memory.scope

    @admin.display(description="Value")
    def opening(self, memory: WorkingMemory) -> str:
        return shortened(memory.value)

    @admin.display(description="Value")
    def value_block(self, memory: WorkingMemory) -> SafeString:
        return text_block(memory.value)

    @admin.display(description="Revisions")
    def history(self, memory: WorkingMemory) -> SafeString | str:
        revisions = memory.revisions.defer("value").order_by("-number")[:MAX_RELATED]
        rows = [
            (
                link_to(WorkingMemoryRevision, r.id, str(r)),
                f"{r.created_at:%d %b %Y %H:%M}",
            )
            for r in revisions
        ]
        everything = list_link(
            WorkingMemoryRevision, "All revisions", memory__id__exact=memory.id
        )
        return lines([*rows, (everything, "")], "{} {}", "none")


@admin.register(WorkingMemoryRevision)
class WorkingMemoryRevisionAdmin(InspectionAdmin):
    list_display = ["__str__", "memory_link", "author", "author_name", "created_at"]
    list_filter = ["author"]
    list_select_related = ["memory"]
    ordering = ["-id"]
    raw_id_fields = ["memory"]
    fields = [
        "memory_link",
        "number",
        "author",
        "author_name",
        "message_link",
        "restored_from",
        "created_at",
        "value_block",
    ]
    readonly_fields = fields

    @admin.display(description="Working memory")
    def memory_link(self, revision: WorkingMemoryRevision) -> SafeString | str:
        return link_to(WorkingMemory, revision.memory_id, revision.memory)

    @admin.display(description="From message")
    def message_link(self, revision: WorkingMemoryRevision) -> SafeString | str:
        return link_to(Message, revision.message_id)

    @admin.display(description="Value")
    def value_block(self, revision: WorkingMemoryRevision) -> SafeString:
        return text_block(revision.value)


@admin.register(EmbeddingSpace)
class EmbeddingSpaceAdmin(InspectionAdmin):
    list_display = ["embedder", "state", "dimensions", "waiting_link", "ready_at"]
    list_filter = ["state"]
    ordering = ["-id"]
    fields = [
        "embedder",
        "dimensions",
        "metric",
        "preparation",
        "state",
        "created_at",
        "ready_at",
        "embedded",
        "waiting_link",
    ]
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[EmbeddingSpace]:
        pending = PendingEmbedding.objects.filter(space=OuterRef("pk"))
        counted = pending.order_by().values("space").annotate(n=Count("id")).values("n")
        return (
            super()
            .get_queryset(request)
            .annotate(waiting=Subquery(counted, output_field=IntegerField()))
        )

    @admin.display(description="Waiting messages")
    def waiting_link(self, space: EmbeddingSpace) -> SafeString:
        return list_link(
            PendingEmbedding, str(space.waiting or 0), space__id__exact=space.id
        )

    @admin.display(description="Vectors")
    def embedded(self, space: EmbeddingSpace) -> int:
        return space.embeddings.count()


class FailedFilter(admin.SimpleListFilter):
    title = "outcome"
    parameter_name = "outcome"

    def lookups(
        self, request: HttpRequest, model_admin: InspectionAdmin
    ) -> list[tuple[str, str]]:
        return [("failed", "Failed so far"), ("new", "Not tried")]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() == "failed":
            return queryset.exclude(error="")
        if self.value() == "new":
            return queryset.filter(attempts=0)
        return queryset


@admin.register(PendingEmbedding)
class PendingEmbeddingAdmin(InspectionAdmin):
    list_display = ["message_link", "space", "attempts", "not_before", "short_error"]
    list_filter = [FailedFilter]
    list_select_related = ["space"]
    search_fields = ["message_id__exact"]
    search_help_text = "Id of a message"
    ordering = ["-id"]
    raw_id_fields = ["message", "space"]
    fields = ["message_link", "space", "attempts", "not_before", "error", "created_at"]
    readonly_fields = fields

    @admin.display(description="Message")
    def message_link(self, pending: PendingEmbedding) -> SafeString | str:
        return link_to(Message, pending.message_id)

    @admin.display(description="Error")
    def short_error(self, pending: PendingEmbedding) -> str:
        return shortened(pending.error)
