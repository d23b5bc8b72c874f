"""Working memory over HTTP: of a thread's route as clients know it, and of a resource."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from recall.api import inputs
from recall.api.base import MemoryViewSet, filled
from recall.api.schema import describe
from recall.config import MemoryConfig
from recall.memory import Memory
from recall.profiles import profile_named
from recall.working_memory import WorkingMemoryState
from threads.api.encoding import JsonReply, iso
from threads.api.views import idempotent
from threads.errors import PreconditionFailed

# For the notes of a thread's route when no agent says how they are kept.
OF_NOBODY = {"workingMemory": {"enabled": True}}

# For a resource's working memory when no agent says how it is kept.
OF_RESOURCE = {"workingMemory": {"enabled": True, "scope": "resource"}}


class ThreadWorkingMemoryViewSet(MemoryViewSet):
    """The notes that the model is shown in a thread."""

    @describe("working_memory_retrieve", inputs.WorkingMemoryQuery)
    def retrieve(self, request: Request, thread_id: str) -> HttpResponse:
        """The notes, of the thread or of its resource as the agent is configured."""
        query = self.read_query(inputs.WorkingMemoryQuery)
        profile = profile_named(query["agentId"])
        if profile is None or profile.config is None:
            return JsonReply(NOTHING)
        memory = self.memory(query)
        state = memory.get_working_memory(
            thread_id=thread_id,
            resource_id=query.get("resourceId") or None,
            config=options_of(memory, query),
        )
        return tagged(JsonReply(state_json(state)), state)

    @describe(
        "working_memory_update", inputs.RequiredAgentQuery, inputs.WriteWorkingMemory
    )
    @idempotent
    def update(self, request: Request, thread_id: str) -> HttpResponse:
        """Replaces the notes (a template) or merges into them (a schema)."""
        query = self.read_query(inputs.RequiredAgentQuery)
        body = self.read_body(inputs.WriteWorkingMemory)
        filled(body, "workingMemory")
        owner = body.get("resourceId") or query.get("resourceId") or None
        memory = self.memory_to_write(query)
        self.thread(memory, thread_id, {"resourceId": owner})
        state = written(
            memory.update_working_memory,
            value=body["workingMemory"],
            thread_id=thread_id,
            resource_id=owner,
            author_name=self.caller.name,
            expected_revision=self.expected_revision(
                lambda: (
                    memory.get_working_memory(
                        thread_id=thread_id,
                        resource_id=owner,
                        config=options_of(memory, body),
                    ).revision
                )
            ),
            config=options_of(memory, body),
        )
        return tagged(JsonReply({"success": True}), state)

    @describe("working_memory_revisions", inputs.ResourceWorkingMemoryQuery)
    def revisions(self, request: Request, thread_id: str) -> HttpResponse:
        """What the notes were, newest first."""
        query = self.read_query(inputs.ResourceWorkingMemoryQuery)
        memory = self._memory_of_notes(query)
        self.thread(memory, thread_id, query)
        revisions = memory.list_working_memory_revisions(
            thread_id=thread_id,
            resource_id=query.get("resourceId") or None,
            config=options_of(memory, query),
        )
        return JsonReply({"revisions": [revision_json(r) for r in revisions]})

    def _memory_of_notes(self, query: dict[str, Any]) -> Memory:
        if "agentId" not in query:
            return Memory(OF_NOBODY, reach=self.reach)
        return self.memory_to_write(query)

    @describe(
        "working_memory_restore",
        inputs.ResourceWorkingMemoryQuery,
        inputs.RestoreWorkingMemory,
    )
    @idempotent
    def restore(self, request: Request, thread_id: str) -> HttpResponse:
        """Makes the value of an earlier revision the newest one."""
        query = self.read_query(inputs.ResourceWorkingMemoryQuery)
        body = self.read_body(inputs.RestoreWorkingMemory)
        owner = body.get("resourceId") or query.get("resourceId") or None
        memory = self._memory_of_notes(query)
        self.thread(memory, thread_id, {"resourceId": owner})
        state = written(
            memory.restore_working_memory,
            body["revision"],
            thread_id=thread_id,
            resource_id=owner,
            author_name=self.caller.name,
            expected_revision=self.expected_revision(
                lambda: (
                    memory.get_working_memory(
                        thread_id=thread_id,
                        resource_id=owner,
                        config=options_of(memory, query),
                    ).revision
                )
            ),
            config=options_of(memory, query),
        )
        return tagged(JsonReply(state_json(state)), state)


class ResourceWorkingMemoryViewSet(MemoryViewSet):
    """The notes about a resource, which all its threads share."""

    def memory(self, query: dict[str, Any]) -> Memory:
        # Also for reading: without a configuration there are no notes to speak of.
        return self.memory_to_write(query)

    def memory_to_write(self, query: dict[str, Any]) -> Memory:
        if "agentId" not in query:
            return Memory(OF_RESOURCE, reach=self.reach)
        return super().memory_to_write(query)

    @describe("resource_working_memory_retrieve", inputs.ResourceWorkingMemoryQuery)
    def retrieve(self, request: Request, resource_id: str) -> HttpResponse:
        """The notes. ``ETag`` names their revision."""
        query = self.read_query(inputs.ResourceWorkingMemoryQuery)
        memory = self.memory(query)
        self.resource(memory, resource_id)
        state = memory.get_working_memory(
            resource_id=resource_id, config=options_of(memory, query)
        )
        return tagged(JsonReply(resource_state_json(state)), state)

    @describe(
        "resource_working_memory_replace",
        inputs.ResourceWorkingMemoryQuery,
        inputs.WriteWorkingMemory,
    )
    def update(self, request: Request, resource_id: str) -> HttpResponse:
        """Writes the notes; with ``If-Match`` only over the revision that it names."""
        query = self.read_query(inputs.ResourceWorkingMemoryQuery)
        body = self.read_body(inputs.WriteWorkingMemory)
        filled(body, "workingMemory")
        memory = self.memory_to_write(query)
        self.resource(memory, resource_id)
        state = written(
            memory.update_working_memory,
            value=body["workingMemory"],
            resource_id=resource_id,
            author_name=self.caller.name,
            expected_revision=self.expected_revision(
                lambda: (
                    memory.get_working_memory(
                        resource_id=resource_id,
                        config=options_of(memory, {**query, **body}),
                    ).revision
                )
            ),
            config=options_of(memory, {**query, **body}),
        )
        return tagged(JsonReply(resource_state_json(state)), state)

    @describe("resource_working_memory_revisions", inputs.ResourceWorkingMemoryQuery)
    def revisions(self, request: Request, resource_id: str) -> HttpResponse:
        """What the notes were, newest first."""
        query = self.read_query(inputs.ResourceWorkingMemoryQuery)
        memory = self.memory(query)
        self.resource(memory, resource_id)
        revisions = memory.list_working_memory_revisions(
            resource_id=resource_id, config=options_of(memory, query)
        )
        return JsonReply({"revisions": [revision_json(r) for r in revisions]})

    @describe(
        "resource_working_memory_restore",
        inputs.ResourceWorkingMemoryQuery,
        inputs.RestoreWorkingMemory,
    )
    @idempotent
    def restore(self, request: Request, resource_id: str) -> HttpResponse:
        """Makes the value of an earlier revision the newest one."""
        query = self.read_query(inputs.ResourceWorkingMemoryQuery)
        body = self.read_body(inputs.RestoreWorkingMemory)
        memory = self.memory_to_write(query)
        self.resource(memory, resource_id)
        state = written(
            memory.restore_working_memory,
            body["revision"],
            resource_id=resource_id,
            author_name=self.caller.name,
            expected_revision=self.expected_revision(
                lambda: (
                    memory.get_working_memory(
                        resource_id=resource_id,
                        config=options_of(memory, query),
                    ).revision
                )
            ),
            config=options_of(memory, query),
        )
        return tagged(JsonReply(resource_state_json(state)), state)


def options_of(memory: Memory, given: dict[str, Any]) -> MemoryConfig:
    """The configuration of ``memory`` with the request's ``memoryConfig`` over it."""
    return memory.config.merged(given.get("memoryConfig"), at="memoryConfig")


# For an agent that is unknown or remembers nothing.
NOTHING = {
    "workingMemory": None,
    "source": "thread",
    "workingMemoryTemplate": None,
    "threadExists": False,
}


def written(operation: Any, *args: Any, **change: Any) -> WorkingMemoryState:
    """The state after a write; a refusal carries the present state in wire form."""
    try:
        return operation(*args, **change)
    except PreconditionFailed as failure:
        if isinstance(failure.current, WorkingMemoryState):
            failure.tag = f'"{failure.current.revision}"'
            failure.current = resource_state_json(failure.current)
        raise


def state_json(state: WorkingMemoryState) -> dict[str, Any]:
    """The notes as clients know them."""
    return {
        "workingMemory": state.value,
        "source": state.scope,
        "workingMemoryTemplate": state.template,
        "threadExists": state.thread_exists,
    }


def resource_state_json(state: WorkingMemoryState) -> dict[str, Any]:
    """The notes with their revision."""
    return {
        "workingMemory": state.value,
        "source": state.scope,
        "workingMemoryTemplate": state.template,
        "revision": state.revision,
        "updatedAt": iso(state.updated_at) if state.updated_at else None,
    }


def revision_json(revision: Any) -> dict[str, Any]:
    """One value that the notes had, and who wrote it."""
    return {
        "revision": revision.number,
        "workingMemory": revision.value,
        "author": revision.author,
        "authorName": revision.author_name,
        "messageId": revision.message_id or None,
        "restoredFrom": revision.restored_from,
        "createdAt": iso(revision.created_at),
    }


def tagged(reply: HttpResponse, state: WorkingMemoryState) -> HttpResponse:
    """``reply`` with the revision of the notes as its entity tag."""
    reply["ETag"] = f'"{state.revision}"'
    return reply
