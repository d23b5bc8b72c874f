"""Messages as callers give them, made into what is stored.

Accepted are: plain text (a user's message), :class:`NewMessage`, stored messages, and
dictionaries in camelCase or snake_case whose ``content`` is content of format 2, text, or
a model's list of parts, or which have ``parts`` of their own as UI messages do. Nothing
is dropped, trimmed or reordered. A mistake is InvalidInput naming its field, such as
``messages.3.role``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from threads.errors import InvalidInput, TooLarge
from threads.identifiers import MAX_ID_LENGTH, new_id, now, whole_milliseconds
from threads.json_values import json_object, json_value
from threads.models import Message
from threads.part_checks import check_content, check_ui_parts
from threads.parts import from_core_parts, plain_text
from threads.text import storable
from threads.ui_messages.stored import from_ui_message

ROLES = tuple(Message.Role.values)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# The reference's name for the only content format; the same as no type at all.
_NO_TYPE = "v2"


@dataclass(frozen=True)
class NewMessage:
    """A message to be saved.

    ``content`` is text, content of format 2, or a model's list of parts. ``id`` defaults
    to a fresh one, ``created_at`` (a datetime, ISO 8601 text or milliseconds since 1970)
    to now, thread and resource to those of the call. ``metadata`` is put into the
    content.
    """

    content: str | Mapping[str, Any] | list[Any]
    role: str = "user"
    id: str | None = None
    thread_id: str | None = None
    resource_id: str | None = None
    created_at: datetime | str | int | float | None = None
    type: str | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Batch:
    """Drafts ready to be written: unsaved rows with text derived and everything checked.

    ``fresh_ids`` are the ids made here, which cannot exist yet.
    """

    drafts: list[Message]
    fresh_ids: frozenset[str]


def normalise(
    messages: Any,
    *,
    thread_id: str | None = None,
    resource_id: str | None = None,
    max_bytes: int | None = None,
    at: str = "messages",
) -> Batch:
    """The messages as drafts, in the order given.

    ``messages`` is one message or an iterable of them. ``thread_id`` and ``resource_id``
    serve messages that name none. Content of more than ``max_bytes`` as JSON is
    TooLarge. ``at`` is the path of the list in the caller's input.
    """
    single = isinstance(messages, str | Mapping | NewMessage | Message)
    given = [messages] if single else messages
    if not isinstance(given, Iterable):
        raise InvalidInput.of(at, "must be a list of messages")
    moment = now()
    fresh: set[str] = set()
    drafts = []
    for index, message in enumerate(given):
        path = f"{at}.{index}"
        values = _values(message, path)
        content = message_content(values, path)
        if max_bytes is not None:
            _check_size(content, max_bytes, path)
        id = identifier(values, "id", path)
        if id is None:
            id = new_id()
            fresh.add(id)
        owner = identifier(values, "thread_id", path) or thread_id
        if owner is None:
            raise InvalidInput.of(f"{path}.thread_id", "is required")
        created_at = values.get("created_at")
        drafts.append(
            Message(
                id=id,
                thread_id=owner,
                resource_id=identifier(values, "resource_id", path) or resource_id,
                role=message_role(values, path),
                type=message_type(values.get("type"), f"{path}.type"),
                content=content,
                text=plain_text(content),
                updated_at=moment,
                created_at=moment
                if created_at is None
                else parse_moment(created_at, _spelt(values, "created_at", path)),
            )
        )
    return Batch(drafts, frozenset(fresh))


_CAMEL = {
    "threadId": "thread_id",
    "resourceId": "resource_id",
    "createdAt": "created_at",
}
_NAMES = frozenset(field.name for field in fields(NewMessage))
_ROW = _NAMES - {"metadata"}


class _Values(dict[str, Any]):
    """A message's values by snake_case name; ``spelling`` has the caller's names."""

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        super().__init__()
        self.spelling: dict[str, str] = {}
        for key, value in pairs:
            name = _CAMEL.get(key, key)
            self[name] = value
            self.spelling[name] = key


def _values(message: Any, path: str) -> _Values:
    if isinstance(message, str):
        return _Values([("role", "user"), ("content", message)])
    if isinstance(message, Mapping):
        return _Values(_from_ui(message, path).items())
    if isinstance(message, NewMessage):
        return _Values((name, getattr(message, name)) for name in _NAMES)
    if isinstance(message, Message):
        # Its metadata is a copy of what its content holds.
        return _Values((name, getattr(message, name)) for name in _ROW)
    raise InvalidInput.of(path, "must be a message: an object or text")


def _from_ui(message: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """A UI message, known by ``parts`` of its own, as a stored one; others unchanged.

    Where it belongs is for the caller to say: the thread and resource in a UI message's
    metadata are what it was shown with, and are not followed.
    """
    parts, content = message.get("parts"), message.get("content")
    if parts is None or isinstance(content, Mapping):
        return message
    if content is not None and not isinstance(content, str):
        raise InvalidInput.of(f"{path}.content", "must be text beside parts")
    check_ui_parts(parts, f"{path}.parts")
    stored = from_ui_message(message)
    for key in ("threadId", "resourceId"):
        stored.pop(key, None)
    around = {
        key: value
        for key, value in message.items()
        if key not in ("parts", "metadata", "content", "role", "type")
        and value is not None
    }
    if not isinstance(message.get("metadata"), Mapping | type(None)):
        raise InvalidInput.of(f"{path}.metadata", "must be an object")
    return {"role": message.get("role"), **stored, **around}


def _spelt(values: Mapping[str, Any], name: str, path: str) -> str:
    spelling = getattr(values, "spelling", {})
    return f"{path}.{spelling.get(name, name)}"


def message_content(values: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Content of format 2 out of a message's ``content`` and ``metadata``."""
    given, field = values.get("content"), f"{path}.content"
    if isinstance(given, str):
        text = {"type": "text", "text": given}
        content = {"format": 2, "parts": [text], "content": given}
    elif isinstance(given, Mapping):
        content = _format_2(given, field)
    elif isinstance(given, list | tuple):
        content = {"format": 2, "parts": from_core_parts(given, field)}
    else:
        raise InvalidInput.of(field, "must be text, an object or a list of parts")
    check_content(content, field)
    content = json_value(content, field)
    metadata = values.get("metadata")
    if metadata is not None:
        beside = json_object(metadata, _spelt(values, "metadata", path))
        content["metadata"] = {**beside, **(content.get("metadata") or {})}
    return content


def _format_2(given: Mapping[str, Any], field: str) -> dict[str, Any]:
    if given.get("format", 2) != 2 or isinstance(given.get("format"), bool):
        raise InvalidInput.of(f"{field}.format", "must be 2")
    content = {"format": 2, **given}
    if content.get("content") is not None and not isinstance(content["content"], str):
        raise InvalidInput.of(f"{field}.content", "must be text")
    metadata = content.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInput.of(f"{field}.metadata", "must be an object")
    if content.get("parts") is None:
        if isinstance(content.get("content"), str):
            content["parts"] = [{"type": "text", "text": content["content"]}]
        elif isinstance(content.get("toolInvocations"), list):
            content["parts"] = []
        else:
            raise InvalidInput.of(f"{field}.parts", "is required")
    return content


def message_role(values: Mapping[str, Any], path: str) -> str:
    """The role of a message.

    A model's ``tool`` message, a bare list of results, is stored as an assistant's, as
    its parts say. No other role is changed.
    """
    role = values.get("role")
    if role not in ROLES:
        raise InvalidInput.of(f"{path}.role", f"must be one of {', '.join(ROLES)}")
    if role == Message.Role.TOOL and isinstance(values.get("content"), list | tuple):
        return Message.Role.ASSISTANT.value
    return str(role)


def message_type(value: Any, path: str) -> str:
    """A message's own type; empty when it has none."""
    if value is None or value == _NO_TYPE:
        return ""
    if not isinstance(value, str):
        raise InvalidInput.of(path, "must be text")
    return storable(value)


def identifier(values: Mapping[str, Any], name: str, path: str) -> str | None:
    """The id under ``name``; None when it is missing, null or empty."""
    value = values.get(name)
    if value is None or value == "":
        return None
    field = _spelt(values, name, path)
    if not isinstance(value, str):
        raise InvalidInput.of(field, "must be text")
    if not value.strip():
        raise InvalidInput.of(field, "must not be blank")
    if len(value) > MAX_ID_LENGTH:
        raise InvalidInput.of(field, f"must have at most {MAX_ID_LENGTH} characters")
    return storable(value)


def parse_moment(value: Any, path: str) -> datetime:
    """A datetime, ISO 8601 text or milliseconds since 1970 as UTC in whole milliseconds.

    Without an offset it is UTC.
    """
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = _EPOCH + timedelta(milliseconds=value)
        if isinstance(value, datetime):
            if value.tzinfo is None:
                value = value.replace(tzinfo=UTC)
            return whole_milliseconds(value.astimezone(UTC))
    except (ValueError, OverflowError):
        pass
    raise InvalidInput.of(path, "must be a moment, such as 2024-01-02T03:04:05.678Z")


def _check_size(content: dict[str, Any], max_bytes: int, path: str) -> None:
    size = len(orjson.dumps(content))
    if size > max_bytes:
        raise TooLarge(
            f"{path}.content: {size} bytes, the limit is {max_bytes}",
        )
