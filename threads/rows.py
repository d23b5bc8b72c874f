"""Message objects from rows of hand-written statements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from django.db import DEFAULT_DB_ALIAS

from threads.models import Message

FIELDS = [field.attname for field in Message._meta.concrete_fields]
COLUMNS = [field.column for field in Message._meta.concrete_fields]
_JSON = [FIELDS.index("content"), FIELDS.index("metadata")]


def columns_of(alias: str) -> str:
    """The columns of a message, in the order that ``messages_from`` expects."""
    return ", ".join(f"{alias}.{column}" for column in COLUMNS)


def messages_from(rows: Iterable[Sequence[Any]]) -> list[Message]:
    """Messages from rows of ``columns_of``; JSON comes as text from the driver."""
    content, metadata = _JSON
    messages = []
    for row in rows:
        values = list(row)
        values[content] = orjson.loads(values[content])
        if values[metadata] is not None:
            values[metadata] = orjson.loads(values[metadata])
        messages.append(Message.from_db(DEFAULT_DB_ALIAS, FIELDS, values))
    return messages
