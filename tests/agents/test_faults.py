"""Processes that die, clients that leave, two at once: nothing that was shown is lost."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from django.db import connections

from agents import runs
from agents.models import Run, RunEvent
from recall.memory import Memory
from tests.agents.provider import delta, says
from threads.models import Message, Thread

STREAM = "/api/agents/assistant/stream"


def memory_of(thread_id):
    return {"thread": thread_id, "resource": "res-a"}


def ask(server, text, thread_id, **more):
    body = {"messages": text, "memory": memory_of(thread_id), **more}
    return server.post(STREAM, body)


def begin(server, text, thread_id, stop_after):
    """Sends, reads until so many pieces of text came, and leaves. Returns the text."""
    body = {"messages": text, "memory": memory_of(thread_id)}
    shown = []
    with httpx.stream("POST", server.url + STREAM, json=body, timeout=30) as reply:
        for line in reply.iter_lines():
            if len(shown) >= stop_after:
                break
            if '"text-delta"' in line:
                shown.append(json.loads(line[6:])["payload"]["text"])
    return "".join(shown)


def told(thread_id):
    return [(m.role, m.text) for m in Memory().recall(thread_id).messages]


def wait_for(server, thread_id, state):
    """Follows the thread's newest run to its end through the server."""
    run = Run.objects.filter(thread_id=thread_id).order_by("-created_at").first()
    server.get(f"/api/runs/{run.id}/events")
    run.refresh_from_db()
    assert run.state == state
    return run


def test_faults_that_one_server_survives(server, provider):
    leaving_does_not_stop_the_run(server, provider)
    stop_keeps_the_text_and_is_idempotent(server, provider)
    deleted_thread_stays_deleted(server, provider)
    two_sends_at_once_in_new_threads(server, provider)
    same_message_twice_at_once(server, provider)
    writers_go_on_while_a_reply_streams(server, provider)


def leaving_does_not_stop_the_run(server, provider):
    for place, after in (("first", 0), ("middle", 1), ("last", 3)):
        provider.scripts = [says("one ", "two ", "three", pause=0.02)]
        shown = begin(server, "Count", f"leave-{place}", after)
        wait_for(server, f"leave-{place}", "completed")
        assert told(f"leave-{place}") == [
            ("user", "Count"),
            ("assistant", "one two three"),
        ]
        assert "one two three".startswith(shown)


def stop_keeps_the_text_and_is_idempotent(server, provider):
    provider.hold.clear()
    provider.release.clear()
    provider.scripts = [provider.waits("Some ", "text", then=(" never shown",))]
    shown = begin(server, "Go", "stop-1", 2)
    assert shown == "Some text"
    run = Run.objects.get(thread_id="stop-1")
    for _ in range(2):
        assert server.post(f"/api/runs/{run.id}/stop", {}).status_code == 200
    run = wait_for(server, "stop-1", "stopped")
    provider.release.set()
    assert server.post(f"/api/runs/{run.id}/stop", {}).json()["state"] == "stopped"
    assert told("stop-1") == [("user", "Go"), ("assistant", "Some text")]
    reply = Message.objects.get(thread_id="stop-1", role="assistant")
    assert reply.metadata["run"] == {"id": run.id, "state": "stopped"}
    provider.scripts = [says("Next")]
    ask(server, "And now?", "stop-1")
    assert told("stop-1")[-1] == ("assistant", "Next")


def deleted_thread_stays_deleted(server, provider):
    provider.hold.clear()
    provider.release.clear()
    provider.scripts = [provider.waits("a", then=("b",))]
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, server, "hi", "gone")
        assert provider.hold.wait(10)
        assert Memory().delete_thread("gone")
        provider.release.set()
        assert '"error"' in asked.result().text
    assert server.get("/api/memory/threads/gone").status_code == 404
    assert not Message.objects.filter(thread_id="gone").exists()
    assert not Run.objects.filter(thread_id="gone").exists()


def two_sends_at_once_in_new_threads(server, provider):
    provider.scripts = [says("1")]
    with ThreadPoolExecutor(4) as pool:
        for round_ in range(5):
            id_ = f"race-{round_}"
            both = list(pool.map(lambda t: ask(server, t, id_), ("a", "b")))  # noqa: B023
            assert [reply.status_code for reply in both] == [200, 200]
            assert Thread.objects.filter(id=id_).count() == 1
            assert sorted(told(id_)) == [
                ("assistant", "1"),
                ("assistant", "1"),
                ("user", "a"),
                ("user", "b"),
            ]


def same_message_twice_at_once(server, provider):
    provider.scripts = [says("once")]
    before = len(provider.requests)
    message = [{"id": "same-1", "role": "user", "content": "hi"}]
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: ask(server, message, "same"), range(2)))
    assert both[0].text == both[1].text
    assert len(provider.requests) == before + 1
    assert told("same") == [("user", "hi"), ("assistant", "once")]


def writers_go_on_while_a_reply_streams(server, provider):
    provider.hold.clear()
    provider.release.clear()
    provider.scripts = [provider.waits("1", then=("2",))]
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, server, "a", "busy")
        assert provider.hold.wait(10)
        for number in range(20):
            saved = server.post(
                "/api/memory/save-messages?agentId=assistant",
                {
                    "messages": [
                        {
                            "id": f"p{number}",
                            "role": "user",
                            "content": "x",
                            "threadId": "busy",
                            "resourceId": "res-a",
                        }
                    ]
                },
            )
            assert saved.status_code == 200
        assert not asked.done()
        provider.release.set()
        assert asked.result().status_code == 200


def test_killed_process_leaves_its_text_and_the_next_turn_works(server, provider):
    provider.scripts = [provider.waits("Half of ", "it", then=(" all",))]
    shown = begin(server, "Tell", "kill-1", 2)
    server.kill()
    provider.release.set()
    assert [run.thread_id for run in runs.interrupt_dead(dead_after=0)] == ["kill-1"]
    assert runs.interrupt_dead(dead_after=0) == []
    run = Run.objects.get()
    assert run.state == "interrupted"
    assert told("kill-1") == [("user", "Tell"), ("assistant", shown)]
    reply = Message.objects.get(role="assistant")
    assert reply.id == run.message_id
    assert reply.metadata["run"]["state"] == "interrupted"
    server.start_again()
    page = server.get(
        f"/api/runs/{run.id}/events", headers={"Accept": "application/json"}
    ).json()
    assert page["events"][-1]["type"] == "run"
    provider.scripts = [says("Here.")]
    ask(server, "Again", "kill-1")
    assert told("kill-1")[-2:] == [("user", "Again"), ("assistant", "Here.")]


def test_queued_run_of_a_dead_process_is_begun_by_another(server, provider):
    provider.scripts = [provider.waits("never"), says("second")]
    begin(server, "First", "kill-2", 1)
    with httpx.stream(
        "POST",
        server.url + STREAM,
        json={"messages": "Second", "memory": memory_of("kill-2")},
    ) as reply:
        assert reply.headers["X-Run-State"] == "queued"
    server.kill()
    server.start_again()
    # Any request that concerns runs makes the new process look after them.
    ask(server, "Elsewhere", "other")
    runs.interrupt_dead(dead_after=0)
    wait_for(server, "kill-2", "completed")
    provider.release.set()
    assert told("kill-2") == [
        ("user", "First"),
        ("assistant", "never"),
        ("user", "Second"),
        ("assistant", "second"),
    ]


def test_database_connections_lost_in_the_middle_of_a_reply(server, provider):
    pieces = [f"{number} " for number in range(40)]

    def script(request):
        for number, piece in enumerate(pieces):
            if number == 10:
                provider.hold.set()
                provider.release.wait(20)
            yield delta(piece)
        yield delta(finish="stop")

    provider.scripts = [script]
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, server, "Count", "db-1")
        assert provider.hold.wait(10)
        with connections["default"].cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
        # The tests' own connections were among them.
        connections["default"].close()
        connections["default"].pool.check()
        provider.release.set()
        reply = asked.result()
    text = "".join(
        json.loads(line[6:])["payload"]["text"]
        for line in reply.text.split("\n")
        if '"text-delta"' in line
    )
    assert text == "".join(pieces)
    assert told("db-1") == [("user", "Count"), ("assistant", text)]
    numbers = list(RunEvent.objects.order_by("seq").values_list("seq", flat=True))
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("size", [1, 3])
def test_recut_stream_of_the_provider_loses_no_character(server, provider, size):
    text = ["你好 🌍 ", "naïve", " 👩‍💻"]

    def script(request):
        whole = b"".join([*(delta(piece) for piece in text), delta(finish="stop")])
        for start in range(0, len(whole), size):
            yield whole[start : start + size]

    provider.scripts = [script]
    ask(server, "x", f"cut-{size}")
    assert told(f"cut-{size}") == [("user", "x"), ("assistant", "".join(text))]


def test_reload_at_many_moments_gives_the_log_each_time(server, provider):
    provider.scripts = [says(*(f"{n} " for n in range(60)), pause=0.02)]
    texts: list[str] = []

    def reader(run_id: str, delay: threading.Event) -> None:
        delay.wait(0.05 * len(texts))
        reply = server.get(f"/api/runs/{run_id}/events")
        lines = [line for line in reply.text.split("\n") if line.startswith("data: ")]
        events = [json.loads(line[6:]) for line in lines]
        numbers = [event["seq"] for event in events]
        assert numbers == list(range(1, len(numbers) + 1))
        texts.append(
            "".join(e["payload"]["text"] for e in events if e["type"] == "text-delta")
        )

    begin(server, "Count", "reload", 1)
    run = Run.objects.get()
    never = threading.Event()
    with ThreadPoolExecutor(20) as pool:
        for done in [pool.submit(reader, run.id, never) for _ in range(20)]:
            done.result()
    assert set(texts) == {"".join(f"{n} " for n in range(60))}
