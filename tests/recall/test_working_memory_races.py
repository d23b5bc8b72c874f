"""Writers of the same working memory at the same time, each on a connection of its own."""

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from recall.config import MemoryConfig
from recall.models import WorkingMemory, WorkingMemoryRevision
from recall.working_memory import get_working_memory, update_working_memory
from threads.creating import create_thread
from threads.reach import Reach

pytestmark = pytest.mark.django_db(transaction=True)

EVERYTHING = Reach.all()


def notes(scope):
    return MemoryConfig(working_memory={"scope": scope, "schema": {"type": "object"}})


def at_once(work, arguments):
    """Runs ``work`` for all arguments at once; what each returned or raised."""
    together = Barrier(len(arguments))

    def run(argument):
        try:
            together.wait(timeout=30)
            return work(argument)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(run, arguments))


@pytest.mark.parametrize("scope", ["resource", "thread"])
def test_twenty_writers_of_different_fields_all_survive(scope):
    create_thread(EVERYTHING, resource_id="res-a", thread_id="t1")
    config = notes(scope)

    def merge(number):
        update_working_memory(
            EVERYTHING,
            config,
            merge={f"field{number}": number, "shared": {f"key{number}": number}},
            thread_id="t1",
        )

    at_once(merge, range(20))
    state = get_working_memory(EVERYTHING, config, thread_id="t1")
    value = json.loads(state.value)
    assert value.pop("shared") == {f"key{number}": number for number in range(20)}
    assert value == {f"field{number}": number for number in range(20)}
    assert state.revision == 20
    numbers = WorkingMemoryRevision.objects.values_list("number", flat=True)
    assert sorted(numbers) == list(range(1, 21))


@pytest.mark.parametrize("scope", ["resource", "thread"])
def test_first_writes_that_race_all_survive(scope):
    config = notes(scope)
    for turn in range(50):
        owner, thread = f"res-{turn}", f"t-{turn}"
        if scope == "thread":
            create_thread(EVERYTHING, resource_id=owner, thread_id=thread)
        whose = {"thread_id": thread} if scope == "thread" else {"resource_id": owner}

        def merge(name, whose=whose):
            update_working_memory(EVERYTHING, config, merge={name: 1}, **whose)

        at_once(merge, ["a", "b", "c"])
        state = get_working_memory(EVERYTHING, config, **whose)
        assert json.loads(state.value) == {"a": 1, "b": 1, "c": 1}
    assert WorkingMemory.objects.count() == 50
