"""Names of conversations."""

import pytest

from agents.agent import Agent
from agents.key_phrases import key_phrases
from agents.registry import register, unregister
from agents.tasks import generate_title, sweep_titles
from agents.titles import clean_title
from recall.memory import Memory
from tests.agents.provider import says
from threads.models import Thread

MEMORY = {"thread": "t1", "resource": "res-a"}


@pytest.fixture
def namer(provider, settings):
    settings.CELERY_TASK_ALWAYS_EAGER = False
    made = register(
        Agent("namer", model="openai:stub", memory={"generate_title": True})
    )
    yield made
    unregister("namer")


def title():
    return Thread.objects.get(id="t1").title


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ('"Rome trip"', "Rome trip"),
        ("Title: **Rome trip**.\nBecause you asked", "Rome trip"),
        ("**Title:** Rome trip", "Rome trip"),
        ("# __Title__: *Rome trip*", "Rome trip"),
        ("**Title: Rome trip**", "Rome trip"),
        ("<think>hm</think>\n\nRome", "Rome"),
        ("Ro\u202eme\u0007 trip", "Rome trip"),
        ("\n\n", ""),
        ("word " * 40, "word " * 15 + "word…"),
        ("x" * 500, "x" * 79 + "…"),
    ],
)
def test_titles_are_cleaned(given, kept):
    assert clean_title(given) == kept
    assert len(clean_title(given)) <= 80


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("Can you help me plan a trip to Rome in May?", "Trip to Rome"),
        ("What is the best way to cook wild rice?", "Cook wild rice"),
        ("hello", ""),
    ],
)
def test_key_phrases_are_not_the_first_words(said, named):
    assert key_phrases([("user", said)]) == named


def test_first_reply_is_named_once_and_the_second_is_not(run_async, namer, provider):
    run_async(namer.generate("plan a trip", memory=MEMORY))
    provider.scripts = [says("Rome trip")]
    assert generate_title.apply(args=["t1"]).get() == "Rome trip"
    asked = len(provider.requests)
    assert generate_title.apply(args=["t1"]).get() is None
    assert len(provider.requests) == asked
    thread = Thread.objects.get(id="t1")
    assert (thread.title, thread.title_source) == ("Rome trip", "model")
    said = provider.requests[-1]["messages"][-1]["content"]
    assert "User: plan a trip\nAssistant: Hello there." in said


def test_title_given_meanwhile_stays(run_async, namer, provider):
    run_async(namer.generate("hello", memory=MEMORY))

    def renames_first(request):
        Memory().update_thread("t1", title="Mine", metadata={"k": 1})
        yield from says("Auto")(request)

    provider.scripts = [renames_first]
    assert generate_title.apply(args=["t1"]).get() is None
    thread = Thread.objects.get(id="t1")
    assert (thread.title, thread.metadata) == ("Mine", {"k": 1})


def test_thread_deleted_meanwhile_stays_deleted(run_async, namer, provider):
    run_async(namer.generate("hello", memory=MEMORY))

    def deletes_first(request):
        Memory().delete_thread("t1")
        yield from says("Auto")(request)

    provider.scripts = [deletes_first]
    assert generate_title.apply(args=["t1"]).get() is None
    assert not Thread.objects.exists()


def test_failing_title_model_is_asked_again_then_a_readable_title_is_made(
    run_async, namer, provider
):
    run_async(namer.generate("plan a trip to Rome", memory=MEMORY))
    provider.refusals = [(500, {}, {"error": {"message": "no"}})] * 3
    assert generate_title.apply(args=["t1"]).get() == "Trip to Rome"
    assert len(provider.requests) == 4


def test_failed_turn_asks_for_no_title(run_async, namer, provider):
    provider.refusals = [(401, {}, {"error": {"message": "no"}})]
    run_async(namer.generate("hello", memory=MEMORY))
    assert generate_title.apply(args=["t1"]).get() is None
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("options", "due"), [({"generateTitle": False}, False), (None, True)]
)
def test_a_call_may_switch_titles_off(run_async, namer, provider, options, due):
    run_async(namer.generate("hello", memory=MEMORY | {"options": options}))
    provider.scripts = [says("Named")]
    assert generate_title.apply(args=["t1"]).get() == ("Named" if due else None)


def test_enough_messages_must_be_there(run_async, provider):
    namer = register(
        Agent(
            "namer",
            model="openai:stub",
            memory={"generate_title": {"min_messages": 3}},
        )
    )
    run_async(namer.generate("one", memory=MEMORY))
    assert generate_title.apply(args=["t1"]).get() is None
    run_async(namer.generate("two", memory=MEMORY))
    provider.scripts = [says("Named")]
    assert generate_title.apply(args=["t1"]).get() == "Named"
    unregister("namer")


def test_sweep_leaves_fresh_replies_to_their_own_task(run_async, namer):
    run_async(namer.generate("hello", memory=MEMORY))
    assert sweep_titles() == 0
    assert title() == ""
