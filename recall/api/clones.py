"""Clones over HTTP: making them, and finding source and descent."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from recall.api import inputs
from recall.api.base import MemoryViewSet, picked
from recall.api.schema import describe
from threads.api.encoding import JsonReply
from threads.api.serializers import message_json, thread_json
from threads.api.views import idempotent


class CloneViewSet(MemoryViewSet):
    """The clones of a thread."""

    @describe("clones_create", inputs.RequiredAgentQuery, inputs.CloneThread)
    @idempotent
    def create(self, request: Request, thread_id: str) -> HttpResponse:
        """Copies the thread and its messages under new ids, in the same order."""
        self.words_for_missing_thread = "Source thread not found"
        query = self.read_query(inputs.RequiredAgentQuery)
        body = self.read_body(inputs.CloneThread)
        memory = self.memory_to_write(query)
        # Over HTTP a clone stays with the owner of its source.
        self.thread(memory, thread_id, {**query, **body})
        result = memory.clone_thread(
            thread_id,
            **picked(
                body,
                new_thread_id="newThreadId",
                title="title",
                metadata="metadata",
                options="options",
            ),
        )
        copies = [message_json(message) for message in result.cloned_messages]
        return JsonReply(
            {
                "thread": thread_json(result.thread),
                "messageIdMap": result.message_id_map,
                "clonedMessages": copies,
            }
        )

    @describe("clones_list", inputs.AgentQuery)
    def list(self, request: Request, thread_id: str) -> HttpResponse:
        """The direct clones of the thread, oldest first."""
        query = self.read_query(inputs.AgentQuery)
        memory = self.memory(query)
        self.thread(memory, thread_id, query)
        clones = memory.list_clones(thread_id)
        return JsonReply({"clones": [thread_json(clone) for clone in clones]})

    @describe("clones_history", inputs.AgentQuery)
    def history(self, request: Request, thread_id: str) -> HttpResponse:
        """The line of sources, oldest first, ending with the thread itself."""
        query = self.read_query(inputs.AgentQuery)
        memory = self.memory(query)
        self.thread(memory, thread_id, query)
        line = memory.get_clone_history(thread_id)
        return JsonReply({"history": [thread_json(thread) for thread in line]})

    @describe("clones_source", inputs.AgentQuery)
    def source(self, request: Request, thread_id: str) -> HttpResponse:
        """The thread that this one was copied from; null for an original, or when the
        source is gone."""
        query = self.read_query(inputs.AgentQuery)
        memory = self.memory(query)
        self.thread(memory, thread_id, query)
        source = memory.get_source_thread(thread_id)
        return JsonReply({"source": thread_json(source) if source else None})
