"""Who sees what in Studio, and what a page costs."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from agents.models import Run
from recall.memory import Memory
from threads.models import Message, Thread


@pytest.fixture
def threads(db) -> None:
    memory = Memory()
    for owner in ("local", "alice", "bob"):
        memory.create_thread(
            resource_id=owner, thread_id=f"of-{owner}", title=f"Thread of {owner}"
        )
        memory.save_messages(
            [{"id": f"m-{owner}", "role": "user", "content": f"Said by {owner}"}],
            thread_id=f"of-{owner}",
        )


def signed_in(name: str, **fields: bool) -> Client:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_user(name, **fields))
    return client


@pytest.fixture
def required(settings) -> None:
    settings.ACCESS = "required"


def test_the_local_operator_chats_as_local_and_may_look_at_everybody(
    threads, client
) -> None:
    page = client.get("/")
    assert "Thread of local" in page.content.decode()
    assert "Thread of alice" not in page.content.decode()
    page = client.get("/t/of-alice").content.decode()
    assert "Said by alice" in page
    # The list beside it is that of the same person.
    assert "Thread of alice" in page
    assert "Thread of local" not in page


def test_a_chosen_resource_is_kept_for_the_next_page(threads, client) -> None:
    client.post(reverse("studio-resource"), {"resource": "bob"})
    page = client.get("/").content.decode()
    assert "Thread of bob" in page
    assert "Thread of local" not in page


def test_without_a_session_a_page_leads_to_the_login_and_back(
    threads, required, client
) -> None:
    response = client.get("/t/of-alice")
    assert response.status_code == 302
    assert response.url == "/login?next=%2Ft%2Fof-alice"
    assert "Sign in" in client.get(response.url).content.decode()
    User.objects.create_user("alice", password="correct horse")
    response = client.post(
        "/login",
        {"username": "alice", "password": "correct horse", "next": "/t/of-alice"},
    )
    assert response.url == "/t/of-alice"
    assert "Said by alice" in client.get("/t/of-alice").content.decode()


def test_without_a_session_the_pages_script_is_told_to_sign_in(
    threads, required, client
) -> None:
    response = client.post(reverse("studio-delete"), {"thread": "of-alice"})
    assert response.status_code == 401
    assert Thread.objects.filter(id="of-alice").exists()


def test_a_user_sees_their_own_and_nothing_of_others(threads, required) -> None:
    alice = signed_in("alice")
    page = alice.get("/").content.decode()
    assert "Thread of alice" in page
    assert "Thread of bob" not in page
    unknown = alice.get("/t/no-such-thread")
    hidden = alice.get("/t/of-bob")
    assert hidden.status_code == unknown.status_code == 404
    assert hidden.content == unknown.content
    listed = alice.get(reverse("studio-threads"), {"resource": "bob"})
    assert "Thread of bob" not in listed.content.decode()
    older = alice.get(reverse("studio-messages"), {"thread": "of-bob", "before": "x"})
    assert older.status_code == 404
    source = alice.get(reverse("studio-source"), {"message": "m-bob"})
    assert source.status_code == 404


def test_a_user_changes_nothing_of_others(threads, required) -> None:
    alice = Client()
    alice.force_login(User.objects.create_user("alice"))
    before = Thread.objects.values().get(id="of-bob")
    for name in ("studio-rename", "studio-archive"):
        response = alice.post(reverse(name), {"thread": "of-bob", "title": "mine"})
        assert response.status_code == 404, name
    alice.post(reverse("studio-delete"), {"thread": "of-bob"})
    alice.post(reverse("studio-resource"), {"resource": "bob"})
    assert "Thread of bob" not in alice.get("/").content.decode()
    assert Thread.objects.values().get(id="of-bob") == before


@pytest.mark.django_db(transaction=True)
def test_a_user_begins_and_ends_no_reply_of_others(
    transactional_db, threads, required
) -> None:
    alice = Client()
    alice.force_login(User.objects.create_user("alice"))
    run = Run.objects.create(
        thread_id="of-bob",
        resource_id="bob",
        agent_id="assistant",
        state=Run.State.RUNNING,
        owner="somebody",
    )
    for address in (
        reverse("studio-retry"),
        reverse("studio-again"),
        reverse("studio-edit"),
        reverse("studio-stop", args=[run.id]),
    ):
        response = alice.post(address, {"message": "m-bob", "text": "mine"})
        assert response.status_code == 404, address
    sent = alice.post(
        reverse("studio-send"),
        {"thread": "of-bob", "resource": "bob", "message": "x", "text": "mine"},
    )
    assert sent.status_code == 404
    assert alice.get(reverse("studio-events", args=[run.id])).status_code == 404
    assert alice.get(reverse("studio-context"), {"run": run.id}).status_code == 404
    run.refresh_from_db()
    assert (Run.objects.count(), run.stop_requested) == (1, False)
    assert Message.objects.filter(resource_id="bob").count() == 1


def test_a_write_without_the_token_of_the_page_is_refused(threads) -> None:
    client = signed_in("alice")
    response = client.post(reverse("studio-delete"), {"thread": "of-alice"})
    assert response.status_code == 403
    assert Thread.objects.filter(id="of-alice").exists()


def test_staff_may_look_at_everybody(threads, required) -> None:
    staff = signed_in("carol", is_staff=True)
    assert "Said by bob" in staff.get("/t/of-bob").content.decode()


def test_a_page_of_a_hundred_messages_and_threads_costs_few_queries(
    threads, client, django_assert_max_num_queries
) -> None:
    memory = Memory()
    memory.save_messages(
        [
            {"id": f"x{n}", "role": ("user", "assistant")[n % 2], "content": f"{n}"}
            for n in range(100)
        ],
        thread_id="of-local",
    )
    for number in range(60):
        memory.create_thread(resource_id="local", thread_id=f"t{number}")
    with django_assert_max_num_queries(14):
        page = client.get("/t/of-local").content.decode()
    assert page.count("<article") == 40


@pytest.mark.parametrize("cursor", ["x", "bm90IGEgY3Vyc29y", "MjAyNi0wMS0wMXxh"])
def test_a_made_up_cursor_is_refused(threads, client, cursor) -> None:
    response = client.get(reverse("studio-threads"), {"cursor": cursor})
    assert response.status_code == 400


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/t/%00", 400),
        ("/studio/messages?thread=of-local&before=%00", 400),
        ("/studio/context?run=%00", 400),
        ("/studio/changes?since=yesterday", 400),
        ("/studio/changes?since=2026-01-01", 400),
        ("/t/", 404),
        ("/nothing-here", 404),
    ],
)
def test_addresses_that_nobody_would_link_to_are_refused(
    threads, client, address, status
) -> None:
    assert client.get(address).status_code == status


@pytest.mark.parametrize("name", ["studio-rename", "studio-archive", "studio-delete"])
def test_a_thread_id_that_nothing_can_have_is_refused(threads, client, name) -> None:
    response = client.post(reverse(name), {"thread": "\x00", "title": "x"})
    assert response.status_code == 400


def test_an_empty_list_tells_the_operator_of_other_resources(db, client) -> None:
    assert "Others have some" not in client.get("/").content.decode()
    Memory().create_thread(resource_id="alice", thread_id="of-alice")
    assert "Others have some" in client.get("/").content.decode()


def test_staff_signed_in_on_this_machine_go_on_as_the_operator(threads) -> None:
    page = signed_in("carol", is_staff=True, is_superuser=True).get("/")
    assert "Thread of local" in page.content.decode()
