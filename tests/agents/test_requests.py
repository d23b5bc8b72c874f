"""Requests to agents: what is wrong in one is refused before anything is stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import AsyncClient

from agents.agent import Agent
from agents.models import Run
from threads.models import Message, Resource, Thread

MEMORY = {"thread": "t1", "resource": "res-a"}
HELLO = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Hello"}]}


@pytest.fixture
def ask(run_async) -> Any:
    """Sends a request to the API; returns its status and body."""

    def asked(method: str, path: str, body: Any = None, **options: Any) -> Any:
        async def work() -> Any:
            client = AsyncClient(headers={"Host": "localhost"})
            raw = body if isinstance(body, bytes) else json.dumps(body)
            content = {} if body is None else {"data": raw}
            reply = await client.generic(
                method, path, content_type="application/json", **content, **options
            )
            if reply.streaming:
                return reply, b"".join([piece async for piece in reply])
            return reply, reply.content

        reply, content = run_async(work())
        return reply.status_code, content

    return asked


def nothing_is_stored() -> bool:
    tables = (Run, Message, Thread, Resource)
    return not any(table.objects.exists() for table in tables)


def refused(status: int, content: bytes) -> list[str]:
    body = json.loads(content)
    assert status == 400, body
    assert body["error"]
    assert nothing_is_stored()
    return [issue["field"] for issue in body["issues"]]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"memory": {**MEMORY, "options": 5}}, "memory.options"),
        ({"memory": {**MEMORY, "options": "x"}}, "memory.options"),
        ({"memory": {**MEMORY, "options": True}}, "memory.options"),
        (
            {"memory": {**MEMORY, "options": {"lastMessages": "x"}}},
            "memory.options.lastMessages",
        ),
        (
            {"memory": {**MEMORY, "options": {"last_messages": -1}}},
            "memory.options.lastMessages",
        ),
        ({"modelSettings": {"temperature": b"HUGE"}}, "modelSettings.temperature"),
        ({"modelSettings": {"seed": 1e300}}, "modelSettings.seed"),
        ({"clientTools": {"clock": 5}}, "clientTools.clock"),
        ({"clientTools": [1]}, "clientTools"),
        ({"activeTools": [5]}, "activeTools"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "messages.0.role"),
        (
            {"messages": [{"role": "user", "parts": [{"type": 5}]}]},
            "messages.0.parts.0.type",
        ),
        (
            {"messages": [{"role": "tool", "content": []}, 5]},
            "messages.1",
        ),
        (
            {"messages": [{"id": ["a"], "role": "user", "content": "x"}]},
            "messages.0.id",
        ),
        ({"messages": {"id": 5, "role": "user", "content": "x"}}, "messages.0.id"),
        ({"activeTools": [["a"]]}, "activeTools"),
    ],
)
def test_a_wrong_value_is_refused_by_name(ask, agent: Agent, wrong, field):
    body = json.dumps({"messages": "Hello", "memory": MEMORY, **wrong}, default=str)
    body = body.replace("\"b'HUGE'\"", "1" + "0" * 400)
    status, content = ask("POST", f"/api/agents/{agent.id}/generate", body.encode())
    assert refused(status, content) == [field]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"messages": [{**HELLO, "role": "wizard"}]}, "messages.0.role"),
        ({"messages": [{**HELLO, "parts": "x"}]}, "messages.0.parts"),
        ({"messages": [{**HELLO, "parts": [5]}]}, "messages.0.parts.0"),
        ({"messages": [{**HELLO, "id": ["a"]}]}, "messages.0.id"),
        ({"messages": [{"role": "assistant", "parts": 5}]}, "messages.0.parts"),
        (
            {"messages": [{"role": "assistant", "parts": [{"toolCallId": ["a"]}]}]},
            "messages.0.parts.0.toolCallId",
        ),
        (
            {"messages": [{"role": "assistant", "parts": [{"approval": "yes"}]}]},
            "messages.0.parts.0.approval",
        ),
        ({"messages": [{"id": "x" * 256, "role": "assistant"}]}, "messages.0.id"),
        ({"clientTools": {"clock": "x"}}, "clientTools.clock"),
        ({"trigger": "dance"}, "trigger"),
        ({"trigger": 5}, "trigger"),
        ({"messageId": 5}, "messageId"),
    ],
)
def test_a_wrong_chat_is_refused_by_name(ask, agent: Agent, wrong, field):
    body = {"id": "t1", "messages": [HELLO], "memory": MEMORY, **wrong}
    assert refused(*ask("POST", f"/chat/{agent.id}", body)) == [field]


def test_an_unknown_option_is_told_with_the_names_of_the_wire(ask, agent: Agent):
    memory = {**MEMORY, "options": {"lastMessage": 5}}
    body = {"messages": "Hello", "memory": memory}
    status, content = ask("POST", f"/api/agents/{agent.id}/generate", body)
    assert refused(status, content) == ["memory.options.lastMessage"]
    told = json.loads(content)["issues"][0]["message"]
    assert "lastMessages" in told
    assert "_" not in told


@pytest.mark.parametrize("verb", ["approve-tool-call", "decline-tool-call"])
def test_a_call_that_does_not_wait_cannot_be_decided(ask, agent: Agent, verb):
    body = {"messages": "Hello", "memory": MEMORY, "runId": "r1"}
    status, _ = ask("POST", f"/api/agents/{agent.id}/generate", body)
    assert status == 200
    decision = {"runId": "r1", "toolCallId": "invented"}
    status, content = ask("POST", f"/api/agents/{agent.id}/{verb}", decision)
    assert status == 400
    assert json.loads(content)["issues"][0]["field"] == "toolCallId"
    assert Run.objects.count() == 1
    assert Message.objects.count() == 2


def test_head_is_answered_where_get_is(ask, agent: Agent):
    for path in ("/api/agents", "/api/runs", f"/api/agents/{agent.id}"):
        assert ask("HEAD", path) == (200, b"")
    assert ask("HEAD", "/api/runs/none")[0] == 404
    assert ask("HEAD", "/api/chat")[0] == 404


def test_ids_that_cannot_be_stored_are_of_nothing(ask, transactional_db):
    assert ask("GET", "/api/runs/%00")[0] == 404
    status, content = ask("GET", "/api/runs?resourceId=%00")
    assert (status, json.loads(content)["runs"]) == (200, [])


def test_stopping_wants_a_body_to_be_json(ask, agent: Agent):
    body = {"messages": "Hello", "memory": MEMORY, "runId": "r1"}
    ask("POST", f"/api/agents/{agent.id}/generate", body)
    address = "/api/runs/r1/stop"
    assert ask("POST", address)[0] == 200
    assert ask("POST", address, b"x")[0] == 400


def test_the_preview_is_spelt_as_the_wire_is(ask, agent: Agent):
    body = {"messages": "Hello", "memory": MEMORY}
    ask("POST", f"/api/agents/{agent.id}/generate", body)
    status, content = ask(
        "POST", f"/api/memory/threads/t1/context?agentId={agent.id}", {"message": "Hi"}
    )
    assert status == 200, content
    shown = json.loads(content)
    assert set(shown) == {
        "hash",
        "tokens",
        "budgetTokens",
        "meaningAvailable",
        "segments",
        "leftOut",
    }


def test_runs_in_a_state_that_does_not_exist_are_refused(ask, agent: Agent):
    assert refused(*ask("GET", "/api/runs?state=foo")) == ["state"]
    status, content = ask("GET", "/api/runs?state=failed")
    assert (status, json.loads(content)["runs"]) == (200, [])
