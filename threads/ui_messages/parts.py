"""Stored parts as parts of UI messages, version 5 and the versions after it.

Version 7 has the same parts as version 6. A part that came from a UI message may carry
``ui``: what the stored form has no place for (see :mod:`threads.ui_messages.stored`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from threads.ui_messages.source import file_of

Part = dict[str, Any]

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]+\Z")

# States of a tool call that version 5 does not know.
LATER_STATES = frozenset({"approval-requested", "approval-responded", "output-denied"})

_STATES = {
    "partial-call": "input-streaming",
    "call": "input-available",
    "result": "output-available",
}


def ui_part(
    part: Mapping[str, Any], *, v5: bool, pending: Mapping[str, Any] | None = None
) -> Part | None:
    """A stored part in the UI's form; None where version 5 does not show it.

    ``pending`` are the tool calls that wait for an approval, by id.
    """
    natural = _natural(part, v5=v5, pending=pending or {})
    kept = part.get("ui")
    if not isinstance(kept, Mapping):
        return natural
    if natural is None:
        natural = _without(part, "ui")
    return _as_it_came(natural, kept, v5=v5)


def _natural(
    part: Mapping[str, Any], *, v5: bool, pending: Mapping[str, Any]
) -> Part | None:
    kind = part.get("type", "")
    if kind == "text":
        return _timed({"type": "text", "text": part.get("text", "")}, part)
    if kind == "reasoning" and "text" not in part:
        shown = {"type": "reasoning", "text": _reasoning(part), "state": "done"}
        return _timed(shown, part)
    if kind == "tool-invocation" and isinstance(part.get("toolInvocation"), Mapping):
        return _tool(part, v5=v5, pending=pending)
    if kind == "file":
        file = file_of(part)
        shown = {"type": "file", "url": file.url, "mediaType": file.media_type}
        if file.filename is not None:
            shown["filename"] = file.filename
        return _timed(shown, part)
    if kind == "source" and isinstance(part.get("source"), Mapping):
        return _source(part)
    if kind == "source-document" and v5:
        return None
    if kind == "step-start" and not v5:
        return {"type": "step-start"}
    if kind.startswith("data-") and not v5:
        return {"type": kind, "data": part.get("data")}
    return _without(part, "ui")


def _reasoning(part: Mapping[str, Any]) -> str:
    details = part.get("details") or ()
    joined = "".join(
        detail.get("text", "") for detail in details if detail.get("type") == "text"
    )
    return part.get("reasoning") or joined


def _source(part: Mapping[str, Any]) -> Part:
    source = part["source"]
    shown = {
        "type": "source-url",
        "url": source.get("url"),
        "sourceId": source.get("id"),
    }
    if source.get("title") is not None:
        shown["title"] = source["title"]
    metadata = part.get("providerMetadata") or source.get("providerMetadata")
    return _timed(shown, {**part, "providerMetadata": metadata})


def _tool(part: Mapping[str, Any], *, v5: bool, pending: Mapping[str, Any]) -> Part:
    call = part["toolInvocation"]
    name, state = call.get("toolName") or "", call.get("state", "call")
    shown: Part = {"type": f"tool-{name}", "toolCallId": call.get("toolCallId")}
    if not v5 and not _TOOL_NAME.match(name):
        shown["type"] = "tool-unknown_tool"
    for key in ("providerExecuted", "preliminary", *(() if v5 else ("title",))):
        if part.get(key) is not None:
            shown[key] = part[key]
    metadata = _metadata(part)
    if metadata:
        shown["callProviderMetadata"] = metadata
    if "args" in call:
        shown["input"] = call["args"]
    shown["state"] = _STATES.get(state, state)
    if v5 and state == "partial-call":
        shown["state"] = "input-available"
    if state == "result":
        shown["output"] = call.get("result")
    elif state == "output-error":
        shown["errorText"] = call.get("errorText")
        if "rawInput" in call:
            shown["rawInput"] = call["rawInput"]
    elif state in LATER_STATES and v5:
        shown["state"] = "input-available"
        if state == "output-denied":
            shown["state"] = "output-available"
            shown["output"] = (call.get("approval") or {}).get("reason")
    if not v5 and state != "result" and call.get("approval") is not None:
        shown["approval"] = call["approval"]
    waiting = pending.get(call.get("toolCallId"))
    if not v5 and state == "call" and _awaits_approval(waiting):
        shown["state"] = "approval-requested"
        shown["approval"] = {"id": f"{waiting['runId']}::{call['toolCallId']}"}
    return shown


def _awaits_approval(waiting: Any) -> bool:
    return (
        isinstance(waiting, Mapping)
        and waiting.get("type") == "approval"
        and "runId" in waiting
    )


def _timed(shown: Part, part: Mapping[str, Any]) -> Part:
    metadata = _metadata(part)
    if metadata:
        shown["providerMetadata"] = metadata
    return shown


def _metadata(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """A part's provider metadata, with the time of the part under our own name."""
    metadata, created_at = part.get("providerMetadata"), part.get("createdAt")
    if created_at is None:
        return metadata
    metadata = metadata or {}
    return {
        **metadata,
        "mastra": {**(metadata.get("mastra") or {}), "createdAt": created_at},
    }


def _as_it_came(natural: Part, kept: Mapping[str, Any], *, v5: bool) -> Part:
    came, absent = kept.get("set"), kept.get("unset")
    if not isinstance(came, Mapping):
        came = {}
    if v5 and str(came.get("state")) in LATER_STATES:
        came = {}
    shown = {**natural, **came}
    if isinstance(absent, list):
        shown = {key: value for key, value in shown.items() if key not in absent}
    return shown


def _without(part: Mapping[str, Any], name: str) -> Part:
    return {key: value for key, value in part.items() if key != name}
