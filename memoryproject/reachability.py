"""Saying in one line why the database cannot be reached, and what to do."""

from __future__ import annotations

from django.conf import settings
from django.db import OperationalError, connections
from psycopg import conninfo

from memoryproject.embedded.postgres import EmbeddedPostgres


def explain(error: OperationalError) -> str | None:
    """None when the server was reached, so that the error is about something else."""
    if settings.EMBEDDED_POSTGRES:
        if EmbeddedPostgres(settings.VAR_DIR).leftover() is not None:
            return None
        return (
            f"the embedded PostgreSQL of {settings.VAR_DIR} is not running. "
            "Start it with 'make run', and repeat this command beside it; "
            "or set DATABASE_URL to a PostgreSQL of yours."
        )
    # A server that answered gives its errors a code.
    if getattr(error.__cause__, "sqlstate", None) and "connection" not in str(error):
        return None
    return (
        f"the database {address()} cannot be reached "
        f"({first_line(error)}). Check DATABASE_URL, and that the server runs."
    )


def address() -> str:
    """The configured database without its password."""
    given = connections["default"].settings_dict
    shown = {
        "host": given["HOST"],
        "port": str(given["PORT"]),
        "dbname": given["NAME"],
        "user": given["USER"],
    }
    return conninfo.make_conninfo(
        **{name: value for name, value in shown.items() if value}
    )


def first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
