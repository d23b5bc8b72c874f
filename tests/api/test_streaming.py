"""Long lists leave in pieces, on the event loop as well."""

from __future__ import annotations

import json

import httpx
import pytest
from django.db import connection

from recall.api.streaming import BATCH, streamed_list
from tests.clients.conftest import live  # noqa: F401 - a fixture
from threads.models import Message, Resource, Thread

SIZE = 3_000


@pytest.fixture
def long_thread() -> None:
    Resource.objects.create(id="res-a")
    Thread.objects.create(id="long", resource_id="res-a", message_count=SIZE)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {Message._meta.db_table} (id, thread_id, resource_id, role, "
            "type, content, text, created_at, updated_at) "
            "SELECT 'm' || n, 'long', 'res-a', 'user', '', "
            "'{\"format\": 2, \"parts\": []}', '', now(), now() "
            "FROM generate_series(1, %s) AS n",
            [SIZE],
        )


def test_rows_are_read_a_batch_ahead_and_no_more():
    taken = []

    def rows():
        for number in range(10 * BATCH):
            taken.append(number)
            yield {"n": number}

    pieces = iter(streamed_list("rows", rows(), extra=None))
    assert len(taken) == BATCH
    next(pieces)
    next(pieces)
    assert len(taken) == 2 * BATCH


def test_a_long_thread_is_streamed_whole_by_a_live_server(live, long_thread):  # noqa: F811
    url = f"{live}/api/memory/threads/long/messages?perPage=false"
    with httpx.stream("GET", url) as reply:
        assert reply.status_code == 200
        assert "content-length" not in reply.headers
        pieces = list(reply.iter_raw())
    assert len(pieces) > 1
    shown = json.loads(b"".join(pieces))
    assert [m["id"] for m in shown["messages"]] == [f"m{n}" for n in range(1, SIZE + 1)]
    assert (shown["total"], shown["hasMore"]) == (SIZE, False)
