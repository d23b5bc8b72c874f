"""The messages of a conversation as the chat shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from agents.models import Run
from agents.providers.offline import OFFLINE
from agents.studio.parts import Part, parts_of
from threads.models import Message, Thread

PAGE = 40

# The data of a working memory in which nothing is noted, as the model is shown it.
NOTHING_NOTED = "<working_memory_data>\nNothing yet.\n</working_memory_data>"

# What is said of a reply whose run did not complete.
OUTCOMES = {
    Run.State.STOPPED: "Stopped.",
    Run.State.FAILED: "The reply failed.",
    Run.State.INTERRUPTED: "The reply was interrupted: the server went away.",
}

SEGMENTS = {
    "instructions": "Instructions",
    "working_memory": "Working memory",
    "recalled": "Recalled",
    "history": "Recent message",
    "given": "Sent along",
    "message": "This message",
}


@dataclass(frozen=True)
class Outcome:
    """How a run ended that did not complete, in words, and whether to offer Retry."""

    state: str
    words: str
    user_message_id: str


@dataclass(frozen=True)
class MemoryLine:
    """What the model was shown beside the message, as its run stored it."""

    run_id: str
    summary: str


@dataclass(frozen=True)
class Entry:
    """One message with what is known about its run."""

    id: str
    role: str
    author: str
    created_at: datetime
    parts: list[Part] = field(default_factory=list)
    memory: MemoryLine | None = None
    outcome: Outcome | None = None
    note: str = ""
    superseded: bool = False


@dataclass(frozen=True)
class Transcript:
    """A page of entries, oldest first. ``older`` is the id to ask for earlier ones with."""

    entries: list[Entry]
    older: str


def transcript(
    thread: Thread, *, before: str = "", leave_out: Sequence[str] = ()
) -> Transcript:
    """The newest ``PAGE`` messages, or those before the message ``before``.

    ``leave_out`` are replies that are still being written and shown by their runs.
    """
    messages = Message.objects.filter(thread=thread).exclude(id__in=leave_out)
    if before:
        messages = _before(messages, before)
    found = list(messages.order_by("-created_at", "-position")[: PAGE + 1])
    older = found[PAGE - 1].id if len(found) > PAGE else ""
    page = list(reversed(found[:PAGE]))
    return Transcript(_entries(page), older)


def entry(message: Message) -> Entry:
    """One message on its own."""
    return _entries([message])[0]


def _before(messages: QuerySet[Message], message_id: str) -> QuerySet[Message]:
    place = messages.filter(id=message_id).values_list("created_at", "position").first()
    if place is None:
        return messages.none()
    moment, position = place
    return messages.filter(
        Q(created_at__lt=moment) | Q(created_at=moment, position__lt=position)
    )


def _entries(messages: list[Message]) -> list[Entry]:
    ids = [message.id for message in messages]
    thread_ids = {message.thread_id for message in messages}
    runs = Run.objects.filter(thread_id__in=thread_ids).filter(
        Q(message_id__in=ids) | Q(user_message_id__in=ids)
    )
    by_reply: dict[str, Run] = {}
    by_question: dict[str, Run] = {}
    for run in runs.order_by("created_at", "id"):
        by_reply[run.message_id] = run
        if run.user_message_id:
            by_question[run.user_message_id] = run
    present = _present({*by_reply, *(run.message_id for run in by_question.values())})
    # A question that was asked again has the outcome of its last run alone.
    past = {
        reply_id
        for reply_id, run in by_reply.items()
        if by_question.get(run.user_message_id, run).id != run.id
    }
    return [
        _entry(m, by_reply.get(m.id), by_question.get(m.id), present, past)
        for m in messages
    ]


def _present(message_ids: set[str]) -> set[str]:
    found = Message.objects.filter(id__in=message_ids)
    return set(found.values_list("id", flat=True))


def _entry(
    message: Message,
    reply_of: Run | None,
    asked: Run | None,
    present: set[str],
    past: set[str],
) -> Entry:
    is_user = message.role == Message.Role.USER
    superseded = bool((message.metadata or {}).get("regeneratedBy"))
    over = superseded or message.id in past
    # A run that failed before its first word has no message to stand under.
    silent = asked if asked is not None and asked.message_id not in present else None
    return Entry(
        id=message.id,
        role=message.role,
        author=_author(message.role, reply_of),
        created_at=message.created_at,
        parts=parts_of(message.content, plain=is_user),
        memory=memory_line(asked) if is_user and asked is not None else None,
        outcome=(None if over else _outcome(reply_of)) or _outcome(silent),
        note=_note(reply_of),
        superseded=superseded,
    )


def _author(role: str, run: Run | None) -> str:
    names = {"user": "You", "assistant": "Assistant", "tool": "Tool"}
    return names.get(role, role.capitalize())


def _note(run: Run | None) -> str:
    """Which model replied; the built-in one says in each reply what it is."""
    return "" if run is None or run.model == OFFLINE else run.model


def _outcome(run: Run | None) -> Outcome | None:
    if run is None or run.state not in OUTCOMES:
        return None
    words = OUTCOMES[Run.State(run.state)]
    if run.state == Run.State.FAILED and run.error:
        words = run.error
    return Outcome(run.state, words, run.user_message_id)


def memory_line(run: Run) -> MemoryLine | None:
    """One quiet line about the stored context; None when the run has stored none."""
    segments = _segments(run)
    if not segments:
        return None
    kinds = Counter(segment.get("kind") for segment in segments)
    noted = any(
        segment.get("kind") == "working_memory"
        and NOTHING_NOTED not in str(segment.get("text", ""))
        for segment in segments
    )
    words = [f"{kinds['recalled']} recalled"]
    recent = kinds["history"]
    words.append(f"{recent} recent message{'' if recent == 1 else 's'}")
    if noted:
        words.append("working memory")
    return MemoryLine(run.id, " · ".join(words))


def _segments(run: Run, name: str = "segments") -> list[dict[str, Any]]:
    given = run.context.get(name) if isinstance(run.context, dict) else None
    return [s for s in given if isinstance(s, dict)] if isinstance(given, list) else []


@dataclass(frozen=True)
class SegmentView:
    """One piece of what the model was shown, and why."""

    kind: str
    label: str
    why: str
    text: str
    opening: str


@dataclass(frozen=True)
class ContextView:
    """What a model was shown, and what was found and not shown, with the reasons."""

    segments: list[SegmentView]
    left_out: list[SegmentView]
    tokens: int | None


def context_view(run: Run) -> ContextView:
    """The stored context of a run in the order in which its model read it."""
    tokens = run.context.get("tokens") if isinstance(run.context, dict) else None
    return ContextView(
        [_segment_view(segment) for segment in _segments(run)],
        [_segment_view(segment) for segment in _segments(run, "left_out")],
        tokens,
    )


def _segment_view(segment: dict[str, Any]) -> SegmentView:
    kind = str(segment.get("kind", ""))
    text = str(segment.get("text", ""))
    return SegmentView(
        kind=kind,
        label=SEGMENTS.get(kind, kind.replace("_", " ").capitalize()),
        why=str(segment.get("reason") or segment.get("why") or ""),
        text=text,
        opening=" ".join(text.split())[:120] or "(empty)",
    )
