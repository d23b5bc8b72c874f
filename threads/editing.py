"""Changing stored messages in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from threads.activity import Movements, messages_changed
from threads.errors import Conflict, InvalidInput, OwnershipError, ThreadNotFound
from threads.identifiers import now
from threads.json_values import json_value
from threads.messages import identifier, message_role, message_type
from threads.models import Message
from threads.part_checks import check_content
from threads.parts import plain_text
from threads.reach import Reach
from threads.rows import place
from threads.saving import write_changed
from threads.text import storable
from threads.transactions import ATTEMPTS, Locked, locked, whole

_FIELDS = {
    "id": "id",
    "role": "role",
    "type": "type",
    "content": "content",
    "thread_id": "thread_id",
    "threadId": "thread_id",
    "resource_id": "resource_id",
    "resourceId": "resource_id",
}


class _Moved(Exception):
    """A message left the threads that were locked for it."""


def update_messages(
    changes: Any,
    reach: Reach,
    *,
    then: Callable[[list[Message]], None] = lambda updated: None,
    at: str = "messages",
) -> list[Message]:
    """Applies changes to existing messages, all or none; returns the changed ones.

    Each change is a dictionary with ``id`` and any of ``role``, ``type``, ``thread_id``
    and ``content``. Content is changed key by key: ``metadata`` is merged into the
    stored one (None removes it), ``parts`` and every other key are replaced, and the
    text is derived anew. Ids that do not exist within reach are passed over. Times and
    order cannot be changed. ``then`` is called with what was changed, in the same
    transaction.
    """
    wanted = _checked(changes, at)
    if not wanted:
        return []

    def work() -> list[Message]:
        updated = _update(wanted, reach)
        then(updated)
        return updated

    for _ in range(ATTEMPTS):
        try:
            return whole(work)
        except _Moved:
            continue
    raise Conflict("The messages keep being moved by somebody else")


def _checked(changes: Any, at: str) -> list[dict[str, Any]]:
    if isinstance(changes, Mapping):
        changes = [changes]
    if not isinstance(changes, list | tuple):
        raise InvalidInput.of(at, "must be a list of changes")
    checked = []
    for index, change in enumerate(changes):
        path = f"{at}.{index}"
        if not isinstance(change, Mapping):
            raise InvalidInput.of(path, "must be an object")
        values = {}
        for key, value in change.items():
            if key not in _FIELDS:
                raise InvalidInput.of(f"{path}.{key}", "cannot be changed")
            values[_FIELDS[key]] = value
        id = identifier(values, "id", path)
        if id is None:
            raise InvalidInput.of(f"{path}.id", "is required")
        entry: dict[str, Any] = {"id": id}
        if "role" in values:
            entry["role"] = message_role({"role": values["role"]}, path)
        if "type" in values:
            entry["type"] = message_type(values["type"], f"{path}.type")
        for name in ("thread_id", "resource_id"):
            entry[name] = identifier(values, name, path)
        if "content" in values:
            entry["content"] = _content_change(values["content"], f"{path}.content")
        checked.append(entry)
    return checked


def _content_change(value: Any, field: str) -> dict[str, Any]:
    if isinstance(value, str):
        value = storable(value)
        return {"parts": [{"type": "text", "text": value}], "content": value}
    if not isinstance(value, Mapping):
        raise InvalidInput.of(field, "must be an object")
    check_content(value, field)
    if value.get("format", 2) != 2:
        raise InvalidInput.of(f"{field}.format", "must be 2")
    metadata = value.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInput.of(f"{field}.metadata", "must be an object")
    if value.get("content") is not None and not isinstance(value["content"], str):
        raise InvalidInput.of(f"{field}.content", "must be text")
    return json_value(value, field)


def _update(wanted: Sequence[dict[str, Any]], reach: Reach) -> list[Message]:
    rows = Message.objects.within(reach).filter(id__in=[w["id"] for w in wanted])
    concerned = set(rows.values_list("thread_id", flat=True))
    concerned |= {w["thread_id"] for w in wanted if w["thread_id"]}
    threads = locked(concerned, reach)
    messages = rows.in_bulk()
    movements, former, changed = Movements(), {}, {}
    for change in wanted:
        message = messages.get(change["id"])
        if message is None:
            continue
        if message.thread_id not in threads:
            raise _Moved
        former.setdefault(message.id, message.thread_id)
        _move(message, change, threads)
        message.role = change.get("role", message.role)
        message.type = change.get("type", message.type)
        if "content" in change:
            message.content = _merged(message.content, change["content"])
            message.text = plain_text(message.content)
        changed[message.id] = message
    for id, message in changed.items():
        movements.note(place(message), former[id], message.thread_id)
    if changed:
        write_changed(list(changed.values()), now())
        touched = {*former.values(), *(m.thread_id for m in changed.values())}
        messages_changed({id: movements.added(id) for id in touched})
        movements.follow(threads)
    return list(changed.values())


def _move(
    message: Message, change: Mapping[str, Any], threads: Mapping[str, Locked]
) -> None:
    target = change["thread_id"] or message.thread_id
    if target not in threads:
        raise ThreadNotFound(target)
    named = change["resource_id"] or message.resource_id
    if not named == message.resource_id == threads[target].resource_id:
        raise OwnershipError(f"Message {message.id} belongs to another resource")
    message.thread_id = target


def _merged(stored: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    content = {**stored, **change, "format": 2}
    if change.get("metadata") is not None:
        content["metadata"] = {**(stored.get("metadata") or {}), **change["metadata"]}
    if "parts" in change and "content" not in change and "content" in stored:
        texts = [p["text"] for p in change["parts"] if p.get("type") == "text"]
        content["content"] = texts[-1] if texts else ""
    return content
