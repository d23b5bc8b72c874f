"""Another resource's id gives exactly what an unknown id gives, and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core import serializers
from django.urls import get_resolver

from recall.models import WorkingMemory, WorkingMemoryRevision
from tests.api.conftest import message
from threads.models import Message, Resource, Thread

AGENT = "agentId=agent1"

# Bodies and parameters that make sense of a route, by its address and method. THREAD,
# MESSAGE and RESOURCE stand for the id of a stranger, or for one that does not exist.
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "threads"): {"resourceId": "RESOURCE"},
    ("PATCH", "threads/<str:thread_id>"): {"title": "taken"},
    ("PUT", "threads/<str:thread_id>"): {"title": "taken"},
    ("POST", "threads/<str:thread_id>/clone"): {"newThreadId": "copy"},
    ("POST", "threads/<str:thread_id>/transfer"): {"resourceId": "res-a"},
    ("POST", "threads/<str:thread_id>/working-memory"): {"workingMemory": "taken"},
    ("POST", "threads/<str:thread_id>/working-memory/restore"): {"revision": 1},
    ("POST", "save-messages"): {
        "messages": [message("new", "x", threadId="THREAD", resourceId="res-a")]
    },
    ("POST", "messages/delete"): {"messageIds": ["MESSAGE"]},
    ("PATCH", "messages/<str:message_id>"): {"content": {"metadata": {"k": 1}}},
    ("PATCH", "resources/<path:resource_id>"): {"metadata": {"k": 1}},
    ("PUT", "resources/<path:resource_id>/working-memory"): {"workingMemory": "taken"},
    ("POST", "resources/<path:resource_id>/working-memory/restore"): {"revision": 1},
    ("POST", "observational-memory/buffer-status"): {"resourceId": "RESOURCE"},
}
PARAMETERS = {
    "threads": "&resourceId=RESOURCE",
    "search": "&resourceId=RESOURCE&threadId=THREAD&searchQuery=secret",
}
MORE = [
    (
        "GET",
        "threads/mine/messages?perPage=0&include="
        + json.dumps(
            [
                {
                    "id": "MESSAGE",
                    "threadId": "THREAD",
                    "withPreviousMessages": 5,
                    "withNextMessages": 5,
                }
            ]
        ),
        None,
    ),
    (
        "GET",
        "search?agentId=agent1&resourceId=res-a&searchQuery=secret&threadId=THREAD",
        None,
    ),
    ("GET", "threads/THREAD/working-memory?agentId=agent1&resourceId=res-a", None),
    ("GET", "threads/THREAD/messages?perPage=false", None),
    ("GET", "threads/THREAD/messages?vectorSearchString=secret", None),
    (
        "POST",
        "save-messages?agentId=agent1",
        {
            "messages": [
                message("new", "x", threadId="mine"),
                message("y", "x", threadId="THREAD"),
            ]
        },
    ),
    (
        "POST",
        "save-messages?agentId=agent1",
        {"messages": [message("new", "x", threadId="mine", resourceId="RESOURCE")]},
    ),
    ("POST", "threads/mine/transfer", {"resourceId": "RESOURCE"}),
    (
        "POST",
        "messages/delete?agentId=agent1&resourceId=RESOURCE",
        {"messageIds": ["MESSAGE"]},
    ),
    ("GET", "messages/MESSAGE?resourceId=RESOURCE", None),
]


def routes() -> Iterator[tuple[str, str, Any]]:
    """Every address and method below ``/api/memory``, with what to send there."""
    for pattern in get_resolver().url_patterns:
        for entry in getattr(pattern, "url_patterns", [pattern]):
            address = str(entry.pattern)
            if not address.startswith("api/memory/"):
                continue
            route = address.removeprefix("api/memory/")
            plain = route.removeprefix("network/")
            # Agents' views are functions, tried below.
            for method in getattr(entry.callback, "actions", ()):
                if method == "head":
                    continue
                path = (
                    route.replace("<str:thread_id>", "THREAD")
                    .replace("<str:message_id>", "MESSAGE")
                    .replace("<path:resource_id>", "RESOURCE")
                )
                query = (
                    f"?{AGENT}{PARAMETERS.get(plain, '') if method == 'get' else ''}"
                )
                yield method.upper(), path + query, BODIES.get((method.upper(), plain))
    yield from MORE


def as_named(value: Any, *, stranger: bool) -> Any:
    """``value`` with the placeholders replaced by a stranger's ids, or unknown ones."""
    text = json.dumps(value)
    for name, theirs, unknown in (
        ("THREAD", "t-b", "t-x"),
        ("MESSAGE", "b1", "x1"),
        ("RESOURCE", "res-b", "res-x"),
    ):
        text = text.replace(name, theirs if stranger else unknown)
    return json.loads(text)


def everything() -> str:
    return json.dumps(
        [
            serializers.serialize("json", model.objects.order_by("pk"))
            for model in (
                Resource,
                Thread,
                Message,
                WorkingMemory,
                WorkingMemoryRevision,
            )
        ]
    )


@pytest.fixture
def strangers(api):
    """A thread with messages and notes of res-b, and an empty thread of res-a."""
    for resource, thread in (("res-b", "t-b"), ("res-a", "mine")):
        api.post(
            f"/api/memory/threads?{AGENT}",
            {"resourceId": resource, "threadId": thread, "title": f"of {resource}"},
        )
    api.post(
        f"/api/memory/save-messages?{AGENT}",
        {
            "messages": [
                message(id, "secret", threadId="t-b", resourceId="res-b")
                for id in ("b1", "b2")
            ]
        },
    )
    notes = api.post(
        f"/api/memory/threads/t-b/working-memory?{AGENT}", {"workingMemory": "secret"}
    )
    assert notes.status_code == 200, notes.content


@pytest.mark.parametrize(("method", "path", "body"), list(routes()))
def test_a_strangers_id_is_an_unknown_id(strangers, key_for, method, path, body):
    caller = key_for("res-a")
    before = everything()
    replies = []
    for stranger in (True, False):
        named, sent = as_named([path, body], stranger=stranger)
        reply = caller(method, f"/api/memory/{named}", sent)
        content = b"".join(reply).decode()
        assert "secret" not in content.replace('"query":"secret"', "")
        # What the caller said itself may come back.
        for ours, theirs in (("t-b", "t-x"), ("b1", "x1"), ("res-b", "res-x")):
            content = content.replace(ours, theirs)
        replies.append((reply.status_code, content))
    assert replies[0] == replies[1]
    assert replies[0][0] < 500
    if method != "GET":
        assert everything() == before


def test_every_route_has_a_body_where_it_needs_one(strangers, api):
    """With every reach the same requests succeed, so the test above tries the routes."""
    refused = {}
    for method, path, body in routes():
        named, sent = as_named([path, body], stranger=True)
        if method in ("DELETE", "POST") or "network" in named:
            continue
        reply = api(method, f"/api/memory/{named}", sent)
        if reply.status_code != 200:
            refused[named] = (reply.status_code, b"".join(reply))
    assert {path.partition("?")[0] for path in refused} <= {
        "observational-memory",
        "search",
        "threads/t-b/working-memory",
        "messages/b1",
    }, refused


OF_AGENTS = [
    ("POST", "memory/threads/THREAD/context", {"message": "hi"}),
    ("POST", "memory/threads/THREAD/suggest-title", {}),
    ("POST", "memory/threads/THREAD/messages/MESSAGE/edit", {"content": "hi"}),
    ("POST", "memory/threads/THREAD/messages/MESSAGE/regenerate", {}),
    ("GET", "runs?threadId=THREAD", None),
    ("GET", "runs?resourceId=RESOURCE", None),
    ("GET", "agents/assistant/suspended-runs?threadId=THREAD", None),
    ("POST", "agents/assistant/threads/abort", {"threadId": "THREAD"}),
    ("GET", "chat/THREAD/stream", None),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("method", "path", "body"), OF_AGENTS)
def test_agents_treat_a_strangers_id_as_unknown(strangers, key_for, method, path, body):
    caller = key_for("res-a")
    before = everything()
    replies = []
    for stranger in (True, False):
        named, sent = as_named([path, body], stranger=stranger)
        reply = caller(method, f"/api/{named}", sent)
        content = b"".join(reply).decode()
        for ours, theirs in (("t-b", "t-x"), ("b1", "x1"), ("res-b", "res-x")):
            content = content.replace(ours, theirs)
        replies.append((reply.status_code, content))
    assert replies[0] == replies[1]
    assert replies[0][0] < 500
    assert everything() == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("path", "messages"),
    [
        ("agents/assistant/generate", "hi"),
        ("agents/assistant/stream", "hi"),
        (
            "chat",
            [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]}],
        ),
    ],
)
def test_agents_do_not_speak_in_a_strangers_thread(strangers, key_for, path, messages):
    caller = key_for("res-a")
    before = everything()
    for resource in ("res-a", "res-b"):
        memory = {"thread": "t-b", "resource": resource}
        reply = caller.post(f"/api/{path}", {"messages": messages, "memory": memory})
        assert reply.status_code in (403, 404)
    assert everything() == before
