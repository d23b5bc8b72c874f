"""Viewsets over :class:`recall.memory.Memory`."""

from __future__ import annotations

from typing import Any

from recall.memory import Memory
from recall.profiles import profile_named
from threads.api.errors import THREAD_OF_ANOTHER_RESOURCE
from threads.api.views import ApiViewSet, required_argument
from threads.errors import (
    NotConfigured,
    NotFound,
    OwnershipError,
    ThreadNotFound,
)
from threads.models import Message, Resource, Thread


class MemoryViewSet(ApiViewSet):
    """A viewset that reads and writes through the caller's :class:`Memory`."""

    def memory(self, query: dict[str, Any]) -> Memory:
        """For reading: an agent that is unknown or remembers nothing reads plainly."""
        profile = profile_named(query["agentId"]) if "agentId" in query else None
        return Memory(profile.config if profile else None, reach=self.reach)

    def memory_to_write(self, query: dict[str, Any]) -> Memory:
        """For writing and searching: a named agent must exist and have a memory."""
        name = query.get("agentId")
        if name is None:
            return Memory(reach=self.reach)
        profile = profile_named(name)
        if profile is None:
            raise NotFound("Agent not found")
        if profile.config is None:
            raise NotConfigured("Memory is not initialized")
        return Memory(profile.config, reach=self.reach)

    def thread(self, memory: Memory, thread_id: str, query: dict[str, Any]) -> Thread:
        """The thread, whose owner must be the resource that the request asserts."""
        return owned(memory.get_thread(thread_id), query.get("resourceId"))

    def resource(self, memory: Memory, resource_id: str) -> Resource:
        """The resource; raises NotFound when there is none within reach."""
        resource = memory.get_resource(resource_id)
        if resource is None:
            raise NotFound("Resource not found")
        return resource

    def handle_exception(self, exc: Exception) -> Any:
        if isinstance(exc, ThreadNotFound):
            exc = NotFound(self.words_for_missing_thread)
        elif type(exc) is OwnershipError:
            exc = OwnershipError(THREAD_OF_ANOTHER_RESOURCE)
        return super().handle_exception(exc)

    words_for_missing_thread = "Thread not found"


def owned(row: Thread | Message, resource_id: str | None) -> Any:
    """``row``; raises OwnershipError when another resource is said to own it."""
    if resource_id and row.resource_id != resource_id:
        raise OwnershipError(THREAD_OF_ANOTHER_RESOURCE)
    return row


def filled(given: dict[str, Any], *names: str) -> None:
    """Raises InvalidInput for the first of ``names`` that is there and empty."""
    for name in names:
        if given.get(name) == "":
            raise required_argument(name)


def picked(given: dict[str, Any], **names: str) -> dict[str, Any]:
    """``{"title": …}`` for ``title="title"`` and so on: what was given, renamed."""
    return {ours: given[theirs] for ours, theirs in names.items() if theirs in given}
