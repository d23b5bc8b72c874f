"""The column type of JSON: read as JavaScript reads it."""

from __future__ import annotations

from typing import Any

import orjson
from django.db import models
from django.db.models.fields.json import KeyTransform


class JsonField(models.JSONField):
    """A JSONField whose whole numbers beyond 64 bits come back as floats.

    PostgreSQL writes ``1e+21`` out as 22 digits. Every reader of stored JSON parses with
    orjson, so that such a number is the same wherever it is seen, and can be saved again.
    """

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        if value is None:
            return None
        if isinstance(expression, KeyTransform) and not isinstance(value, str):
            return value
        return orjson.loads(value)

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        # For the database, and so for migrations, it is a plain JSONField.
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs
