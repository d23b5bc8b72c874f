"""Messages as callers give them, made into what is stored."""

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest

from threads.errors import InvalidInput, TooLarge
from threads.messages import NewMessage, normalise
from threads.models import Message
from threads.parts import plain_text

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
IMAGE = "data:image/png;base64,aGk="


def draft(message, **call):
    [made] = normalise([message], **{"thread_id": "t1", **call}).drafts
    return made


def refused(message, **call):
    with pytest.raises(InvalidInput) as refusal:
        normalise(["fine", message], **{"thread_id": "t1", **call})
    return refusal.value.issues[0].field


def said(*parts, **beside):
    return {"role": "user", "content": {"format": 2, "parts": list(parts), **beside}}


def text(value):
    return {"type": "text", "text": value}


# Forms


@pytest.mark.parametrize(
    "message",
    [
        "hello",
        NewMessage("hello"),
        {"role": "user", "content": "hello"},
        Message(
            role="user",
            content={"format": 2, "parts": [text("hello")], "content": "hello"},
        ),
    ],
)
def test_text_becomes_content_of_format_2(message):
    made = draft(message)
    assert (made.role, made.text, made.thread_id) == ("user", "hello", "t1")
    assert made.content == {
        "format": 2,
        "parts": [text("hello")],
        "content": "hello",
    }


def test_one_message_alone_is_a_batch_of_one():
    assert [d.text for d in normalise("hello", thread_id="t1").drafts] == ["hello"]
    one = normalise({"role": "user", "content": "hello"}, thread_id="t1")
    assert [d.text for d in one.drafts] == ["hello"]


@pytest.mark.parametrize(
    "names",
    [
        ("threadId", "resourceId", "createdAt"),
        ("thread_id", "resource_id", "created_at"),
    ],
)
def test_both_spellings_are_read(names):
    thread, resource, created = names
    made = draft(
        {
            "id": "m1",
            "role": "assistant",
            "content": "x",
            thread: "t2",
            resource: "res-a",
            created: "2024-01-01T13:00:00.1239+01:00",
            "type": "text",
        }
    )
    assert (made.id, made.thread_id, made.resource_id) == ("m1", "t2", "res-a")
    assert made.created_at == NOON + timedelta(milliseconds=123)
    assert made.type == "text"


def test_content_is_stored_as_given():
    content = {
        "format": 2,
        "parts": [
            {"type": "step-start", "model": "m/1"},
            {"type": "reasoning", "reasoning": "Hm", "details": []},
            {**text(" hi <working_memory>secret</working_memory> "), "createdAt": 5},
            {
                "type": "tool-invocation",
                "toolInvocation": {
                    "toolCallId": "c1",
                    "toolName": "clock",
                    "args": {},
                    "state": "result",
                    "result": None,
                },
            },
            {"type": "file", "mimeType": "image/png", "data": "aGk="},
            {"type": "source", "source": {"sourceType": "url", "id": "s", "url": "u"}},
            {"type": "data-x", "data": [1.5]},
            {"type": "wat", "x": 1},
        ],
        "content": "hi",
        "metadata": {"topic": "tea", "n": None},
        "annotations": [{"a": 1}],
        "foo": 1,
    }
    made = draft({"role": "assistant", "content": content})
    assert made.content == content
    assert made.text == " hi <working_memory>secret</working_memory> "


def test_every_role_is_kept():
    for role in ("user", "assistant", "system", "tool", "signal"):
        assert draft({"role": role, "content": "x"}).role == role


def test_content_without_parts_gets_its_text_as_one():
    made = draft({"role": "user", "content": {"content": "hi"}})
    assert made.content == {"format": 2, "content": "hi", "parts": [text("hi")]}


def test_list_of_a_models_parts():
    made = draft(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "core"},
                {"type": "image", "image": IMAGE, "mimeType": "image/png"},
            ],
        }
    )
    file = {"type": "file", "data": IMAGE, "mimeType": "image/png"}
    assert made.content == {"format": 2, "parts": [text("core"), file]}


def test_a_models_tool_results_are_an_assistants():
    results = [
        {"type": "tool-result", "toolCallId": "c1", "toolName": "w", "result": {"a": 1}}
    ]
    made = draft({"role": "tool", "content": results})
    assert made.role == "assistant"
    assert made.content["parts"] == [
        {
            "type": "tool-invocation",
            "toolInvocation": {
                "state": "result",
                "toolCallId": "c1",
                "toolName": "w",
                "result": {"a": 1},
                "args": {},
            },
        }
    ]


def test_ui_message_with_parts_of_its_own():
    made = draft(
        {
            "id": "m1",
            "role": "assistant",
            "parts": [
                text("It is"),
                {
                    "type": "tool-clock",
                    "toolCallId": "c1",
                    "state": "output-available",
                    "input": {},
                    "output": 12,
                },
            ],
            "metadata": {
                "a": 1,
                "createdAt": "2024-01-01T12:00:00.000Z",
                "threadId": "somewhere-else",
                "resourceId": "somebody-else",
            },
        }
    )
    assert (made.thread_id, made.resource_id) == ("t1", None)
    assert made.created_at == NOON
    assert made.content["metadata"] == {"a": 1}
    assert made.content["parts"][1]["toolInvocation"] == {
        "toolCallId": "c1",
        "toolName": "clock",
        "state": "result",
        "args": {},
        "result": 12,
    }


def test_ui_message_of_version_4():
    made = draft(
        {
            "role": "user",
            "content": "ui four",
            "parts": [text("ui four")],
            "experimental_attachments": [{"url": IMAGE}],
        }
    )
    assert made.content == {
        "format": 2,
        "parts": [text("ui four")],
        "content": "ui four",
        "experimental_attachments": [{"url": IMAGE}],
    }


def test_metadata_beside_the_content_joins_it():
    made = draft({"role": "user", "content": "x", "metadata": {"k": "v"}})
    assert made.content["metadata"] == {"k": "v"}
    assert draft(NewMessage("x", metadata={"k": 1})).content["metadata"] == {"k": 1}


# Identifiers, types and times


def test_missing_ids_are_made_and_known_to_be_fresh():
    batch = normalise(
        [
            "a",
            {"id": "", "role": "user", "content": "b"},
            {"id": "m", "role": "user", "content": "c"},
        ],
        thread_id="t1",
    )
    first, second, third = batch.drafts
    assert third.id == "m"
    assert batch.fresh_ids == {first.id, second.id}
    assert len(batch.fresh_ids) == 2


def test_type_v2_is_no_type():
    for kind in (None, "v2", ""):
        assert draft({"role": "user", "content": "x", "type": kind}).type == ""


@pytest.mark.parametrize(
    "moment",
    [
        "2024-01-01T12:00:00Z",
        "2024-01-01T12:00:00",
        "2024-01-01T14:00:00+02:00",
        NOON,
        datetime(2024, 1, 1, 12),
        datetime(2024, 1, 1, 7, tzinfo=timezone(-timedelta(hours=5))),
        1704110400000,
        1704110400000.7,
    ],
)
def test_moments_are_whole_milliseconds_in_utc(moment):
    made = draft({"role": "user", "content": "x", "createdAt": moment})
    assert made.created_at == NOON
    assert made.created_at.utcoffset() == timedelta(0)


def test_messages_without_a_time_share_the_present_one():
    first, second = normalise(["a", "b"], thread_id="t1").drafts
    assert first.created_at == second.created_at
    assert first.created_at.microsecond % 1000 == 0


# What JSON and PostgreSQL cannot hold


def test_text_that_cannot_be_stored_is_replaced_and_nothing_else():
    made = draft(said(text("a\x00\ud83d 🌍 é"), metadata={"\udc00k": ["\x00"]}))
    assert made.content["parts"] == [text("a\ufffd\ufffd 🌍 é")]
    assert made.content["metadata"] == {"\ufffdk": ["\ufffd"]}
    assert made.text == "a\ufffd\ufffd 🌍 é"


def test_numbers_that_json_has_not_become_null():
    made = draft(said(metadata={"n": math.nan, "i": -math.inf, "x": 1.5}))
    assert made.content["metadata"] == {"n": None, "i": None, "x": 1.5}


def test_moments_in_metadata_become_text():
    made = draft(said(metadata={"at": NOON}))
    assert made.content["metadata"] == {"at": "2024-01-01T12:00:00.000Z"}


# Refusals


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"content": "x"}, "messages.1.role"),
        ({"role": "robot", "content": "x"}, "messages.1.role"),
        ({"role": ["user"], "content": "x"}, "messages.1.role"),
        ({"role": "user"}, "messages.1.content"),
        ({"role": "user", "content": None}, "messages.1.content"),
        ({"role": "user", "content": 3}, "messages.1.content"),
        ({"role": "user", "content": {}}, "messages.1.content.parts"),
        ({"role": "user", "content": {"parts": "x"}}, "messages.1.content.parts"),
        (
            {"role": "user", "content": {"format": 1, "parts": []}},
            "messages.1.content.format",
        ),
        (said("x"), "messages.1.content.parts.0"),
        (said({"text": "x"}), "messages.1.content.parts.0.type"),
        (said(text("a"), text(None)), "messages.1.content.parts.1.text"),
        (
            said({"type": "tool-invocation"}),
            "messages.1.content.parts.0.toolInvocation",
        ),
        (said(metadata=[1]), "messages.1.content.metadata"),
        (
            {"role": "user", "content": "x", "metadata": "m"},
            "messages.1.metadata",
        ),
        ({"role": "user", "parts": "x"}, "messages.1.parts"),
        ({"role": "user", "parts": [{"text": "x"}]}, "messages.1.parts.0.type"),
        (
            {"role": "user", "content": "x", "createdAt": "garbage"},
            "messages.1.createdAt",
        ),
        ({"role": "user", "content": "x", "created_at": True}, "messages.1.created_at"),
        (
            {"role": "user", "content": "x", "createdAt": math.inf},
            "messages.1.createdAt",
        ),
        ({"role": "user", "content": "x", "createdAt": 1e99}, "messages.1.createdAt"),
        ({"role": "user", "content": "x", "id": 12}, "messages.1.id"),
        ({"role": "user", "content": "x", "id": "  "}, "messages.1.id"),
        ({"role": "user", "content": "x", "id": "x" * 256}, "messages.1.id"),
        ({"role": "user", "content": "x", "threadId": 5}, "messages.1.threadId"),
        ({"role": "user", "content": "x", "type": 5}, "messages.1.type"),
        (said(metadata={"k": {1, 2}}), "messages.1.content.metadata.k"),
        (said(metadata={1: 2}), "messages.1.content.metadata"),
        (said(metadata={"n": 10**400}), "messages.1.content.metadata.n"),
        (7, "messages.1"),
    ],
)
def test_mistake_is_named_by_its_field(message, field):
    assert refused(message) == field


def test_message_without_a_thread_is_refused():
    assert refused("x", thread_id=None) in {"messages.0.thread_id"}


def test_nesting_has_an_end():
    deep = []
    for _ in range(400):
        deep = [deep]
    assert refused(said(metadata={"k": deep})).startswith(
        "messages.1.content.metadata.k"
    )


def test_content_over_the_limit_is_too_large():
    with pytest.raises(TooLarge) as refusal:
        normalise("x" * 100, thread_id="t1", max_bytes=100)
    assert refusal.value.message.startswith("messages.0.content: ")


# The text of a message


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"parts": [text("A"), text("B")]}, "A\nB"),
        ({"parts": [], "content": "copy"}, "copy"),
        ({"parts": [text("part")], "content": "copy"}, "part"),
        ({"parts": [{"type": "reasoning", "reasoning": "Hm", "details": []}]}, ""),
        (
            {"parts": [{"type": "file", "mimeType": "text/plain", "data": "aGk="}]},
            "",
        ),
        ({"parts": []}, ""),
        ("bare", "bare"),
    ],
)
def test_text_of(content, expected):
    assert plain_text(content) == expected
