"""Pages deep inside long threads, while the thread changes."""

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recall import history
from recall.memory import Memory
from tests.factories import at, draft, ids, make_messages, make_thread
from threads import anchors
from threads.models import Anchor, Message, Resource, Thread

pytestmark = pytest.mark.django_db


@pytest.fixture
def short_stride(monkeypatch):
    monkeypatch.setattr(anchors, "STRIDE", 3)
    monkeypatch.setattr(history, "SEEK_FROM", 1)


def anchors_are_true():
    for anchor in Anchor.objects.all():
        before = [
            message
            for message in Message.objects.filter(thread_id=anchor.thread_id)
            if (message.created_at, message.position)
            < (anchor.created_at, anchor.position)
        ]
        if len(before) != anchor.ordinal:
            return False
    return True


steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("save"),
            st.lists(st.tuples(st.integers(0, 25), st.integers(0, 6)), max_size=9),
        ),
        st.tuples(st.just("move"), st.lists(st.integers(0, 25), max_size=5)),
        st.tuples(st.just("delete"), st.lists(st.integers(0, 25), max_size=6)),
        st.tuples(st.just("empty")),
    ),
    max_size=8,
)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps)
def test_anchors_follow_every_change(short_stride, taken):
    with transaction.atomic():
        for model in (Message, Thread, Resource):
            model.objects.all().delete()
        memory = Memory()
        make_thread("t1")
        make_thread("t2")
        for step in taken:
            if step[0] == "save":
                memory.save_messages(
                    [draft(f"m{n}", s) for n, s in step[1]], thread_id="t1"
                )
            elif step[0] == "move":
                memory.update_messages(
                    [{"id": f"m{n}", "threadId": "t2"} for n in step[1]]
                )
            elif step[0] == "delete":
                memory.delete_messages([f"m{n}" for n in step[1]])
            else:
                memory.delete_all_messages("t1")
            assert anchors_are_true()
        memory.clone_thread("t1", new_thread_id="c1")
        assert anchors_are_true()
        for thread in ("t1", "t2", "c1"):
            whole = ids(memory.recall(thread, per_page=False).messages)
            for direction, expected in (("ASC", whole), ("DESC", whole[::-1])):
                order = {"field": "createdAt", "direction": direction}
                for page in range(len(whole) // 2 + 2):
                    part = memory.recall(thread, per_page=2, page=page, order_by=order)
                    assert ids(part.messages) == expected[page * 2 : page * 2 + 2]


def test_a_long_thread_has_an_anchor_every_thousand_messages():
    make_messages([f"m{n:04d}" for n in range(5500)], step=0.001)
    placed = Anchor.objects.order_by("ordinal").values_list("ordinal", "created_at")
    assert list(placed) == [
        (n, at(1 + n / 1000)) for n in (1000, 2000, 3000, 4000, 5000)
    ]
    memory = Memory()
    memory.delete_messages(["m0000"])
    memory.save_messages([draft("early1", 0), draft("early2", 0)], thread_id="t1")
    assert list(placed.values_list("ordinal", flat=True)) == [
        1001,
        2001,
        3001,
        4001,
        5001,
    ]
    ascending = {"field": "createdAt", "direction": "ASC"}
    page = memory.recall("t1", per_page=2, page=1500, order_by=ascending)
    assert ids(page.messages) == ["m2999", "m3000"]
    assert ids(memory.recall("t1", per_page=2, page=1500).messages) == [
        "m2498",
        "m2499",
    ]
    memory.delete_thread("t1")
    assert not Anchor.objects.exists()


def test_a_page_in_the_middle_reads_no_more_than_a_stride():
    make_messages([f"m{n:04d}" for n in range(6000)], step=0.001)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE threads_message")

    def explained(execute, sql, params, many, context):
        if "AS page" in sql:
            execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params, many, context)
            plans.append(context["cursor"].fetchone()[0])
        return execute(sql, params, many, context)

    plans = []
    with connection.execute_wrapper(explained):
        Memory().recall("t1", per_page=20, page=150)
    (plan,) = plans
    assert most_rows(plan) <= anchors.STRIDE


def most_rows(plan):
    if isinstance(plan, list):
        return max(map(most_rows, plan), default=0)
    if isinstance(plan, dict):
        below = max(map(most_rows, plan.values()), default=0)
        return max(plan.get("Actual Rows", 0), below)
    return 0
