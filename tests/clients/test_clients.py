"""The real clients from npm against a live server."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

RECORDED = json.loads(Path(__file__).with_name("recorded_requests.json").read_text())


@pytest.fixture
def steps(live, run_client):
    return run_client("client_js.mjs", live)


def test_client_js_drives_every_method(steps):
    refused = {name: value for name, value in steps.items() if _failed(value)}
    assert {name: value["status"] for name, value in refused.items()} == {
        "observational": 400,
        "getDeleted": 404,
        "unknownAgent": 404,
    }, refused
    assert steps["create"]["metadata"] == {"a": 1}
    assert "metadata" not in steps["createMinimal"]
    assert [m["id"] for m in steps["save"]["messages"]] == ["m1", "m2", "m3"]
    assert [t["id"] for t in steps["list"]["threads"]] == ["t 1é"]
    assert steps["listAll"]["perPage"] is False
    assert steps["get"]["id"] == steps["getWithoutAgent"]["id"] == "t 1é"
    assert steps["update"]["metadata"] == {"a": 1, "k": "v"}
    assert [m["id"] for m in steps["messages"]["messages"]] == ["m1", "m2", "m3"]
    assert [m["id"] for m in steps["messagesChosen"]["messages"]] == ["m3", "m2", "m1"]
    assert len(steps["messagesAll"]["messages"]) == 3
    assert [m["id"] for m in steps["threadMessages"]["messages"]] == ["m2", "m3"]
    assert list(steps["clone"]["messageIdMap"]) == ["m2", "m3"]
    assert steps["workingMemoryBefore"]["workingMemory"] is None
    assert steps["workingMemoryWrite"] == {"success": True}
    assert steps["workingMemory"]["workingMemory"] == "# User\n- name: Ann"
    assert steps["search"]["searchType"] == "semantic"
    assert "m1" in [r["id"] for r in steps["search"]["results"]]
    assert steps["status"] == {"result": True, "memoryType": "local"}
    assert steps["config"]["config"]["semanticRecall"]["topK"] == 2
    assert steps["deleteMessages"]["message"] == "2 messages deleted successfully"
    assert steps["transfer"]["resourceId"] == "u3"
    assert steps["delete"] == {"result": "Thread deleted"}
    assert {"agent1", "assistant"} <= set(steps["agents"])
    assert steps["details"]["name"] == "Agent One"


def test_client_js_generates_and_streams_with_tools(steps):
    assert steps["generate"]["text"] == "Hello world"
    assert steps["generate"]["finishReason"] == "stop"
    assert steps["generateTool"]["text"] == "Hello world"
    assert steps["generateMessages"]["text"] == "Hello world"
    assert steps["generateClientTool"] == {
        "ran": 1,
        "text": "Hello world",
        "finishReason": "stop",
    }
    kinds = [chunk["type"] for chunk in steps["stream"]]
    assert kinds[:3] == ["start", "step-start", "text-start"]
    assert kinds[-2:] == ["step-finish", "finish"]
    assert _text(steps["stream"]) == "Hello world"
    tool = [chunk["type"] for chunk in steps["streamTool"]]
    assert tool.index("tool-call") < tool.index("tool-result") < tool.index("finish")
    assert steps["streamClientTool"]["ran"] == 1
    assert _text(steps["streamClientTool"]["chunks"]) == "Hello world"


def test_use_chat_submits_regenerates_and_resumes(live, run_client):
    steps = run_client("use_chat.mjs", live)
    hello = [["user", "Hi"], ["assistant", "Hello world"]]
    assert steps["submitted"] == {"status": "ready", "error": None, "texts": hello}
    assert (steps["tool"]["status"], steps["tool"]["error"]) == ("ready", None)
    assert ["tool-weather", "output-available"] in steps["tool"]["parts"]
    assert steps["regenerated"] == {"status": "ready", "count": 4, "fresh": True}
    assert steps["resumed"] == {"status": "ready", "count": 4}
    assert (steps["plain"]["status"], steps["plain"]["error"]) == ("ready", None)
    assert [role for role, _ in steps["plain"]["texts"]] == ["user", "assistant"]
    assert steps["unknown"]["status"] == "error"
    assert "not found" in steps["unknown"]["error"]


def test_the_recorded_requests_are_answered_literally_and_never_with_5xx(live):
    stream = httpx.Timeout(20)
    statuses = {}
    with httpx.Client(timeout=stream) as client:
        for request in RECORDED["requests"]:
            headers = dict(request["headers"])
            if request["content_type"]:
                headers["content-type"] = request["content_type"]
            body = request["body"]
            reply = client.request(
                request["method"],
                live + request["url"],
                headers=headers,
                content=body.encode() if body is not None else None,
            )
            statuses[request["call"]] = reply.status_code
            assert reply.status_code < 500, (request["call"], reply.text)
            assert reply.content
    assert statuses["createMemoryThread(all)"] == 200
    assert statuses["saveMessageToMemory"] in (200, 404)
    assert statuses["generate(string, memory)"] in (200, 403)
    assert statuses["listMemoryThreads(all options)"] == 200


def _failed(value) -> bool:
    return isinstance(value, dict) and "failed" in value


def _text(chunks) -> str:
    return "".join(c.get("text") or "" for c in chunks if c["type"] == "text-delta")
