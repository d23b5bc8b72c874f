"""How many statements the verbs take, and that none reads the whole table."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from recall.memory import Memory
from tests.factories import at, draft, make_messages, make_thread

pytestmark = pytest.mark.django_db

ESCALATED = {"metadata": {"escalated": True}}
FIFTY = [
    {"id": f"m{n:04d}", "withPreviousMessages": 2, "withNextMessages": 2}
    for n in range(0, 500, 10)
]


@pytest.fixture
def memory():
    make_thread("other", "res-b")
    make_messages([f"m{n:04d}" for n in range(600)])
    return Memory()


@pytest.mark.parametrize(
    ("arguments", "statements"),
    [
        ({}, 1),
        ({"per_page": 0}, 1),
        ({"per_page": False}, 1),
        ({"include": FIFTY}, 2),
        ({"per_page": 0, "include": FIFTY}, 2),
        ({"include": FIFTY, "filter": ESCALATED}, 3),
        ({"filter": {"date_range": {"start": at(5)}}, "include": FIFTY}, 3),
        ({"page": 40}, 1),
    ],
)
def test_statements_of_a_recall(
    memory, django_assert_num_queries, arguments, statements
):
    with django_assert_num_queries(statements):
        result = memory.recall("t1", "res-a", **arguments)
        for message in result.messages:
            assert (message.content["format"], message.thread_id) == (2, "t1")
    with django_assert_num_queries(statements):
        memory.recall("t1", **arguments)


def test_statements_of_lists(memory, django_assert_num_queries):
    for n in range(30):
        make_thread(f"x{n}", metadata={"n": n})
    with django_assert_num_queries(1):
        page = memory.list_threads(filter={"resource_id": "res-a"}, per_page=20)
        assert [thread.metadata.get("n") for thread in page.threads] == list(
            range(29, 9, -1)
        )
    with django_assert_num_queries(1):
        assert memory.list_threads(per_page=False).total == 32
    with django_assert_num_queries(1):
        assert len(memory.get_clone_history("t1")) == 1
    with django_assert_num_queries(2):
        memory.recall_by_resource("res-a", per_page=5)


def test_statements_of_a_save_do_not_grow(memory):
    counts = []
    for size in (1, 700):
        batch = [draft(f"new{size}-{n}") for n in range(size)]
        with CaptureQueriesContext(
            connection,
        ) as queries:
            memory.save_messages(batch, thread_id="t1")
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 5


def test_statements_of_a_clone_do_not_grow(memory):
    make_messages(["one"], "short")
    counts = []
    for source in ("short", "t1"):
        with CaptureQueriesContext(connection) as queries:
            memory.clone_thread(source)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 14


@pytest.fixture
def big_table():
    """Sixty thousand messages in 3,000 threads, and one thread of 3,000."""
    make_messages([f"m{n:04d}" for n in range(3000)], metadata={"escalated": False})
    Memory().update_messages(
        [
            {"id": f"m{n:04d}", "content": {"metadata": {"escalated": True}}}
            for n in (7, 2007)
        ]
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO threads_thread (id, resource_id, title, title_source, metadata, "
            "created_at, updated_at, message_count, revision) "
            "SELECT 'o' || n, 'res-a', '', 'none', '{}', now(), now(), 20, 1 "
            "FROM generate_series(1, 3000) AS n"
        )
        cursor.execute(
            "INSERT INTO threads_message (id, thread_id, resource_id, role, type, content, "
            "text, created_at, updated_at) "
            "SELECT 'o' || n || '-' || k, 'o' || n, 'res-a', 'user', '', "
            """'{"format": 2, "parts": [], "metadata": {"escalated": true}}', '', """
            "timestamptz '2025-01-01' + k * interval '1 second', now() "
            "FROM generate_series(1, 3000) AS n, generate_series(1, 20) AS k"
        )
        cursor.execute("ANALYZE threads_message")
        cursor.execute("ANALYZE threads_thread")


def plans(call):
    """The plans of every statement that ``call`` runs on messages."""
    seen = []

    def explain(execute, sql, params, many, context):
        if "threads_message" in sql and not many:
            execute(f"EXPLAIN (FORMAT JSON) {sql}", params, many, context)
            plan = context["cursor"].fetchone()[0]
            seen.append(json.loads(plan) if isinstance(plan, str) else plan)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        call()
    assert seen
    return seen


def nodes(plan):
    if isinstance(plan, list):
        for part in plan:
            yield from nodes(part)
    elif isinstance(plan, dict):
        yield plan
        for part in plan.values():
            yield from nodes(part)


def test_no_verb_reads_all_messages(big_table):
    memory = Memory()
    asc = {"field": "createdAt", "direction": "ASC"}
    calls = {
        "last": lambda: memory.recall("t1"),
        "middle": lambda: memory.recall("t1", per_page=20, page=75, order_by=asc),
        "deep": lambda: memory.recall("t1", per_page=20, page=140, order_by=asc),
        "metadata": lambda: memory.recall("t1", filter=ESCALATED),
        "dates": lambda: memory.recall(
            "t1", filter={"date_range": {"start": at(500), "end": at(700)}}
        ),
        "include": lambda: memory.recall("t1", per_page=0, include=FIFTY),
        "several": lambda: memory.recall(["t1", "o1", "o2"]),
        "save": lambda: memory.save_messages(
            [draft("m0001"), draft("new")], thread_id="t1"
        ),
        "update": lambda: memory.update_messages(
            [{"id": "m0002", "role": "assistant"}]
        ),
        "clone": lambda: memory.clone_thread("t1"),
        "delete": lambda: memory.delete_messages(["m0003", "m0004"]),
    }
    for name, call in calls.items():
        for plan in plans(call):
            for node in nodes(plan):
                assert not (
                    node.get("Node Type") == "Seq Scan"
                    and node.get("Relation Name") == "threads_message"
                ), name


def test_metadata_of_a_thread_is_answered_by_its_own_index(big_table):
    (page, *_) = plans(lambda: Memory().recall("t1", per_page=5, filter=ESCALATED))
    assert "message_facets" in {node.get("Index Name") for node in nodes(page)}
    assert Memory().recall("t1", filter=ESCALATED).total == 2
