"""Messages that a tool call holds together, and messages as readable text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from threads.models import Message


def groups(messages: Sequence[Message]) -> tuple[list[list[Message]], list[Message]]:
    """The messages in groups that must stay together, and those that cannot stay.

    A call and its result, and everything between them, are one group. A message of role
    ``tool`` whose call is not among the messages cannot stay: a model refuses a result
    without its call.
    """
    first_seen: dict[str, int] = {}
    broken: set[str] = set()
    for number, message in enumerate(messages):
        for call in tool_call_ids(message):
            if message.role == "tool" and call not in first_seen:
                broken.add(message.id)
            first_seen.setdefault(call, number)
    found: list[tuple[int, list[Message]]] = []
    for number, message in enumerate(messages):
        if message.id in broken:
            continue
        start = min((first_seen[c] for c in tool_call_ids(message)), default=number)
        group = [message]
        while found and found[-1][0] >= start:
            begin, earlier = found.pop()
            start, group = min(begin, start), [*earlier, *group]
        found.append((start, group))
    return (
        [group for _, group in found],
        [message for message in messages if message.id in broken],
    )


def tool_call_ids(message: Message) -> list[str]:
    """Ids of the calls that a message makes or answers."""
    return [
        call["toolCallId"]
        for call in _calls(message)
        if isinstance(call.get("toolCallId"), str)
    ]


def readable_text(message: Message) -> str:
    """The message as a person would read it: its text, tool calls and files."""
    lines = [message.text] if message.text else []
    for part in _parts(message):
        kind = part.get("type")
        if kind == "tool-invocation":
            lines.append(_readable_call(part.get("toolInvocation")))
        elif kind == "file":
            name = part.get("filename") or part.get("mimeType") or "file"
            lines.append(f"[file {name}]")
    return "\n".join(line for line in lines if line)


def _readable_call(call: Any) -> str:
    if not isinstance(call, Mapping):
        return ""
    asked = f"[tool {call.get('toolName', '')}({_json(call.get('args'))})"
    if "result" in call:
        return f"{asked} -> {_json(call['result'])}]"
    return f"{asked}]"


def _json(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _calls(message: Message) -> Iterator[Mapping[str, Any]]:
    for part in _parts(message):
        call = part.get("toolInvocation")
        if part.get("type") == "tool-invocation" and isinstance(call, Mapping):
            yield call


def _parts(message: Message) -> Iterator[Mapping[str, Any]]:
    content = message.content
    parts = content.get("parts") if isinstance(content, Mapping) else None
    for part in parts or ():
        if isinstance(part, Mapping):
            yield part
