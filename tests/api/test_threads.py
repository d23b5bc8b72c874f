"""Threads over HTTP, as the wire contract has them."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import pytest

from tests.api.conftest import Api

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")
THREADS = "/api/memory/threads"


def create(api: Api, thread_id: str, resource_id: str = "res-a", **fields) -> dict:
    reply = api.post(
        f"{THREADS}?agentId=agent1",
        {"resourceId": resource_id, "threadId": thread_id, **fields},
    )
    assert reply.status_code == 200, reply.content
    return reply.json()


def test_create_answers_the_thread_without_metadata_when_there_is_none(api):
    reply = api.post(f"{THREADS}?agentId=agent1", {"resourceId": "res-a"})
    assert reply.status_code == 200
    shown = reply.json()
    assert set(shown) == {"id", "resourceId", "title", "createdAt", "updatedAt"}
    assert shown["title"] == ""
    assert ISO.match(shown["createdAt"])
    assert reply["Content-Type"] == "application/json"


def test_get_shows_null_for_no_metadata_and_its_revision_as_etag(api):
    create(api, "t1")
    reply = api.get(f"{THREADS}/t1")
    assert reply.json()["metadata"] is None
    assert reply["ETag"] == '"1"'


def test_create_again_merges_and_another_resource_is_refused(api):
    create(api, "t1", title="First", metadata={"a": 1})
    again = create(api, "t1", metadata={"b": 2})
    assert again["title"] == "First"
    assert again["metadata"] == {"a": 1, "b": 2}
    taken = api.post(
        f"{THREADS}?agentId=agent1",
        {"resourceId": "res-b", "threadId": "t1", "title": "mine"},
    )
    assert taken.status_code == 403
    assert taken.json()["error"].startswith("Access denied")
    assert api.get(f"{THREADS}/t1").json()["resourceId"] == "res-a"


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({}, "resourceId", "Invalid input: expected string, received undefined"),
        (
            {"resourceId": 5},
            "resourceId",
            "Invalid input: expected string, received number",
        ),
        (
            {"resourceId": "r", "title": None},
            "title",
            "Invalid input: expected string, received null",
        ),
        (
            {"resourceId": "r", "metadata": []},
            "metadata",
            "Invalid input: expected record, received array",
        ),
        ([], "root", "Invalid input: expected object, received array"),
    ],
)
def test_a_body_of_wrong_types_names_the_field(api, body, field, message):
    reply = api.post(f"{THREADS}?agentId=agent1", body)
    assert reply.status_code == 400
    assert reply.json() == {
        "error": "Invalid request body",
        "issues": [{"field": field, "message": message}],
    }
    assert api.get(THREADS).json()["total"] == 0


def test_the_agent_must_be_named_known_and_have_a_memory(api):
    body = {"resourceId": "res-a"}
    unnamed = api.post(THREADS, body)
    assert unnamed.status_code == 400
    assert unnamed.json()["issues"][0]["field"] == "agentId"
    unknown = api.post(f"{THREADS}?agentId=nope", body)
    assert (unknown.status_code, unknown.json()) == (404, {"error": "Agent not found"})
    without = api.post(f"{THREADS}?agentId=agentNoMem", body)
    assert without.status_code == 400
    assert without.json() == {"error": "Memory is not initialized"}
    empty = api.post(f"{THREADS}?agentId=agent1", {"resourceId": ""})
    assert empty.status_code == 400
    assert empty.json()["error"] == 'Argument "resourceId" is required'
    assert api.get(THREADS).json()["total"] == 0


def test_reads_with_an_unknown_agent_show_the_plain_storage(api):
    create(api, "t1")
    assert api.get(f"{THREADS}/t1?agentId=nope").json()["id"] == "t1"


@pytest.mark.parametrize(
    "thread_id", ["a b", "é", "日本", "100%", "a+b", "x:y;z", "a&b"]
)
def test_any_id_without_slash_question_mark_or_hash_has_an_address(api, thread_id):
    create(api, thread_id)
    path = f"{THREADS}/{quote(thread_id)}"
    assert api.get(path).json()["id"] == thread_id
    assert api("DELETE", f"{path}?agentId=agent1").status_code == 200


def test_wrong_resource_is_forbidden_and_missing_thread_not_found(api):
    create(api, "t1")
    for method, path, body in [
        ("GET", f"{THREADS}/t1?resourceId=res-b", None),
        (
            "PATCH",
            f"{THREADS}/t1?agentId=agent1",
            {"title": "x", "resourceId": "res-b"},
        ),
        ("DELETE", f"{THREADS}/t1?agentId=agent1&resourceId=res-b", None),
        ("POST", f"{THREADS}/t1/clone?agentId=agent1", {"resourceId": "res-b"}),
        ("GET", f"{THREADS}/t1/messages?resourceId=res-b", None),
        ("POST", f"{THREADS}/t1/archive?resourceId=res-b", None),
    ]:
        reply = api(method, path, body)
        assert reply.status_code == 403, path
        assert reply.json() == {
            "error": "Access denied: thread belongs to a different resource"
        }
        missing = api(method, path.replace("/t1", "/nope"), body)
        assert missing.status_code == 404, path
        assert missing.json()["error"] in (
            "Thread not found",
            "Source thread not found",
        )
    assert api.get(f"{THREADS}/t1").json()["title"] == ""
    assert api.get(THREADS).json()["total"] == 1


def test_patch_merges_and_put_replaces(api):
    create(api, "t1", title="A", metadata={"pinned": True, "color": "red"})
    path = f"{THREADS}/t1?agentId=agent1"
    patched = api("PATCH", path, {"metadata": {"color": "blue"}})
    assert patched.json()["metadata"] == {"pinned": True, "color": "blue"}
    assert patched.json()["title"] == "A"
    assert api("PATCH", path, {"title": ""}).json()["title"] == ""
    assert api("PATCH", path, {}).status_code == 200
    replaced = api("PUT", path, {"title": "B"})
    assert replaced.json()["metadata"] is None
    assert replaced.json()["title"] == "B"


def test_if_match_changes_only_the_revision_it_names(api):
    create(api, "t1", title="A")
    path = f"{THREADS}/t1?agentId=agent1"
    first = api("PATCH", path, {"title": "B"}, If_Match='"1"')
    assert first.status_code == 200
    assert first["ETag"] == '"2"'
    for tag in ('"1"', '"nonsense"', 'W/"1"'):
        stale = api("PATCH", path, {"title": "C"}, If_Match=tag)
        assert stale.status_code == 412
        assert stale.json()["current"]["title"] == "B"
    assert api.get(f"{THREADS}/t1").json()["title"] == "B"


def test_delete_answers_once_and_then_not_found(api, thread):
    path = f"{THREADS}/t1?agentId=agent1"
    assert api("DELETE", path).json() == {"result": "Thread deleted"}
    assert api("DELETE", path).status_code == 404
    assert api.get(f"{THREADS}/t1/messages").status_code == 404


def test_list_pages_with_true_totals(api):
    for n in range(3):
        create(api, f"t{n}")
    first = api.get(f"{THREADS}?resourceId=res-a&perPage=2").json()
    assert [t["id"] for t in first["threads"]] == ["t2", "t1"]
    assert {k: first[k] for k in ("total", "page", "perPage", "hasMore")} == {
        "total": 3,
        "page": 0,
        "perPage": 2,
        "hasMore": True,
    }
    beyond = api.get(f"{THREADS}?resourceId=res-a&page=9&perPage=2").json()
    assert (beyond["threads"], beyond["total"], beyond["hasMore"]) == ([], 3, False)
    none = api.get(f"{THREADS}?perPage=0").json()
    assert (none["threads"], none["total"], none["hasMore"]) == ([], 3, True)
    assert api.get(f"{THREADS}?page=").json()["page"] == 0


def test_per_page_false_is_all(api):
    for n in range(3):
        create(api, f"t{n}")
    reply = api.get(f"{THREADS}?resourceId=res-a&perPage=false")
    shown = json.loads(b"".join(reply))
    assert [t["id"] for t in shown["threads"]] == ["t2", "t1", "t0"]
    assert shown["perPage"] is False
    assert (shown["total"], shown["page"], shown["hasMore"]) == (3, 0, False)


@pytest.mark.parametrize(
    "order",
    [
        "orderBy%5Bfield%5D=createdAt&orderBy%5Bdirection%5D=ASC",
        "orderBy=%7B%22field%22%3A%22createdAt%22%2C%22direction%22%3A%22ASC%22%7D",
        "orderBy=createdAt&sortDirection=ASC",
    ],
)
def test_list_order_in_every_spelling(api, order):
    for n in range(3):
        create(api, f"t{n}")
    shown = api.get(f"{THREADS}?{order}").json()
    assert [t["id"] for t in shown["threads"]] == ["t0", "t1", "t2"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("page=-1", "page"),
        ("page=abc", "page"),
        ("page=1.5", "page"),
        ("page=99999999999999999999", "page"),
        ("perPage=-5", "perPage"),
        ("perPage=true", "perPage"),
        ("orderBy[field]=password", "orderBy.field"),
        ("orderBy[field]=createdAt&orderBy[direction]=UP", "orderBy.direction"),
        ("metadata=notjson", "metadata"),
        ("metadata=[1]", "metadata"),
        ('metadata={"a":{"b":1}}', "metadata.a"),
        ('metadata={"a-b":1}', "metadata.a-b"),
        ('metadata={"__proto__":1}', "metadata.__proto__"),
        ("archived=maybe", "archived"),
        ("createdAfter=garbage", "createdAfter"),
    ],
)
def test_wrong_list_parameters_name_the_field(api, query, field):
    reply = api.get(f"{THREADS}?{query}")
    assert reply.status_code == 400, reply.content
    assert reply.json()["error"] == "Invalid query parameters"
    assert [
        issue["field"].removeprefix("filter.") for issue in reply.json()["issues"]
    ] == [field]


@pytest.mark.parametrize(
    "query", ["orderBy=[object Object]", "perPage=1000000000", "nothing=x"]
)
def test_harmless_oddities_are_accepted(api, query):
    assert api.get(f"{THREADS}?{query}").status_code == 200


@pytest.mark.parametrize(
    "key", ["regex", "contains", "isnull", "in", "exact", "lt", "has_key", "a__b"]
)
def test_metadata_keys_that_look_like_queries_find_their_own_thread(api, key):
    create(api, "t1", metadata={key: "v"})
    create(api, "d1", metadata={"a": {"b": "v"}})
    create(api, "d2", metadata={"other": "v"})
    shown = api.get(f'{THREADS}?metadata={{"{key}":"v"}}').json()
    assert [t["id"] for t in shown["threads"]] == ["t1"]


def test_metadata_filter_is_strict_about_types(api):
    for name, value in [("s", "1"), ("n", 1), ("b", True), ("z", None)]:
        create(api, name, metadata={"k": value})
    create(api, "absent")
    for text, found in [
        ('"1"', "s"),
        ("1", "n"),
        ("1.0", "n"),
        ("true", "b"),
        ("null", "z"),
    ]:
        shown = api.get(f'{THREADS}?metadata={{"k":{text}}}').json()
        assert [t["id"] for t in shown["threads"]] == [found], text


def test_filters_by_archive_and_moments(api):
    create(api, "t1")
    create(api, "t2")
    archived = api.post(f"{THREADS}/t1/archive")
    assert ISO.match(archived.json()["archivedAt"])
    assert [t["id"] for t in api.get(f"{THREADS}?archived=true").json()["threads"]] == [
        "t1"
    ]
    assert [
        t["id"] for t in api.get(f"{THREADS}?archived=false").json()["threads"]
    ] == ["t2"]
    assert "archivedAt" not in api.post(f"{THREADS}/t1/unarchive").json()
    early = "createdBefore=2001-01-01T00:00:00%2B02:00"
    assert api.get(f"{THREADS}?{early}").json()["total"] == 0
    # A plus that was not encoded arrives as a space.
    late = "createdAfter=2001-01-01T00:00:00+02:00"
    assert api.get(f"{THREADS}?{late}").json()["total"] == 2


def test_transfer_moves_thread_and_messages(api, thread):
    moved = api.post(f"{THREADS}/t1/transfer", {"resourceId": "res-b"})
    assert moved.json()["resourceId"] == "res-b"
    shown = api.get(f"{THREADS}/t1/messages?resourceId=res-b").json()
    assert {m["resourceId"] for m in shown["messages"]} == {"res-b"}
    assert api.post(f"{THREADS}/t1/transfer", {"resourceId": ""}).status_code == 400


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/api/memory/threads"),
        ("POST", "/api/memory/threads/t1"),
        ("DELETE", "/api/memory/search"),
        ("OPTIONS", "/api/memory/threads"),
        ("GET", "/api/memory/nothing"),
        ("GET", "/api/memory/threads/t/1/é"),
        ("GET", "/api"),
    ],
)
def test_unknown_addresses_and_methods_are_404_in_plain_text(api, method, path):
    reply = api(method, path)
    assert (reply.status_code, reply.content) == (404, b"404 Not Found")
    assert reply["Content-Type"].startswith("text/plain")


def test_any_accept_header_gets_json(api):
    for accept in ("text/event-stream", "text/html", "nonsense"):
        assert api.get(THREADS, Accept=accept)["Content-Type"] == "application/json"
