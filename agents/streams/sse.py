"""Frames of an event stream: ``data: `` and one line of JSON, then an empty line.

Clients of the compatible routes split on the empty line and look at nothing else, so
every frame stands alone: no carriage return, and comments are frames of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from django.http import StreamingHttpResponse

from threads.api.encoding import json_bytes

# Seconds of silence after which a comment says that the connection lives.
HEARTBEAT = 15.0

DONE = b"data: [DONE]\n\n"
PING = b": ping\n\n"


def frame(value: Any, id: int | None = None) -> bytes:
    """One frame. JSON escapes every line break, so no text can forge another."""
    prefix = b"id: %d\n" % id if id is not None else b""
    return prefix + b"data: " + json_bytes(value) + b"\n\n"


async def kept_alive(frames: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """``frames`` with a comment whenever nothing came for a while."""
    upcoming = asyncio.ensure_future(anext(frames, None))
    try:
        while True:
            done, _ = await asyncio.wait({upcoming}, timeout=HEARTBEAT)
            if not done:
                yield PING
                continue
            item = upcoming.result()
            if item is None:
                return
            yield item
            upcoming = asyncio.ensure_future(anext(frames, None))
    finally:
        upcoming.cancel()


class EventStream(StreamingHttpResponse):
    """A reply of frames that nothing between us and the client may hold back.

    ``gone`` is called when the client leaves before the end.
    """

    def __init__(
        self,
        frames: AsyncIterator[bytes],
        headers: dict[str, str] | None = None,
        gone: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(
            _told_when_left(kept_alive(frames), gone),
            content_type="text/event-stream",
            headers={
                "Cache-Control": "no-cache",
                "X-Accel-Buffering": "no",
                **(headers or {}),
            },
        )


async def _told_when_left(
    frames: AsyncIterator[bytes], gone: Callable[[], None] | None
) -> AsyncIterator[bytes]:
    ended = False
    try:
        async for item in frames:
            yield item
        ended = True
    finally:
        if not ended and gone is not None:
            gone()
