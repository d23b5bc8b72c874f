"""Recall against a model of it that is too simple to be wrong."""

from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recall.memory import Memory
from tests.factories import at, counters_are_true, draft, ids, make_thread
from threads.models import Message, Resource, Thread

pytestmark = pytest.mark.django_db

quick = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

THREADS = ["t1", "t2"]
# Few different values, so that ties, matches and overlaps are the rule.
seconds = st.integers(0, 4)
scalars = st.sampled_from([0, 1, 1.0, "1", True, False, None, "x"])
metadata = st.dictionaries(st.sampled_from(["k", "j"]), scalars, max_size=2)
messages = st.lists(
    st.tuples(st.sampled_from(THREADS), seconds, metadata), min_size=1, max_size=25
)
sizes = st.one_of(st.just(False), st.integers(0, 7))
directions = st.sampled_from([None, "ASC", "DESC"])
bounds = st.one_of(st.none(), seconds)
filters = st.fixed_dictionaries(
    {
        "metadata": metadata,
        "dateRange": st.fixed_dictionaries(
            {"start": bounds, "end": bounds},
            optional={"startExclusive": st.booleans(), "endExclusive": st.booleans()},
        ),
    }
)
includes = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 3), st.integers(0, 3)), max_size=4
)


def same(left, right):
    """Equality of JSON scalars: numbers by value, everything else by type too."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return left == right


def store(rows):
    """Saves the rows, a batch a thread, in an empty database."""
    for model in (Message, Thread, Resource):
        model.objects.all().delete()
    for id in THREADS:
        make_thread(id)
    Memory().save_messages(
        [
            draft(f"m{n}", second, thread_id=thread, metadata=meta)
            for n, (thread, second, meta) in enumerate(rows)
        ]
    )


def in_order(rows, chosen):
    """Indexes of the rows by time, ties as they were inserted."""
    return sorted(chosen, key=lambda n: (rows[n][1], n))


def holds(row, wanted):
    _, second, meta = row
    dates = wanted["dateRange"]
    start, end = dates["start"], dates["end"]
    early = start is not None and (
        second < start or (dates.get("startExclusive", False) and second == start)
    )
    late = end is not None and (
        second > end or (dates.get("endExclusive", False) and second == end)
    )
    if early or late:
        return False
    return all(
        key in meta and same(meta[key], v) for key, v in wanted["metadata"].items()
    )


def as_argument(wanted):
    dates = dict(wanted["dateRange"])
    for side in ("start", "end"):
        dates[side] = None if dates[side] is None else at(dates[side])
    return {"metadata": wanted["metadata"], "dateRange": dates}


def cut(matching, page, size, direction):
    """The page that the model gives, as indexes in the order shown."""
    rows = matching if direction == "ASC" else matching[::-1]
    if size is not False:
        rows = rows[page * size : (page + 1) * size]
    return rows if direction is not None else rows[::-1]


def around(rows, items):
    extra = set()
    for target, before, after in items:
        if target < len(rows):
            thread = [n for n in range(len(rows)) if rows[n][0] == rows[target][0]]
            thread = in_order(rows, thread)
            place = thread.index(target)
            extra |= set(thread[max(0, place - before) : place + after + 1])
    return extra


@quick
@given(messages, filters, sizes, st.integers(0, 5), directions, includes, st.booleans())
def test_recall_equals_the_model(rows, wanted, size, page, direction, items, named):
    with transaction.atomic():
        store(rows)
        own = [n for n in range(len(rows)) if rows[n][0] == "t1"]
        matching = in_order(rows, [n for n in own if holds(rows[n], wanted)])
        shown = set(cut(matching, page, size, direction)) | around(rows, items)
        expected = in_order(rows, shown)
        result = Memory().recall(
            "t1",
            "res-a" if named else None,
            per_page=size,
            page=page,
            order_by={"field": "createdAt", "direction": direction}
            if direction
            else None,
            filter=as_argument(wanted),
            include=[
                {"id": f"m{n}", "withPreviousMessages": b, "withNextMessages": a}
                for n, b, a in items
            ],
        )
        assert ids(result.messages) == [
            f"m{n}" for n in (expected[::-1] if direction == "DESC" else expected)
        ]
        assert result.total == len(matching)
        more = bool(size) and (page + 1) * size < len(matching)
        assert result.has_more is more
        assert counters_are_true()


@quick
@given(messages, st.integers(1, 7), directions, st.booleans())
def test_pages_make_up_the_whole(rows, size, direction, both):
    with transaction.atomic():
        store(rows)
        which = THREADS if both else ["t1"]
        own = in_order(rows, [n for n in range(len(rows)) if rows[n][0] in which])
        order = {"field": "createdAt", "direction": direction} if direction else None
        walked, page, more = [], 0, True
        while more:
            result = Memory().recall(which, per_page=size, page=page, order_by=order)
            part = ids(result.messages)
            walked = part + walked if direction is None else walked + part
            more, page = result.has_more, page + 1
            assert result.total == len(own)
        expected = [f"m{n}" for n in own]
        assert walked == (expected[::-1] if direction == "DESC" else expected)
        assert page == max(1, -(-len(own) // size))


@quick
@given(messages, st.one_of(st.none(), st.integers(1, 9)), bounds, bounds)
def test_a_clone_equals_its_source(rows, limit, start, end):
    with transaction.atomic():
        store(rows)
        own = in_order(rows, [n for n in range(len(rows)) if rows[n][0] == "t1"])
        chosen = [
            n
            for n in own
            if (start is None or rows[n][1] >= start)
            and (end is None or rows[n][1] <= end)
        ]
        chosen = chosen[-limit:] if limit else chosen
        result = Memory().clone_thread(
            "t1",
            options={
                "messageLimit": limit,
                "messageFilter": {
                    "startDate": None if start is None else at(start),
                    "endDate": None if end is None else at(end),
                },
            },
        )
        recalled = Memory().recall(result.thread.id, per_page=False).messages
        assert [m.text for m in recalled] == [f"m{n}" for n in chosen]
        assert [m.metadata for m in recalled] == [rows[n][2] for n in chosen]
        assert [m.created_at for m in recalled] == [at(rows[n][1]) for n in chosen]
        assert list(result.message_id_map) == [f"m{n}" for n in chosen]
        assert list(result.message_id_map.values()) == ids(recalled)
        assert counters_are_true()


steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("save"),
            st.lists(
                st.tuples(st.integers(0, 9), st.sampled_from(THREADS), seconds),
                min_size=1,
                max_size=4,
            ),
        ),
        st.tuples(
            st.just("delete"), st.lists(st.integers(0, 9), min_size=1, max_size=3)
        ),
        st.tuples(st.just("move"), st.integers(0, 9), st.sampled_from(THREADS)),
        st.tuples(st.just("empty"), st.sampled_from(THREADS)),
    ),
    max_size=10,
)


@quick
@given(steps)
def test_writes_in_any_order_keep_threads_true(taken):
    with transaction.atomic():
        store([("t1", 0, {})])
        memory = Memory()
        model = {"m0": ("t1", 0)}
        born = ["m0"]
        for step in taken:
            if step[0] == "save":
                batch = {}
                for n, thread, second in step[1]:
                    first = batch.get(f"m{n}", (thread, second))[1]
                    batch[f"m{n}"] = (thread, first)
                memory.save_messages(
                    [draft(f"m{n}", second, thread_id=t) for n, t, second in step[1]]
                )
                for id, (thread, second) in batch.items():
                    if id in model:
                        model[id] = (thread, model[id][1])
                    else:
                        model[id] = (thread, second)
                        born.append(id)
            elif step[0] == "delete":
                gone = {f"m{n}" for n in step[1]} & set(model)
                assert memory.delete_messages([f"m{n}" for n in step[1]]) == len(gone)
                for id in gone:
                    del model[id]
                    born.remove(id)
            elif step[0] == "move":
                id = f"m{step[1]}"
                memory.update_messages([{"id": id, "threadId": step[2]}])
                if id in model:
                    model[id] = (step[2], model[id][1])
            else:
                memory.delete_all_messages(step[1])
                for id in [
                    id for id, (thread, _) in model.items() if thread == step[1]
                ]:
                    del model[id]
                    born.remove(id)
            assert counters_are_true()
        for thread in THREADS:
            own = [id for id in model if model[id][0] == thread]
            own.sort(key=lambda id: (model[id][1], born.index(id)))
            result = memory.recall(thread, per_page=False)
            assert ids(result.messages) == own
            assert memory.get_thread(thread).message_count == len(own)


@quick
@given(
    st.lists(st.tuples(seconds, st.sampled_from(["res-a", "res-b"])), max_size=12),
    st.integers(1, 5),
)
def test_pages_of_threads_make_up_the_whole(rows, size):
    with transaction.atomic():
        store([("t1", 0, {})])
        Memory().delete_thread("t1")
        Memory().delete_thread("t2")
        for n, (second, owner) in enumerate(rows):
            make_thread(f"x{n:02d}", owner, created_at=at(second) + timedelta(days=1))
        own = [n for n, (_, owner) in enumerate(rows) if owner == "res-a"]
        expected = sorted(own, key=lambda n: (rows[n][0], f"x{n:02d}"), reverse=True)
        walked, page, more = [], 0, True
        while more:
            result = Memory().list_threads(
                filter={"resourceId": "res-a"}, per_page=size, page=page
            )
            walked += ids(result.threads)
            assert result.total == len(own)
            more, page = result.has_more, page + 1
        assert walked == [f"x{n:02d}" for n in expected]
