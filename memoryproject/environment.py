"""What settings from the environment may be, and refusing in one line what they may not.

A refusal is ImproperlyConfigured. It names the setting and what it may be, and shows no
value that may hold a password.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
POSTGRES_SCHEMES = ("postgresql", "postgres")


def one_of(name: str, value: str, allowed: Collection[str]) -> str:
    """The value of the setting ``name``, which must be among the allowed ones."""
    if value not in allowed:
        raise ImproperlyConfigured(
            f'{name} must be one of {", ".join(allowed)}, not "{value}".'
        )
    return value


def database(url: str) -> dict[str, Any]:
    """Django's settings of the database that DATABASE_URL names."""
    scheme, separator, _ = url.partition("://")
    try:
        if not separator or scheme not in POSTGRES_SCHEMES:
            raise ValueError
        return dict(dj_database_url.parse(url, engine="memoryproject.database"))
    except ValueError:
        begun = f", not {scheme}://…" if separator else ""
        if scheme in POSTGRES_SCHEMES:
            begun = "; a special character in it is written as %40 for @, for instance"
        # Not the parser's error, which may show the password.
        raise ImproperlyConfigured(
            f"DATABASE_URL must be postgresql://user:password@host:5432/name{begun}."
        ) from None
