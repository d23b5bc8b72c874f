"""Conditional requests, and what a request must say or may leave out."""

from __future__ import annotations

import pytest

MEMORY = "/api/memory"
THREAD = f"{MEMORY}/threads/t1"
AGENT = "?agentId=agent1"


def tag_of(api) -> str:
    return api.get(THREAD)["ETag"]


def test_a_list_of_tags_matches_when_the_present_one_is_in_it(api, thread):
    tags = f'"none", {tag_of(api)}, "99999"'
    changed = api("PATCH", THREAD + AGENT, {"title": "new"}, If_Match=tags)
    assert changed.status_code == 200
    refused = api("PATCH", THREAD + AGENT, {"title": "newer"}, If_Match=tags)
    assert refused.status_code == 412
    assert refused["ETag"] == changed["ETag"] == tag_of(api)
    assert refused.json()["current"]["title"] == "new"


def test_a_thread_is_deleted_only_at_the_revision_named(api, thread):
    old = tag_of(api)
    api("PATCH", THREAD + AGENT, {"title": "new"})
    refused = api("DELETE", THREAD + AGENT, If_Match=old)
    assert refused.status_code == 412
    assert refused["ETag"] == tag_of(api)
    assert refused.json()["current"]["title"] == "new"
    assert api("DELETE", THREAD + AGENT, If_Match=tag_of(api)).status_code == 200
    assert api.get(THREAD).status_code == 404
    assert api("DELETE", THREAD + AGENT, If_Match=old).status_code == 404


def test_a_thread_that_the_client_has_is_not_sent_again(api, thread):
    tag = tag_of(api)
    same = api.get(THREAD, If_None_Match=f'"x", W/{tag}')
    assert (same.status_code, same.content, same["ETag"]) == (304, b"", tag)
    assert api.get(THREAD, If_None_Match='"x"').status_code == 200


def test_notes_are_guarded_by_lists_of_tags(api, thread):
    address = f"{THREAD}/working-memory{AGENT}"
    api.post(address, {"workingMemory": "one"})
    tag = api.get(address)["ETag"]
    tags = f'"99", {tag}'
    assert api.post(address, {"workingMemory": "two"}, If_Match=tags).status_code == 200
    refused = api.post(address, {"workingMemory": "three"}, If_Match=tags)
    assert refused.status_code == 412
    assert refused["ETag"] == api.get(address)["ETag"]
    assert api.get(address).json()["workingMemory"] == "two"


def test_our_additions_do_not_want_an_agent(api, thread):
    assert api("PUT", THREAD, {"title": "put"}).json()["title"] == "put"
    notes = f"{THREAD}/working-memory"
    api.post(notes + AGENT, {"workingMemory": "one"})
    api.post(notes + AGENT, {"workingMemory": "two"})
    revisions = api.get(f"{notes}/revisions").json()["revisions"]
    assert [r["workingMemory"] for r in revisions] == ["two", "one"]
    restored = api.post(f"{notes}/restore", {"revision": revisions[1]["revision"]})
    assert restored.json()["workingMemory"] == "one"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{THREAD}/archive"),
        ("POST", f"{THREAD}/unarchive"),
        ("DELETE", THREAD + AGENT),
    ],
)
def test_a_body_that_nobody_needs_must_be_json_too(api, thread, method, path):
    before = api.get(THREAD).json()
    reply = api.client.generic(method, path, b"x", content_type="text/plain")
    assert reply.status_code == 415
    assert api.get(THREAD).json() == before
    assert api(method, path).status_code == 200


@pytest.mark.parametrize("given", [None, "undefined"])
def test_undefined_in_a_body_is_no_id(api, given):
    body = {"threadId": "t9"} | ({"resourceId": given} if given else {})
    reply = api.post(f"{MEMORY}/threads{AGENT}", body)
    assert reply.status_code == 400
    assert [i["field"] for i in reply.json()["issues"]] == ["resourceId"]
    assert api.get(f"{MEMORY}/resources").json()["resources"] == []


@pytest.mark.parametrize("limit", [2**63, 2**64, "x"])
def test_a_clone_limit_out_of_range_is_refused_by_name(api, thread, limit):
    reply = api.post(f"{THREAD}/clone{AGENT}", {"options": {"messageLimit": limit}})
    assert reply.status_code == 400
    assert [i["field"] for i in reply.json()["issues"]] == ["options.messageLimit"]
    assert api.get(f"{THREAD}/clones").json()["clones"] == []


def test_fields_are_named_as_the_query_has_them(api, thread):
    reply = api.get(f'{MEMORY}/threads?metadata={{"a":[1]}}')
    assert reply.status_code == 400
    assert [i["field"] for i in reply.json()["issues"]] == ["metadata.a"]


@pytest.mark.parametrize("method", ["OPTIONS", "POST", "PUT", "DELETE", "TRACE"])
@pytest.mark.parametrize("path", ["/api/docs", "/api/openapi.json"])
def test_the_documentation_is_only_read(api, method, path):
    reply = api(method, path)
    assert reply.status_code == 404
    assert reply.content == b"404 Not Found"
    assert api("HEAD", path).status_code == 200


def test_ids_are_percent_encoded(api):
    for id, status in (("a%3Fb%23c", 200), ("a%2Fb", 404)):
        plain = id.replace("%3F", "?").replace("%23", "#").replace("%2F", "/")
        body = {"resourceId": "res-a", "threadId": plain}
        assert api.post(f"{MEMORY}/threads{AGENT}", body).status_code == 200
        assert api.get(f"{MEMORY}/threads/{id}").status_code == status
