"""Who is let in, and who is not."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from tests.api.conftest import Api
from threads.access import ApiKey, ApiKeyUse
from threads.errors import InvalidInput
from threads.models import Thread

THREADS = "/api/memory/threads"
CREATE = f"{THREADS}?agentId=agent1"
REFUSED = {"error": "Invalid or expired token"}


def made(*arguments: str) -> list[str]:
    out = StringIO()
    call_command("apikey", *arguments, stdout=out)
    return out.getvalue().splitlines()


@pytest.fixture
def required(settings):
    settings.ACCESS = "required"


def test_without_credentials_the_answer_is_401(api, required):
    for method, path in [
        ("GET", THREADS),
        ("POST", CREATE),
        ("DELETE", f"{THREADS}/t1"),
    ]:
        reply = api(method, path)
        assert (reply.status_code, reply.json()) == (401, REFUSED)
        assert reply["WWW-Authenticate"] == "Bearer"


def test_a_key_is_shown_alone_on_the_last_line_and_stored_as_a_hash(db):
    *_, text = made("create", "--name", "ci", "--resource", "res-a")
    prefix, _, secret = text.partition(".")
    key = ApiKey.objects.get(prefix=prefix)
    assert secret not in key.hashed_key
    assert (key.name, key.resources, key.read_only) == ("ci", ["res-a"], False)
    assert all(secret not in line for line in made("list"))


@pytest.mark.parametrize(
    "credentials",
    [
        lambda text: {"headers": {"Authorization": f"Bearer {text}"}},
        lambda text: {"headers": {"Authorization": f"Api-Key {text}"}},
        lambda text: {"headers": {"Authorization": f"bearer {text}"}},
        lambda text: {"query_params": {"apiKey": text}},
    ],
)
def test_a_key_is_accepted_in_every_place(db, required, credentials):
    *_, text = made("create", "--name", "ci", "--resource", "res-a")
    assert Client().get(THREADS, **credentials(text)).status_code == 200


@pytest.mark.parametrize("access", ["required", "loopback"])
def test_wrong_revoked_and_expired_keys_are_401(db, settings, access):
    settings.ACCESS = access
    *_, revoked = made("create", "--name", "a", "--resource", "res-a")
    made("revoke", revoked.partition(".")[0])
    _, expired = ApiKey.objects.issue(
        name="b", resources=["res-a"], expires=timezone.now() - timedelta(seconds=1)
    )
    forged = expired[:9] + "x" * 32
    for text in (revoked, expired, forged):
        reply = Api(text).get(THREADS)
        assert (reply.status_code, reply.json()) == (401, REFUSED)


def test_on_loopback_a_made_up_token_is_ignored_elsewhere_refused(db, settings):
    assert Api("tok").get(THREADS).status_code == 200
    settings.ACCESS = "required"
    assert Api("tok").get(THREADS).status_code == 401


def test_a_key_reaches_named_resources_and_prefixes_only(api, key_for):
    for resource in ("org-1/alice", "org-1/bob", "org-10/eve", "res-a", "res-b"):
        api.post(CREATE, {"resourceId": resource, "threadId": f"t-{resource[-3:]}"})
    seen = key_for("org-1/*", "res-a").get(THREADS).json()
    assert {t["resourceId"] for t in seen["threads"]} == {
        "org-1/alice",
        "org-1/bob",
        "res-a",
    }
    assert seen["total"] == 3
    everything = key_for().get(THREADS).json()
    assert everything["total"] == 5


def test_a_read_only_key_changes_nothing(api, thread, key_for):
    reader = key_for("res-a", read_only=True)
    assert reader.get(f"{THREADS}/t1").status_code == 200
    for method, path, body in [
        ("POST", CREATE, {"resourceId": "res-a"}),
        ("PATCH", f"{THREADS}/t1?agentId=agent1", {"title": "x"}),
        ("DELETE", f"{THREADS}/t1?agentId=agent1", None),
    ]:
        reply = reader(method, path, body)
        assert reply.status_code == 403
        assert reply.json()["error"].startswith("Access denied")
    assert list(Thread.objects.values_list("title", flat=True)) == ["T1"]


def test_a_thread_of_an_unreached_resource_cannot_be_made(api, key_for):
    reply = key_for("res-a").post(CREATE, {"resourceId": "res-b"})
    assert reply.status_code == 404
    assert not Thread.objects.exists()


def test_rates_are_limited_by_key_and_minute(db, key_for):
    limited, free = key_for("res-a", rate_limit=2), key_for("res-a")
    assert [limited.get(THREADS).status_code for _ in range(3)] == [200, 200, 429]
    reply = limited.get(THREADS)
    assert reply.json() == {"error": "Too many requests"}
    assert 1 <= int(reply["Retry-After"]) <= 60
    assert free.get(THREADS).status_code == 200
    ApiKeyUse.objects.update(minute=timezone.now() - timedelta(minutes=5))
    assert limited.get(THREADS).status_code == 200
    assert ApiKeyUse.objects.count() == 1


def test_the_rate_of_the_settings_holds_for_keys_without_their_own(
    db, key_for, settings
):
    settings.MEMORY = {**settings.MEMORY, "API_RATE_LIMIT": 1}
    key = key_for("res-a")
    assert [key.get(THREADS).status_code for _ in range(2)] == [200, 429]


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "localhost", "Origin": "http://evil.example"},
        {"Host": "localhost", "Origin": "null"},
        {"Host": "localhost", "Origin": "https://localhost"},
        {"Host": "localhost:8000", "Origin": "http://localhost:3000"},
        {"Host": "localhost", "Sec-Fetch-Site": "cross-site"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_on_loopback_another_sites_page_gets_nothing(db, headers, method):
    reply = Client().generic(
        method,
        CREATE,
        b'{"resourceId": "res-a"}',
        content_type="application/json",
        headers=headers,
    )
    assert reply.status_code == 403
    assert "Access-Control-Allow-Origin" not in reply
    assert not Thread.objects.exists()


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ],
)
def test_on_loopback_a_form_cannot_write(api, content_type):
    reply = Client().generic(
        "POST", CREATE, b'{"resourceId": "res-a"}', content_type=content_type
    )
    assert reply.status_code == 415
    assert not Thread.objects.exists()


def test_on_loopback_the_same_site_and_programs_are_let_in(db):
    for headers in (
        {},
        {"Host": "localhost:8000", "Origin": "http://localhost:8000"},
        {"Host": "127.0.0.1:9", "Sec-Fetch-Site": "same-origin"},
        {"Host": "[::1]:9"},
    ):
        assert Client().get(THREADS, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        {"REMOTE_ADDR": "192.0.2.1"},
        {"REMOTE_ADDR": ""},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "192.0.2.1"},
    ],
)
def test_on_loopback_other_machines_need_a_key(db, origin):
    assert Client(**origin).get(THREADS).status_code == 401


def test_staff_see_everything_and_others_their_own(api, required):
    User.objects.create_user("root", password="pw", is_staff=True)
    User.objects.create_user("res-a", password="pw")
    for resource in ("res-a", "res-b"):
        Thread.objects.model.resource.field.related_model.objects.create(id=resource)
        Thread.objects.create(id=f"t-{resource}", resource_id=resource)
    for name, total in (("root", 2), ("res-a", 1)):
        client = Client()
        client.login(username=name, password="pw")
        assert client.get(THREADS).json()["total"] == total


def test_a_session_writes_only_with_its_csrf_token(db, required):
    User.objects.create_user("res-a", password="pw")
    client = Client(enforce_csrf_checks=True)
    client.login(username="res-a", password="pw")
    body = {"data": {"resourceId": "res-a"}, "content_type": "application/json"}
    refused = client.post(CREATE, **body)
    assert refused.status_code == 403
    assert not Thread.objects.exists()
    token = "t" * 32
    client.cookies["csrftoken"] = token
    assert (
        client.post(CREATE, headers={"X-CSRFToken": token}, **body).status_code == 200
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["--name", "x"],
        ["--name", "x", "--resource", "*"],
        ["--name", "x", "--resource", "**"],
        ["--name", "x", "--resource", ""],
        ["--name", " ", "--resource", "r"],
        ["--name", "x", "--resource", "r", "--all-resources"],
        ["--name", "x", "--resource", "r", "--expires", "yesterday"],
        ["--name", "x", "--resource", "r", "--expires", "2001-01-01"],
        ["--name", "x", "--resource", "r", "--rate-limit", "0"],
    ],
)
def test_a_key_that_makes_no_sense_is_not_made(db, arguments):
    with pytest.raises(CommandError):
        made("create", *arguments)
    assert not ApiKey.objects.exists()


def test_keys_expire_and_are_listed_and_revoked(db):
    *_, text = made(
        "create", "--name", "ci", "--all-resources", "--read-only", "--expires", "30d"
    )
    prefix = text.partition(".")[0]
    (line,) = made("list")
    assert line.split("\t")[:4] == [prefix, "ci", "*", "read-only"]
    assert made("revoke", prefix) == [f"Key {prefix} is revoked."]
    with pytest.raises(CommandError):
        made("revoke", prefix)
    assert made("list")[0].endswith("revoked")


def test_issue_refuses_a_long_name(db):
    with pytest.raises(InvalidInput):
        ApiKey.objects.issue(name="n" * 51, resources=["r"])
