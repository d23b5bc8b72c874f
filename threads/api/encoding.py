"""JSON on the way out: orjson, times as ISO 8601 with milliseconds and ``Z``."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import orjson
from django.http import HttpResponse
from rest_framework.renderers import BaseRenderer

# Keys of metadata may be anything that was stored; times are written by ``iso``.
OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_NON_STR_KEYS


def iso(moment: datetime) -> str:
    """``2024-01-02T03:04:05.678Z``: UTC, always three digits of milliseconds."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds")[:-6] + "Z"


def _other(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def json_bytes(value: Any) -> bytes:
    """``value`` as JSON text in UTF-8."""
    try:
        return orjson.dumps(value, default=_other, option=OPTIONS)
    except TypeError:
        # Whole numbers beyond 64 bits, which orjson does not write.
        return json.dumps(
            value,
            default=_written_apart,
            ensure_ascii=False,
            separators=(",", ":"),
        ).encode()


def _written_apart(value: Any) -> Any:
    if isinstance(value, orjson.Fragment):
        return json.loads(orjson.dumps(value))
    return _other(value)


class JsonReply(HttpResponse):
    """A reply whose body is ``value`` as JSON."""

    def __init__(self, value: Any, **options: Any) -> None:
        super().__init__(json_bytes(value), content_type="application/json", **options)
        self["X-Content-Type-Options"] = "nosniff"


class JsonRenderer(BaseRenderer):
    """The one representation of the API, whatever ``Accept`` asks for."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str = "", renderer_context: Any = None
    ) -> bytes:
        return json_bytes(data)
