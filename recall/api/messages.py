"""Messages over HTTP: list, save, delete, and one message at a time."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from recall.api import inputs
from recall.api.base import MemoryViewSet, owned, picked
from recall.api.schema import describe
from recall.api.streaming import streamed_list
from recall.memory import Memory
from recall.results import RecallResult
from recall.semantic.hits import Hit
from threads.api.encoding import JsonReply
from threads.api.errors import invalid_body
from threads.api.serializers import message_json
from threads.api.views import idempotent
from threads.errors import InvalidInput, Issue, MessageNotFound, NotFound
from threads.models import Message
from threads.ui_messages import to_ai_sdk_v4_messages, to_ai_sdk_v5_messages

# What asks for more than a plain walk over the thread.
_CHOOSING = ("orderBy", "filter", "include", "vectorSearchString")


class ThreadMessagesViewSet(MemoryViewSet):
    """The messages of one thread."""

    @describe("messages_list", inputs.MessageListQuery)
    def list(self, request: Request, thread_id: str) -> HttpResponse:
        """A page of the thread's messages: the newest, oldest first within it."""
        query = self.read_query(inputs.MessageListQuery)
        memory = self.memory(query)
        if query["perPage"] is False and not any(name in query for name in _CHOOSING):
            return self._everything(memory, thread_id, query)
        owner = query.get("resourceId") or None
        searched = "vectorSearchString" in query
        if searched and owner is None:
            owner = memory.get_thread(thread_id).resource_id
        result = memory.recall(thread_id, owner, **self._choice(memory, query))
        if not result.total and owner is None:
            memory.get_thread(thread_id)  # empty, or raises ThreadNotFound
        return JsonReply(recall_json(result, searched=searched))

    def _everything(
        self, memory: Memory, thread_id: str, query: dict[str, Any]
    ) -> HttpResponse:
        self.thread(memory, thread_id, query)
        rows = (message_json(message) for message in memory.iter_messages(thread_id))
        return streamed_list("messages", rows, uiMessages=None)

    def _choice(self, memory: Memory, query: dict[str, Any]) -> dict[str, Any]:
        choice = picked(
            query,
            page="page",
            per_page="perPage",
            order_by="orderBy",
            filter="filter",
            include="include",
            vector_search_string="vectorSearchString",
        )
        if "semanticRecall" in query:
            choice["config"] = {"semanticRecall": query["semanticRecall"]}
        elif "vectorSearchString" in query and not memory.config.semantic_recall:
            choice["config"] = {"semanticRecall": True}
        return choice

    @describe("messages_as_ui", inputs.UiMessagesQuery)
    def ui_messages(self, request: Request, thread_id: str) -> HttpResponse:
        """A page of the thread's messages in a shape of the AI SDK."""
        query = self.read_query(inputs.UiMessagesQuery)
        memory = self.memory(query)
        self.thread(memory, thread_id, query)
        result = memory.recall(thread_id, page=query["page"], per_page=query["perPage"])
        return JsonReply(
            {
                "messages": in_format(result.messages, query["format"]),
                "format": query["format"],
                "total": result.total,
                "page": result.page,
                "perPage": result.per_page,
                "hasMore": result.has_more,
            }
        )


class MessageViewSet(MemoryViewSet):
    """Messages wherever they are within reach."""

    @describe("messages_save", inputs.RequiredAgentQuery, inputs.SaveMessages)
    @idempotent
    def save(self, request: Request) -> HttpResponse:
        """Saves messages, all or none. A known id is saved again in its place."""
        query = self.read_query(inputs.RequiredAgentQuery)
        given = self.read_body(inputs.SaveMessages)["messages"]
        memory = self.memory_to_write(query)
        check_addresses(given)
        saved = memory.save_messages(given)
        return JsonReply({"messages": [message_json(message) for message in saved]})

    @describe("messages_delete", inputs.RequiredAgentQuery, inputs.DeleteMessages)
    @idempotent
    def delete_many(self, request: Request) -> HttpResponse:
        """Deletes messages by id. Unknown ids are counted and otherwise ignored."""
        query = self.read_query(inputs.RequiredAgentQuery)
        ids = message_ids(self.read_body(inputs.DeleteMessages)["messageIds"])
        owner = query.get("resourceId") or None
        self.memory(query).delete_messages(ids, resource_id=owner)
        noun = "message" if len(ids) == 1 else "messages"
        return JsonReply(
            {"success": True, "message": f"{len(ids)} {noun} deleted successfully"}
        )

    @describe("messages_retrieve", inputs.AgentQuery)
    def retrieve(self, request: Request, message_id: str) -> HttpResponse:
        """One message."""
        query = self.read_query(inputs.AgentQuery)
        return JsonReply(message_json(self._one(self.memory(query), message_id, query)))

    @describe("messages_update", inputs.AgentQuery, inputs.UpdateMessage)
    def partial_update(self, request: Request, message_id: str) -> HttpResponse:
        """Changes members of a message's content; metadata is merged."""
        query = self.read_query(inputs.AgentQuery)
        change = self.read_body(inputs.UpdateMessage)
        memory = self.memory_to_write(query)
        self._one(memory, message_id, query)
        updated = memory.update_messages([{"id": message_id, **change}])
        if not updated:
            raise MessageNotFound(message_id)
        return JsonReply(message_json(updated[0]))

    @describe("messages_destroy", inputs.AgentQuery)
    def destroy(self, request: Request, message_id: str) -> HttpResponse:
        """Deletes one message."""
        query = self.read_query(inputs.AgentQuery)
        memory = self.memory_to_write(query)
        self._one(memory, message_id, query)
        memory.delete_messages([message_id])
        return JsonReply({"result": "Message deleted"})

    def _one(self, memory: Memory, message_id: str, query: dict[str, Any]) -> Message:
        found = memory.get_messages([message_id])
        if not found:
            raise NotFound("Message not found")
        owned(found[0], query.get("resourceId"))
        return found[0]


def in_format(messages: list[Message], name: str) -> list[dict[str, Any]]:
    """The messages in a format of the AI SDK, by its name on the wire."""
    version = name.removeprefix("ai-sdk-")
    if version == "v4":
        return to_ai_sdk_v4_messages(messages)
    return to_ai_sdk_v5_messages(messages, version=version)


def recall_json(result: RecallResult, *, searched: bool) -> dict[str, Any]:
    """The list envelope around recalled messages, with the hits of a search."""
    shown: dict[str, Any] = {
        "messages": [message_json(message) for message in result.messages],
        "total": result.total,
        "page": result.page,
        "perPage": result.per_page,
        "hasMore": result.has_more,
        "uiMessages": None,
    }
    if searched:
        shown["hits"] = [hit_json(hit) for hit in result.hits]
        shown["meaningAvailable"] = result.meaning_available
    return shown


def hit_json(hit: Hit) -> dict[str, Any]:
    """What was found and why; ``legs`` has the scores of both sides of the search."""
    return {
        "messageId": hit.message_id,
        "threadId": hit.thread_id,
        "score": hit.score,
        "why": hit.why,
        "words": list(hit.words),
        "legs": {
            name: {"score": leg.score, "rank": leg.rank}
            for name, leg in hit.legs.items()
        },
        "context": hit.context,
    }


def message_ids(value: Any) -> list[str]:
    """The ids in ``"id"``, ``{"id"}`` or a list of either; anything else is refused."""
    ids = [
        item.get("id") if isinstance(item, dict) else item
        for item in (value if isinstance(value, list) else [value])
    ]
    if not all(isinstance(given, str) and given for given in ids):
        raise invalid_body(Issue("messageIds", "Invalid input"))
    return ids


def check_addresses(messages: list[Any]) -> None:
    """Raises InvalidInput unless every message names its thread and its resource, and
    one thread always with the same resource."""
    owners: dict[str, str] = {}
    lost: list[Issue] = []
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            raise invalid_body(Issue(f"messages.{index}", "Invalid input"))
        for name in ("threadId", "resourceId"):
            value = message.get(name)
            if value is not None and not isinstance(value, str):
                raise invalid_body(Issue(f"messages.{index}.{name}", "Invalid input"))
        if not message.get("threadId") or not message.get("resourceId"):
            lost.append(Issue(f"messages.{index}", "has no threadId or resourceId"))
    if lost:
        raise InvalidInput(
            "All messages must have threadId and resourceId fields. "
            f"Found {len(lost)} invalid message(s).",
            lost,
        )
    for message in messages:
        owner = owners.setdefault(message["threadId"], message["resourceId"])
        if owner != message["resourceId"]:
            raise InvalidInput(
                "All messages for the same threadId must use the same resourceId."
            )
