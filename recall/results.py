"""The answers of :class:`recall.memory.Memory`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from recall.pagination import PerPage
from threads.models import Message, Resource, Thread


@dataclass(frozen=True)
class RecallResult:
    """What was recalled.

    ``messages`` holds the page together with what ``include`` and the search brought,
    each message once, in order. ``total`` counts the messages that the page is one of,
    never the extras. ``hits`` says, best first, what a search found and why;
    ``meaning_available`` is False when it had to do with words alone.
    """

    messages: list[Message]
    total: int
    page: int
    per_page: PerPage
    has_more: bool
    hits: list[Any] = field(default_factory=list)
    meaning_available: bool = True


@dataclass(frozen=True)
class ThreadPage:
    """One page of threads; ``total`` counts all that match."""

    threads: list[Thread]
    total: int
    page: int
    per_page: PerPage
    has_more: bool


@dataclass(frozen=True)
class ResourcePage:
    """One page of resources; ``total`` counts all within reach."""

    resources: list[Resource]
    total: int
    page: int
    per_page: PerPage
    has_more: bool


@dataclass(frozen=True)
class CloneResult:
    """A thread made from another one.

    ``cloned_messages`` are the copies in order; ``message_id_map`` gives for the id of
    each copied message the id of its copy.
    """

    thread: Thread
    cloned_messages: list[Message]
    message_id_map: dict[str, str]
