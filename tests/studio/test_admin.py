"""The admin: looking at everything, changing by the operations alone."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from agents.models import Run, RunEvent
from recall.memory import Memory
from recall.models import EmbeddingSpace, WorkingMemory, WorkingMemoryRevision
from threads.models import Message, Resource, Thread

PAYLOADS = [
    "<img src=x onerror=window.__x=1>",
    "</script><script>window.__x=1</script>",
    "<svg onload=window.__x=1>",
]


@pytest.fixture
def conversation(db) -> Thread:
    """One thread whose title, metadata, messages, notes and run hold the payloads."""
    memory = Memory()
    text = " ".join(PAYLOADS)
    thread = memory.create_thread(
        resource_id="res-a", thread_id="t1", title=text, metadata={"note": text}
    )
    memory.save_messages(
        [
            {"id": f"m{number}", "role": role, "content": f"{number} {text}"}
            for number, role in enumerate(["user", "assistant"] * 15)
        ],
        thread_id="t1",
    )
    notes = WorkingMemory.objects.create(resource_id="res-a", value=text, revision=1)
    WorkingMemoryRevision.objects.create(
        memory=notes, number=1, value=text, author="model", message_id="m0"
    )
    run = Run.objects.create(
        id="r1",
        thread=thread,
        resource_id="res-a",
        agent_id="assistant",
        state=Run.State.FAILED,
        user_message_id="m0",
        message_id="m1",
        error=text,
        context={"segments": [{"text": text}]},
    )
    RunEvent.objects.create(run=run, seq=1, type="text-delta", payload={"text": text})
    EmbeddingSpace.objects.get_or_create(embedder="hashing", preparation=9)
    return thread


@pytest.fixture
def operator(admin_client: Client) -> Client:
    return admin_client


def model_admins() -> list[type]:
    ours = ("threads", "recall", "agents")
    return [m for m in admin.site._registry if m._meta.app_label in ours]


def address(model: type, page: str, *arguments: str) -> str:
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
    return reverse(name, args=arguments)


def test_every_list_and_page_shows_what_was_written_as_text(
    operator, conversation
) -> None:
    for model in model_admins():
        pages = [address(model, "changelist")]
        row = model.objects.first()
        if row is not None:
            pages.append(address(model, "change", row.pk))
        for page in pages:
            response = operator.get(page)
            assert response.status_code == 200, page
            for payload in PAYLOADS:
                assert payload not in response.content.decode(), page


@pytest.mark.parametrize("model", [Resource, Thread, Message, Run, RunEvent])
def test_a_list_costs_the_same_whatever_its_length(
    operator, conversation, model, django_assert_max_num_queries
) -> None:
    with django_assert_max_num_queries(8):
        operator.get(address(model, "changelist"))


def test_messages_of_a_thread_are_listed_as_they_were_said(
    operator, conversation
) -> None:
    response = operator.get(address(Message, "changelist"), {"thread__id__exact": "t1"})
    shown = [message.id for message in response.context["cl"].result_list]
    assert shown == [f"m{number}" for number in range(30)]


def test_a_thread_is_found_by_the_beginning_of_its_id(operator, conversation) -> None:
    Memory().create_thread(resource_id="res-a", thread_id="other")
    response = operator.get(address(Thread, "changelist"), {"q": "t"})
    assert [t.id for t in response.context["cl"].result_list] == ["t1"]


def test_the_thread_page_shows_a_bounded_number_of_messages(
    operator, conversation
) -> None:
    page = operator.get(address(Thread, "change", "t1")).content.decode()
    shown = [n for n in range(30) if f"/threads/message/m{n}/change/" in page]
    assert shown == list(range(10, 30))
    assert "All 30 messages of this thread" in page


def test_a_title_is_changed_through_the_operation(operator, conversation) -> None:
    operator.post(address(Thread, "change", "t1"), {"title": "Plans", "_save": "1"})
    thread = Thread.objects.get(id="t1")
    assert (thread.title, thread.title_source) == ("Plans", "user")
    assert thread.revision == conversation.revision + 2


def test_deleting_threads_takes_everything_with_them(operator, conversation) -> None:
    operator.post(
        address(Thread, "changelist"),
        {"action": "delete_selected", "_selected_action": ["t1"], "post": "yes"},
    )
    assert Thread.objects.count() == 0
    assert Message.objects.count() == 0
    assert Run.objects.count() == 0
    assert RunEvent.objects.count() == 0
    assert Resource.objects.count() == 1


def test_a_deletion_names_what_goes_with_it(operator, conversation) -> None:
    page = operator.get(address(Thread, "delete", "t1")).content.decode()
    said = " ".join(page.split())
    for what in ("messages: 30", "runs: 1"):
        assert what in said.lower(), what
    assert Message.objects.filter(thread_id="t1").count() == 30


def test_deleting_a_message_keeps_the_count_of_its_thread_true(
    operator, conversation
) -> None:
    operator.post(address(Message, "delete", "m3"), {"post": "yes"})
    assert Message.objects.filter(thread_id="t1").count() == 29
    assert Thread.objects.get(id="t1").message_count == 29


def test_content_cannot_be_edited(operator, conversation) -> None:
    before = Message.objects.get(id="m0").content
    response = operator.post(address(Message, "change", "m0"), {"text": "forged"})
    assert response.status_code == 403
    assert Message.objects.get(id="m0").content == before
    for model in (Resource, Thread, Message, Run, WorkingMemory):
        assert operator.get(address(model, "add")).status_code == 403


def test_threads_are_archived_and_taken_back(operator, conversation) -> None:
    for action, archived in (("archive", True), ("take_back", False)):
        operator.post(
            address(Thread, "changelist"),
            {"action": action, "_selected_action": ["t1"]},
        )
        assert (Thread.objects.get(id="t1").archived_at is not None) is archived
