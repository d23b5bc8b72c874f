"""The database backend of the project (``ENGINE``): Django's own for PostgreSQL.

It differs in one thing. Every row has moments, and the driver reads a
moment of text in Python in ten times the time that the standard library's parser takes,
which is written in C.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db.backends.postgresql import base
from psycopg.adapt import AdaptersMap
from psycopg.types.datetime import TimestamptzLoader


class MomentLoader(TimestamptzLoader):
    """Reads ``timestamptz`` as datetimes in UTC."""

    # Django asks for it, and would put its own loader in place of another zone's.
    timezone = UTC

    def load(self, data: Any) -> datetime:
        try:
            moment = datetime.fromisoformat(bytes(data).decode())
        except ValueError:
            # Infinity, or a year that Python does not know: its refusal, in its words.
            return super().load(data)
        return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


class DatabaseWrapper(base.DatabaseWrapper):
    def get_connection_params(self) -> dict[str, Any]:
        parameters = super().get_connection_params()
        adapters = AdaptersMap(parameters["context"].adapters)
        adapters.register_loader("timestamptz", MomentLoader)
        return parameters | {"context": adapters}
