"""UI messages as stored messages, without loss.

A UI part becomes the stored part of the same meaning. Where that part, shown again, would
differ from what came (a streaming state, a dynamic tool, the id of a data part in version
6), it also carries the difference: ``ui = {"set": {...}, "unset": [...]}``. So a message
that came from a chat goes back to it as it came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from threads.errors import InvalidInput
from threads.part_checks import check_content
from threads.ui_messages.parts import LATER_STATES, Part, ui_part
from threads.ui_messages.source import source_of

_STATES = {
    "input-streaming": "partial-call",
    "input-available": "call",
    "output-available": "result",
}

# What the UI form lays over a message's own metadata.
_AROUND = ("createdAt", "threadId", "resourceId", "providerMetadata")


def from_ui_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A UI message as a stored one, ``{id, role, content, createdAt?, ...}`` in camelCase.

    Takes messages of version 5 and later, and of version 4. ``createdAt``, ``threadId``,
    ``resourceId`` and ``providerMetadata`` in the metadata return to where the UI form
    had them from. A message that is only a signal becomes a signal again.
    """
    stored = {
        key: message[key]
        for key in ("id", "role", "type", "createdAt", "threadId", "resourceId")
        if message.get(key) is not None
    }
    content: dict[str, Any] = {
        "format": 2,
        "parts": from_ui_parts(message.get("parts") or ()),
    }
    for key in (
        "content",
        "experimental_attachments",
        "toolInvocations",
        "annotations",
    ):
        if message.get(key):
            content[key] = message[key]
    metadata = message.get("metadata")
    if isinstance(metadata, Mapping):
        own = dict(metadata)
        for key in _AROUND:
            if key in own and _is_ours(key, own[key]):
                value = own.pop(key)
                target = content if key == "providerMetadata" else stored
                target.setdefault(key, value)
        if own or set(metadata) & set(_AROUND) == set():
            content["metadata"] = own
    stored["content"] = content
    return _signal_again(message, stored) or stored


def _is_ours(key: str, value: Any) -> bool:
    """Whether a metadata value can be one that the UI form put there."""
    if key == "providerMetadata":
        return isinstance(value, Mapping) and bool(value)
    if not isinstance(value, str) or not value:
        return False
    if key != "createdAt":
        return True
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _signal_again(
    message: Mapping[str, Any], stored: dict[str, Any]
) -> dict[str, Any] | None:
    """The signal that this message shows, if it shows nothing else and fully."""
    parts, created_at = message.get("parts") or (), stored.get("createdAt")
    if len(parts) != 1 or parts[0].get("type") != "data-signal":
        return None
    data = parts[0].get("data")
    if not isinstance(data, Mapping) or not isinstance(data.get("type"), str):
        return None
    contents = data.get("contents")
    if isinstance(contents, str):
        contents = [{"type": "text", "text": contents}]
    if not isinstance(contents, list) or message.get("role") != "assistant":
        return None
    if created_at is not None and not _is_ours("createdAt", created_at):
        return None
    signal = {
        **stored,
        "role": "signal",
        "type": data["type"],
        "content": {**stored["content"], "parts": contents},
    }
    try:
        check_content(signal["content"], "content")
    except InvalidInput:
        return None
    return signal if source_of(signal).signal() == parts[0] else None


def from_ui_parts(parts: Sequence[Mapping[str, Any]]) -> list[Part]:
    """The parts of a UI message as stored parts. Stored parts stay as they are."""
    return [_from_ui_part(part) for part in parts]


def _from_ui_part(part: Mapping[str, Any]) -> Part:
    stored = _meaning(part)
    if stored is None:
        return dict(part)
    shown = [ui_part(stored, v5=v5) for v5 in (True, False)]
    if part.get("state") in LATER_STATES:
        shown = shown[1:]
    kept: Part = {}
    changed = {
        key: value
        for key, value in part.items()
        if any(form is None or key not in form or form[key] != value for form in shown)
    }
    surplus = {key for form in shown if form is not None for key in form} - set(part)
    if changed and None not in shown:
        kept["set"] = changed
    if surplus:
        kept["unset"] = sorted(surplus)
    if kept or None in shown:
        stored["ui"] = kept
    return stored


def _meaning(part: Mapping[str, Any]) -> Part | None:
    """The stored part of the same meaning; None for a part that is stored as it is."""
    kind = str(part.get("type", ""))
    if kind == "text":
        return _timed({"type": "text", "text": part.get("text", "")}, part)
    if kind == "reasoning" and "text" in part:
        text = part["text"]
        detail = {"type": "text", "text": text}
        return _timed(
            {"type": "reasoning", "reasoning": text, "details": [detail]}, part
        )
    if kind == "file" and "url" in part:
        stored = {
            "type": "file",
            "mimeType": part.get("mediaType"),
            "data": part["url"],
        }
        if part.get("filename") is not None:
            stored["filename"] = part["filename"]
        return _timed(stored, part)
    if kind == "source-url":
        source = {
            "sourceType": "url",
            "id": part.get("sourceId"),
            "url": part.get("url"),
        }
        if part.get("title") is not None:
            source["title"] = part["title"]
        return _timed({"type": "source", "source": source}, part)
    if kind == "dynamic-tool" or (
        kind.startswith("tool-") and "toolInvocation" not in part
    ):
        return _tool(part, kind)
    if kind in ("source-document", "step-start") or kind.startswith("data-"):
        return dict(part)
    return None


def _tool(part: Mapping[str, Any], kind: str) -> Part:
    state = part.get("state", "input-available")
    name = (
        part.get("toolName") if kind == "dynamic-tool" else kind.removeprefix("tool-")
    )
    call: Part = {
        "toolCallId": part.get("toolCallId"),
        "toolName": name,
        "state": _STATES.get(state, state),
    }
    for key, ours in (
        ("input", "args"),
        ("output", "result"),
        ("errorText", "errorText"),
        ("rawInput", "rawInput"),
        ("approval", "approval"),
    ):
        if key in part:
            call[ours] = part[key]
    stored: Part = {"type": "tool-invocation", "toolInvocation": call}
    for key in ("providerExecuted", "title", "preliminary"):
        if part.get(key) is not None:
            stored[key] = part[key]
    return _timed(stored, part, "callProviderMetadata")


def _timed(
    stored: Part, part: Mapping[str, Any], name: str = "providerMetadata"
) -> Part:
    """Adds provider metadata, with the time of the part taken out to where it was."""
    metadata = part.get(name)
    if not isinstance(metadata, Mapping):
        return stored
    metadata, mastra = dict(metadata), metadata.get("mastra")
    if isinstance(mastra, Mapping) and isinstance(mastra.get("createdAt"), int):
        rest = {key: value for key, value in mastra.items() if key != "createdAt"}
        stored["createdAt"] = mastra["createdAt"]
        metadata.pop("mastra")
        if rest:
            metadata["mastra"] = rest
    if metadata:
        stored["providerMetadata"] = metadata
    return stored
