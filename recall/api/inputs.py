"""What the API's requests may say: query parameters and bodies, one class each.

Only what a client may set is listed; everything else in a request is ignored, as clients
send more than a route needs. The operations check the rest: these classes hold no rule
but the JSON types and what is required.
"""

from __future__ import annotations

from rest_framework import serializers

from threads.api.fields import (
    FilledText,
    Flag,
    FromJsonArray,
    FromJsonObject,
    Identifier,
    JsonArray,
    JsonObject,
    Natural,
    PerPage,
    Text,
)
from threads.api.views import QuerySerializer, WireSerializer

AGENT = "Agent whose memory configuration applies."
CONTEXT = "Context of the request, as JSON or base64 of JSON; ignored when malformed."


class AgentQuery(QuerySerializer):
    """For routes where the agent may be left out."""

    agentId = Identifier(required=False, help_text=AGENT)
    networkId = Identifier(required=False, help_text="Older name of agentId.")
    resourceId = Identifier(
        required=False, help_text="Asserts that this resource owns what is addressed."
    )
    requestContext = Text(required=False, help_text=CONTEXT)


class RequiredAgentQuery(AgentQuery):
    """For routes where clients always name the agent."""

    agentId = Identifier(help_text=AGENT)

    def to_internal_value(self, data):
        if "agentId" not in data and "networkId" in data:
            data = {**data, "agentId": data["networkId"]}
        return super().to_internal_value(data)


class PageQuery(QuerySerializer):
    page = Natural(default=0, help_text="Number of the page, from 0.")
    perPage = PerPage(default=100, help_text="Rows of a page, or false for all.")


class ThreadListQuery(AgentQuery, PageQuery):
    resourceId = Identifier(required=False, help_text="Owner of the threads.")
    metadata = FromJsonObject(
        required=False,
        help_text="Threads whose metadata has these keys with exactly these scalars.",
    )
    orderBy = FromJsonObject(
        required=False,
        help_text='{"field": "createdAt"|"updatedAt", "direction": "ASC"|"DESC"}, as '
        "JSON or in brackets; createdAt DESC without it.",
    )


class MessageListQuery(AgentQuery, PageQuery):
    perPage = PerPage(default=40, help_text="Messages of a page, or false for all.")
    orderBy = FromJsonObject(
        required=False,
        help_text='{"field": "createdAt", "direction": "ASC"|"DESC"}. Without it: the '
        "newest page, oldest first within it.",
    )
    filter = FromJsonObject(
        required=False,
        help_text='{"dateRange": {"start", "end", "startExclusive", "endExclusive"}, '
        '"roles": […], "metadata": {…}}',
    )
    include = FromJsonArray(
        required=False,
        help_text='[{"id", "withPreviousMessages", "withNextMessages"}, …]: messages '
        "to bring beside the page.",
    )
    includeSystemReminders = Flag(required=False, help_text="Without effect.")
    vectorSearchString = Text(
        required=False, help_text="Also brings the messages that are about this."
    )
    semanticRecall = FromJsonObject(
        required=False,
        help_text='{"topK", "messageRange", "scope", "threshold", "mode"} for '
        "vectorSearchString.",
    )


class WorkingMemoryQuery(RequiredAgentQuery):
    memoryConfig = FromJsonObject(required=False, help_text="Options for this call.")


class SearchQuery(RequiredAgentQuery):
    searchQuery = Text(help_text="What the messages should be about.")
    resourceId = Identifier(help_text="Resource whose messages are searched.")
    threadId = Identifier(required=False, help_text="Thread to search in.")
    limit = Natural(default=20, help_text="Most results.")
    memoryConfig = FromJsonObject(required=False, help_text="Options for this call.")


class StatusQuery(RequiredAgentQuery):
    threadId = Identifier(required=False, help_text="Without effect.")


class UiMessagesQuery(AgentQuery, PageQuery):
    perPage = PerPage(default=40, help_text="Messages of a page, or false for all.")
    format = serializers.ChoiceField(
        choices=["ai-sdk-v4", "ai-sdk-v5", "ai-sdk-v6", "ai-sdk-v7"],
        default="ai-sdk-v5",
        help_text="Shape of the messages.",
    )


class CreateThread(WireSerializer):
    resourceId = Identifier()
    threadId = Identifier(required=False)
    title = Text(required=False)
    metadata = JsonObject(required=False)


class UpdateThread(WireSerializer):
    title = Text(required=False)
    metadata = JsonObject(required=False)
    resourceId = Identifier(
        required=False, help_text="Asserts the owner; does not move the thread."
    )


class ReplaceThread(UpdateThread):
    """What is left out becomes empty."""


class CloneThread(WireSerializer):
    may_be_absent = True

    newThreadId = Identifier(required=False)
    resourceId = Identifier(required=False)
    title = Text(required=False)
    metadata = JsonObject(required=False)
    options = JsonObject(
        required=False,
        help_text='{"messageLimit", "messageFilter": {"startDate", "endDate", '
        '"messageIds"}}',
    )


class TransferThread(WireSerializer):
    resourceId = Identifier()


class SaveMessages(WireSerializer):
    messages = JsonArray()


class DeleteMessages(WireSerializer):
    messageIds = serializers.JSONField(
        help_text='"id", {"id"}, or a list of either.',
        error_messages={"required": "Invalid input", "null": "Invalid input"},
    )


class UpdateMessage(WireSerializer):
    content = JsonObject(required=False, help_text="Members to change; others stay.")
    role = Text(required=False)
    type = Text(required=False)


class WriteWorkingMemory(WireSerializer):
    workingMemory = FilledText()
    resourceId = Identifier(required=False)
    memoryConfig = JsonObject(required=False)


class RestoreWorkingMemory(WireSerializer):
    revision = Natural(help_text="Number of the revision to bring back.")
    resourceId = Identifier(required=False)


class UpdateResource(WireSerializer):
    metadata = JsonObject(help_text="Keys to change; others stay.")


class ResourceWorkingMemoryQuery(AgentQuery):
    memoryConfig = FromJsonObject(required=False, help_text="Options for this call.")


class ResourceListQuery(PageQuery):
    """Resources within reach, newest first."""
