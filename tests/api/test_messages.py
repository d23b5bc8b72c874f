"""Messages over HTTP, as the wire contract has them."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from tests.api.conftest import message

MEMORY = "/api/memory"
MESSAGES = f"{MEMORY}/threads/t1/messages"


def ids(reply) -> list[str]:
    assert reply.status_code == 200, reply.content
    return [m["id"] for m in reply.json()["messages"]]


def query(**given) -> str:
    return "?" + "&".join(
        f"{name}={quote(value if isinstance(value, str) else json.dumps(value))}"
        for name, value in given.items()
    )


def test_list_envelope_and_message_shape(api, thread):
    shown = api.get(MESSAGES).json()
    assert {k: v for k, v in shown.items() if k != "messages"} == {
        "total": 5,
        "page": 0,
        "perPage": 40,
        "hasMore": False,
        "uiMessages": None,
    }
    assert shown["messages"][0] == {
        "id": "m1",
        "role": "user",
        "createdAt": "2024-01-01T00:00:01.000Z",
        "threadId": "t1",
        "resourceId": "res-a",
        "content": {"format": 2, "parts": [{"type": "text", "text": "number 1"}]},
    }


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("?perPage=2", ["m4", "m5"]),
        ("?perPage=2&page=1", ["m2", "m3"]),
        (
            query(perPage=2, orderBy={"field": "createdAt", "direction": "ASC"}),
            ["m1", "m2"],
        ),
        (
            query(perPage=2, orderBy={"field": "createdAt", "direction": "DESC"}),
            ["m5", "m4"],
        ),
        ("?perPage=2&orderBy=createdAt", ["m4", "m5"]),
        ("?perPage=0", []),
        (
            query(perPage=0, include=[{"id": "m3", "withPreviousMessages": 1}]),
            ["m2", "m3"],
        ),
        (
            query(
                filter={
                    "dateRange": {
                        "start": "2024-01-01T00:00:03Z",
                        "end": "2024-01-01T00:00:05Z",
                        "endExclusive": True,
                    }
                }
            ),
            ["m3", "m4"],
        ),
        (query(filter={"roles": ["assistant"]}), []),
    ],
)
def test_pages_orders_filters_and_includes(api, thread, asked, found):
    assert ids(api.get(MESSAGES + asked)) == found


def test_per_page_false_streams_everything(api, thread):
    reply = api.get(f"{MESSAGES}?perPage=false")
    assert reply.streaming
    shown = json.loads(b"".join(reply))
    assert [m["id"] for m in shown["messages"]] == ["m1", "m2", "m3", "m4", "m5"]
    assert {k: v for k, v in shown.items() if k != "messages"} == {
        "total": 5,
        "page": 0,
        "perPage": False,
        "hasMore": False,
        "uiMessages": None,
    }
    assert api.get(f"{MEMORY}/threads/nope/messages?perPage=false").status_code == 404


def test_per_page_false_of_an_empty_thread_is_an_empty_list(api):
    api.post(
        f"{MEMORY}/threads?agentId=agent1", {"resourceId": "res-a", "threadId": "e"}
    )
    reply = api.get(f"{MEMORY}/threads/e/messages?perPage=false")
    assert json.loads(b"".join(reply))["messages"] == []
    assert ids(api.get(f"{MEMORY}/threads/e/messages")) == []


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ('?orderBy={"field":"password"}', "orderBy.field"),
        ("?filter=xx", "filter"),
        ('?filter={"metadata":{"a-b":1}}', "filter.metadata.a-b"),
        ('?filter={"dateRange":{"start":"garbage"}}', "filter.dateRange.start"),
        ('?filter={"unknown":1}', "filter.unknown"),
        ('?filter={"roles":"user"}', "filter.roles"),
        ('?include={"id":"m1"}', "include"),
        ('?include=[{"id":5}]', "include.0.id"),
        ("?includeSystemReminders=yes", "includeSystemReminders"),
        ("?perPage=-1", "perPage"),
        ('?vectorSearchString=x&semanticRecall={"topK":0}', "semanticRecall.topK"),
    ],
)
def test_wrong_parameters_name_the_field(api, thread, asked, field):
    reply = api.get(MESSAGES + asked)
    assert reply.status_code == 400, reply.content
    assert reply.json()["error"] == "Invalid query parameters"
    assert [issue["field"] for issue in reply.json()["issues"]] == [field]


def test_search_string_brings_hits_with_reasons(api, thread):
    reply = api.get(f"{MESSAGES}?perPage=0&vectorSearchString=number+3")
    assert reply.status_code == 200, reply.content
    shown = reply.json()
    assert "m3" in [hit["messageId"] for hit in shown["hits"]]
    assert {"messageId", "threadId", "score", "why", "legs"} <= set(shown["hits"][0])
    assert shown["total"] == 5


def test_save_accepts_the_forms_that_clients_send(api, thread):
    saved = api.post(
        f"{MEMORY}/save-messages?agentId=agent1",
        {
            "agentId": "agent1",
            "messages": [
                {
                    "role": "user",
                    "content": "plain",
                    "threadId": "t1",
                    "resourceId": "res-a",
                },
                {
                    "role": "assistant",
                    "content": [{"type": "text", "text": "core"}],
                    "threadId": "t1",
                    "resourceId": "res-a",
                    "type": "text",
                },
            ],
        },
    )
    assert saved.status_code == 200, saved.content
    plain, core = saved.json()["messages"]
    assert plain["content"]["parts"][0]["text"] == "plain"
    assert (core["type"], core["content"]["format"]) == ("text", 2)
    assert api.post(
        f"{MEMORY}/save-messages?agentId=agent1", {"messages": []}
    ).json() == {"messages": []}


@pytest.mark.parametrize(
    ("messages", "status", "error"),
    [
        (
            [{"role": "user", "content": "x", "resourceId": "res-a"}],
            400,
            "All messages must have threadId and resourceId fields. Found 1 invalid message(s).",
        ),
        (
            [message("x1", "a"), message("x2", "b", resourceId="res-b")],
            400,
            "All messages for the same threadId must use the same resourceId.",
        ),
        (
            [message("x1", "a"), message("x2", "b", threadId="tb", resourceId="res-a")],
            403,
            "Access denied: thread belongs to a different resource",
        ),
        ([message("x1", "a", threadId="nope")], 404, "Thread not found"),
        ([message("x1", "a"), message("x2", "b", createdAt="garbage")], 400, None),
        ([message("x1", "a"), "text"], 400, None),
        ([message("x1", "a"), message("x2", "a", role="robot")], 400, None),
        ([message("x1", "a"), message(12, "a")], 400, None),
        ("x", 400, "Invalid request body"),
    ],
)
def test_a_refused_batch_stores_nothing(api, thread, messages, status, error):
    api.post(
        f"{MEMORY}/threads?agentId=agent1", {"resourceId": "res-b", "threadId": "tb"}
    )
    reply = api.post(f"{MEMORY}/save-messages?agentId=agent1", {"messages": messages})
    assert reply.status_code == status, reply.content
    if error:
        assert reply.json()["error"] == error
    assert ids(api.get(MESSAGES)) == ["m1", "m2", "m3", "m4", "m5"]


def test_half_surrogates_and_nul_are_stored_replaced(api, thread):
    raw = (
        b'{"messages":[{"id":"odd","threadId":"t1","resourceId":"res-a","role":"user",'
        b'"content":{"format":2,"parts":[{"type":"text","text":"ok \\ud83d \\u0000"}],'
        b'"metadata":{"k":"\\udc00"}}}]}'
    )
    assert api.post(f"{MEMORY}/save-messages?agentId=agent1", raw).status_code == 200
    shown = api.get(f"{MEMORY}/messages/odd").json()
    assert shown["content"]["parts"][0]["text"] == "ok \ufffd \ufffd"
    assert shown["content"]["metadata"] == {"k": "\ufffd"}
    assert api.get(f"{MEMORY}/threads?resourceId=res-a").status_code == 200


def test_a_message_with_a_number_beyond_every_float_is_refused(api, thread):
    number = 10**400
    saved = message("big", "x")
    saved["content"]["metadata"] = {"n": number}
    reply = api.post(f"{MEMORY}/save-messages?agentId=agent1", {"messages": [saved]})
    assert reply.status_code == 400
    assert reply.json()["issues"][0]["field"] == "messages.0.content.metadata.n"
    assert api.get(f"{MEMORY}/messages/big").status_code == 404


@pytest.mark.parametrize(
    ("given", "count", "left"),
    [
        ("m1", "1 message", ["m2", "m3", "m4", "m5"]),
        (["m1", "m2"], "2 messages", ["m3", "m4", "m5"]),
        ({"id": "m1"}, "1 message", ["m2", "m3", "m4", "m5"]),
        ([{"id": "m1"}, "unknown"], "2 messages", ["m2", "m3", "m4", "m5"]),
        ([], "0 messages", ["m1", "m2", "m3", "m4", "m5"]),
    ],
)
def test_delete_takes_every_form_of_ids(api, thread, given, count, left):
    reply = api.post(f"{MEMORY}/messages/delete?agentId=agent1", {"messageIds": given})
    assert reply.json() == {"success": True, "message": f"{count} deleted successfully"}
    assert ids(api.get(MESSAGES)) == left


@pytest.mark.parametrize(
    "given", [5, None, [None], [{"id": 5}], {"x": "m1"}, [["m1"]], ""]
)
def test_delete_refuses_other_shapes(api, thread, given):
    reply = api.post(f"{MEMORY}/messages/delete?agentId=agent1", {"messageIds": given})
    assert reply.status_code == 400
    assert reply.json() == {
        "error": "Invalid request body",
        "issues": [{"field": "messageIds", "message": "Invalid input"}],
    }
    assert len(ids(api.get(MESSAGES))) == 5


def test_delete_asserts_the_owner(api, thread):
    reply = api.post(
        f"{MEMORY}/messages/delete?agentId=agent1&resourceId=res-b",
        {"messageIds": "m1"},
    )
    assert reply.status_code == 403
    assert len(ids(api.get(MESSAGES))) == 5


def test_one_message_is_read_changed_and_deleted(api, thread):
    path = f"{MEMORY}/messages/m2"
    changed = api("PATCH", path, {"content": {"metadata": {"seen": True}}})
    assert changed.status_code == 200, changed.content
    assert changed.json()["content"]["metadata"] == {"seen": True}
    assert changed.json()["content"]["parts"] == [{"type": "text", "text": "number 2"}]
    assert api.get(path).json() == changed.json()
    assert api.get(f"{path}?resourceId=res-b").status_code == 403
    assert api("DELETE", path).json() == {"result": "Message deleted"}
    for method in ("GET", "DELETE"):
        missing = api(method, path)
        assert (missing.status_code, missing.json()) == (
            404,
            {"error": "Message not found"},
        )


@pytest.mark.parametrize("version", ["v4", "v5", "v6", "v7"])
def test_ui_messages_in_every_format(api, thread, version):
    shown = api.get(f"{MEMORY}/threads/t1/ui-messages?format=ai-sdk-{version}").json()
    assert [m["id"] for m in shown["messages"]] == ["m1", "m2", "m3", "m4", "m5"]
    assert shown["messages"][0]["parts"] == [{"type": "text", "text": "number 1"}]
    assert shown["format"] == f"ai-sdk-{version}"


def test_ui_messages_refuse_an_unknown_format(api, thread):
    reply = api.get(f"{MEMORY}/threads/t1/ui-messages?format=ai-sdk-v99")
    assert reply.status_code == 400
    assert reply.json()["issues"][0]["field"] == "format"


def test_export_is_the_thread_with_all_its_messages(api, thread):
    reply = api.get(f"{MEMORY}/threads/t1/export")
    shown = json.loads(b"".join(reply))
    assert shown["thread"]["id"] == "t1"
    assert [m["id"] for m in shown["messages"]] == ["m1", "m2", "m3", "m4", "m5"]
    assert reply["Content-Disposition"].startswith("attachment")


def test_clone_answers_thread_map_and_copies(api, thread):
    reply = api.post(
        f"{MEMORY}/threads/t1/clone?agentId=agent1",
        {"newThreadId": "c1", "metadata": {"x": 1}, "options": {"messageLimit": 2}},
    )
    assert reply.status_code == 200, reply.content
    shown = reply.json()
    assert set(shown) == {"thread", "messageIdMap", "clonedMessages"}
    assert shown["thread"]["title"] == "Clone of T1"
    assert shown["thread"]["metadata"]["clone"]["sourceThreadId"] == "t1"
    assert list(shown["messageIdMap"]) == ["m4", "m5"]
    assert [m["createdAt"] for m in shown["clonedMessages"]] == [
        "2024-01-01T00:00:04.000Z",
        "2024-01-01T00:00:05.000Z",
    ]
    taken = api.post(f"{MEMORY}/threads/t1/clone?agentId=agent1", {"newThreadId": "c1"})
    assert taken.status_code == 409
    assert api.get(f"{MEMORY}/threads/t1/clones").json()["clones"][0]["id"] == "c1"
    line = api.get(f"{MEMORY}/threads/c1/clone-history").json()["history"]
    assert [t["id"] for t in line] == ["t1", "c1"]
    assert api.get(f"{MEMORY}/threads/c1/source").json()["source"]["id"] == "t1"
    assert api.get(f"{MEMORY}/threads/t1/source").json() == {"source": None}


def test_clone_without_a_body_copies_everything(api, thread):
    reply = api.post(f"{MEMORY}/threads/t1/clone?agentId=agent1")
    assert len(reply.json()["clonedMessages"]) == 5


def test_network_aliases_reach_the_same_views(api, thread):
    assert (
        len(ids(api.get(f"{MEMORY}/network/threads/t1/messages?networkId=net1"))) == 5
    )
    gone = api("DELETE", f"{MEMORY}/network/threads/t1?networkId=agent1")
    assert gone.json() == {"result": "Thread deleted"}


def test_search_answers_results_with_their_surroundings(api, thread):
    reply = api.get(
        f"{MEMORY}/search?agentId=agent1&resourceId=res-a&searchQuery=number+3"
        '&memoryConfig={"lastMessages":0}'
    )
    assert reply.status_code == 200, reply.content
    shown = reply.json()
    assert (shown["query"], shown["searchScope"], shown["searchType"]) == (
        "number 3",
        "resource",
        "semantic",
    )
    assert shown["count"] == len(shown["results"])
    (found,) = (r for r in shown["results"] if r["id"] == "m3")
    assert found["threadTitle"] == "T1"
    assert [m["id"] for m in found["context"]["before"]] == ["m2"]
    assert [m["id"] for m in found["context"]["after"]] == ["m4"]
    assert found["context"]["before"][0] == {
        "id": "m2",
        "role": "user",
        "content": "number 2",
        "createdAt": "2024-01-01T00:00:02.000Z",
    }


def test_search_without_semantic_recall_shows_the_latest_messages(api, thread):
    reply = api.get(
        f"{MEMORY}/search?agentId=agentPlain&resourceId=res-a&searchQuery=x&limit=2"
    ).json()
    assert [r["id"] for r in reply["results"]] == ["m5", "m4"]
    assert reply["searchType"] == "text"


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ("", 400),
        ("&searchQuery=&resourceId=res-a", 400),
        ("&searchQuery=x&resourceId=res-a&limit=abc", 400),
        ("&searchQuery=x&resourceId=res-b&threadId=t1", 403),
    ],
)
def test_search_refuses_what_is_missing_or_foreign(api, thread, given, status):
    assert api.get(f"{MEMORY}/search?agentId=agent1{given}").status_code == status


def test_resources_are_listed_read_and_merged(api, thread):
    api.post(f"{MEMORY}/threads?agentId=agent1", {"resourceId": "org-1/bob"})
    shown = api.get(f"{MEMORY}/resources").json()
    assert [r["id"] for r in shown["resources"]] == ["org-1/bob", "res-a"]
    assert (shown["total"], shown["hasMore"]) == (2, False)
    path = f"{MEMORY}/resources/org-1/bob"
    assert api("PATCH", path, {"metadata": {"a": 1}}).json()["metadata"] == {"a": 1}
    assert api("PATCH", path, {"metadata": {"b": 2}}).json()["metadata"] == {
        "a": 1,
        "b": 2,
    }
    assert api.get(path).json()["id"] == "org-1/bob"
    assert api("DELETE", path).json() == {"result": "Resource deleted"}
    missing = api.get(path)
    assert (missing.status_code, missing.json()) == (
        404,
        {"error": "Resource not found"},
    )
