"""Describing the operations of the API for OpenAPI: :func:`describe`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    extend_schema,
    extend_schema_serializer,
)
from rest_framework import serializers

from recall.api import outputs
from recall.api.examples import EXAMPLES
from threads.api.openapi import REFUSALS_OF_READS, REFUSALS_OF_WRITES
from threads.api.serializers import (
    MessageSerializer,
    ResourceSerializer,
    ThreadSerializer,
)

REPLIES: dict[str, type[serializers.Serializer] | None] = {
    "threads_list": outputs.ThreadList,
    "threads_create": ThreadSerializer,
    "threads_retrieve": ThreadSerializer,
    "threads_update": ThreadSerializer,
    "threads_replace": ThreadSerializer,
    "threads_delete": outputs.Result,
    "threads_transfer": ThreadSerializer,
    "threads_archive": ThreadSerializer,
    "threads_unarchive": ThreadSerializer,
    "threads_export": outputs.ThreadExport,
    "messages_list": outputs.MessageList,
    "messages_as_ui": outputs.UiMessageList,
    "messages_save": outputs.SavedMessages,
    "messages_delete": outputs.Deletion,
    "messages_retrieve": MessageSerializer,
    "messages_update": MessageSerializer,
    "messages_destroy": outputs.Result,
    "clones_create": outputs.ClonedThread,
    "clones_list": outputs.Clones,
    "clones_history": outputs.CloneHistory,
    "clones_source": outputs.CloneSource,
    "working_memory_retrieve": outputs.WorkingMemoryReply,
    "working_memory_update": outputs.Success,
    "working_memory_revisions": outputs.Revisions,
    "working_memory_restore": outputs.WorkingMemoryReply,
    "resource_working_memory_retrieve": outputs.ResourceWorkingMemoryReply,
    "resource_working_memory_replace": outputs.ResourceWorkingMemoryReply,
    "resource_working_memory_revisions": outputs.Revisions,
    "resource_working_memory_restore": outputs.ResourceWorkingMemoryReply,
    "resources_list": outputs.ResourceList,
    "resources_retrieve": ResourceSerializer,
    "resources_update": ResourceSerializer,
    "resources_delete": outputs.Result,
    "search": outputs.SearchReply,
    "status_retrieve": outputs.Status,
    "config_retrieve": outputs.Configuration,
    # Refused whatever is asked.
    "observational_memory_retrieve": None,
    "observational_memory_buffer_status": None,
}

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="The request with this key is done once; a repetition within a day "
    "gets the first reply.",
)
IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="ETag of the state that the change is meant for.",
)
_GUARDED = {
    "threads_update",
    "threads_replace",
    "threads_delete",
    "working_memory_update",
    "working_memory_restore",
    "resource_working_memory_replace",
    "resource_working_memory_restore",
}


def describe(
    name: str,
    query: type[serializers.Serializer] | None = None,
    body: type[serializers.Serializer] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a view's method its operation: parameters, body, replies and an example."""

    def decorated(method: Callable[..., Any]) -> Callable[..., Any]:
        sent, answered = EXAMPLES[name]
        examples = []
        if sent is not None:
            examples.append(OpenApiExample("Request", sent, request_only=True))
        if answered is not None:
            examples.append(OpenApiExample("Reply", answered, response_only=True))
        parameters: list[Any] = [query] if query else []
        if getattr(method, "is_idempotent", False):
            parameters.append(IDEMPOTENCY_KEY)
        if name in _GUARDED:
            parameters.append(IF_MATCH)
        reply = REPLIES[name]
        if reply is not None and method.__name__ == "list":
            # A page is one object, not the array that its action's name suggests.
            reply = extend_schema_serializer(many=False)(reply)
        changes = body is not None or getattr(method, "is_idempotent", False)
        refusals = REFUSALS_OF_WRITES if changes else REFUSALS_OF_READS
        return extend_schema(
            operation_id=name,
            summary=(method.__doc__ or "").strip().split(".\n")[0].split(". ")[0],
            parameters=parameters,
            request=body,
            responses={**({200: reply} if reply else {}), **refusals},
            examples=examples,
        )(method)

    return decorated
