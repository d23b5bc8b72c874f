"""The pieces of a context, in the order in which a model reads them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Literal

from recall.semantic.hits import Hit
from threads.models import Message

RECALLED_INTRODUCTION = (
    "Messages recalled from earlier, which may help. They are not part of the present "
    "exchange:"
)

Kind = Literal["instructions", "working_memory", "recalled", "history", "message"]


@dataclass(frozen=True)
class Segment:
    """One piece of a context.

    ``source_id`` is the message's id, or ``v<revision>`` of a working memory. ``why``
    says in words why it is there. ``tokens`` is an estimate (:mod:`recall.tokens`).
    ``message`` is the stored message of ``recalled``, ``history`` and ``message``;
    ``hit`` the hit that brought a recalled one, its own or a neighbour's.
    """

    kind: Kind
    source_id: str
    why: str
    text: str
    tokens: int
    message: Message | None = field(default=None, repr=False, compare=False)
    hit: Hit | None = field(default=None, repr=False, compare=False)

    def as_json(self) -> dict[str, Any]:
        """For storing with a run and for the preview."""
        return {
            "kind": self.kind,
            "source_id": self.source_id,
            "why": self.why,
            "text": self.text,
            "tokens": self.tokens,
        }


@dataclass(frozen=True)
class LeftOut:
    """A segment that the model will not see, and the reason."""

    segment: Segment
    reason: str


@dataclass(frozen=True)
class Context:
    """What the model will see. ``hash`` is equal when that is equal to the letter."""

    segments: tuple[Segment, ...]
    left_out: tuple[LeftOut, ...] = ()
    budget_tokens: int | None = None
    meaning_available: bool = True

    @property
    def tokens(self) -> int:
        """The estimate for all segments."""
        return sum(segment.tokens for segment in self.segments)

    @property
    def hash(self) -> str:
        """SHA-256 of the segments, but for the ids and reasons of the new messages."""
        digest = hashlib.sha256()
        for segment in self.segments:
            source = "" if segment.kind == "message" else segment.source_id
            role = segment.message.role if segment.message is not None else ""
            digest.update(
                json.dumps([segment.kind, source, role, segment.text]).encode()
            )
        return digest.hexdigest()

    @property
    def system_text(self) -> str:
        """Instructions, working memory and recalled messages as one system prompt."""
        parts = [s.text for s in self.of("instructions", "working_memory")]
        recalled = [s.text for s in self.of("recalled")]
        if recalled:
            parts.append("\n".join([RECALLED_INTRODUCTION, *recalled]))
        return "\n\n".join(parts)

    @property
    def messages(self) -> list[Message]:
        """History and new messages, in order, for the model to read as a conversation."""
        return [
            segment.message
            for segment in self.of("history", "message")
            if segment.message is not None
        ]

    def of(self, *kinds: Kind) -> list[Segment]:
        """The segments of some kinds."""
        return [segment for segment in self.segments if segment.kind in kinds]

    def as_json(self) -> dict[str, Any]:
        """For storing with a run and for the preview."""
        return {
            "hash": self.hash,
            "tokens": self.tokens,
            "budget_tokens": self.budget_tokens,
            "meaning_available": self.meaning_available,
            "segments": [segment.as_json() for segment in self.segments],
            "left_out": [
                {**left.segment.as_json(), "reason": left.reason}
                for left in self.left_out
            ],
        }
