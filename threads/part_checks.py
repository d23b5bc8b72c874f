"""What readers rely on in a message's content. Everything else is stored unseen.

All functions raise InvalidInput naming the field, and return nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from threads.errors import InvalidInput

# Of each kind of part, the fields that are text, if they are there at all.
_TEXT_IF_GIVEN = {
    "reasoning": ("reasoning", "text"),
    "file": ("data", "url", "mimeType", "mediaType", "filename"),
}


def check_content(content: Mapping[str, Any], field: str) -> None:
    """For content of format 2, or a change of some of its keys."""
    if "parts" in content:
        check_parts(content["parts"], f"{field}.parts")
    for index, call in enumerate(_list(content, "toolInvocations", field)):
        _check_call(call, f"{field}.toolInvocations.{index}")
    for index, file in enumerate(_list(content, "experimental_attachments", field)):
        path = f"{field}.experimental_attachments.{index}"
        _check_object(file, path)
        _check_texts(file, ("url", "contentType", "name"), path)
    _check_texts(content, ("reasoning",), field)
    _check_metadata(content, "providerMetadata", field)


def check_parts(parts: Any, field: str) -> None:
    """For stored parts."""
    for part, path in _listed(parts, field):
        kind = part["type"]
        if kind == "text" and not isinstance(part.get("text"), str):
            raise InvalidInput.of(f"{path}.text", "must be text")
        if kind == "tool-invocation":
            _check_call(part.get("toolInvocation"), f"{path}.toolInvocation")
        if kind == "source":
            _check_object(part.get("source"), f"{path}.source")
        if kind == "reasoning":
            for index, detail in enumerate(_list(part, "details", path)):
                _check_object(detail, f"{path}.details.{index}")
                _check_texts(detail, ("text",), f"{path}.details.{index}")
        if kind in _TEXT_IF_GIVEN:
            _check_texts(part, _TEXT_IF_GIVEN[kind], path)
        _check_metadata(part, "providerMetadata", path)


def check_ui_parts(parts: Any, field: str) -> None:
    """For the parts of UI messages, which may also be stored parts."""
    for part, path in _listed(parts, field):
        kind = part["type"]
        is_tool = kind == "dynamic-tool" or kind.startswith("tool-")
        if not is_tool or "toolInvocation" in part:
            check_parts([part], field)
            _check_texts(part, ("state",), path)
            continue
        names = (
            ("toolCallId", "toolName") if kind == "dynamic-tool" else ("toolCallId",)
        )
        for name in names:
            if not isinstance(part.get(name), str):
                raise InvalidInput.of(f"{path}.{name}", "must be text")
        _check_texts(part, ("state",), path)
        if part.get("approval") is not None:
            _check_object(part["approval"], f"{path}.approval")
        _check_metadata(part, "callProviderMetadata", path)


def _listed(parts: Any, field: str) -> list[tuple[Mapping[str, Any], str]]:
    """The parts with their paths, each an object of a kind."""
    if not isinstance(parts, Sequence) or isinstance(parts, str):
        raise InvalidInput.of(field, "must be a list of parts")
    listed = []
    for index, part in enumerate(parts):
        path = f"{field}.{index}"
        _check_object(part, path)
        if not isinstance(part.get("type"), str) or not part["type"]:
            raise InvalidInput.of(f"{path}.type", "must name the kind of the part")
        listed.append((part, path))
    return listed


def _check_call(call: Any, path: str) -> None:
    _check_object(call, path)
    for name in ("toolCallId", "toolName"):
        if not isinstance(call.get(name), str):
            raise InvalidInput.of(f"{path}.{name}", "must be text")
    _check_texts(call, ("state",), path)
    if call.get("approval") is not None:
        _check_object(call["approval"], f"{path}.approval")


def _check_metadata(holder: Mapping[str, Any], name: str, path: str) -> None:
    """For what providers add, by provider."""
    metadata = holder.get(name)
    if metadata is None:
        return
    _check_object(metadata, f"{path}.{name}")
    if metadata.get("mastra") is not None:
        _check_object(metadata["mastra"], f"{path}.{name}.mastra")


def _check_texts(holder: Mapping[str, Any], names: Sequence[str], path: str) -> None:
    for name in names:
        if not isinstance(holder.get(name), str | None):
            raise InvalidInput.of(f"{path}.{name}", "must be text")


def _check_object(value: Any, path: str) -> None:
    if not isinstance(value, Mapping):
        raise InvalidInput.of(path, "must be an object")


def _list(holder: Mapping[str, Any], name: str, path: str) -> Sequence[Any]:
    values = holder.get(name)
    if values is None:
        return ()
    if not isinstance(values, list | tuple):
        raise InvalidInput.of(f"{path}.{name}", "must be a list")
    return values
