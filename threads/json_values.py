"""Values from outside, as JSON that can be stored and sent again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from threads.errors import InvalidInput
from threads.text import storable

# Deeper nesting exhausts one reader or another; orjson's own limit is 254.
MAX_DEPTH = 250

# Left to us, or refused by us, and not written by orjson in ways of its own.
_PLAIN = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)

# What JSON readers agree on for whole numbers without a fraction.
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1


def json_value(value: Any, field: str) -> Any:
    """``value`` as JSON, or InvalidInput naming the part of ``field`` that is not.

    Text that PostgreSQL cannot hold becomes U+FFFD, NaN and the infinities become null
    as in JavaScript, moments become ISO 8601 text, tuples lists, whole numbers beyond
    64 bits floats. Keys must be text.
    """
    # Nearly everything is plain JSON already, which orjson tells far faster than a walk.
    try:
        text = orjson.dumps(value, option=_PLAIN)
    except (TypeError, ValueError):
        return _walked(value, field, 0)
    return _walked(value, field, 0) if b"\\u0000" in text else orjson.loads(text)


def as_number(value: int) -> int | float:
    """A whole number as JavaScript has it: beyond 64 bits the nearest float.

    Raises OverflowError beyond the largest float.
    """
    return value if _SMALLEST <= value <= _LARGEST else float(value)


def _walked(value: Any, field: str, depth: int) -> Any:
    if isinstance(value, str):
        return storable(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        try:
            return as_number(value)
        except OverflowError:
            raise InvalidInput.of(field, "is a number too large for JSON") from None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth >= MAX_DEPTH:
        raise InvalidInput.of(field, f"is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        return {
            _key(key, field): _walked(item, f"{field}.{key}", depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [
            _walked(item, f"{field}.{index}", depth + 1)
            for index, item in enumerate(value)
        ]
    if isinstance(value, datetime):
        return iso_moment(value)
    raise InvalidInput.of(field, f"is a {type(value).__name__}, which JSON has not")


def json_object(value: Any, field: str) -> dict[str, Any]:
    """``value`` as a JSON object, for metadata and the like."""
    if not isinstance(value, Mapping):
        raise InvalidInput.of(field, "must be an object")
    return json_value(value, field)


def iso_moment(moment: datetime) -> str:
    """``2024-01-02T03:04:05.678Z``: UTC, whole milliseconds, as the wire has it."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z"


def _key(key: Any, field: str) -> str:
    if not isinstance(key, str):
        raise InvalidInput.of(field, f"has the key {key!r}, which is not text")
    return storable(key)
