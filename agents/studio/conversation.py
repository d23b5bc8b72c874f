"""What the pane of one conversation shows: its messages and the replies in progress."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.safestring import SafeString

from agents.chunks import Event
from agents.models import Run
from agents.providers.choosing import configured_model_name
from agents.providers.offline import OFFLINE
from agents.studio.entries import Entry, transcript
from agents.studio.live import LiveReply
from threads.models import Thread

# Who answers in Studio.
AGENT = "assistant"
# Copies of a thread that its header names.
MAX_CLONES = 5


@dataclass(frozen=True)
class Live:
    """A run that has not ended. ``html`` shows its reply up to event ``seq``."""

    run_id: str
    message_id: str
    state: str
    seq: int = 0
    html: SafeString | str = ""


@dataclass(frozen=True)
class Pane:
    """Entries, oldest first, and under some of them a reply in progress."""

    entries: list[tuple[Entry, Live | None]]
    loose: list[Live]
    older: str
    source: Thread | None = None
    clones: Sequence[Thread] = ()


def pane_of(thread: Thread) -> Pane:
    """The newest messages of a thread, with the replies that are being written."""
    runs = list(
        Run.objects.filter(thread=thread, state__in=Run.ACTIVE).order_by(
            "created_at", "id"
        )
    )
    lives = {run.user_message_id or run.id: live_of(run) for run in runs}
    shown = transcript(thread, leave_out=[run.message_id for run in runs])
    entries = []
    for entry in shown.entries:
        live = lives.pop(entry.id, None)
        # A new attempt is under way: how the last one ended is past.
        entries.append((replace(entry, outcome=None) if live else entry, live))
    return Pane(
        entries,
        list(lives.values()),
        shown.older,
        source=_within_resource(thread, id=thread.source_thread_id),
        clones=thread.clones.filter(resource_id=thread.resource_id).order_by(
            "-created_at"
        )[:MAX_CLONES],
    )


def _within_resource(thread: Thread, **one: Any) -> Thread | None:
    """Another thread of the same owner, the only ones that are named on the page."""
    return Thread.objects.filter(resource_id=thread.resource_id, **one).first()


def live_of(run: Run) -> Live:
    """The reply of a run as its log has it now."""
    reply = LiveReply.of(_events(run))
    return Live(run.id, run.message_id, run.state, reply.seq, reply.html())


def _events(run: Run) -> Iterable[Event]:
    for row in run.events.order_by("seq").iterator():
        yield Event(row.seq, row.type, row.payload)


@dataclass(frozen=True)
class ModelLabel:
    """The model that answers. ``is_language_model`` is false for the built-in one."""

    name: str
    is_language_model: bool


def model_label() -> ModelLabel:
    """The model that the chat's agent would ask now."""
    name = configured_model_name()
    return ModelLabel(name, name != OFFLINE)
