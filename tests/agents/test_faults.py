"""Processes that die, clients that leave, two at once: nothing that was shown is lost."""

import json
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import httpx
import pytest
from django.conf import settings
from django.db import connections
from django.test import override_settings

from agents import runs, tasks
from agents.models import Run, RunEvent
from agents.unclaimed import PATIENCE, end_unclaimed
from recall.memory import Memory
from tests.agents.provider import delta, says
from threads.identifiers import now
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


def test_reload_at_twenty_random_moments_gives_the_log_each_time(server, provider):
    pieces = [f"{n} " for n in range(60)]
    provider.scripts = [says(*pieces, pause=0.02)]
    chance = random.Random(20)
    begin(server, "Count", "reload", 1)
    run = Run.objects.get()

    def reload(moment: int) -> tuple[int, list]:
        """Waits until the log has so many events, then reads on from any of them."""
        after = chance.randrange(moment)
        url = f"{server.url}/api/runs/{run.id}/events"
        with httpx.stream("GET", url, timeout=30) as first:
            lines = (line for line in first.iter_lines() if line.startswith("data: "))
            begun = [json.loads(next(lines)[6:]) for _ in range(moment)]
        rest = server.get(f"/api/runs/{run.id}/events?after={after}").text
        lines = [line for line in rest.split("\n") if line.startswith("data: ")]
        return after, begun, [json.loads(line[6:]) for line in lines]

    with ThreadPoolExecutor(20) as pool:
        moments = [chance.randrange(1, 60) for _ in range(20)]
        reloads = [pool.submit(reload, moment) for moment in moments]
        read = [done.result() for done in reloads]
    log = [(e.seq, e.type, e.payload) for e in RunEvent.objects.order_by("seq")]
    assert [seq for seq, _, _ in log] == list(range(1, len(log) + 1))
    for (after, begun, rest), moment in zip(read, moments, strict=True):
        assert [(e["seq"], e["type"], e["payload"]) for e in begun] == log[:moment]
        assert [(e["seq"], e["type"], e["payload"]) for e in rest] == log[after:]
    said = [payload["text"] for _, type_, payload in log if type_ == "text-delta"]
    assert "".join(said) == "".join(pieces) == told("reload")[-1][1]


def test_process_that_is_told_to_stop_ends_its_replies_at_once(server, provider):
    provider.scripts = [provider.waits("Half of ", "it", then=(" all",))]
    body = {"messages": "Tell", "memory": memory_of("term-1")}
    shown, rest = [], []
    with httpx.stream("POST", server.url + STREAM, json=body, timeout=30) as reply:
        for line in reply.iter_lines():
            rest.append(line)
            if '"text-delta"' in line:
                shown.append(json.loads(line[6:])["payload"]["text"])
            if len(shown) == 2 and server.process.returncode is None:
                ask_in_queue(server, "term-1")
                server.process.terminate()
                shown.append("")
    assert server.process.wait(10) == -signal.SIGTERM
    provider.release.set()
    first, second = Run.objects.order_by("created_at")
    assert (first.state, first.error) == ("interrupted", runs.INTERRUPTED)
    # The end was told to whoever followed the reply.
    assert any(runs.INTERRUPTED in line for line in rest)
    # What waited is begun by another process, not by one that goes away.
    assert second.state == "queued"
    assert told("term-1") == [
        ("user", "Tell"),
        ("assistant", "Half of it"),
        ("user", "And then?"),
    ]
    server.start_again()
    assert Run.objects.get(id=second.id).state == "queued"
    # The next message of the thread sets off what waits before it.
    provider.scripts = [says("Here."), says("There.")]
    ask(server, "And now?", "term-1")
    assert told("term-1")[2:] == [
        ("user", "And then?"),
        ("user", "And now?"),
        ("assistant", "Here."),
        ("assistant", "There."),
    ]


def ask_in_queue(server, thread_id):
    """Sends while a reply is under way, and does not wait for the answer."""
    body = {"messages": "And then?", "memory": memory_of(thread_id)}
    with httpx.stream("POST", server.url + STREAM, json=body, timeout=30) as reply:
        assert reply.headers["X-Run-State"] == "queued"


def test_database_restarted_in_the_middle_of_a_reply(server, provider, postgres):
    pieces = [f"{number} " for number in range(40)]

    def script(request):
        for number, piece in enumerate(pieces):
            if number == 10:
                provider.hold.set()
                provider.release.wait(60)
            yield delta(piece)
        yield delta(finish="stop")

    provider.scripts = [script]
    shown = []

    def follow():
        body = {"messages": "Count", "memory": memory_of("db-2")}
        with httpx.stream("POST", server.url + STREAM, json=body, timeout=60) as reply:
            for line in reply.iter_lines():
                if '"text-delta"' in line:
                    shown.append(json.loads(line[6:])["payload"]["text"])

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(follow)
        assert provider.hold.wait(10)
        connections["default"].close()
        postgres.stop()
        provider.release.set()
        postgres.start()
        connections["default"].pool.check()
        asked.result()
    assert "".join(shown) == "".join(pieces)
    assert told("db-2") == [("user", "Count"), ("assistant", "".join(pieces))]
    numbers = list(RunEvent.objects.order_by("seq").values_list("seq", flat=True))
    assert numbers == list(range(1, len(numbers) + 1))
    provider.scripts = [says("Next.")]
    ask(server, "And now?", "db-2")
    assert told("db-2")[2:] == [("user", "And now?"), ("assistant", "Next.")]


TITLING = """
import sys
import django
django.setup()
from agents.tasks import generate_title
generate_title.apply(args=[sys.argv[1]])
"""


def test_worker_killed_in_the_middle_of_a_title(server, provider, monkeypatch):
    provider.scripts = [says("Bring a coat.")]
    ask(server, "What to wear in Oslo?", "title-1")
    provider.scripts = [provider.waits("Oslo", then=(" Clothes",)), says("In Oslo")]
    worker = subprocess.Popen(
        [sys.executable, "-c", TITLING, "title-1"],
        env=server.env,
        cwd=settings.BASE_DIR,
    )
    try:
        assert provider.hold.wait(40)
    finally:
        worker.kill()
        worker.wait()
    provider.release.set()
    assert Thread.objects.get(id="title-1").title_source == "none"
    asked = len(provider.requests)
    # The next worker does what the sweep hands over.
    monkeypatch.setattr(
        tasks.generate_title,
        "apply_async",
        lambda args, retry: tasks.generate_title.apply(args),
    )
    Run.objects.update(finished_at=now() - timedelta(seconds=30))
    with override_settings(OPENAI_BASE_URL=provider.url, MEMORY_MODEL="openai:stub"):
        assert tasks.sweep_titles() == 1
        assert tasks.sweep_titles() == 0
    thread = Thread.objects.get(id="title-1")
    assert (thread.title, thread.title_source) == ("In Oslo", "model")
    assert len(provider.requests) == asked + 1
    assert told("title-1") == [
        ("user", "What to wear in Oslo?"),
        ("assistant", "Bring a coat."),
    ]


def test_queued_run_of_an_agent_that_nobody_knows_fails_in_plain_words(
    transactional_db,
):
    Memory().create_thread(resource_id="res-a", thread_id="orphan")
    common = {"thread_id": "orphan", "resource_id": "res-a", "state": "queued"}
    old = now() - timedelta(seconds=PATIENCE + 5)
    run = Run.objects.create(id="r1", agent_id="gone", created_at=old, **common)
    ended = Run.objects.create(
        id="r0",
        agent_id="assistant",
        created_at=old,
        finished_at=now(),
        **common | {"state": "completed"},
    )
    # It could begin only just now.
    assert end_unclaimed() == []
    Run.objects.filter(id=ended.id).update(finished_at=old)
    assert end_unclaimed(after=PATIENCE + 60) == []
    assert [r.id for r in end_unclaimed()] == ["r1"]
    assert end_unclaimed() == []
    run.refresh_from_db()
    message = "The agent gone is not known here any more."
    assert (run.state, run.error) == ("failed", message)
    log = [(e.type, e.payload) for e in run.events.order_by("seq")]
    assert log[0] == ("error", {"error": {"name": "AgentNotFound", "message": message}})
    assert log[1][1]["state"] == "failed"
    assert told("orphan") == []
