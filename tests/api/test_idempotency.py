"""One effect for one ``Idempotency-Key``, however often it comes."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections
from django.test import Client
from django.utils import timezone

from threads.models import IdempotentReply, Message, Thread

CREATE = "/api/memory/threads?agentId=agent1"
SAVE = "/api/memory/save-messages?agentId=agent1"


def test_a_repetition_gets_the_first_reply_and_has_no_effect(api):
    first = api.post(CREATE, {"resourceId": "res-a"}, Idempotency_Key="k1")
    again = api.post(CREATE, {"resourceId": "res-a"}, Idempotency_Key="k1")
    assert (again.status_code, again.content) == (200, first.content)
    assert again["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first
    assert Thread.objects.count() == 1


def test_the_same_key_with_another_body_is_a_conflict(api):
    api.post(CREATE, {"resourceId": "res-a"}, Idempotency_Key="k1")
    reply = api.post(CREATE, {"resourceId": "res-b"}, Idempotency_Key="k1")
    assert reply.status_code == 409
    assert Thread.objects.count() == 1


def test_keys_belong_to_their_caller_and_address(api, key_for):
    body = {"resourceId": "res-a", "threadId": "t1"}
    api.post(CREATE, body, Idempotency_Key="k1")
    other = key_for("res-a").post(CREATE, body, Idempotency_Key="k1")
    assert "Idempotent-Replayed" not in other
    archived = api.post("/api/memory/threads/t1/archive", Idempotency_Key="k1")
    assert archived.status_code == 200


def test_a_refused_request_leaves_its_key_free(api):
    save = {
        "messages": [
            {"role": "user", "content": "x", "threadId": "t1", "resourceId": "res-a"}
        ]
    }
    assert api.post(SAVE, save, Idempotency_Key="k1").status_code == 404
    assert not IdempotentReply.objects.exists()
    api.post(CREATE, {"resourceId": "res-a", "threadId": "t1"})
    assert api.post(SAVE, save, Idempotency_Key="k1").status_code == 200
    assert Message.objects.count() == 1


@pytest.mark.parametrize("key", ["", "x" * 256, "a\x07b"])
def test_a_key_that_is_none_is_refused(api, key):
    reply = api.post(CREATE, {"resourceId": "res-a"}, Idempotency_Key=key)
    assert reply.status_code == 400
    assert reply.json()["issues"][0]["field"] == "Idempotency-Key"
    assert not Thread.objects.exists()


def test_a_day_later_the_key_is_free_again(api):
    api.post(CREATE, {"resourceId": "res-a"}, Idempotency_Key="k1")
    IdempotentReply.objects.update(created_at=timezone.now() - timedelta(hours=25))
    api.post(CREATE, {"resourceId": "res-a"}, Idempotency_Key="k1")
    assert Thread.objects.count() == 2


def test_addresses_of_any_length_are_told_apart(api):
    long = "é" * 200
    for name in (long + "a", long + "b"):
        api.post(CREATE, {"resourceId": "res-a", "threadId": name})
        reply = api.post(f"/api/memory/threads/{name}/archive", Idempotency_Key="k1")
        assert reply.json()["id"] == name


@pytest.mark.django_db(transaction=True)
def test_a_hundred_requests_at_once_have_one_effect_and_equal_replies():
    body = json.dumps({"resourceId": "res-a", "title": "once"})

    def request(_: int) -> tuple[int, bytes]:
        try:
            reply = Client().post(
                CREATE,
                body,
                content_type="application/json",
                headers={"Idempotency-Key": "k1"},
            )
            return reply.status_code, reply.content
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        replies = set(pool.map(request, range(100)))
    assert len(replies) == 1
    assert next(iter(replies))[0] == 200
    assert Thread.objects.count() == 1
