"""Addresses of the HTTP API over :class:`recall.memory.Memory`, each path in full."""

import re
from collections.abc import Callable

from django.http import HttpResponse
from django.urls import path
from django.urls.resolvers import URLPattern

from recall.api.clones import CloneViewSet
from recall.api.export import ExportViewSet
from recall.api.information import InformationViewSet
from recall.api.messages import MessageViewSet, ThreadMessagesViewSet
from recall.api.resources import ResourceViewSet
from recall.api.search import SearchViewSet
from recall.api.threads import ThreadViewSet
from recall.api.working_memory import (
    ResourceWorkingMemoryViewSet,
    ThreadWorkingMemoryViewSet,
)

MEMORY = "api/memory"
THREAD = "threads/<str:thread_id>"
RESOURCE = "resources/<path:resource_id>"

threads = ThreadViewSet.as_view({"get": "list", "post": "create"})
status = InformationViewSet.as_view({"get": "status"})
save = MessageViewSet.as_view({"post": "save"})
delete = MessageViewSet.as_view({"post": "delete_many"})
thread_messages = ThreadMessagesViewSet.as_view({"get": "list"})
observation = InformationViewSet.as_view({"get": "observational_memory"})
buffer_status = InformationViewSet.as_view({"post": "buffer_status"})
one_thread = ThreadViewSet.as_view(
    {
        "get": "retrieve",
        "patch": "partial_update",
        "put": "update",
        "delete": "destroy",
    }
)
one_message = MessageViewSet.as_view(
    {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}
)
one_resource = ResourceViewSet.as_view(
    {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}
)
thread_notes = ThreadWorkingMemoryViewSet
resource_notes = ResourceWorkingMemoryViewSet

# Addresses are tried in this order; what is asked for most comes first.
compatible = {
    f"{THREAD}/messages": thread_messages,
    "threads": threads,
    THREAD: one_thread,
    f"{THREAD}/clone": CloneViewSet.as_view({"post": "create"}),
    f"{THREAD}/transfer": ThreadViewSet.as_view({"post": "transfer"}),
    f"{THREAD}/working-memory": thread_notes.as_view(
        {"get": "retrieve", "post": "update"}
    ),
    "save-messages": save,
    "messages/delete": delete,
    "search": SearchViewSet.as_view({"get": "list"}),
    "status": status,
    "config": InformationViewSet.as_view({"get": "config"}),
    "observational-memory": observation,
    "observational-memory/buffer-status": buffer_status,
}

additional = {
    f"{THREAD}/archive": ThreadViewSet.as_view({"post": "archive"}),
    f"{THREAD}/unarchive": ThreadViewSet.as_view({"post": "unarchive"}),
    f"{THREAD}/clones": CloneViewSet.as_view({"get": "list"}),
    f"{THREAD}/clone-history": CloneViewSet.as_view({"get": "history"}),
    f"{THREAD}/source": CloneViewSet.as_view({"get": "source"}),
    f"{THREAD}/ui-messages": ThreadMessagesViewSet.as_view({"get": "ui_messages"}),
    f"{THREAD}/export": ExportViewSet.as_view({"get": "retrieve"}),
    f"{THREAD}/working-memory/revisions": thread_notes.as_view({"get": "revisions"}),
    f"{THREAD}/working-memory/restore": thread_notes.as_view({"post": "restore"}),
    "messages/<str:message_id>": one_message,
    "resources": ResourceViewSet.as_view({"get": "list"}),
    f"{RESOURCE}/working-memory/revisions": resource_notes.as_view(
        {"get": "revisions"}
    ),
    f"{RESOURCE}/working-memory/restore": resource_notes.as_view({"post": "restore"}),
    f"{RESOURCE}/working-memory": resource_notes.as_view(
        {"get": "retrieve", "put": "update"}
    ),
    RESOURCE: one_resource,
}

# Where clients go that were told of a network instead of an agent.
aliases = {
    "network/status": status,
    "network/threads": threads,
    f"network/{THREAD}": one_thread,
    f"network/{THREAD}/messages": thread_messages,
    "network/save-messages": save,
    "network/messages/delete": delete,
}


def _patterns(routes: dict[str, Callable[..., HttpResponse]]) -> list[URLPattern]:
    return [
        path(f"{MEMORY}/{route}", view, name=_name(route))
        for route, view in routes.items()
    ]


def _name(route: str) -> str:
    """``threads-thread_id-messages`` for ``threads/<str:thread_id>/messages``."""
    return re.sub(r"<\w+:(\w+)>", r"\1", route).replace("/", "-")


urlpatterns = _patterns({**compatible, **additional, **aliases})
