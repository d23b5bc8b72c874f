"""Serializer fields that take JSON types at their word: ``5`` is no text, ``"5"`` no number.

Errors are phrased as the clients know them (``expected string, received number``).
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from threads.api.parsing import parsed
from threads.identifiers import MAX_ID_LENGTH

# OFFSET is a 64-bit number.
MAX_NUMBER = 2**63 - 1


def kind_of(value: Any) -> str:
    """The JSON type of a value, by its name in errors."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


class StrictField(serializers.Field):
    """A field that says which type it expected and which it got."""

    expected = "value"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        missing = f"Invalid input: expected {self.expected}, received "
        self.error_messages["required"] = missing + "undefined"
        self.error_messages["null"] = missing + "null"

    def wrong_type(self, value: Any) -> serializers.ValidationError:
        return serializers.ValidationError(
            f"Invalid input: expected {self.expected}, received {kind_of(value)}"
        )

    def to_representation(self, value: Any) -> Any:
        return value


@extend_schema_field(OpenApiTypes.STR)
class Text(StrictField):
    """A string of any length, kept as it is."""

    expected = "string"

    def to_internal_value(self, value: Any) -> str:
        if not isinstance(value, str):
            raise self.wrong_type(value)
        return value


@extend_schema_field({"type": "string", "minLength": 1, "maxLength": MAX_ID_LENGTH})
class Identifier(Text):
    """The id of a thread, message, resource or agent: not blank, 255 characters at most.

    Blank text is told as the clients know it: the argument is missing.
    """

    def to_internal_value(self, value: Any) -> str:
        value = super().to_internal_value(value)
        if len(value) > MAX_ID_LENGTH:
            raise serializers.ValidationError(
                f"Too big: expected string to have <={MAX_ID_LENGTH} characters"
            )
        return value


@extend_schema_field({"type": "string", "minLength": 1})
class FilledText(Text):
    """A string that is not empty."""


@extend_schema_field({"type": "object", "additionalProperties": True})
class JsonObject(StrictField):
    """An object with any keys."""

    expected = "record"

    def to_internal_value(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.wrong_type(value)
        return value


@extend_schema_field({"type": "array", "items": {}})
class JsonArray(StrictField):
    """An array of any values."""

    expected = "array"

    def to_internal_value(self, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise self.wrong_type(value)
        return value


@extend_schema_field({"type": "boolean"})
class Flag(StrictField):
    """``true`` or ``false``; in a query as that word."""

    expected = "boolean"

    def to_internal_value(self, value: Any) -> bool:
        if isinstance(value, bool):
            return value
        if self.parent and getattr(self.parent, "of_query", False):
            if value in ("true", "1"):
                return True
            if value in ("false", "0"):
                return False
        raise self.wrong_type(value)


@extend_schema_field({"type": "integer", "minimum": 0})
class Natural(StrictField):
    """An integer of 0 or more; in a query as digits, where empty is 0."""

    expected = "number"

    def to_internal_value(self, value: Any) -> int:
        if isinstance(value, str) and getattr(self.parent, "of_query", False):
            return self.from_text(value.strip())
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong_type(value)
        return self.in_range(value)

    def from_text(self, text: str) -> int:
        if text == "":
            return 0
        digits = text.lstrip("+-")
        if digits.isascii() and digits.isdigit() and len(text) - len(digits) <= 1:
            if len(digits) > 30:
                raise serializers.ValidationError("Too big: value too large")
            return self.in_range(int(text))
        raise serializers.ValidationError(
            "Invalid input: expected number, received NaN"
        )

    def in_range(self, value: int) -> int:
        if value < 0:
            raise serializers.ValidationError("Too small: expected number to be >=0")
        if value > MAX_NUMBER:
            raise serializers.ValidationError("Too big: value too large")
        return value


@extend_schema_field(
    {"oneOf": [{"type": "integer", "minimum": 0}, {"type": "boolean", "const": False}]}
)
class PerPage(Natural):
    """How many rows a page has; ``false`` for all of them."""

    def to_internal_value(self, value: Any) -> Any:
        if value is False or value == "false":
            return False
        return super().to_internal_value(value)


class FromJson(StrictField):
    """A query parameter that holds ``expected`` as JSON text or in bracketed keys.

    ``optional_text``: text that is no JSON counts as absent, instead of being refused.
    """

    def __init__(self, *, kind: type = dict, **options: Any) -> None:
        self.kind = kind
        self.expected = "array" if kind is list else "object"
        super().__init__(**options)

    def to_internal_value(self, value: Any) -> Any:
        if isinstance(value, str):
            try:
                value = parsed(value)
            except ValueError:
                raise self.wrong_type(value) from None
        if not isinstance(value, self.kind):
            raise self.wrong_type(value)
        return value


@extend_schema_field(OpenApiTypes.STR)
class FromJsonObject(FromJson):
    """An object as JSON text."""


@extend_schema_field(OpenApiTypes.STR)
class FromJsonArray(FromJson):
    """An array as JSON text."""

    def __init__(self, **options: Any) -> None:
        super().__init__(kind=list, **options)
