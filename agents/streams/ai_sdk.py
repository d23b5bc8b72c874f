"""The log of a run as a UI message stream, which ``useChat`` of the AI SDK reads.

Its readers refuse unknown types, nulls, and parts that were not opened, so nothing but
what they know is written and every part that a log left open is closed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from agents.chunks import Event
from agents.streams.sse import DONE, frame

HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}

_FINISH_REASONS = frozenset(
    {"stop", "length", "content-filter", "tool-calls", "error", "other"}
)


@dataclass
class UiMessageStream:
    """Translates events one by one.

    ``version`` is the AI SDK's (``v5``, ``v6``, ``v7``); reasoning and sources are sent
    when asked for.
    """

    run_id: str
    version: str = "v5"
    reasoning: bool = False
    sources: bool = False
    _inputs: set[str] = field(default_factory=set)
    _calls: set[str] = field(default_factory=set)
    _in_step: bool = False

    def chunks(self, event: Event) -> Iterator[dict[str, Any]]:
        """What the event is in the client's words: nothing, one chunk or several."""
        payload = event.payload
        match event.type:
            case "start":
                yield {"type": "start", "messageId": payload["messageId"]}
            case "step-start":
                self._in_step = True
                yield {"type": "start-step"}
            case "step-finish" if self._in_step:
                self._in_step = False
                yield {"type": "finish-step"}
            case "text-start" | "text-end":
                yield {"type": event.type, "id": payload["id"]}
            case "text-delta":
                yield {
                    "type": "text-delta",
                    "id": payload["id"],
                    "delta": payload["text"],
                }
            case "reasoning-start" | "reasoning-end" if self.reasoning:
                yield {"type": event.type, "id": payload["id"]}
            case "reasoning-delta" if self.reasoning:
                yield {
                    "type": "reasoning-delta",
                    "id": payload["id"],
                    "delta": payload["text"],
                }
            case "source" if self.sources:
                yield from self._source(payload)
            case "file":
                yield self._file(payload)
            case "error":
                yield {"type": "error", "errorText": payload["error"]["message"]}
            case "abort":
                yield {"type": "abort"}
            case "finish":
                reason = payload["stepResult"]["reason"]
                if reason not in _FINISH_REASONS:
                    reason = "other"
                yield {"type": "finish", "finishReason": reason}
            case _:
                yield from self._tool(event)

    def _tool(self, event: Event) -> Iterator[dict[str, Any]]:
        payload = event.payload
        call_id = payload.get("toolCallId", "")
        match event.type:
            case "tool-call-input-streaming-start":
                self._inputs.add(call_id)
                yield {
                    "type": "tool-input-start",
                    "toolCallId": call_id,
                    "toolName": payload["toolName"],
                }
            case "tool-call-delta" if call_id in self._inputs:
                yield {
                    "type": "tool-input-delta",
                    "toolCallId": call_id,
                    "inputTextDelta": payload["argsTextDelta"],
                }
            case "tool-call":
                yield from self._call(payload)
            case "tool-result":
                yield from self._call(payload)
                yield {
                    "type": "tool-output-available",
                    "toolCallId": call_id,
                    "output": payload.get("result"),
                }
            case "tool-error":
                yield from self._call(payload)
                yield {
                    "type": "tool-output-error",
                    "toolCallId": call_id,
                    "errorText": payload["error"]["message"],
                }
            case "tool-output-denied":
                yield from self._call(payload)
                if self.version != "v5":
                    yield {"type": "tool-output-denied", "toolCallId": call_id}
            case "tool-call-approval":
                yield from self._call(payload)
                if self.version != "v5":
                    yield {
                        "type": "tool-approval-request",
                        "approvalId": payload["approvalId"],
                        "toolCallId": call_id,
                    }
                shown = ("runId", "toolCallId", "toolName", "args", "resumeSchema")
                yield {
                    "type": "data-tool-call-approval",
                    "id": call_id,
                    "data": {"state": "data-tool-call-approval"}
                    | {key: payload[key] for key in shown},
                }

    def _call(self, payload: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The input of a call, once."""
        if payload["toolCallId"] not in self._calls:
            self._calls.add(payload["toolCallId"])
            yield {
                "type": "tool-input-available",
                "toolCallId": payload["toolCallId"],
                "toolName": payload["toolName"],
                "input": payload.get("args") or {},
            }

    def _source(self, payload: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if payload.get("sourceType") == "url":
            chunk = {
                "type": "source-url",
                "sourceId": payload["id"],
                "url": payload["url"],
            }
            if payload.get("title"):
                chunk["title"] = payload["title"]
            yield chunk
        elif payload.get("mimeType"):
            yield {
                "type": "source-document",
                "sourceId": payload["id"],
                "mediaType": payload["mimeType"],
                "title": payload.get("title") or "",
            }

    def _file(self, payload: dict[str, Any]) -> dict[str, Any]:
        data = payload["data"]
        if not data.startswith(("data:", "http:", "https:")):
            data = f"data:{payload['mimeType']};base64,{data}"
        return {"type": "file", "url": data, "mediaType": payload["mimeType"]}


async def ai_sdk_frames(
    stream: UiMessageStream, events: AsyncIterator[Event]
) -> AsyncIterator[bytes]:
    """The frames of a run, closed by ``[DONE]``."""
    async for event in events:
        for chunk in stream.chunks(event):
            yield frame(chunk)
    yield DONE
