"""Working memory over HTTP: as clients know it, and with revisions."""

from __future__ import annotations

import pytest

MEMORY = "/api/memory"
NOTES = f"{MEMORY}/threads/t1/working-memory"


def test_notes_are_written_and_read_with_their_template(api, thread):
    path = f"{NOTES}?agentId=agent1&resourceId=res-a"
    before = api.get(path).json()
    assert before == {
        "workingMemory": None,
        "source": "resource",
        "workingMemoryTemplate": {"format": "markdown", "content": "# User\n- name:\n"},
        "threadExists": True,
    }
    written = api.post(
        f"{NOTES}?agentId=agent1", {"workingMemory": "# User\n- name: Ann"}
    )
    assert written.json() == {"success": True}
    assert api.get(path).json()["workingMemory"] == "# User\n- name: Ann"


def test_the_word_undefined_is_no_resource(api, thread):
    shown = api.get(f"{NOTES}?agentId=agent1&resourceId=undefined")
    assert shown.status_code == 200
    assert shown.json()["source"] == "resource"


def test_scope_thread_shows_the_notes_in_the_threads_metadata(api, thread):
    path = f"{NOTES}?agentId=agentT"
    api.post(path, {"workingMemory": '{"name":"Bob"}'})
    shown = api.get(path).json()
    assert (shown["workingMemory"], shown["source"]) == ('{"name":"Bob"}', "thread")
    assert shown["workingMemoryTemplate"]["format"] == "json"
    metadata = api.get(f"{MEMORY}/threads/t1").json()["metadata"]
    assert metadata == {"workingMemory": '{"name":"Bob"}'}


def test_memory_config_of_the_call_lies_over_the_agents(api, thread):
    options = {"workingMemory": {"enabled": True, "scope": "thread"}}
    body = {"workingMemory": "of the thread", "memoryConfig": options}
    assert api.post(f"{NOTES}?agentId=agent1", body).status_code == 200
    assert api.get(f"{NOTES}?agentId=agent1").json()["workingMemory"] is None
    shown = api.get(
        f"{NOTES}?agentId=agent1"
        '&memoryConfig={"workingMemory":{"enabled":true,"scope":"thread"}}'
    ).json()
    assert (shown["workingMemory"], shown["source"]) == ("of the thread", "thread")


def test_agents_without_notes_answer_nulls(api, thread):
    off = api.get(f"{NOTES}?agentId=agentPlain&resourceId=res-a").json()
    assert (off["workingMemory"], off["workingMemoryTemplate"]) == (None, None)
    assert off["threadExists"] is True
    for name in ("nope", "agentNoMem"):
        assert api.get(f"{NOTES}?agentId={name}").json() == {
            "workingMemory": None,
            "source": "thread",
            "workingMemoryTemplate": None,
            "threadExists": False,
        }
    missing = api.get(
        f"{MEMORY}/threads/x/working-memory?agentId=agent1&resourceId=res-a"
    )
    assert (missing.status_code, missing.json()["threadExists"]) == (200, False)


@pytest.mark.parametrize(
    ("agent", "body", "status"),
    [
        ("agent1", {"workingMemory": ""}, 400),
        ("agent1", {}, 400),
        ("agent1", {"workingMemory": {"a": 1}}, 400),
        ("agent1", {"workingMemory": "x", "resourceId": "res-b"}, 403),
        ("agentPlain", {"workingMemory": "x"}, 400),
        ("agentNoMem", {"workingMemory": "x"}, 400),
        ("nope", {"workingMemory": "x"}, 404),
        ("agent1", {"workingMemory": "x", "memoryConfig": {"nonsense": 1}}, 400),
    ],
)
def test_refused_writes_leave_the_notes_alone(api, thread, agent, body, status):
    assert api.post(f"{NOTES}?agentId={agent}", body).status_code == status
    assert api.get(f"{NOTES}?agentId=agent1").json()["workingMemory"] is None


def test_notes_of_a_missing_thread_cannot_be_written(api):
    reply = api.post(
        f"{NOTES}?agentId=agent1", {"workingMemory": "x", "resourceId": "r"}
    )
    assert (reply.status_code, reply.json()) == (404, {"error": "Thread not found"})


def test_a_resources_notes_have_revisions_and_tags(api, thread):
    path = f"{MEMORY}/resources/res-a/working-memory"
    assert api.get(path).json()["revision"] == 0
    one = api("PUT", path, {"workingMemory": "one"}, If_Match='"0"')
    assert one.status_code == 200, one.content
    assert (one.json()["revision"], one["ETag"]) == (1, '"1"')
    api("PUT", path, {"workingMemory": "two"})
    stale = api("PUT", path, {"workingMemory": "three"}, If_Match='"1"')
    assert stale.status_code == 412
    assert stale.json()["current"]["workingMemory"] == "two"
    revisions = api.get(f"{path}/revisions").json()["revisions"]
    assert [(r["revision"], r["workingMemory"]) for r in revisions] == [
        (2, "two"),
        (1, "one"),
    ]
    assert (revisions[0]["author"], revisions[0]["authorName"]) == (
        "api",
        "local operator",
    )
    back = api.post(f"{path}/restore", {"revision": 1})
    assert back.json()["workingMemory"] == "one"
    assert api.get(f"{path}/revisions").json()["revisions"][0]["restoredFrom"] == 1
    assert api.post(f"{path}/restore", {"revision": 99}).status_code == 404
    assert api.get(path).json()["revision"] == 3


def test_a_threads_route_lists_and_restores_the_same_revisions(api, thread):
    for text in ("one", "two"):
        api.post(f"{NOTES}?agentId=agent1", {"workingMemory": text})
    listed = api.get(f"{NOTES}/revisions?agentId=agent1").json()["revisions"]
    assert [r["workingMemory"] for r in listed] == ["two", "one"]
    api.post(f"{NOTES}/restore?agentId=agent1", {"revision": 1})
    assert api.get(f"{NOTES}?agentId=agent1").json()["workingMemory"] == "one"


def test_status_and_configuration_tell_what_an_agent_remembers_with(api):
    def status(name: str):
        return api.get(f"{MEMORY}/status?agentId={name}").json()

    assert status("agent1") == {"result": True, "memoryType": "local"}
    assert status("agentNoMem") == {"result": False}
    assert status("nope") == {"result": True}
    shown = api.get(f"{MEMORY}/config?agentId=agent1").json()["config"]
    assert shown["lastMessages"] == 10
    assert shown["semanticRecall"] == {
        "topK": 2,
        "messageRange": 1,
        "scope": "resource",
    }
    assert shown["generateTitle"] is False
    assert shown["workingMemory"]["template"] == "# User\n- name:\n"
    assert shown["observationalMemory"] == {"enabled": False}
    plain = api.get(f"{MEMORY}/config?agentId=agentPlain").json()["config"]
    assert plain["semanticRecall"] is False
    assert plain["workingMemory"]["enabled"] is False
    for name in ("nope", "agentNoMem"):
        assert api.get(f"{MEMORY}/config?agentId={name}").json() == {"config": None}
    assert api.get(f"{MEMORY}/config").status_code == 400


def test_observational_memory_is_refused(api):
    refusal = {"error": "Observational Memory is not enabled for this agent"}
    path = f"{MEMORY}/observational-memory"
    got = api.get(f"{path}?agentId=agent1&resourceId=u1&threadId=t1&limit=3")
    assert (got.status_code, got.json()) == (400, refusal)
    waited = api.post(f"{path}/buffer-status", {"agentId": "agent1"})
    assert (waited.status_code, waited.json()) == (400, refusal)
