"""A reply that is being written: from the run's log to changes of the page.

The page and the stream are made by the same folding. The page shows the reply up to a
number, the stream continues after that number, so that a reload neither loses nor doubles
anything; every frame carries the number up to which the page is then true.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.utils.safestring import SafeString, mark_safe

from agents.chunks import Event
from agents.studio.markdown import GrowingText, Growth
from agents.studio.parts import Part, file_part, source_part, tool_part

# Seconds in which what arrives is sent as one frame, and after which silence is broken.
GATHER = 0.04
QUIET = 15.0

Change = dict[str, Any]


@dataclass
class LivePart:
    """A part on the page. ``growing`` is set for text that may still grow."""

    kind: str
    growing: GrowingText | None = None
    blocks: list[SafeString] = field(default_factory=list)
    call: dict[str, Any] = field(default_factory=dict)
    fixed: Part | None = None

    def view(self) -> Part:
        if self.fixed is not None:
            return self.fixed
        if self.kind == "tool":
            return tool_part(self.call)
        return Part(self.kind, html=mark_safe("".join(self.blocks)))  # noqa: S308 - each block is sanitised

    def grow(self, text: str) -> Growth | None:
        growth = self.growing.append(text)
        if growth is not None:
            self.blocks[growth.keep :] = growth.blocks
        return growth


class LiveReply:
    """The reply so far, and what each further event changes on the page."""

    def __init__(self) -> None:
        self.parts: list[LivePart] = []
        self.seq = 0
        self._open: dict[tuple[str, str], int] = {}
        self._tools: dict[str, int] = {}

    @classmethod
    def of(cls, events: Iterable[Event]) -> LiveReply:
        reply = cls()
        reply.add(events)
        return reply

    def html(self) -> SafeString:
        """The parts as they stand."""
        html = "".join(p.view().render(i) for i, p in enumerate(self.parts))
        return mark_safe(html)  # noqa: S308 - each part comes from a template

    def add(self, events: Iterable[Event]) -> list[Change]:
        """Takes the next events in and returns the changes, text put together.

        A change is ``{part, html}`` (the whole part, new or replaced) or ``{part, keep,
        html}`` (the blocks after the first ``keep`` of a text).
        """
        pieces: dict[int, list[str]] = {}
        changed: dict[int, Change] = {}
        for event in events:
            self.seq = event.seq
            self._add(event, pieces, changed)
        for index, texts in pieces.items():
            part = self.parts[index]
            growth = part.grow("".join(texts))
            if index in changed:
                changed[index] = self._whole(index)
            elif growth is not None:
                html = "".join(growth.blocks)
                changed[index] = {"part": index, "keep": growth.keep, "html": html}
        return [changed[index] for index in sorted(changed)]

    def _add(
        self, event: Event, pieces: dict[int, list[str]], changed: dict[int, Change]
    ) -> None:
        payload = event.payload
        match event.type:
            case "text-start" | "reasoning-start":
                self._begin(event.type.removesuffix("-start"), payload)
            case "text-delta" | "reasoning-delta":
                index = self._speaking(event.type.removesuffix("-delta"), payload)
                if not self.parts[index].growing.text and index not in pieces:
                    changed[index] = {}
                pieces.setdefault(index, []).append(str(payload.get("text", "")))
            case "text-end" | "reasoning-end":
                kind = event.type.removesuffix("-end")
                self._open.pop((kind, payload.get("id", "")), None)
            case "tool-call-input-streaming-start":
                index = self._tool(payload, {"state": "partial-call"})
                changed[index] = self._whole(index)
            case "tool-call":
                index = self._tool(payload, {"state": "call"})
                changed[index] = self._whole(index)
            case "tool-result" | "tool-error" | "tool-output-denied":
                index = self._tool(payload, _ending_of(event))
                changed[index] = self._whole(index)
            case "source":
                changed |= self._fixed(source_part(payload))
            case "file":
                changed |= self._fixed(file_part(payload))

    def _begin(self, kind: str, payload: dict[str, Any]) -> int:
        self.parts.append(LivePart(kind, growing=GrowingText()))
        index = self._open[kind, payload.get("id", "")] = len(self.parts) - 1
        return index

    def _speaking(self, kind: str, payload: dict[str, Any]) -> int:
        index = self._open.get((kind, payload.get("id", "")))
        return self._begin(kind, payload) if index is None else index

    def _tool(self, payload: dict[str, Any], fields: dict[str, Any]) -> int:
        call_id = str(payload.get("toolCallId", ""))
        if call_id not in self._tools:
            self.parts.append(LivePart("tool"))
            self._tools[call_id] = len(self.parts) - 1
        index = self._tools[call_id]
        known = {k: payload[k] for k in ("toolName", "args") if payload.get(k)}
        self.parts[index].call |= known | fields
        return index

    def _fixed(self, part: Part) -> dict[int, Change]:
        self.parts.append(LivePart(part.kind, fixed=part))
        index = len(self.parts) - 1
        return {index: self._whole(index)}

    def _whole(self, index: int) -> Change:
        return {"part": index, "html": self.parts[index].view().render(index)}


def _ending_of(event: Event) -> dict[str, Any]:
    payload = event.payload
    if event.type == "tool-result":
        fields = {"state": "result", "result": payload.get("result")}
        return fields | {"isError": bool(payload.get("isError"))}
    if event.type == "tool-output-denied":
        return {"state": "output-denied"}
    error = payload.get("error")
    words = error.get("message", "") if isinstance(error, dict) else error
    return {"state": "output-error", "errorText": str(words or "The tool failed.")}


async def frames(
    events: AsyncIterator[Event], after: int, ending: Callable[[], Any]
) -> AsyncIterator[bytes]:
    """The stream of a run as server-sent events, from its whole log.

    Events up to number ``after`` are taken in silently: the page shows them already.
    Each frame is one line of JSON, so no text can forge another. ``ending`` is awaited
    once the log has ended, and its result sent as the last frame.
    """
    reply = LiveReply()
    yield b"retry: 1000\n\n"
    async for batch in gathered(events):
        if batch is None:
            yield b": still here\n\n"
            continue
        reply.add(e for e in batch if e.seq <= after)
        fresh = [e for e in batch if e.seq > after]
        changes = reply.add(fresh)
        if changes:
            frame = {"type": "changes", "seq": reply.seq, "changes": changes}
            yield sse(frame, reply.seq)
    yield sse({"type": "end", "seq": reply.seq, **await ending()}, reply.seq)


async def gathered(events: AsyncIterator[Event]) -> AsyncIterator[list[Event] | None]:
    """The events in batches of what arrives within ``GATHER``; None after silence."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()

    async def pump() -> None:
        try:
            async for event in events:
                queue.put_nowait(event)
        finally:
            queue.put_nowait(None)

    task = asyncio.create_task(pump())
    try:
        while True:
            try:
                async with asyncio.timeout(QUIET):
                    first = await queue.get()
            except TimeoutError:
                yield None
                continue
            batch = [first]
            if first is not None and queue.empty():
                await asyncio.sleep(GATHER)
            while batch[-1] is not None and not queue.empty():
                batch.append(queue.get_nowait())
            said = [event for event in batch if event is not None]
            if said:
                yield said
            if batch[-1] is None:
                break
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def sse(data: dict[str, Any], seq: int) -> bytes:
    """One frame; JSON escapes every line break there is in the text."""
    return b"id: %d\ndata: %s\n\n" % (seq, orjson.dumps(data))
