"""Numbers over HTTP: those of JavaScript, whichever way they are written and read."""

from __future__ import annotations

import json

import pytest

MEMORY = "/api/memory"
MESSAGES = f"{MEMORY}/threads/t1/messages"
AGENT = "?agentId=agent1"


def saved(api, number: bytes):
    body = (
        b'{"messages": [{"id": "n", "threadId": "t1", "resourceId": "res-a", '
        b'"role": "user", "content": {"format": 2, "parts": [], "metadata": {"n": '
        + number
        + b"}}}]}"
    )
    return api.post(f"{MEMORY}/save-messages{AGENT}", body)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (b"1e+21", 1e21),
        (b"100000000000000000000", 1e20),
        (b"-9223372036854775809", -(2.0**63)),
        (b"18446744073709551615", 2**64 - 1),
        (b"1e300", 1e300),
        (b"1" + b"0" * 300, 1e300),
    ],
)
def test_a_long_number_reads_the_same_everywhere_and_can_be_saved_back(
    api, thread, written, read
):
    assert saved(api, written).status_code == 200
    one = api.get(f"{MEMORY}/messages/n")
    listed = [m for m in api.get(MESSAGES).json()["messages"] if m["id"] == "n"]
    assert listed == [one.json()]
    number = one.json()["content"]["metadata"]["n"]
    assert (number, type(number)) == (read, type(read))
    assert len(one.content) < 500
    patched = api("PATCH", f"{MEMORY}/messages/n{AGENT}", {})
    assert patched.status_code == 200, patched.content
    assert patched.json()["content"] == one.json()["content"]
    again = api("PATCH", f"{MEMORY}/messages/n{AGENT}", {"content": number_of(one)})
    assert again.json()["content"] == one.json()["content"]


def number_of(reply):
    return {"metadata": reply.json()["content"]["metadata"]}


def test_a_long_number_in_the_metadata_of_a_thread(api, thread):
    address = f"{MEMORY}/threads/t1"
    body = b'{"metadata": {"n": 100000000000000000000}}'
    assert api("PATCH", address + AGENT, body).json()["metadata"]["n"] == 1e20
    shown = api.get(address).json()["metadata"]["n"]
    assert (shown, type(shown)) == (1e20, float)
    found = api.get(f'{MEMORY}/threads?metadata={{"n":1e20}}').json()
    assert [t["id"] for t in found["threads"]] == ["t1"]


def test_a_number_that_no_float_holds_is_refused_by_name(api, thread):
    refused = saved(api, b"1" + b"0" * 400)
    assert refused.status_code == 400
    assert [i["field"] for i in refused.json()["issues"]] == [
        "messages.0.content.metadata.n"
    ]
    assert api.get(f"{MEMORY}/messages/n").status_code == 404
    assert json.dumps(api.get(MESSAGES).json()).count('"id"') == 5
