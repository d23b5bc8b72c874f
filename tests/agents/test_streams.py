"""The streams over real HTTP."""

import json
from concurrent.futures import ThreadPoolExecutor

import httpx

from agents.models import Run
from tests.agents.provider import says
from tests.agents.server import data_frames
from threads.models import Message

MEMORY = {"thread": "t1", "resource": "res-a"}
STREAM = "/api/agents/assistant/stream"
NASTY = (
    "| a |\n|---|\n",
    "\n",
    " indented",
    "\r\nevent: fake\ndata: x\n\n",
    " end",
    "\u2028",
    "你好 🌍 ",
    "👩‍💻",
)


def test_streams_of_one_server(server, provider):
    client_js_stream(server, provider)
    accept_header_does_not_matter(server)
    refusals_are_json_before_the_stream(server)
    ui_message_stream(server, provider)
    events_can_be_followed_and_fetched(server)


def client_js_stream(server, provider):
    provider.scripts = [says(*NASTY)]
    reply = server.post(STREAM, {"messages": "Hi", "memory": MEMORY})
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "text/event-stream"
    assert reply.headers["cache-control"] == "no-cache"
    assert reply.headers["x-accel-buffering"] == "no"
    *frames, done = data_frames(reply.text)
    assert done == "[DONE]"
    chunks = [json.loads(frame) for frame in frames]
    assert {tuple(c) for c in chunks} == {("type", "runId", "from", "payload")}
    assert [c["type"] for c in chunks if c["type"] != "text-delta"] == [
        "start",
        "step-start",
        "text-start",
        "text-end",
        "step-finish",
        "finish",
    ]
    text = "".join(c["payload"]["text"] for c in chunks if c["type"] == "text-delta")
    assert text == "".join(NASTY)
    stored = Message.objects.get(role="assistant")
    assert stored.text == text
    assert stored.id == chunks[0]["payload"]["messageId"]
    assert chunks[-1]["payload"]["stepResult"]["reason"] == "stop"
    assert chunks[-1]["payload"]["output"]["usage"] == {
        "inputTokens": 10,
        "outputTokens": len(NASTY),
        "totalTokens": 10 + len(NASTY),
    }


def accept_header_does_not_matter(server):
    for accept in ("text/event-stream", "application/json", "*/*"):
        reply = server.post(
            STREAM,
            {"messages": "Hi", "memory": MEMORY},
            headers={"Accept": accept},
        )
        assert reply.headers["content-type"] == "text/event-stream"


def refusals_are_json_before_the_stream(server):
    before = (Message.objects.count(), Run.objects.count())
    other = {"thread": "t1", "resource": "res-b"}
    for path, body, status in (
        (STREAM, {"messages": "Hi", "memory": other}, 403),
        (STREAM, {"messages": ""}, 400),
        (STREAM, {}, 400),
        (STREAM, {"messages": "Hi", "memory": {"thread": "new"}}, 400),
        ("/api/agents/nope/stream", {"messages": "Hi"}, 404),
        ("/api/agents/nope/generate", {"messages": "Hi"}, 404),
        ("/api/chat", {"messages": "Hi"}, 400),
        ("/api/runs/nope/stop", {}, 404),
    ):
        reply = server.post(path, body, headers={"Accept": "text/event-stream"})
        assert reply.status_code == status, (path, body, reply.text)
        assert reply.json()["error"]
    assert (Message.objects.count(), Run.objects.count()) == before


def ui_message_stream(server, provider):
    provider.scripts = [says(*NASTY)]
    message = {
        "id": "ui-1",
        "role": "user",
        "parts": [{"type": "text", "text": "Hello"}],
    }
    body = {"id": "chat-1", "messages": [message], "trigger": "submit-message"}
    reply = server.post("/api/chat", body)
    assert reply.headers["x-vercel-ai-ui-message-stream"] == "v1"
    *frames, done = data_frames(reply.text)
    assert done == "[DONE]"
    chunks = [json.loads(frame) for frame in frames]
    stored = Message.objects.get(thread_id="chat-1", role="assistant")
    assert chunks[:3] == [
        {"type": "start", "messageId": stored.id},
        {"type": "start-step"},
        {"type": "text-start", "id": "t1"},
    ]
    assert chunks[-3:] == [
        {"type": "text-end", "id": "t1"},
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "stop"},
    ]
    assert "".join(c.get("delta", "") for c in chunks) == "".join(NASTY)
    assert Message.objects.get(id="ui-1").thread_id == "chat-1"
    assert server.get("/api/chat/chat-1/stream").status_code == 204


def events_can_be_followed_and_fetched(server):
    run = server.get("/api/runs?threadId=chat-1").json()["runs"][0]
    path = f"/api/runs/{run['id']}/events"
    page = server.get(path, headers={"Accept": "application/json"}).json()
    assert page["state"] == "completed"
    numbers = [event["seq"] for event in page["events"]]
    assert numbers == list(range(1, len(numbers) + 1))
    followed = server.get(path, headers={"Last-Event-ID": "3"})
    assert followed.text.startswith("id: 4\ndata: ")
    lines = [line for line in followed.text.split("\n") if line.startswith("data: ")]
    assert [json.loads(line[6:]) for line in lines] == page["events"][3:]
    shown = server.get(f"/api/runs/{run['id']}").json()
    assert shown["context"]["hash"] == shown["contextHash"] != ""


def test_reader_in_the_middle_sees_what_the_first_reader_sees(server, provider):
    provider.scripts = [provider.waits("One ", "two ", then=("three ", "four"))]
    body = {"messages": "Count", "memory": MEMORY}
    with httpx.stream("POST", server.url + STREAM, json=body, timeout=30) as first:
        lines = first.iter_lines()
        started = json.loads(next(lines)[6:])
        assert provider.hold.wait(10)
        run_id = started["runId"]
        path = f"/api/runs/{run_id}/events"
        page = server.get(path, headers={"Accept": "application/json"}).json()
        assert page["state"] == "running"
        provider.release.set()
        rest = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    whole = server.get(path, headers={"Accept": "application/json"}).json()["events"]
    wire = [e for e in whole if e["type"] not in ("context", "run")]
    assert [(c["type"], c["payload"]) for c in [started, *rest]] == [
        (e["type"], e["payload"]) for e in wire
    ]
    assert whole[: len(page["events"])] == page["events"]


def chunks_of(reply):
    *frames, done = data_frames(reply.text)
    assert done == "[DONE]"
    return [json.loads(frame) for frame in frames]


def test_request_under_a_key_runs_once_on_every_route(server, provider):
    chat_message = {"role": "user", "parts": [{"type": "text", "text": "Hi"}]}
    chat = {"id": "key-chat", "messages": [chat_message], "memory": {}}
    routes = (
        ("/api/agents/assistant/generate", {"messages": "Hi", "memory": MEMORY}),
        (STREAM, {"messages": "Hi", "memory": {"thread": "t2", "resource": "res-a"}}),
        # Without a thread each new request would make one.
        (STREAM, {"messages": "Hi", "memory": {"resource": "res-b"}}),
        # Without any memory.
        (STREAM, {"messages": "Hi"}),
        ("/api/chat", chat),
    )
    provider.scripts = [says("Once.")]
    for number, (path, body) in enumerate(routes, start=1):
        key = {"Idempotency-Key": f"key {number}"}
        with ThreadPoolExecutor(2) as pool:
            both = list(
                pool.map(lambda _: server.post(path, body, headers=key), range(2))  # noqa: B023
            )
        third = server.post(path, body, headers=key)
        assert [reply.status_code for reply in (*both, third)] == [200, 200, 200]
        assert third.headers["Idempotent-Replayed"] == "true"
        assert sum("Idempotent-Replayed" in reply.headers for reply in both) == 1
        if path == STREAM:
            assert chunks_of(third) == chunks_of(both[0]) == chunks_of(both[1])
        else:
            assert "Once." in third.text
        other = server.post(path, body | {"maxSteps": 3}, headers=key)
        assert other.status_code == 409
        assert other.json()["error"] == (
            "Idempotency-Key was used with another request body"
        )
        elsewhere = {"messages": "Hi", "memory": {"thread": "t9", "resource": "res-a"}}
        if path == STREAM:
            assert server.post(path, elsewhere, headers=key).status_code == 409
        assert len(provider.requests) == number
        assert Run.objects.count() == number
    assert Message.objects.filter(role="user").count() == 4
    assert Message.objects.filter(role="assistant").count() == 4
    bad = server.post(
        STREAM, {"messages": "Hi"}, headers={"Idempotency-Key": "x" * 256}
    )
    assert bad.status_code == 400
    assert Run.objects.count() == len(routes)


def test_addresses_that_are_not_offered_are_told_so_as_json(server):
    for path in ("send-message", "threads/subscribe", "resume-stream"):
        reply = server.post(f"/api/agents/assistant/{path}", {"messages": "Hi"})
        assert reply.status_code == 404
        assert reply.headers["content-type"] == "application/json"
        assert reply.json()["error"].startswith("Not offered.")
