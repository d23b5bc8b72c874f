"""The events of a model's response as chunks of the wire."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai.messages import (
    FilePart,
    ModelResponse,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

from agents.chunks import Chunk
from threads.text import storable

# What the column of a run's tokens holds.
MOST_TOKENS = 2**31 - 1


@dataclass
class Meter:
    """What the turn costs, counted while it goes on."""

    input_tokens: int = 0
    output_tokens: int = 0
    started: float = field(default_factory=time.monotonic)
    first_token_ms: int | None = None
    # Parts of text and reasoning so far, for ids that are unique in the run.
    parts: int = 0
    # Ids of the calls that the conversation has, for the same reason.
    call_ids: set[str] = field(default_factory=set)

    def spoke(self) -> None:
        if self.first_token_ms is None:
            self.first_token_ms = round((time.monotonic() - self.started) * 1000)

    def count(self, input_tokens: Any, output_tokens: Any) -> None:
        """Adds what a response cost; numbers that cannot be true are left out."""
        self.input_tokens = _sum(self.input_tokens, input_tokens)
        self.output_tokens = _sum(self.output_tokens, output_tokens)

    def new_call_id(self, given: Any) -> str:
        """The id of a call: as the provider says, made unique if it repeats one."""
        base = storable(str(given or "call"))
        id_, number = base, 1
        while id_ in self.call_ids:
            number += 1
            id_ = f"{base}-{number}"
        self.call_ids.add(id_)
        return id_

    @property
    def as_wire(self) -> dict[str, int]:
        return {
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "totalTokens": self.input_tokens + self.output_tokens,
        }


def _sum(total: int, more: Any) -> int:
    is_number = isinstance(more, int) and not isinstance(more, bool)
    if is_number and 0 <= more <= MOST_TOKENS - total:
        return total + more
    return total


class ResponseChunks:
    """Turns the events of one response into chunks, with ids unique in the run."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._ids: dict[int, str] = {}
        self._calls: dict[int, str] = {}

    def chunks(self, event: Any) -> list[Chunk]:
        match event:
            case PartStartEvent(part=TextPart() as part):
                return self._begin("text", event.index, part.content)
            case PartStartEvent(part=ThinkingPart() as part):
                return self._begin("reasoning", event.index, part.content)
            case PartStartEvent(part=ToolCallPart() as part):
                return self._begin_call(event.index, part)
            case PartDeltaEvent(delta=TextPartDelta() as delta):
                return self._delta("text", event.index, delta.content_delta)
            case PartDeltaEvent(delta=ThinkingPartDelta() as delta):
                return self._delta("reasoning", event.index, delta.content_delta)
            case PartDeltaEvent(delta=ToolCallPartDelta() as delta):
                return self._call_delta(event.index, delta.args_delta)
            case PartEndEvent(part=TextPart()):
                return [self._end("text", event.index, {})]
            case PartEndEvent(part=ThinkingPart() as part):
                signed = {"signature": part.signature} if part.signature else {}
                return [self._end("reasoning", event.index, signed)]
            case PartEndEvent(part=ToolCallPart() as part):
                return self._call(event.index, part)
            case PartEndEvent(part=FilePart() as part):
                return [
                    Chunk(
                        "file",
                        {
                            "data": part.content.base64,
                            "base64": part.content.base64,
                            "mimeType": part.content.media_type,
                        },
                    )
                ]
        return []

    def _begin(self, kind: str, index: int, text: str | None) -> list[Chunk]:
        self._meter.parts += 1
        self._ids[index] = f"{kind[0]}{self._meter.parts}"
        chunks = [Chunk(f"{kind}-start", {"id": self._ids[index]})]
        return chunks + self._delta(kind, index, text)

    def _delta(self, kind: str, index: int, text: str | None) -> list[Chunk]:
        if not text or index not in self._ids:
            return []
        self._meter.spoke()
        return [Chunk(f"{kind}-delta", {"id": self._ids[index], "text": text})]

    def _end(self, kind: str, index: int, more: dict[str, Any]) -> Chunk:
        id_ = self._ids.get(index, "")
        return Chunk(f"{kind}-end", {"id": id_, "type": f"{kind}-end", **more})

    def _begin_call(self, index: int, part: ToolCallPart) -> list[Chunk]:
        call_id = self._meter.new_call_id(part.tool_call_id)
        self._ids[index] = self._calls[index] = call_id
        self._meter.spoke()
        named = {"toolCallId": call_id, "toolName": part.tool_name}
        chunks = [Chunk("tool-call-input-streaming-start", named)]
        if part.args:
            args = part.args if isinstance(part.args, str) else json.dumps(part.args)
            chunks += self._call_delta(index, args, part.tool_name)
        return chunks

    def _call_delta(self, index: int, args: Any, name: str = "") -> list[Chunk]:
        if not args or index not in self._ids:
            return []
        text = args if isinstance(args, str) else json.dumps(args)
        payload = {"toolCallId": self._ids[index], "argsTextDelta": text}
        if name:
            payload["toolName"] = name
        return [Chunk("tool-call-delta", payload)]

    def _call(self, index: int, part: ToolCallPart) -> list[Chunk]:
        call_id = self._calls[index]
        return [
            Chunk(
                "tool-call-input-streaming-end",
                {"toolCallId": call_id, "toolName": part.tool_name},
            ),
            Chunk("tool-call", named_call(part) | {"toolCallId": call_id}),
        ]

    def named(self, response: ModelResponse) -> ModelResponse:
        """The whole response, its calls under the ids that the chunks gave them."""
        ids = iter([self._calls[index] for index in sorted(self._calls)])
        parts = [
            replace(part, tool_call_id=next(ids))
            if isinstance(part, ToolCallPart)
            else part
            for part in response.parts
        ]
        return replace(response, parts=parts)


def call_args(part: ToolCallPart) -> dict[str, Any] | None:
    """The arguments; None when the model wrote no JSON object."""
    if isinstance(part.args, dict):
        return part.args
    try:
        args = json.loads(part.args or "{}")
    except ValueError:
        return None
    return args if isinstance(args, dict) else None


def named_call(part: ToolCallPart) -> dict[str, Any]:
    return {
        "toolCallId": part.tool_call_id,
        "toolName": part.tool_name,
        "args": storable(call_args(part) or {}),
    }
