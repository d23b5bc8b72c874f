"""Stored messages as the requests and responses that pydantic-ai sends to a provider."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_ai.messages import (
    BinaryContent,
    DocumentUrl,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from threads.models import Message

NO_RESULT = "The tool gave no result."

# What models can be shown; other files are named to them.
_SHOWN = ("image/", "application/pdf", "text/", "audio/")


def to_model_messages(messages: Sequence[Message]) -> list[ModelMessage]:
    """The conversation in the provider-neutral form.

    Every tool call is followed by its result, as providers demand: a call without one is
    answered by :data:`NO_RESULT`, and a result that has moved into a later message takes
    the place of the call. Reasoning is not sent back.
    """
    answered = _last_invocations(messages)
    converted: list[ModelMessage] = []
    for message in messages:
        if message.role in ("user", "signal"):
            content = user_content(message.content)
            if content:
                converted.append(ModelRequest([UserPromptPart(content)]))
        elif message.role == "system":
            converted.append(ModelRequest([SystemPromptPart(message.text)]))
        else:
            converted.extend(_assistant(message, answered))
    return converted


def user_content(content: dict[str, Any]) -> str | list[Any]:
    """Text, or text with files, as a user's prompt."""
    items: list[Any] = []
    for part in content.get("parts") or ():
        if part.get("type") == "text" and part.get("text"):
            items.append(part["text"])
        elif part.get("type") == "file":
            items.append(_file(part))
    known = {p.get("data") or p.get("url") for p in content.get("parts") or ()}
    for attachment in content.get("experimental_attachments") or ():
        if attachment.get("url") not in known:
            kind = attachment.get("contentType") or "application/octet-stream"
            items.append(_file({"mimeType": kind, "data": attachment.get("url")}))
    if not items and isinstance(content.get("content"), str):
        items.append(content["content"])
    if all(isinstance(item, str) for item in items):
        return "\n\n".join(items)
    return items


def _file(part: dict[str, Any]) -> Any:
    kind = part.get("mimeType") or part.get("mediaType") or "application/octet-stream"
    data = part.get("data") or part.get("url") or ""
    named = f"[file {part.get('filename') or kind}]"
    if not isinstance(data, str) or not kind.startswith(_SHOWN):
        return named
    if data.startswith(("http://", "https://")):
        return ImageUrl(data) if kind.startswith("image/") else DocumentUrl(data)
    if data.startswith("data:"):
        header, _, data = data.partition(",")
        if not header.endswith(";base64"):
            return named
    try:
        return BinaryContent(base64.b64decode(data, validate=True), media_type=kind)
    except (binascii.Error, ValueError):
        return named


def _last_invocations(messages: Iterable[Message]) -> dict[str, dict[str, Any]]:
    """The latest word about every tool call, by its id."""
    found: dict[str, dict[str, Any]] = {}
    for message in messages:
        for invocation in _invocations(message):
            earlier = found.get(invocation["toolCallId"])
            if earlier is None or invocation.get("state") not in ("call", None):
                found[invocation["toolCallId"]] = invocation
    return found


def _invocations(message: Message) -> list[dict[str, Any]]:
    return [
        part["toolInvocation"]
        for part in message.content.get("parts") or ()
        if part.get("type") == "tool-invocation"
        and (part.get("toolInvocation") or {}).get("toolCallId")
    ]


def _assistant(
    message: Message, answered: dict[str, dict[str, Any]]
) -> Iterable[ModelMessage]:
    """One stored reply as alternating responses and tool results."""
    said: list[Any] = []
    results: list[Any] = []
    converted: list[ModelMessage] = []

    def step_done() -> None:
        if said:
            converted.append(ModelResponse(list(said)))
        if results:
            converted.append(ModelRequest(list(results)))
        said.clear()
        results.clear()

    for part in message.content.get("parts") or ():
        kind = part.get("type")
        if kind == "step-start":
            step_done()
        elif kind == "text" and part.get("text"):
            if results:
                step_done()
            said.append(TextPart(part["text"]))
        elif kind == "tool-invocation":
            given = part.get("toolInvocation") or {}
            # Each call once, where it was made; its result may be in a later message.
            invocation = answered.pop(given.get("toolCallId"), None)
            if invocation is None:
                continue
            name, call_id = invocation.get("toolName", ""), invocation["toolCallId"]
            said.append(ToolCallPart(name, invocation.get("args") or {}, call_id))
            results.append(ToolReturnPart(name, _result(invocation), call_id))
    if message.role == "assistant" and not message.content.get("parts"):
        said += [TextPart(message.text)] if message.text else []
    step_done()
    return converted


def _result(invocation: dict[str, Any]) -> Any:
    state = invocation.get("state")
    if state == "output-error":
        return f"Error: {invocation.get('errorText') or 'the tool failed'}"
    if state == "output-denied":
        reason = (invocation.get("approval") or {}).get("reason")
        return f"The user refused this call. {reason or ''}".strip()
    if state == "result":
        result = invocation.get("result")
        return result if isinstance(result, str) else json.dumps(result)
    return NO_RESULT
