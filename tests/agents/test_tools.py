"""Tools: ours, the client's, those that ask first, and the notes."""

import pytest

from agents.agent import Agent
from agents.generation import order_of
from agents.models import Run
from agents.orders import Order, TurnOptions
from agents.registry import register, unregister
from agents.turn import read_events, start_run
from recall.memory import Memory
from recall.models import WorkingMemoryRevision
from tests.agents.provider import calls, says
from threads.models import Message

MEMORY = {"thread": "t1", "resource": "res-a"}


def weather(city: str, days: int = 1) -> dict:
    """Tells the weather of a city."""
    if city == "Nowhere":
        raise LookupError("no such city")
    return {"city": city, "days": days, "sky": "clear"}


@pytest.fixture
def worker(provider):
    made = register(Agent("worker", model="openai:stub", tools=[weather]))
    yield made
    unregister("worker")


def parts():
    return Message.objects.get(role="assistant").content["parts"]


def invocations():
    return [p["toolInvocation"] for p in parts() if p["type"] == "tool-invocation"]


def test_parallel_calls_are_answered_and_kept_as_parts(run_async, worker, provider):
    provider.scripts = [
        calls(
            ("c1", "weather", '{"city": "Oslo"}'),
            ("c2", "weather", '{"city": "Nowhere"}'),
            ("c3", "weather", '{"town": 1}'),
            ("c4", "weather", "not json"),
        ),
        says("Clear in Oslo."),
    ]
    answer = run_async(worker.generate("Weather?", memory=MEMORY))
    assert (answer.state, answer.finish_reason) == ("completed", "stop")
    assert [p["type"] for p in parts()] == [
        *["tool-invocation"] * 4,
        "step-start",
        "text",
    ]
    one, two, three, four = invocations()
    assert one["state"] == "result"
    assert one["result"] == {"city": "Oslo", "days": 1, "sky": "clear"}
    assert two["state"] == "output-error"
    assert two["errorText"] == "LookupError: no such city"
    assert three["errorText"].startswith("Wrong arguments: city")
    assert four["errorText"] == "The arguments are not a JSON object"
    told = provider.requests[1]["messages"]
    assert [m["tool_call_id"] for m in told if m["role"] == "tool"] == [
        "c1",
        "c2",
        "c3",
        "c4",
    ]


def test_calls_under_one_id_are_answered_each(run_async, worker, provider):
    provider.scripts = [
        calls(
            ("c1", "weather", '{"city": "Oslo"}'),
            ("c1", "weather", '{"city": "Rome"}'),
            ("c1", "unheard", "{}"),
        ),
        calls(("c1", "weather", '{"city": "Bern"}')),
        says("Clear."),
    ]
    answer = run_async(worker.generate("Weather?", memory=MEMORY))
    assert (answer.state, answer.text) == ("completed", "Clear.")
    kept = [(c["toolCallId"], c["args"].get("city"), c["state"]) for c in invocations()]
    assert kept == [
        ("c1", "Oslo", "result"),
        ("c1-2", "Rome", "result"),
        ("c1-3", None, "output-error"),
        ("c1-4", "Bern", "result"),
    ]
    told = provider.requests[2]["messages"]
    answered = [m["tool_call_id"] for m in told if m["role"] == "tool"]
    assert answered == ["c1", "c1-2", "c1-3", "c1-4"]
    # The next turn goes on counting, so that no call of the thread is confused.
    provider.scripts = [calls(("c1", "weather", '{"city": "Kiel"}')), says("Clear.")]
    again = run_async(worker.generate("And Kiel?", memory=MEMORY))
    assert [call["toolCallId"] for call in again.tool_calls] == ["c1-5"]


def test_client_tool_with_unreadable_arguments_is_told_to_the_model(
    run_async, worker, provider
):
    tools = {"locate": {"id": "locate", "description": "Where the user is"}}
    provider.scripts = [calls(("c1", "locate", '{"near')), says("Sorry.")]
    answer = run_async(
        worker.generate("Where am I?", memory=MEMORY, client_tools=tools)
    )
    assert (answer.finish_reason, answer.text) == ("stop", "Sorry.")
    (call,) = invocations()
    assert call["state"] == "output-error"
    assert call["errorText"] == "The arguments are not a JSON object"
    told = [m for m in provider.requests[1]["messages"] if m["role"] == "tool"]
    assert told[0]["content"] == "Error: The arguments are not a JSON object"


def test_max_steps_ends_the_turn(run_async, worker, provider):
    provider.scripts = [calls(("c1", "weather", '{"city": "Oslo"}'))]
    answer = run_async(worker.generate("Weather?", memory=MEMORY, max_steps=2))
    assert (answer.state, answer.finish_reason) == ("completed", "tool-calls")
    assert len(provider.requests) == 2


def test_client_tool_waits_in_the_transcript_and_its_result_goes_on(
    run_async, worker, provider
):
    tools = {"clock": {"id": "clock", "description": "tells time"}}
    provider.scripts = [calls(("c1", "clock", "{}")), says("It is noon.")]
    first = run_async(
        worker.generate("What time is it?", memory=MEMORY, client_tools=tools)
    )
    assert first.finish_reason == "tool-calls"
    assert first.tool_calls == [{"toolCallId": "c1", "toolName": "clock", "args": {}}]
    assert invocations()[0]["state"] == "call"
    result = {
        "type": "tool-result",
        "toolCallId": "c1",
        "toolName": "clock",
        "result": "12:00",
    }
    order = Order(
        messages=[{"role": "tool", "content": [result]}],
        thread_id="t1",
        resource_id="res-a",
        options=TurnOptions(client_tools=tools),
        trigger=Run.Trigger.CONTINUE,
    )

    async def go_on():
        started = await start_run(worker, order)
        return [event async for event in read_events(started.run.id)]

    run_async(go_on())
    stored = [(m.role, m.text) for m in Memory().recall("t1").messages]
    assert stored == [
        ("user", "What time is it?"),
        ("assistant", ""),
        ("assistant", "It is noon."),
    ]
    told = provider.requests[1]["messages"]
    assert [m["role"] for m in told] == ["user", "assistant", "tool"]
    assert told[2]["content"] == "12:00"


def test_call_that_asks_first_runs_when_it_is_approved(run_async, worker, provider):
    provider.scripts = [calls(("c1", "weather", '{"city": "Oslo"}')), says("Clear.")]
    first = run_async(worker.generate("Weather?", memory=MEMORY, ask_first=True))
    assert first.finish_reason == "suspended"
    reply = Message.objects.get(role="assistant")
    assert invocations()[0]["state"] == "approval-requested"
    assert list(reply.metadata["pendingToolApprovals"]) == ["c1"]
    order = Order(
        messages=[],
        thread_id="t1",
        resource_id="res-a",
        options=TurnOptions(approvals={"c1": True}),
        trigger=Run.Trigger.CONTINUE,
    )

    async def approve():
        started = await start_run(worker, order)
        return [event async for event in read_events(started.run.id)]

    events = run_async(approve())
    results = [e.payload["result"] for e in events if e.type == "tool-result"]
    assert results == [{"city": "Oslo", "days": 1, "sky": "clear"}]
    told = provider.requests[1]["messages"]
    assert [m["role"] for m in told] == ["user", "assistant", "tool"]
    reply.refresh_from_db()
    assert reply.metadata["pendingToolApprovals"] == {}


def test_model_keeps_notes_with_its_tool(run_async, provider):
    noting = register(
        Agent("noting", model="openai:stub", memory={"working_memory": True})
    )
    provider.scripts = [
        calls(("c1", "updateWorkingMemory", '{"memory": "# About\\n- Rex"}')),
        says("Noted."),
    ]
    run_async(noting.generate("My dog is Rex", memory=MEMORY))
    revision = WorkingMemoryRevision.objects.get()
    question = Message.objects.get(role="user")
    assert (revision.author, revision.value) == ("model", "# About\n- Rex")
    assert revision.message_id == question.id
    provider.scripts = [says("Rex.")]
    run_async(noting.generate("Who is my dog?", memory=MEMORY))
    assert "# About\n- Rex" in provider.requests[-1]["messages"][0]["content"]
    unregister("noting")


@pytest.mark.parametrize(
    ("notes", "args", "told"),
    [
        ({}, '{"memory": {"a": 1}}', "memory: must be string"),
        ({}, '{"memory": 3}', "memory: must be string"),
        ({}, "{}", "memory: must be string"),
        (
            {"schema": {"type": "object", "properties": {"age": {"type": "integer"}}}},
            '{"memory": {"age": "old"}}',
            "merge.age: 'old' is not of type 'integer'",
        ),
        (
            {"schema": {"type": "object", "properties": {"age": {"type": "integer"}}}},
            '{"memory": "old"}',
            "must be",
        ),
    ],
)
def test_notes_of_the_wrong_kind_change_nothing_and_the_model_is_told(
    run_async, provider, notes, args, told
):
    keeper = Agent(
        "noting",
        model="openai:stub",
        memory={"working_memory": {"enabled": True, **notes}},
    )
    register(keeper)
    provider.scripts = [calls(("c1", "updateWorkingMemory", args)), says("Sorry.")]
    answer = run_async(keeper.generate("Note it", memory=MEMORY))
    unregister("noting")
    assert (answer.state, answer.text) == ("completed", "Sorry.")
    assert invocations()[0]["state"] == "output-error"
    answered = provider.requests[1]["messages"][-1]
    assert answered["role"] == "tool"
    assert told in answered["content"]
    assert not WorkingMemoryRevision.objects.exists()


def test_read_only_turn_has_no_tool_and_leaves_no_trace(run_async, provider):
    noting = register(
        Agent("noting", model="openai:stub", memory={"working_memory": True})
    )
    answer = run_async(noting.generate("Hi", memory=MEMORY | {"read_only": True}))
    assert answer.text == "Hello there."
    assert "tools" not in provider.requests[0]
    assert Message.objects.count() == 0
    unregister("noting")


def test_turn_without_memory_keeps_nothing_but_the_run(run_async, worker):
    async def work():
        started = await start_run(worker, order_of("Hi"))
        return [event async for event in read_events(started.run.id)]

    events = run_async(work())
    assert events[-1].payload["state"] == "completed"
    assert Message.objects.count() == 0
    assert Run.objects.get().thread_id is None
