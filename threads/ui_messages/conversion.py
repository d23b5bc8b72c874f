"""Whole messages as UI messages: what goes around the parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from threads.errors import InvalidInput
from threads.parts import plain_text
from threads.ui_messages.parts import ui_part
from threads.ui_messages.source import Source, file_of, file_of_attachment, sources

_VERSIONS = ("v5", "v6", "v7")
_UNFINISHED = ("call", "partial-call")


def to_ai_sdk_v5_messages(
    messages: Any, *, version: Literal["v5", "v6", "v7"] = "v5"
) -> list[dict[str, Any]]:
    """UI messages of the AI SDK, oldest first: ``{id, role, metadata, parts}``.

    ``messages`` is one stored message or several, as rows or dictionaries in either
    spelling. ``metadata`` is the message's own with ``createdAt``, ``threadId`` and
    ``resourceId`` laid over it. System messages and reminders are left out.
    """
    if version not in _VERSIONS:
        raise InvalidInput.of("version", f"must be one of {', '.join(_VERSIONS)}")
    return [_v5_message(source, v5=version == "v5") for source in sources(messages)]


def _v5_message(source: Source, *, v5: bool) -> dict[str, Any]:
    around = {
        "createdAt": source.created_at,
        "threadId": source.thread_id,
        "resourceId": source.resource_id,
        "providerMetadata": source.content.get("providerMetadata"),
    }
    around = {key: value for key, value in around.items() if value is not None}
    if source.role == "signal":
        role, parts = "assistant", [source.signal()]
    else:
        # A chat has no role for tools: what they answered is shown as the assistant's.
        role = "assistant" if source.role == "tool" else source.role
        parts = _v5_parts(source, v5=v5)
    return {
        "id": source.id,
        "role": role,
        "metadata": {**source.metadata, **around},
        "parts": parts,
    }


def _v5_parts(source: Source, *, v5: bool) -> list[dict[str, Any]]:
    content = source.content
    pending = content.get("metadata") and source.metadata.get("pendingToolApprovals")
    pending = pending if isinstance(pending, Mapping) else {}
    shown = [ui_part(part, v5=v5, pending=pending) for part in source.parts]
    parts = [part for part in shown if part is not None]
    kinds = {part.get("type") for part in source.parts}
    if "tool-invocation" not in kinds:
        for call in content.get("toolInvocations") or ():
            part = {"type": "tool-invocation", "toolInvocation": call}
            parts.append(ui_part(part, v5=v5, pending=pending))
    if not parts and content.get("content"):
        parts.append({"type": "text", "text": content["content"]})
    extra = _v5_extra(source, [part.get("url") for part in parts], kinds)
    parts = [*extra, *parts] if v5 else [*parts, *extra]
    if v5:
        asked = [
            {"type": "data-tool-call-approval", "data": p} for p in pending.values()
        ]
        parts += [part for part in asked if part not in parts]
    return parts


def _v5_extra(source: Source, urls: list[Any], kinds: set[Any]) -> list[dict[str, Any]]:
    """What older messages keep beside their parts."""
    extra: list[dict[str, Any]] = []
    reasoning = source.content.get("reasoning")
    if reasoning and "reasoning" not in kinds:
        extra.append({"type": "reasoning", "text": reasoning})
    for attachment in source.attachments:
        file = file_of_attachment(attachment)
        if file.url not in urls:
            media_type = file.media_type or "unknown"
            extra.append({"type": "file", "url": file.url, "mediaType": media_type})
    return extra


def to_ai_sdk_v4_messages(messages: Any) -> list[dict[str, Any]]:
    """UI messages of the AI SDK's version 4, oldest first.

    Tool calls without a result are left out, a user's files become attachments and lose
    their names, an assistant's files are left out: version 4 has no place for them.
    """
    return [_v4_message(source) for source in sources(messages)]


def _v4_message(source: Source) -> dict[str, Any]:
    if source.role == "signal":
        role, text, parts = "assistant", "", [source.signal()]
    else:
        role = "assistant" if source.role == "tool" else source.role
        text, parts = _last_text(source), _v4_parts(source)
    message: dict[str, Any] = {
        "id": source.id,
        "role": role,
        "content": text,
        "createdAt": source.created_at,
        "parts": parts,
    }
    attachments = [dict(attachment) for attachment in source.attachments]
    if source.role == "user":
        for part in source.parts:
            if part.get("type") == "file":
                file = file_of(part)
                attachments.append({"contentType": file.media_type, "url": file.url})
    if attachments or source.role in ("user", "signal"):
        message["experimental_attachments"] = attachments
    finished = [
        call
        for call in source.content.get("toolInvocations") or ()
        if call.get("state") not in _UNFINISHED
    ]
    if finished:
        message["toolInvocations"] = finished
    if source.content.get("metadata") is not None:
        message["metadata"] = source.metadata
    return message


def _last_text(source: Source) -> str:
    texts = [part["text"] for part in source.parts if part.get("type") == "text"]
    return texts[-1] if texts else plain_text(source.content)


def _v4_parts(source: Source) -> list[dict[str, Any]]:
    shown = [_v4_part(part) for part in source.parts]
    parts = [part for part in shown if part is not None]
    if source.role == "user" and source.parts and not parts:
        return [{"type": "text", "text": ""}]
    return parts


def _v4_part(part: Mapping[str, Any]) -> dict[str, Any] | None:
    if part.get("type") == "file":
        return None
    if part.get("type") != "tool-invocation":
        return {key: value for key, value in part.items() if key != "ui"}
    call = dict(part["toolInvocation"])
    state = call.get("state")
    if state in _UNFINISHED:
        return None
    if state == "output-error":
        call |= {"state": "result", "isError": True, "result": call.get("errorText")}
    elif state == "output-denied":
        reason = (call.get("approval") or {}).get("reason")
        call |= {"state": "result", "result": reason}
    return {"type": "tool-invocation", "toolInvocation": call}
