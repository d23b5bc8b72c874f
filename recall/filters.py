"""What a list is narrowed to: dates, metadata, roles. Everything is checked here."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from recall.arguments import Arguments, identifier
from threads.errors import InvalidInput
from threads.models import Message
from threads.text import storable

Scalar = str | int | float | bool | None

METADATA_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
RESERVED_KEYS = frozenset({"__proto__", "constructor", "prototype"})

_DATE_RANGE = frozenset({"start", "end", "start_exclusive", "end_exclusive"})
_MESSAGE_FILTER = frozenset({"date_range", "metadata", "roles"})
_THREAD_FILTER = frozenset(
    {"resource_id", "metadata", "archived", "created", "updated"}
)


@dataclass(frozen=True)
class DateRange:
    """Moments from ``start`` to ``end``; an open side is None. Ends are included
    unless said to be exclusive."""

    start: datetime | None = None
    end: datetime | None = None
    start_exclusive: bool = False
    end_exclusive: bool = False


@dataclass(frozen=True)
class MessageFilter:
    """Which messages a page is made of. ``roles`` None means every role."""

    dates: DateRange = DateRange()
    metadata: dict[str, Scalar] = field(default_factory=dict)
    roles: tuple[str, ...] | None = None

    @property
    def narrows(self) -> bool:
        """Whether any message may be left out."""
        return self != MessageFilter()


@dataclass(frozen=True)
class ThreadFilter:
    """Which threads a list is made of. None means no condition."""

    resource_id: str | None = None
    metadata: dict[str, Scalar] = field(default_factory=dict)
    archived: bool | None = None
    created: DateRange = DateRange()
    updated: DateRange = DateRange()


def message_filter(value: Mapping[str, Any] | None) -> MessageFilter:
    """``{date_range, metadata, roles}`` checked."""
    if value is None:
        return MessageFilter()
    given = Arguments(value, "filter", _MESSAGE_FILTER)
    return MessageFilter(
        dates=date_range(given.get("date_range"), given.field("date_range")),
        metadata=metadata_filter(given.get("metadata"), given.field("metadata")),
        roles=_roles(given),
    )


def thread_filter(value: Mapping[str, Any] | None) -> ThreadFilter:
    """``{resource_id, metadata, archived, created, updated}`` checked."""
    if value is None:
        return ThreadFilter()
    given = Arguments(value, "filter", _THREAD_FILTER)
    resource_id = given.get("resource_id")
    # As the reference has it, an empty resource is no condition.
    if resource_id == "":
        resource_id = None
    if resource_id is not None:
        resource_id = identifier(resource_id, given.field("resource_id"))
    return ThreadFilter(
        resource_id=resource_id,
        metadata=metadata_filter(given.get("metadata"), given.field("metadata")),
        archived=None if given.get("archived") is None else given.flag("archived"),
        created=date_range(given.get("created"), given.field("created")),
        updated=date_range(given.get("updated"), given.field("updated")),
    )


def date_range(value: Mapping[str, Any] | None, path: str) -> DateRange:
    """``{start, end, start_exclusive, end_exclusive}`` checked; None is no limit."""
    if value is None:
        return DateRange()
    given = Arguments(value, path, _DATE_RANGE)
    return DateRange(
        start=moment(given.get("start"), given.field("start")),
        end=moment(given.get("end"), given.field("end")),
        start_exclusive=given.flag("start_exclusive"),
        end_exclusive=given.flag("end_exclusive"),
    )


def moment(value: Any, path: str) -> datetime | None:
    """A datetime or ISO 8601 text as a moment in UTC; without an offset it is UTC."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise InvalidInput.of(path, "must be an ISO 8601 date") from None
    if not isinstance(value, datetime):
        raise InvalidInput.of(path, "must be a date or an ISO 8601 string")
    try:
        if value.tzinfo is None:
            return value.replace(tzinfo=UTC)
        return value.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInput.of(path, "is out of range") from None


def metadata_filter(value: Mapping[str, Any] | None, path: str) -> dict[str, Scalar]:
    """Key and scalar pairs that must all be equal, each with the same JSON type."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput.of(path, "must be an object")
    for key, item in value.items():
        if (
            not isinstance(key, str)
            or not METADATA_KEY.match(key)
            or key in RESERVED_KEYS
        ):
            raise InvalidInput.of(
                f"{path}.{key}", f'Invalid metadata filter key "{key}"'
            )
        if not _is_scalar(item):
            raise InvalidInput.of(
                f"{path}.{key}",
                f'Invalid metadata filter value for key "{key}". '
                "Values must be string, finite number, boolean, or null.",
            )
    return storable(dict(value))


def _is_scalar(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        # What no float can hold is as good as infinite.
        return value.bit_length() <= sys.float_info.max_exp
    return value is None or isinstance(value, str)


def _roles(given: Arguments) -> tuple[str, ...] | None:
    roles = given.get("roles")
    if roles is None:
        return None
    if not isinstance(roles, (list, tuple)) or not all(
        isinstance(role, str) and role in Message.Role.values for role in roles
    ):
        raise InvalidInput.of(
            given.field("roles"), f"must be a list of {', '.join(Message.Role.values)}"
        )
    return tuple(roles)
