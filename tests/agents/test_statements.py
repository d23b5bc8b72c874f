"""How often a turn asks the database, so that many of them begin in the same instant."""

import asyncio
import logging

import pytest

from recall.memory import Memory

MEMORY = {"thread": "t1", "resource": "res-a"}


@pytest.fixture
def statements(settings, caplog):
    """The statements of the ORM in all threads so far."""
    settings.DEBUG = True
    caplog.set_level(logging.DEBUG, "django.db.backends")
    return lambda: [
        r.sql or "" for r in caplog.records if r.name == "django.db.backends"
    ]


async def whole_turn(agent, text):
    """A turn with everything that follows it."""
    await agent.generate(text, memory=MEMORY)
    while names := {t for t in asyncio.all_tasks() if t.get_name().startswith("run-")}:
        names = {t for t in names if t.get_name() != "run-upkeep"}
        if not names:
            return
        await asyncio.wait(names)


def test_turn_asks_the_database_seldom(
    run_async, talker, provider, settings, statements, caplog
):
    Memory().create_thread(resource_id="res-a", thread_id="t1", title="Named")
    run_async(whole_turn(talker, "Hi"))
    caplog.clear()
    run_async(whole_turn(talker, "And now?"))
    # A process that begins also looks for runs of processes that have died.
    asked = [sql for sql in statements() if '"heartbeat_at" <' not in sql]
    # The transaction that accepts, and the context, come before the first word.
    before_the_first_word = next(
        number for number, sql in enumerate(asked) if "context" in sql[:40]
    )
    assert before_the_first_word <= 13
    assert len(asked) <= 30
