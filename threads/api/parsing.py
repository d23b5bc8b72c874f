"""JSON on the way in.

A body is read up to a limit, must be declared as JSON and may be nested 64 levels deep.
Of two equal keys the last counts, as in every JSON parser that clients use. Text that
PostgreSQL cannot hold is replaced. Whole numbers beyond 64 bits are floats, as in
JavaScript; a number beyond the largest float is refused.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import orjson
from django.conf import settings
from django.http import HttpRequest
from rest_framework.parsers import BaseParser

from threads.api.errors import BODY_TOO_LARGE, UnsupportedContent, invalid_body
from threads.errors import Issue, TooLarge
from threads.json_values import as_number
from threads.text import storable

MAX_DEPTH = 64

_JSON_TYPE = re.compile(r"application/(?:[\w.+-]+\+)?json\s*(?:;.*)?\Z", re.IGNORECASE)


class NumberTooLarge(ValueError):
    """A number that no float holds; ``path`` says where it is."""

    def __init__(self, path: str) -> None:
        super().__init__("is a number too large for JSON")
        self.path = path


def parsed(text: bytes | str) -> Any:
    """The value of JSON text, fit to be stored.

    Raises ValueError, with the parser's words, for what is not JSON or is nested too
    deep, and NumberTooLarge. Halves of surrogate pairs and NUL come out as U+FFFD.
    """
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        if b"\\u" not in raw and "infinity" not in str(error):
            raise ValueError(str(error)) from error
        # Possibly half a surrogate pair, or a number whose place is to be told.
        value = _parsed_patiently(raw)
    brackets = raw.count(b"[") + raw.count(b"{")
    if brackets > MAX_DEPTH and isinstance(value, dict | list) and _is_deep(value):
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    return storable(value) if b"\\u" in raw else value


def _parsed_patiently(raw: bytes) -> Any:
    try:
        value = json.loads(raw.decode(), parse_constant=_no_number, parse_int=_whole)
        _refuse_infinity(value, "")
    except RecursionError as error:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels") from error
    return value


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _whole(text: str) -> int | float:
    return as_number(int(text)) if len(text) <= 20 else float(text)


def _refuse_infinity(value: Any, path: str) -> None:
    if isinstance(value, float) and math.isinf(value):
        raise NumberTooLarge(path)
    members = value.items() if isinstance(value, dict) else ()
    for key, item in enumerate(value) if isinstance(value, list) else members:
        _refuse_infinity(item, f"{path}.{key}" if path else str(key))


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def require_json(content_type: str) -> None:
    """Raises UnsupportedContent for a type other than JSON.

    A web page can send a form or plain text to another site without asking that site;
    JSON it cannot.
    """
    if not _JSON_TYPE.match(content_type.strip()):
        raise UnsupportedContent("Content-Type must be application/json")


def parse_body(raw: bytes, content_type: str) -> Any:
    """The JSON value of a request's body; None when it is empty."""
    if len(raw) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        raise TooLarge(BODY_TOO_LARGE)
    if not raw:
        return None
    require_json(content_type)
    try:
        return parsed(raw)
    except NumberTooLarge as error:
        raise invalid_body(Issue(error.path or "body", str(error))) from error
    except ValueError as error:
        raise invalid_body(Issue("body", str(error))) from error


def json_body(request: HttpRequest) -> Any:
    """The JSON body of a plain Django request; None when it is empty."""
    return parse_body(request.body, request.META.get("CONTENT_TYPE", ""))


def json_object(request: HttpRequest) -> dict[str, Any]:
    """The JSON object in a plain Django request's body; anything else is refused."""
    value = json_body(request)
    if not isinstance(value, dict):
        raise invalid_body(Issue("root", "expected an object"))
    return value


class JsonParser(BaseParser):
    """Parser of the REST framework's requests."""

    media_type = "application/json"

    def parse(
        self, stream: Any, media_type: str = "", parser_context: Any = None
    ) -> Any:
        return parse_body(stream.read(), media_type)
