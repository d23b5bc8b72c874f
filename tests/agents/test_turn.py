"""A turn in this process, on the offline model."""

from agents.generation import order_of
from agents.models import Run, RunEvent
from agents.turn import read_events, start_run
from recall.memory import Memory
from threads.models import Message, Thread

MEMORY = {"thread": "t1", "resource": "res-a"}


def test_generate_makes_thread_and_resource_and_stores_both_messages(run_async, agent):
    answer = run_async(agent.generate("My dog is called Rex.", memory=MEMORY))
    assert answer.state == "completed"
    assert answer.finish_reason == "stop"
    stored = Memory().recall("t1", "res-a").messages
    assert [m.role for m in stored] == ["user", "assistant"]
    assert stored[0].text == "My dog is called Rex."
    assert stored[1].id == answer.message_id
    assert stored[1].text == answer.text


def test_log_is_numbered_without_a_gap_and_ends_with_the_state(run_async, agent):
    async def work():
        started = await start_run(agent, order_of("Hello there", memory=MEMORY))
        assert not started.queued
        assert not started.attached
        assert started.user_message.text == "Hello there"
        return [event async for event in read_events(started.run.id)]

    events = run_async(work())
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    assert [e.type for e in events if e.type != "text-delta"] == [
        "start",
        "context",
        "step-start",
        "text-start",
        "text-end",
        "step-finish",
        "finish",
        "run",
    ]
    kept = RunEvent.objects.order_by("seq").values_list("seq", "type", "payload")
    assert list(kept) == [(e.seq, e.type, e.payload) for e in events]


def test_same_message_id_attaches_to_its_run(run_async, agent):
    message = {"id": "u1", "role": "user", "content": "Hi"}

    async def work():
        first = await start_run(agent, order_of([message], memory=MEMORY))
        second = await start_run(agent, order_of([message], memory=MEMORY))
        one = [e async for e in read_events(first.run.id)]
        two = [e async for e in read_events(second.run.id)]
        third = await start_run(agent, order_of([message], memory=MEMORY))
        assert one == two
        return first, second, third

    first, second, third = run_async(work())
    assert [first.attached, second.attached, third.attached] == [False, True, True]
    assert first.run.id == second.run.id == third.run.id
    assert Message.objects.count() == 2
    assert Run.objects.count() == 1


def test_second_send_waits_and_is_answered_after_the_first(run_async, agent):
    async def work():
        one = await start_run(agent, order_of("My cat is Tom.", memory=MEMORY))
        two = await start_run(agent, order_of("Who is my cat?", memory=MEMORY))
        assert two.queued
        for started in (one, two):
            async for _ in read_events(started.run.id):
                pass

    run_async(work())
    states = list(Run.objects.order_by("created_at").values_list("state", flat=True))
    assert states == ["completed", "completed"]
    texts = [m.text for m in Memory().recall("t1", "res-a").messages]
    assert len(texts) == 4
    assert "My cat is Tom." in texts[3]
    assert Thread.objects.get().message_count == 4
