"""A whole thread as one JSON document."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from recall.api import inputs
from recall.api.base import MemoryViewSet
from recall.api.schema import describe
from recall.api.streaming import streamed_list
from threads.api.serializers import message_json, thread_json


class ExportViewSet(MemoryViewSet):
    """Taking a thread along."""

    @describe("threads_export", inputs.AgentQuery)
    def retrieve(self, request: Request, thread_id: str) -> HttpResponse:
        """The thread with all its messages, oldest first, as a file to save."""
        query = self.read_query(inputs.AgentQuery)
        memory = self.memory(query)
        thread = self.thread(memory, thread_id, query)
        rows = (message_json(message) for message in memory.iter_messages(thread_id))
        reply = streamed_list("messages", rows, thread=thread_json(thread))
        reply["Content-Disposition"] = 'attachment; filename="thread.json"'
        return reply
