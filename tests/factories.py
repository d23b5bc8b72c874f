"""Conversations for tests, always made through Memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from recall.memory import Memory
from threads.models import Message, Thread

EPOCH = datetime(2025, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """So many seconds into 2025, the time from which all tests count."""
    return EPOCH + timedelta(seconds=seconds)


def draft(id: str, seconds: float | None = None, **fields: Any) -> dict[str, Any]:
    """A user's message whose text is its id."""
    message = {"id": id, "role": "user", "content": id, **fields}
    if seconds is not None:
        message["created_at"] = at(seconds)
    return message


def make_thread(id: str = "t1", resource_id: str = "res-a", **fields: Any) -> Thread:
    return Memory().create_thread(thread_id=id, resource_id=resource_id, **fields)


def make_messages(
    ids: Iterable[str],
    thread_id: str = "t1",
    *,
    resource_id: str = "res-a",
    start: float = 1,
    step: float = 1,
    **fields: Any,
) -> list[Message]:
    """A thread with a message for each id, one ``step`` of seconds apart."""
    make_thread(thread_id, resource_id)
    drafts = [draft(id, start + n * step, **fields) for n, id in enumerate(ids)]
    return Memory().save_messages(drafts, thread_id=thread_id)


def numbered(prefix: str, count: int) -> list[str]:
    """m01, m02, …"""
    return [f"{prefix}{n:02d}" for n in range(1, count + 1)]


def ids(messages: Sequence[Message | Thread]) -> list[str]:
    return [message.id for message in messages]


def counters_are_true() -> bool:
    """Whether every thread says of its messages what the messages say."""
    for thread in Thread.objects.all():
        times = list(thread.messages.values_list("created_at", flat=True))
        if thread.message_count != len(times):
            return False
        if thread.last_message_at != max(times, default=None):
            return False
    return True
