"""Threads over HTTP: list, create, read, change, delete, archive, transfer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import HttpResponse, HttpResponseNotModified
from rest_framework.request import Request

from recall.api import inputs
from recall.api.base import MemoryViewSet, filled, picked
from recall.api.filters import thread_narrowing
from recall.api.schema import describe
from recall.api.streaming import streamed_list
from recall.memory import Memory
from recall.results import ThreadPage
from threads.api.encoding import JsonReply
from threads.api.serializers import thread_json
from threads.api.views import idempotent
from threads.errors import InvalidInput, PreconditionFailed
from threads.models import Thread


class ThreadViewSet(MemoryViewSet):
    """The threads that the caller reaches."""

    def handle_exception(self, exc: Exception) -> Any:
        if isinstance(exc, InvalidInput):
            # What is one filter below is parameters of their own in a query.
            exc.issues = [
                replace(issue, field=issue.field.removeprefix("filter."))
                for issue in exc.issues
            ]
            exc.message = exc.message.removeprefix("filter.")
        return super().handle_exception(exc)

    @describe("threads_list", inputs.ThreadListQuery)
    def list(self, request: Request) -> HttpResponse:
        """A page of threads, newest first."""
        query = self.read_query(inputs.ThreadListQuery)
        memory = self.memory(query)
        narrowing = thread_narrowing(request)
        if query.get("resourceId"):
            narrowing["resource_id"] = query["resourceId"]
        if "metadata" in query:
            narrowing["metadata"] = query["metadata"]
        order = query.get("orderBy")
        if query["perPage"] is False:
            return streamed_list(
                "threads",
                map(thread_json, memory.iter_threads(filter=narrowing, order_by=order)),
            )
        page = memory.list_threads(
            filter=narrowing,
            page=query["page"],
            per_page=query["perPage"],
            order_by=order,
        )
        return JsonReply(thread_page_json(page))

    @describe("threads_create", inputs.RequiredAgentQuery, inputs.CreateThread)
    @idempotent
    def create(self, request: Request) -> HttpResponse:
        """Makes a thread. One that exists under this id is returned, with the title and
        metadata merged in, if the resource owns it."""
        query = self.read_query(inputs.RequiredAgentQuery)
        body = self.read_body(inputs.CreateThread)
        filled(body, "resourceId")
        thread = self.memory_to_write(query).create_thread(
            resource_id=body["resourceId"],
            **picked(body, thread_id="threadId", title="title", metadata="metadata"),
        )
        shown = thread_json(thread)
        if shown["metadata"] is None:
            del shown["metadata"]
        return tagged(JsonReply(shown), thread)

    @describe("threads_retrieve", inputs.AgentQuery)
    def retrieve(self, request: Request, thread_id: str) -> HttpResponse:
        """One thread. ``ETag`` names its revision; with it in ``If-None-Match`` 304."""
        query = self.read_query(inputs.AgentQuery)
        reply = thread_reply(self.thread(self.memory(query), thread_id, query))
        if self.has_unchanged(reply["ETag"]):
            return HttpResponseNotModified(headers={"ETag": reply["ETag"]})
        return reply

    @describe("threads_update", inputs.RequiredAgentQuery, inputs.UpdateThread)
    def partial_update(self, request: Request, thread_id: str) -> HttpResponse:
        """Changes the title and merges metadata; what is left out stays.

        With ``If-Match`` only the revision that it names is changed.
        """
        memory, body, owner = self._change(inputs.UpdateThread)
        return self._guarded(
            memory.update_thread,
            thread_id,
            resource_id=owner,
            expected_revision=self._expected(memory, thread_id),
            **picked(body, title="title", metadata="metadata"),
        )

    @describe("threads_replace", inputs.AgentQuery, inputs.ReplaceThread)
    def update(self, request: Request, thread_id: str) -> HttpResponse:
        """Replaces title and metadata; what is left out becomes empty."""
        query = self.read_query(inputs.AgentQuery)
        memory, body, owner = self._change(inputs.ReplaceThread, query)
        return self._guarded(
            memory.replace_thread,
            thread_id,
            resource_id=owner,
            expected_revision=self._expected(memory, thread_id),
            title=body.get("title", ""),
            metadata=body.get("metadata", {}),
        )

    def _change(
        self, serializer: Any, query: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any], str | None]:
        if query is None:
            query = self.read_query(inputs.RequiredAgentQuery)
        body = self.read_body(serializer)
        owner = body.get("resourceId") or query.get("resourceId") or None
        return self.memory_to_write(query), body, owner

    def _guarded(self, operation: Any, thread_id: str, **change: Any) -> HttpResponse:
        return thread_reply(_told(operation, thread_id, **change))

    def _expected(self, memory: Memory, thread_id: str) -> int | None:
        return self.expected_revision(lambda: memory.get_thread(thread_id).revision)

    @describe("threads_delete", inputs.RequiredAgentQuery)
    def destroy(self, request: Request, thread_id: str) -> HttpResponse:
        """Deletes the thread with everything that belongs to it.

        With ``If-Match`` only at the revision that it names.
        """
        self.require_json_body()
        query = self.read_query(inputs.RequiredAgentQuery)
        memory = self.memory_to_write(query)
        owner = query.get("resourceId") or None
        gone = _told(
            memory.delete_thread,
            thread_id,
            resource_id=owner,
            expected_revision=self._expected(memory, thread_id),
        )
        if not gone:
            memory.get_thread(thread_id)  # raises ThreadNotFound
        return JsonReply({"result": "Thread deleted"})

    @describe("threads_transfer", inputs.AgentQuery, inputs.TransferThread)
    @idempotent
    def transfer(self, request: Request, thread_id: str) -> HttpResponse:
        """Gives the thread and its messages to another resource within reach."""
        query = self.read_query(inputs.AgentQuery)
        body = self.read_body(inputs.TransferThread)
        filled(body, "resourceId")
        thread = self.memory_to_write(query).transfer_thread(
            thread_id,
            resource_id=body["resourceId"],
            from_resource_id=query.get("resourceId") or None,
        )
        return thread_reply(thread)

    @describe("threads_archive", inputs.AgentQuery)
    @idempotent
    def archive(self, request: Request, thread_id: str) -> HttpResponse:
        """Puts the thread away; it keeps everything."""
        return self._move("archive_thread", thread_id)

    @describe("threads_unarchive", inputs.AgentQuery)
    @idempotent
    def unarchive(self, request: Request, thread_id: str) -> HttpResponse:
        """Brings an archived thread back."""
        return self._move("unarchive_thread", thread_id)

    def _move(self, verb: str, thread_id: str) -> HttpResponse:
        self.require_json_body()
        query = self.read_query(inputs.AgentQuery)
        memory = self.memory_to_write(query)
        owner = query.get("resourceId") or None
        return thread_reply(getattr(memory, verb)(thread_id, resource_id=owner))


def thread_page_json(page: ThreadPage) -> dict[str, Any]:
    """The list envelope around a page of threads."""
    return {
        "threads": [thread_json(thread) for thread in page.threads],
        "total": page.total,
        "page": page.page,
        "perPage": page.per_page,
        "hasMore": page.has_more,
    }


def _told(operation: Any, *args: Any, **change: Any) -> Any:
    """The operation's result; a failed precondition shows the thread in wire form."""
    try:
        return operation(*args, **change)
    except PreconditionFailed as failure:
        if isinstance(failure.current, Thread):
            failure.tag = _tag(failure.current)
            failure.current = thread_json(failure.current)
        raise


def _tag(thread: Thread) -> str:
    return f'"{thread.revision}"'


def tagged(reply: HttpResponse, thread: Thread) -> HttpResponse:
    """``reply`` with the thread's revision as its entity tag."""
    reply["ETag"] = _tag(thread)
    return reply


def thread_reply(thread: Thread) -> HttpResponse:
    """A thread and its entity tag."""
    return tagged(JsonReply(thread_json(thread)), thread)
