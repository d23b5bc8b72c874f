"""A run's log folded into the message that it amounts to.

The same folding serves a reply that was finished, stopped, that failed, and one whose
process died: whatever was shown is what is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from agents.chunks import Chunk, Event


@dataclass
class Transcript:
    """What the events so far have said.

    ``parts`` are parts of a stored message. ``open`` names the parts that were begun and
    not ended: ``("text", id)`` or ``("reasoning", id)``.
    """

    parts: list[dict[str, Any]] = field(default_factory=list)
    approvals: dict[str, dict[str, Any]] = field(default_factory=dict)
    open: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    steps: int = 0
    model: str = ""

    @classmethod
    def of(cls, events: Iterable[Event | Chunk]) -> Transcript:
        transcript = cls()
        for event in events:
            transcript.add(event)
        return transcript

    @property
    def text(self) -> str:
        """All text of the reply, as its readers have put it together."""
        return "".join(p["text"] for p in self.parts if p["type"] == "text")

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing worth a message."""
        return not any(
            part.get("text") or part["type"] not in ("text", "step-start", "reasoning")
            for part in self.parts
        )

    def closing(self) -> list[Chunk]:
        """The chunks that end what was begun."""
        return [
            Chunk(f"{kind}-end", {"id": id_, "type": f"{kind}-end"})
            for kind, id_ in self.open
        ]

    def add(self, event: Event | Chunk) -> None:
        payload = event.payload
        match event.type:
            case "step-start":
                self._step_start(payload)
            case "text-start" | "reasoning-start":
                self._begin(event.type.removesuffix("-start"), payload)
            case "text-delta" | "reasoning-delta":
                self._grow(event.type.removesuffix("-delta"), payload)
            case "text-end" | "reasoning-end":
                self._close(event.type.removesuffix("-end"), payload)
            case "tool-call":
                self._tool_call(payload)
            case "tool-result":
                self._tool(payload).update(state="result", result=payload.get("result"))
                if payload.get("isError"):
                    self._tool(payload)["isError"] = True
            case "tool-error":
                self._tool(payload).update(
                    state="output-error",
                    errorText=_error_text(payload.get("error")),
                )
            case "tool-output-denied":
                self._tool(payload).update(
                    state="output-denied", approval=payload.get("approval", {})
                )
            case "tool-call-approval":
                self._approval(payload)
            case "source":
                self.parts.append({"type": "source", "source": dict(payload)})
            case "file":
                self.parts.append({"type": "file", **payload})

    def _step_start(self, payload: dict[str, Any]) -> None:
        self.model = payload.get("model") or self.model
        if self.steps:
            part: dict[str, Any] = {"type": "step-start"}
            if self.model:
                part["model"] = self.model
            self.parts.append(part)
        self.steps += 1

    def _begin(self, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        part = (
            {"type": "text", "text": ""}
            if kind == "text"
            else {"type": "reasoning", "reasoning": "", "details": []}
        )
        self.parts.append(part)
        self.open[kind, payload.get("id", "")] = part
        return part

    def _grow(self, kind: str, payload: dict[str, Any]) -> None:
        part = self.open.get((kind, payload.get("id", "")))
        if part is None:
            part = self._begin(kind, payload)
        part["text" if kind == "text" else "reasoning"] += payload["text"]

    def _close(self, kind: str, payload: dict[str, Any]) -> None:
        part = self.open.pop((kind, payload.get("id", "")), None)
        if part is None:
            return
        if kind == "reasoning":
            part["details"] = [{"type": "text", "text": part["reasoning"]}]
            if payload.get("signature"):
                part["details"][0]["signature"] = payload["signature"]
        elif not part["text"]:
            self.parts[:] = [p for p in self.parts if p is not part]

    def _tool_call(self, payload: dict[str, Any]) -> None:
        invocation = {
            "toolCallId": payload["toolCallId"],
            "toolName": payload["toolName"],
            "args": payload.get("args") or {},
            "state": "call",
            "step": max(self.steps - 1, 0),
        }
        self.tools[payload["toolCallId"]] = invocation
        self.parts.append({"type": "tool-invocation", "toolInvocation": invocation})

    def _tool(self, payload: dict[str, Any]) -> dict[str, Any]:
        if payload["toolCallId"] not in self.tools:
            self._tool_call(payload)
        return self.tools[payload["toolCallId"]]

    def _approval(self, payload: dict[str, Any]) -> None:
        call_id = payload["toolCallId"]
        invocation = self._tool(payload)
        invocation["state"] = "approval-requested"
        invocation["approval"] = {"id": payload.get("approvalId", call_id)}
        self.approvals[call_id] = {
            key: payload[key]
            for key in ("toolCallId", "toolName", "args", "resumeSchema")
            if key in payload
        } | {"type": "approval", "runId": payload.get("runId", "")}


def message_content(transcript: Transcript, metadata: dict[str, Any]) -> dict[str, Any]:
    """Content of the stored message: format 2, its last text repeated as the wire has."""
    content: dict[str, Any] = {"format": 2, "parts": transcript.parts}
    texts = [p["text"] for p in transcript.parts if p["type"] == "text"]
    if texts:
        content["content"] = texts[-1]
    if transcript.approvals:
        metadata = metadata | {"pendingToolApprovals": transcript.approvals}
    return content | {"metadata": metadata}


def _error_text(error: Any) -> str:
    if isinstance(error, dict):
        return str(error.get("message", ""))
    return str(error or "")
