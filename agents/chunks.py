"""The vocabulary of a run's log: ``type`` and ``payload`` as the wire names them.

Beside the wire's own types the log has ``context``, ``run`` and ``thread-title``, which
encoders for compatible clients leave out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from threads.api.encoding import json_bytes

# Types that only our own readers know.
OWN_TYPES = frozenset({"context", "run", "thread-title"})


@dataclass(frozen=True, slots=True)
class Chunk:
    """One thing that happens in a turn, before it has a number."""

    type: str
    payload: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """One committed entry of a run's log; ``seq`` counts from 1."""

    seq: int
    type: str
    payload: dict[str, Any]


def size_in_reply(chunk: Chunk) -> int:
    """Bytes that a chunk adds to the reply: what is said, called and answered."""
    payload = chunk.payload
    match chunk.type:
        case "text-delta" | "reasoning-delta":
            return len(payload["text"].encode(errors="replace"))
        case "tool-call-delta":
            return len(payload["argsTextDelta"].encode(errors="replace"))
        case "tool-result" | "tool-error" | "file":
            return len(json_bytes(payload))
    return 0
