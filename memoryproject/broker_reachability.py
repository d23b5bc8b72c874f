"""Saying in words that a broker of the user's own cannot be reached."""

from __future__ import annotations

from memoryproject.celery import app

# Seconds.
TIMEOUT = 3.0


def broker_problem() -> str | None:
    """None when the broker answers, else "<address> cannot be reached (<why>)".

    The address is shown without its password.
    """
    with app.connection_for_write(connect_timeout=TIMEOUT) as connection:
        try:
            connection.connect()
        # Each transport has errors of its own, and its package may be missing.
        except Exception as error:
            lines = str(error).splitlines() or [type(error).__name__]
            return f"{connection.as_uri()} cannot be reached ({lines[0].rstrip('.')})"
    return None
