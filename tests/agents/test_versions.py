"""Edits, replies given again, previews."""

from agents.generation import order_of
from agents.models import Run
from agents.orders import TurnOptions
from agents.prompt import assemble
from agents.turn import read_events, start_run
from agents.versions import edited, regenerated, version_before
from recall.memory import Memory
from tests.agents.provider import says
from threads.messages import normalise
from threads.models import Message
from threads.reach import Reach

MEMORY = {"thread": "t1", "resource": "res-a"}
ALL = Reach.all()


def told(thread_id="t1"):
    return [(m.role, m.text) for m in Memory().recall(thread_id).messages]


async def carry_out(agent, order):
    started = await start_run(agent, order)
    async for _ in read_events(started.run.id):
        pass
    return started.run


def talk(run_async, talker, provider):
    for question, reply in (("one", "1"), ("two", "2")):
        provider.scripts = [says(reply)]
        run_async(talker.generate(question, memory=MEMORY))
    return {m.text: m for m in Message.objects.all()}


def test_edit_makes_a_version_and_destroys_nothing(run_async, talker, provider):
    before = talk(run_async, talker, provider)
    version = version_before(talker, ALL, "t1", before["two"].id)
    provider.scripts = [says("zwei")]
    run_async(carry_out(talker, edited(version, "zwo", before["two"].id)))
    assert told() == [
        ("user", "one"),
        ("assistant", "1"),
        ("user", "two"),
        ("assistant", "2"),
    ]
    assert told(version.id) == [
        ("user", "one"),
        ("assistant", "1"),
        ("user", "zwo"),
        ("assistant", "zwei"),
    ]
    assert version.metadata["version"] == {"of": "t1", "at": before["two"].id}
    assert [t.id for t in Memory().list_clones("t1")] == [version.id]
    shown = [m["content"] for m in provider.requests[-1]["messages"]]
    assert shown == ["one", "1", "zwo"]


def test_last_reply_is_given_again_beside_the_first(run_async, talker, provider):
    before = talk(run_async, talker, provider)
    thread, order = regenerated(talker, ALL, "t1", before["2"].id)
    assert thread.id == "t1"
    provider.scripts = [says("two!")]
    run = run_async(carry_out(talker, order))
    assert [m["content"] for m in provider.requests[-1]["messages"]] == [
        "one",
        "1",
        "two",
    ]
    assert ("assistant", "2") in told()
    first = Message.objects.get(id=before["2"].id)
    second = Message.objects.get(id=run.message_id)
    assert first.metadata["regeneratedBy"] == [second.id]
    assert second.metadata["regenerates"] == first.id
    provider.scripts = [says("3")]
    run_async(talker.generate("three", memory=MEMORY))
    assert [m["content"] for m in provider.requests[-1]["messages"]] == [
        "one",
        "1",
        "two",
        "two!",
        "three",
    ]


def test_earlier_reply_is_given_again_in_a_version(run_async, talker, provider):
    before = talk(run_async, talker, provider)
    version, order = regenerated(talker, ALL, "t1", before["1"].id)
    assert version.id != "t1"
    provider.scripts = [says("eins")]
    run_async(carry_out(talker, order))
    assert told(version.id) == [("user", "one"), ("assistant", "eins")]
    assert len(told()) == 4


def test_preview_has_the_hash_of_the_run_that_follows(run_async, talker, provider):
    talk(run_async, talker, provider)
    draft = normalise("three", thread_id="t1").drafts
    preview = assemble(
        talker,
        talker.get_memory(),
        TurnOptions(),
        thread_id="t1",
        resource_id="res-a",
        messages=draft,
    )
    run = run_async(carry_out(talker, order_of("three", memory=MEMORY)))
    run = Run.objects.get(id=run.id)
    assert run.context_hash == preview.hash
    assert [s["text"] for s in run.context["segments"]][-1] == "three"
