"""Every run ends, whatever its reply has come to, and every stream says so."""

from agents import runs
from agents.models import Run, RunEvent
from recall.asynchronous import in_database_thread
from recall.memory import Memory
from tests.agents.provider import says
from threads.identifiers import now
from threads.models import Message

MEMORY = {"thread": "t1", "resource": "res-a"}
LONG = "x" * 700_000


def ask(run_async, talker, text="Hi"):
    return run_async(talker.generate(text, memory=MEMORY))


def dead_run(id_, thread_id, text):
    """A run whose process died in the middle of this text."""
    Memory().create_thread(resource_id="res-a", thread_id=thread_id)
    run = Run.objects.create(
        id=id_,
        thread_id=thread_id,
        resource_id="res-a",
        agent_id="talker",
        message_id=f"{id_}-reply",
        state="running",
        started_at=now(),
        heartbeat_at=now(),
    )
    log = [
        ("start", {"messageId": run.message_id}),
        ("step-start", {}),
        ("text-start", {"id": "t1"}),
        ("text-delta", {"id": "t1", "text": text}),
    ]
    RunEvent.objects.bulk_create(
        RunEvent(run=run, seq=seq, type=type_, payload=payload)
        for seq, (type_, payload) in enumerate(log, 1)
    )
    return run


def test_reply_over_the_limit_of_messages_is_stored_whole(run_async, talker, provider):
    provider.scripts = [says(LONG)]
    answer = ask(run_async, talker)
    assert (answer.state, answer.finish_reason) == ("completed", "stop")
    assert Message.objects.get(role="assistant").text == LONG
    provider.scripts = [says("Next.")]
    assert ask(run_async, talker, "And now?").text == "Next."


def test_reply_without_end_stops_at_its_own_limit(
    run_async, talker, provider, settings
):
    settings.MEMORY = settings.MEMORY | {"MAX_REPLY_BYTES": 10}
    provider.scripts = [says("12345", "67890", "abc", "never")]
    answer = ask(run_async, talker)
    assert (answer.state, answer.finish_reason) == ("completed", "length")
    assert answer.text == "1234567890abc"
    assert Message.objects.get(role="assistant").text == answer.text
    ends = list(RunEvent.objects.order_by("seq").values_list("type", flat=True))
    assert ends[-4:] == ["text-end", "step-finish", "finish", "run"]


def test_dead_run_with_a_long_reply_ends(transactional_db):
    dead_run("r1", "t1", LONG)
    assert [run.id for run in runs.interrupt_dead(dead_after=0)] == ["r1"]
    assert Message.objects.get(id="r1-reply").text == LONG


def test_interrupted_run_closes_its_stream_as_a_failed_one_does(transactional_db):
    run = dead_run("r1", "t1", "Half")
    runs.interrupt_dead(dead_after=0)
    log = list(run.events.order_by("seq").values_list("type", "payload"))[4:]
    types = [type_ for type_, _ in log]
    assert types == ["text-end", "error", "step-finish", "finish", "run"]
    assert log[3][1]["stepResult"]["reason"] == "error"


def test_run_whose_reply_cannot_be_stored_ends_and_keeps_no_other_alive(
    transactional_db,
):
    dead_run("r1", "t1", "Mine")
    dead_run("r2", "t2", "Yours")
    # The id of its reply is taken in another resource's thread.
    Memory().create_thread(resource_id="res-b", thread_id="t3")
    taken = {"id": "r1-reply", "role": "user", "content": "x"}
    Memory().save_messages([taken], thread_id="t3")
    ended = runs.interrupt_dead(dead_after=0)
    assert {run.id for run in ended} == {"r1", "r2"}
    states = dict(Run.objects.values_list("id", "state"))
    assert states == {"r1": "failed", "r2": "interrupted"}
    assert Run.objects.get(id="r1").error == runs.FAULT
    assert Message.objects.get(id="r1-reply").thread_id == "t3"
    assert Message.objects.get(id="r2-reply").text == "Yours"


def test_reader_of_a_deleted_run_gets_a_whole_end(run_async, talker, provider):
    provider.scripts = [provider.waits("a", then=("b",))]

    async def follow():
        seen = []
        async for event in talker.stream("Hi", memory=MEMORY):
            seen.append(event)
            if event.type == "text-delta" and event.payload["text"] == "a":
                await in_database_thread(Memory().delete_thread, "t1")
                provider.release.set()
        return seen

    seen = run_async(follow())
    types = [event.type for event in seen]
    assert types[-4:] == ["text-end", "error", "step-finish", "finish"]
    assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
    assert seen[-1].payload["stepResult"]["reason"] == "error"
    assert not Run.objects.exists()
