"""The parts that a message's content is made of, and the text in them.

Content of format 2 is ``{"format": 2, "parts": [...]}`` with ``content`` (a copy of the
last text part), ``metadata``, ``experimental_attachments``, ``toolInvocations``,
``reasoning``, ``annotations`` and ``providerMetadata`` beside the parts. A part is an
object with a ``type``:

    text             text
    reasoning        reasoning, details
    tool-invocation  toolInvocation {toolCallId, toolName, args, state, result, ...}
    file             mimeType, data (data: URL, http(s) URL or base64), filename
    source           source {sourceType, id, url, title}
    source-document  sourceId, mediaType, title, filename
    step-start       model
    data-<name>      id, data
    error            error {name, message}

Parts of other types and further keys are kept as they came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from threads.errors import InvalidInput


def plain_text(content: Any) -> str:
    """The text of a message: what search, titles and the admin go by.

    The text parts, one below the other; without any, the ``content`` copy. Reasoning,
    tool calls and their results, files, sources and data have no text here: they are
    neither what was said nor what somebody would search for.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, Mapping):
        return ""
    texts = [
        part["text"]
        for part in content.get("parts") or ()
        if isinstance(part, Mapping)
        and part.get("type") == "text"
        and isinstance(part.get("text"), str)
    ]
    if texts:
        return "\n".join(texts)
    copy = content.get("content")
    return copy if isinstance(copy, str) else ""


def from_core_parts(parts: Sequence[Any], field: str) -> list[Any]:
    """The parts of a model's message (``content`` given as a list) as stored parts."""
    return [
        _from_core_part(part, f"{field}.{index}") for index, part in enumerate(parts)
    ]


def _from_core_part(part: Any, path: str) -> Any:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, Mapping):
        raise InvalidInput.of(path, "must be an object")
    kind = part.get("type")
    if kind == "image":
        return _file(part, part.get("image"), path)
    if kind == "file" and "url" not in part:
        return _file(part, part.get("data"), path)
    if kind == "reasoning" and "text" in part:
        detail = {"type": "text", "text": part["text"]}
        kept = {key: value for key, value in part.items() if key != "text"}
        return _with_metadata(
            {**kept, "reasoning": part["text"], "details": [detail]}, part
        )
    if kind == "redacted-reasoning":
        detail = {"type": "redacted", "data": part.get("data", "")}
        return _with_metadata(
            {"type": "reasoning", "reasoning": "", "details": [detail]}, part
        )
    if kind == "tool-call":
        invocation = {
            "state": "call",
            "toolCallId": part.get("toolCallId"),
            "toolName": part.get("toolName"),
            "args": part.get("args", part.get("input", {})),
        }
        return _tool(invocation, part)
    if kind == "tool-result":
        invocation = {
            "state": "result",
            "toolCallId": part.get("toolCallId"),
            "toolName": part.get("toolName"),
            "result": _result_of(part),
            "args": part.get("args", part.get("input", {})),
        }
        if part.get("isError") is not None:
            invocation["isError"] = part["isError"]
        return _tool(invocation, part)
    return part


def _file(part: Mapping[str, Any], data: Any, path: str) -> dict[str, Any]:
    if not isinstance(data, str):
        raise InvalidInput.of(path, "must carry its data as base64 or as a URL")
    mime = part.get("mimeType") or part.get("mediaType") or "image/*"
    kept = {
        key: value
        for key, value in part.items()
        if key not in ("type", "image", "data", "mimeType", "mediaType")
    }
    return _with_metadata(
        {"type": "file", "data": data, "mimeType": mime, **kept}, part
    )


def _result_of(part: Mapping[str, Any]) -> Any:
    """The result of a tool, taken out of the envelope that newer messages put it in."""
    if "result" in part:
        return part["result"]
    output = part.get("output")
    if isinstance(output, Mapping) and "type" in output and "value" in output:
        return output["value"]
    return output


def _tool(invocation: dict[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    tool: dict[str, Any] = {"type": "tool-invocation", "toolInvocation": invocation}
    if part.get("providerExecuted") is not None:
        tool["providerExecuted"] = part["providerExecuted"]
    return _with_metadata(tool, part)


def _with_metadata(stored: dict[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """What a provider added, under the name that stored parts use for it."""
    options = part.get("providerMetadata", part.get("providerOptions"))
    stored.pop("providerOptions", None)
    if options is not None:
        stored["providerMetadata"] = options
    return stored
