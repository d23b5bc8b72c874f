"""Conversations in the admin."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.options import ModelAdmin as PlainModelAdmin
from django.db.models import CharField, Field, Model, QuerySet
from django.db.models.functions import Left
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextInputWidget

# Registers the API keys, which have a file of their own.
from threads import keys_admin  # noqa: F401
from threads.deleting import delete_messages, delete_resource, delete_thread
from threads.inspection import (
    MAX_RELATED,
    InspectionAdmin,
    json_block,
    lines,
    link_to,
    list_link,
    shortened,
    text_block,
)
from threads.models import Message, Resource, Thread
from threads.reach import Reach
from threads.updating import archive_thread, update_thread


class ConversationAdmin(InspectionAdmin):
    """Rows that may be deleted, by the operation that takes everything with them."""

    def has_delete_permission(
        self, request: HttpRequest, obj: Any | None = None
    ) -> bool:
        # The plain rule, which InspectionAdmin switches off.
        return PlainModelAdmin.has_delete_permission(self, request, obj)

    def delete_ids(self, ids: list[str]) -> None:
        """Deletes the rows of these ids."""
        raise NotImplementedError

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list, dict, set, list]:
        """The rows, and how many of what belongs to them: the database removes it."""
        rows, counts, *rest = super().get_deleted_objects(objs, request)
        return rows, counts | belongings_of(self.model, objs), *rest

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.delete_ids([obj.pk])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet) -> None:
        self.delete_ids(list(queryset.values_list("pk", flat=True)))


def belongings_of(model: type[Model], rows: Any) -> dict[str, int]:
    """By their plural names, how many rows of other models these rows own."""
    ids = [row.pk for row in rows]
    found = {}
    for relation in model._meta.related_objects:
        owned = relation.related_model
        # A clone outlives its source; what is derived of messages goes unnamed.
        if owned is model or model is Message:
            continue
        count = owned._base_manager.filter(
            **{f"{relation.field.name}__in": ids}
        ).count()
        if count:
            found[str(owned._meta.verbose_name_plural)] = count
    return found


@admin.register(Resource)
class ResourceAdmin(ConversationAdmin):
    list_display = ["id", "created_at", "updated_at", "threads_link"]
    search_fields = ["id__startswith"]
    search_help_text = "Beginning of an id"
    ordering = ["-created_at", "-id"]
    fields = ["id", "created_at", "updated_at", "metadata_block", "belongings"]
    readonly_fields = fields

    def delete_ids(self, ids: list[str]) -> None:
        for resource_id in ids:
            delete_resource(resource_id, Reach.all())

    @admin.display(description="Threads")
    def threads_link(self, resource: Resource) -> SafeString:
        return list_link(Thread, "Threads", resource__id__exact=resource.id)

    @admin.display(description="Metadata")
    def metadata_block(self, resource: Resource) -> SafeString:
        return json_block(resource.metadata)

    @admin.display(description="Latest threads")
    def belongings(self, resource: Resource) -> SafeString | str:
        threads = resource.threads.order_by("-updated_at", "-id")[:MAX_RELATED]
        rows = [(link_to(Thread, t.id, shortened(str(t))),) for t in threads]
        everything = list_link(
            Thread, "All threads of this resource", resource__id__exact=resource.id
        )
        return lines([*rows, (everything,)], "{}", "none")


class ArchivedFilter(admin.SimpleListFilter):
    title = "archived"
    parameter_name = "archived"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Archived"), ("no", "Not archived")]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() in ("yes", "no"):
            return queryset.filter(archived_at__isnull=self.value() == "no")
        return queryset


@admin.register(Thread)
class ThreadAdmin(ConversationAdmin):
    """The title can be edited; everything else about a thread follows from its use."""

    list_display = [
        "name",
        "id",
        "resource_link",
        "message_count",
        "title_source",
        "updated_at",
        "archived_at",
    ]
    list_filter = [
        "title_source",
        ArchivedFilter,
        ("updated_at", admin.DateFieldListFilter),
    ]
    search_fields = ["id__startswith", "resource__id__startswith", "title__istartswith"]
    search_help_text = "Beginning of a title, or of a thread's or resource's id"
    ordering = ["-updated_at", "-id"]
    raw_id_fields = ["resource", "source_thread"]
    actions = ["archive", "take_back"]
    fields = [
        "title",
        "title_source",
        "id",
        "resource_link",
        "message_count",
        "created_at",
        "updated_at",
        "last_message_at",
        "archived_at",
        "revision",
        "source_link",
        "metadata_block",
        "latest_messages",
    ]
    readonly_fields = fields[1:]

    def has_change_permission(
        self, request: HttpRequest, obj: Thread | None = None
    ) -> bool:
        return PlainModelAdmin.has_change_permission(self, request, obj)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Thread]:
        return super().get_queryset(request).defer("metadata")

    def formfield_for_dbfield(
        self, db_field: Field, request: HttpRequest, **options: Any
    ) -> Any:
        if db_field.name == "title":
            options["widget"] = UnfoldAdminTextInputWidget
        return super().formfield_for_dbfield(db_field, request, **options)

    def delete_ids(self, ids: list[str]) -> None:
        for thread_id in ids:
            delete_thread(thread_id, Reach.all())

    def save_model(
        self, request: HttpRequest, obj: Thread, form: ModelForm, change: bool
    ) -> None:
        if "title" in form.changed_data:
            update_thread(obj.id, Reach.all(), title=obj.title)

    @admin.action(description="Archive the selected threads", permissions=["change"])
    def archive(self, request: HttpRequest, queryset: QuerySet[Thread]) -> None:
        self._archive(request, queryset, archived=True)

    @admin.action(description="Take back from the archive", permissions=["change"])
    def take_back(self, request: HttpRequest, queryset: QuerySet[Thread]) -> None:
        self._archive(request, queryset, archived=False)

    def _archive(
        self, request: HttpRequest, queryset: QuerySet[Thread], *, archived: bool
    ) -> None:
        ids = list(queryset.values_list("id", flat=True))
        for thread_id in ids:
            archive_thread(thread_id, Reach.all(), archived=archived)
        done = "archived" if archived else "taken back"
        self.message_user(request, f"{len(ids)} threads {done}.", messages.SUCCESS)

    @admin.display(description="Title", ordering="title")
    def name(self, thread: Thread) -> str:
        return shortened(thread.title) or "(no title)"

    @admin.display(description="Resource")
    def resource_link(self, thread: Thread) -> SafeString | str:
        return link_to(Resource, thread.resource_id)

    @admin.display(description="Cloned from")
    def source_link(self, thread: Thread) -> SafeString | str:
        return link_to(Thread, thread.source_thread_id)

    @admin.display(description="Metadata")
    def metadata_block(self, thread: Thread) -> SafeString:
        return json_block(thread.metadata)

    @admin.display(description="Latest messages")
    def latest_messages(self, thread: Thread) -> SafeString | str:
        found = thread.messages.annotate(opening=Left("text", 200)).order_by(
            "-created_at", "-position"
        )
        rows = [
            (m.role, link_to(Message, m.id, shortened(m.opening) or "(no text)"))
            for m in found.only("id", "role")[:MAX_RELATED]
        ]
        everything = list_link(
            Message,
            f"All {thread.message_count} messages of this thread",
            thread__id__exact=thread.id,
        )
        return lines([*rows, ("", everything)], "<b>{}</b> {}", "none")


@admin.register(Message)
class MessageAdmin(ConversationAdmin):
    list_display = ["opening", "role", "id", "thread_link", "created_at"]
    list_filter = ["role", ("created_at", admin.DateFieldListFilter)]
    search_fields = ["id__startswith", "thread__id__startswith"]
    search_help_text = "Beginning of a message's or thread's id"
    raw_id_fields = ["thread", "resource"]
    fields = [
        "id",
        "role",
        "type",
        "thread_link",
        "resource_link",
        "created_at",
        "updated_at",
        "position",
        "text_block",
        "content_block",
    ]
    readonly_fields = fields

    def get_ordering(self, request: HttpRequest) -> list[str]:
        """Within a thread or resource as it was said, else by id: each has its index."""
        if any(key.startswith(("thread", "resource")) for key in request.GET):
            return ["created_at", "position"]
        return ["-id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Message]:
        messages = super().get_queryset(request).select_related("thread")
        beginning = Left("text", 200, output_field=CharField())
        return messages.annotate(beginning=beginning).defer(
            "content", "metadata", "text", "thread__metadata"
        )

    def delete_ids(self, ids: list[str]) -> None:
        delete_messages(ids, Reach.all())

    @admin.display(description="Text")
    def opening(self, message: Message) -> str:
        return shortened(message.beginning) or "(no text)"

    @admin.display(description="Thread")
    def thread_link(self, message: Message) -> SafeString | str:
        return link_to(Thread, message.thread_id, shortened(str(message.thread), 50))

    @admin.display(description="Resource")
    def resource_link(self, message: Message) -> SafeString | str:
        return link_to(Resource, message.resource_id)

    @admin.display(description="Text")
    def text_block(self, message: Message) -> SafeString:
        return text_block(message.text)

    @admin.display(description="Content")
    def content_block(self, message: Message) -> SafeString:
        return json_block(message.content)
