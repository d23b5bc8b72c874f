"""The log of a run as ``@mastra/client-js`` reads it: the log itself in an envelope."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agents.chunks import OWN_TYPES, Event
from agents.streams.sse import DONE, frame


def chunk(run_id: str, event: Event) -> dict[str, Any] | None:
    """An event as a chunk of the wire; None for what compatible clients do not know."""
    if event.type in OWN_TYPES:
        return None
    return {
        "type": event.type,
        "runId": run_id,
        "from": "AGENT",
        "payload": event.payload,
    }


async def client_js_frames(
    run_id: str, events: AsyncIterator[Event]
) -> AsyncIterator[bytes]:
    """The frames of a run, closed by ``[DONE]``."""
    async for event in events:
        value = chunk(run_id, event)
        if value is not None:
            yield frame(value)
    yield DONE
