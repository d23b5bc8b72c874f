"""Whatever is sent in whichever field: a refusal or an answer, never a 5xx."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from recall.api.examples import EXAMPLES
from threads.api.openapi import document

DOCUMENT = json.loads(document())
IDS = {"thread_id": "t1", "message_id": "m1", "resource_id": "res-a"}
VALUES: list[Any] = [
    None, True, 0, -1, 1.5, 10**40, 1e308, -(2**63) - 1, "", " ", "\x00", "\ud83d", "x" * 70_000,
    "../../etc", "%00", "' OR 1=1 --", "{{7*7}}", [], [None], [[[]]], {}, {"": 1}, {"a": {"b": [1]}},
    {"id": 5}, {"$ne": 1}, {"__proto__": 1}, ["x"] * 300,
]  # fmt: skip
TEXTS = [
    "", " ", "\x00", "null", "undefined", "NaN", "-1", "1e9", "9" * 40, "[object Object]", "{", "[]", "{}",
    '{"a":{"b":1}}', '{"field":5}', '{"field":"createdAt","direction":1}', "[1]", '[{"id":null}]',
    '{"dateRange":{"start":5}}', '{"dateRange":{"start":"0000-00-00"}}', '{"dateRange":{"end":"+9999-01-01"}}',
    '{"metadata":{"":1}}', '{"metadata":{"a":1e400}}', '{"metadata":{"a":"\\ud800"}}', '{"roles":[5]}',
    '{"semanticRecall":{"topK":-1}}', '{"workingMemory":{"scope":5}}', "[" * 100, "é" * 5000, "%", "\ud83d",
]  # fmt: skip

OPERATIONS = [
    (path, method, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if "memory" in operation["tags"]
]
NAMES = [operation["operationId"] for _, _, operation in OPERATIONS]


def address(path: str) -> str:
    for name, known in IDS.items():
        path = path.replace(f"{{{name}}}", known)
    return path


def as_text(value: str) -> str:
    return quote(value.encode("utf-8", "surrogatepass"), safe="")


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS, ids=NAMES)
def test_no_query_parameter_breaks_the_server(api, thread, path, method, operation):
    for parameter in operation.get("parameters", ()):
        if parameter["in"] != "query":
            continue
        for text in TEXTS:
            query = f"agentId=agent1&{parameter['name']}={as_text(text)}"
            reply = api(method.upper(), f"{address(path)}?{query}")
            assert reply.status_code < 500, (query, b"".join(reply))
        nested = f"{address(path)}?agentId=agent1&{parameter['name']}[a]=1"
        assert api(method.upper(), nested).status_code < 500, nested


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS, ids=NAMES)
def test_no_body_breaks_the_server(api, thread, path, method, operation):
    sent, _ = EXAMPLES[operation["operationId"]]
    if sent is None:
        sent = {}
    bodies = [{**sent, name: value} for name in sent for value in VALUES] + VALUES
    bodies += [
        {**sent, "options": {"messageLimit": v, "messageFilter": v}} for v in VALUES
    ]
    url = f"{address(path)}?agentId=agent1"
    for body in bodies:
        reply = api(method.upper(), url, body)
        assert reply.status_code < 500, (body, b"".join(reply))
    for raw in (b"{", b"\xff\xfe", b'{"a":1,"a":2}', b"[" * 500, b"\xef\xbb\xbf{}"):
        reply = api(method.upper(), url, raw)
        assert reply.status_code < 500, raw


MESSAGE_FIELDS = [
    "id",
    "role",
    "content",
    "createdAt",
    "threadId",
    "resourceId",
    "type",
]


@pytest.mark.parametrize("field", MESSAGE_FIELDS)
def test_no_member_of_a_message_breaks_saving(api, thread, field):
    plain = {"role": "user", "content": "x", "threadId": "t1", "resourceId": "res-a"}
    values = [
        *VALUES,
        {"format": 2},
        {"parts": [{"type": 5}]},
        {"format": 2, "parts": {}},
    ]
    for value in values:
        body = {"messages": [{**plain, field: value}]}
        reply = api.post("/api/memory/save-messages?agentId=agent1", body)
        assert reply.status_code < 500, (value, reply.content)
        listed = api.get("/api/memory/threads/t1/messages?perPage=5")
        assert listed.status_code == 200


@pytest.mark.parametrize(
    "thread_id", ["%00", "%ff", "%ED%A0%BD", "a" * 3000, "%2e%2e", "%0a"]
)
@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_no_id_in_an_address_breaks_the_server(api, thread_id, method):
    body = {"title": "x"} if method == "PATCH" else None
    reply = api(method, f"/api/memory/threads/{thread_id}?agentId=agent1", body)
    assert reply.status_code in (400, 404)


def test_a_thousand_parameters_are_refused(api):
    query = "&".join(f"a{n}=1" for n in range(2000))
    assert api.get(f"/api/memory/threads?{query}").status_code == 400
