"""Runs in the admin: what was asked, what the model was shown, how it ended."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from agents.models import Run, RunEvent
from agents.runs import request_stop
from threads.inspection import (
    InspectionAdmin,
    json_block,
    link_to,
    list_link,
    shortened,
    text_block,
)
from threads.models import Message, Resource, Thread


@admin.register(Run)
class RunAdmin(InspectionAdmin):
    list_display = [
        "id",
        "state",
        "agent_id",
        "model",
        "thread_link",
        "input_tokens",
        "output_tokens",
        "first_token_ms",
        "duration_ms",
        "created_at",
        "short_error",
    ]
    list_filter = ["state", "trigger", ("created_at", admin.DateFieldListFilter)]
    list_select_related = ["thread"]
    search_fields = ["id__startswith", "thread_id__exact", "message_id__exact"]
    search_help_text = "Beginning of a run's id, or id of a thread or reply"
    ordering = ["-created_at", "-id"]
    raw_id_fields = ["thread", "resource"]
    actions = ["stop_runs"]
    fields = [
        "id",
        "state",
        "finish_reason",
        "error_block",
        "agent_id",
        "trigger",
        "provider",
        "model",
        ("input_tokens", "output_tokens"),
        ("first_token_ms", "duration_ms"),
        "thread_link",
        "resource_link",
        "question_link",
        "reply_link",
        ("created_at", "started_at", "finished_at"),
        ("owner", "heartbeat_at", "stop_requested"),
        "events_link",
        "context_hash",
        "context_block",
        "options_block",
    ]
    readonly_fields = [
        name for row in fields for name in (row if isinstance(row, tuple) else (row,))
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        return (
            super()
            .get_queryset(request)
            .select_related("thread")
            .defer("context", "options", "thread__metadata")
        )

    def has_stop_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("agents.change_run")

    @admin.action(description="Stop the selected runs", permissions=["stop"])
    def stop_runs(self, request: HttpRequest, queryset: QuerySet[Run]) -> None:
        ids = list(queryset.filter(state__in=Run.ACTIVE).values_list("id", flat=True))
        for run_id in ids:
            request_stop(run_id)
        self.message_user(request, f"{len(ids)} runs asked to stop.", messages.SUCCESS)

    @admin.display(description="Thread")
    def thread_link(self, run: Run) -> SafeString | str:
        return link_to(Thread, run.thread_id, shortened(str(run.thread), 40))

    @admin.display(description="Resource")
    def resource_link(self, run: Run) -> SafeString | str:
        return link_to(Resource, run.resource_id)

    @admin.display(description="Question")
    def question_link(self, run: Run) -> SafeString | str:
        return link_to(Message, run.user_message_id)

    @admin.display(description="Reply")
    def reply_link(self, run: Run) -> SafeString | str:
        return link_to(Message, run.message_id)

    @admin.display(description="Event log")
    def events_link(self, run: Run) -> SafeString | str:
        if run.events_pruned_at is not None:
            return "removed, an hour after the end"
        return list_link(RunEvent, "Events", run__id__exact=run.id)

    @admin.display(description="What the model was shown")
    def context_block(self, run: Run) -> SafeString | str:
        return "–" if run.context is None else json_block(run.context)

    @admin.display(description="Options")
    def options_block(self, run: Run) -> SafeString:
        return json_block(run.options)

    @admin.display(description="Error")
    def error_block(self, run: Run) -> SafeString | str:
        return text_block(run.error) if run.error else "–"

    @admin.display(description="Error")
    def short_error(self, run: Run) -> str:
        return shortened(run.error, 60)


@admin.register(RunEvent)
class RunEventAdmin(InspectionAdmin):
    list_display = ["seq", "type", "run_id", "opening", "created_at"]
    list_display_links = ["seq", "type"]
    search_fields = ["run_id__exact"]
    search_help_text = "Id of a run"
    raw_id_fields = ["run"]
    fields = ["run_link", "seq", "type", "created_at", "payload_block"]
    readonly_fields = fields

    def get_ordering(self, request: HttpRequest) -> list[str]:
        """Within a run as it happened, else the newest first."""
        if any(key.startswith("run") for key in request.GET):
            return ["run", "seq"]
        return ["-id"]

    @admin.display(description="Run")
    def run_link(self, event: RunEvent) -> SafeString | str:
        return link_to(Run, event.run_id)

    @admin.display(description="Payload")
    def opening(self, event: RunEvent) -> str:
        return shortened(str(event.payload), 100)

    @admin.display(description="Payload")
    def payload_block(self, event: RunEvent) -> SafeString:
        return json_block(event.payload)
