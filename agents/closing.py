"""The chunks with which a reply ends that did not come to its own end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agents.chunks import Chunk, Event
from agents.transcript import Transcript


def broken_off(
    said: Iterable[Event | Chunk], message_id: str, message: str, name: str = "Error"
) -> list[Chunk]:
    """Ends what was begun, says what went wrong, and finishes for the reason ``error``.

    ``message`` is for people.
    """
    error = Chunk("error", {"error": {"name": name, "message": message}})
    closing = Transcript.of(said).closing()
    return [*closing, error, *finished(message_id, "error")]


def cut_short(said: Iterable[Event | Chunk], message_id: str) -> list[Chunk]:
    """Ends what was begun of a reply that has become too long."""
    return [*Transcript.of(said).closing(), *finished(message_id, "length")]


def finished(message_id: str, reason: str) -> list[Chunk]:
    """The end of a step and of the turn, where no model says more about them."""
    payload: dict[str, Any] = {
        "messageId": message_id,
        "stepResult": {"reason": reason, "isContinued": False, "warnings": []},
        "metadata": {},
        "output": {"usage": {}, "steps": []},
        "messages": {"all": [], "user": [], "nonUser": []},
    }
    return [Chunk("step-finish", payload), Chunk("finish", payload)]
