"""Many writers at once, on connections of their own: only allowed endings."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from recall.memory import Memory
from tests.factories import (
    at,
    counters_are_true,
    draft,
    ids,
    make_messages,
    make_thread,
)
from threads.errors import Conflict, MemoryFault, OwnershipError, ThreadNotFound
from threads.models import Message, Thread

pytestmark = pytest.mark.django_db(transaction=True)


def together(*calls: Callable[[], Any]) -> list[Any]:
    """Runs the calls at the same moment; what each returned, or its refusal.

    Any error that is not a refusal fails the test.
    """
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        try:
            gate.wait(timeout=30)
            return call()
        except MemoryFault as refusal:
            return refusal
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(run, c) for c in calls]]


def refusals(results: list[Any]) -> list[type]:
    return [type(result) for result in results if isinstance(result, MemoryFault)]


def test_writers_of_different_keys_all_survive():
    make_thread()
    make_messages(["m1"], "t2")
    results = together(
        *(
            lambda n=n: Memory().update_thread("t1", metadata={f"k{n}": n})
            for n in range(9)
        )
    )
    assert refusals(results) == []
    results = together(
        *(
            lambda n=n: Memory().update_messages(
                [{"id": "m1", "content": {"metadata": {f"k{n}": n}}}]
            )
            for n in range(9)
        )
    )
    assert refusals(results) == []
    expected = {f"k{n}": n for n in range(9)}
    thread = Memory().get_thread("t1")
    assert (thread.metadata, thread.revision) == (expected, 10)
    assert Memory().get_messages(["m1"])[0].metadata == expected


def test_twenty_writers_in_turn_and_together_all_survive():
    make_thread()

    def write(first: int) -> None:
        for n in range(first, first + 5):
            Memory().update_thread("t1", metadata={f"k{n}": n})

    assert refusals(together(*(lambda f=f: write(f) for f in (0, 5, 10, 15)))) == []
    thread = Memory().get_thread("t1")
    assert thread.metadata == {f"k{n}": n for n in range(20)}
    assert thread.revision == 21


def test_two_creators_of_one_id_make_one_thread():
    for round in range(5):
        results = together(
            lambda r=round: Memory().create_thread(
                resource_id="res-a", thread_id=f"q{r}", metadata={"a": 1}
            ),
            lambda r=round: Memory().create_thread(
                resource_id="res-a", thread_id=f"q{r}", metadata={"b": 1}
            ),
        )
        assert refusals(results) == []
        assert Memory().get_thread(f"q{round}").metadata == {"a": 1, "b": 1}


def test_two_owners_of_one_id_end_with_one_of_them():
    for round in range(5):
        results = together(
            *(
                lambda o=owner, r=round: Memory().create_thread(
                    resource_id=o, thread_id=f"q{r}"
                )
                for owner in ("res-a", "res-b")
            )
        )
        assert refusals(results) == [OwnershipError]
        winner = next(r for r in results if isinstance(r, Thread))
        assert Memory().get_thread(f"q{round}").resource_id == winner.resource_id


def test_deleting_while_saving_leaves_nothing_half_done():
    for round in range(5):
        id = f"t{round}"
        make_messages([f"{id}-old"], id)
        saved, deleted = together(
            lambda id=id: Memory().save_messages([draft(f"{id}-new")], thread_id=id),
            lambda id=id: Memory().delete_thread(id),
        )
        assert deleted is True
        assert isinstance(saved, ThreadNotFound) or len(saved) == 1
        assert not Message.objects.filter(thread_id=id).exists()
        assert not Thread.objects.filter(id=id).exists()


def test_cloning_while_saving_copies_one_moment():
    for round in range(4):
        id = f"t{round}"
        make_messages([f"{id}-{n}" for n in range(20)], id)
        batch = [draft(f"{id}-new{n}", 100) for n in range(20)]
        cloned, saved = together(
            lambda id=id: Memory().clone_thread(id),
            lambda id=id, batch=batch: Memory().save_messages(batch, thread_id=id),
        )
        assert len(saved) == 20
        assert len(cloned.cloned_messages) in (20, 40)
        assert Memory().recall(id, per_page=0).total == 40
    assert counters_are_true()


def test_clones_of_one_new_id_end_with_one():
    make_messages(["m1", "m2"])
    results = together(
        *(lambda: Memory().clone_thread("t1", new_thread_id="c1") for _ in range(3))
    )
    assert refusals(results) == [Conflict, Conflict]
    assert Memory().recall("c1").total == 2
    assert Message.objects.count() == 4


def test_savers_of_one_thread_all_count():
    make_thread()
    together(
        *(
            lambda w=w: [
                Memory().save_messages(
                    [draft(f"{w}-{n}-{i}") for i in range(2)], thread_id="t1"
                )
                for n in range(4)
            ]
            for w in range(5)
        )
    )
    assert Memory().get_thread("t1").message_count == 40
    assert len({m.position for m in Message.objects.all()}) == 40
    assert counters_are_true()


def test_the_same_message_saved_twice_at_once_is_one():
    make_thread()
    for n in range(6):
        results = together(
            *(
                lambda n=n: Memory().save_messages([draft(f"m{n}")], thread_id="t1")
                for _ in "ab"
            )
        )
        assert refusals(results) == []
    assert Memory().recall("t1").total == 6
    assert counters_are_true()


def test_one_message_saved_into_two_threads_is_in_one():
    make_thread("t1")
    make_thread("t2")
    for n in range(6):
        results = together(
            *(
                lambda n=n, t=thread: Memory().save_messages(
                    [draft(f"m{n}")], thread_id=t
                )
                for thread in ("t1", "t2")
            )
        )
        assert refusals(results) == []
        assert Message.objects.filter(id=f"m{n}").count() == 1
    assert counters_are_true()


def test_one_message_saved_for_two_resources_has_one_owner():
    make_thread("t1", "res-a")
    make_thread("t2", "res-b")
    for n in range(6):
        results = together(
            *(
                lambda n=n, t=thread: Memory().save_messages(
                    [draft(f"m{n}")], thread_id=t
                )
                for thread in ("t1", "t2")
            )
        )
        assert refusals(results) == [OwnershipError]
    assert counters_are_true()


def test_batches_in_opposite_orders_do_not_block_each_other():
    make_thread("t1")
    make_thread("t2")
    names = [f"m{n}" for n in range(30)]
    make_messages(names, "t1")
    results = together(
        *(
            lambda t=thread, names=order: Memory().save_messages(
                [draft(name) for name in names], thread_id=t
            )
            for thread, order in (("t1", names), ("t2", names[::-1])) * 2
        )
    )
    assert refusals(results) == []
    assert Message.objects.count() == 30
    assert counters_are_true()


def test_moving_and_deleting_at_once():
    for round in range(5):
        make_messages([f"m{round}"], "t1")
        make_thread("t2")
        _, deleted = together(
            lambda r=round: Memory().save_messages([draft(f"m{r}")], thread_id="t2"),
            lambda r=round: Memory().delete_messages([f"m{r}"]),
        )
        assert deleted == 1
        Memory().delete_all_messages("t2")
    assert counters_are_true()


def test_transferring_while_saving_never_splits_a_thread():
    for round in range(5):
        id = f"t{round}"
        make_messages([f"{id}-old"], id)
        saved, moved = together(
            lambda id=id: Memory().save_messages(
                [draft(f"{id}-new")], thread_id=id, resource_id="res-a"
            ),
            lambda id=id: Memory().transfer_thread(id, resource_id="res-b"),
        )
        assert moved.resource_id == "res-b"
        assert isinstance(saved, OwnershipError) or len(saved) == 1
        owners = set(
            Message.objects.filter(thread_id=id).values_list("resource_id", flat=True)
        )
        assert owners == {"res-b"}
    assert counters_are_true()


def test_a_title_given_while_the_model_writes_one_stays():
    for round in range(5):
        id = f"t{round}"
        make_thread(id)
        together(
            lambda id=id: Memory().set_model_title(id, "Auto"),
            lambda id=id: Memory().update_thread(id, title="Mine", metadata={"a": 1}),
        )
        thread = Memory().get_thread(id)
        assert (thread.title, thread.title_source, thread.metadata) == (
            "Mine",
            "user",
            {"a": 1},
        )


async def test_asynchronous_verbs_do_what_their_twins_do():
    memory = Memory()
    thread = await memory.acreate_thread(resource_id="res-a", thread_id="t1")
    assert thread.id == "t1"
    await memory.asave_messages([draft("m1", 1), draft("m2", 2)], thread_id="t1")
    result = await memory.arecall("t1", "res-a", per_page=1)
    assert (ids(result.messages), result.total) == (["m2"], 2)
    assert (await memory.aupdate_thread("t1", title="x")).title == "x"
    assert (await memory.aget_thread("t1")).last_message_at == at(2)
    with pytest.raises(ThreadNotFound):
        await memory.aget_thread("nope")
    assert Memory.arecall.__name__ == "arecall"
    assert "oldest first" in Memory.arecall.__doc__
