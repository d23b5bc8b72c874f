"""Whether the project can work with the database, and with the model that is set.

Those of the database run with ``manage.py migrate`` and with
``manage.py check --database default``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.checks import Error, Tags, register
from django.db import DatabaseError, NotSupportedError, connections

OLDEST_POSTGRES = 15
OLDEST_PGVECTOR = (0, 8)


@dataclass(frozen=True)
class DatabaseFacts:
    """What a server says about itself.

    ``postgres`` is its version as a number (150003 is 15.3). ``available`` is the version
    of pgvector that it could install and ``installed`` the one in the database; either is
    None when there is none. ``may_install``: whether our role could install it.
    """

    postgres: int
    available: str | None
    installed: str | None
    may_install: bool


@register(Tags.database)
def check_database(
    app_configs: Any, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[Error]:
    """Errors of the default database, when it is asked for and can be reached."""
    if "default" not in (databases or ()):
        return []
    try:
        return problems(facts("default"))
    except NotSupportedError as error:
        return [too_old(str(error))]
    except DatabaseError:
        # Out of reach; the command that needs it says so.
        return []


def facts(alias: str) -> DatabaseFacts:
    with connections[alias].cursor() as cursor:
        cursor.execute(
            """
            SELECT current_setting('server_version_num')::int,
                   (SELECT default_version FROM pg_available_extensions
                     WHERE name = 'vector'),
                   (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
                   (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
                   OR EXISTS (SELECT FROM pg_available_extension_versions
                               WHERE name = 'vector' AND trusted)
            """
        )
        return DatabaseFacts(*cursor.fetchone())


def problems(found: DatabaseFacts) -> list[Error]:
    errors = []
    if found.postgres < OLDEST_POSTGRES * 10_000:
        errors.append(
            too_old(f"It is version {found.postgres // 10_000}.{found.postgres % 100}.")
        )
    if found.installed is None and found.available is None:
        errors.append(
            Error(
                "The PostgreSQL server has no pgvector.",
                hint="Install the extension on the server (Debian: apt-get install "
                "postgresql-18-pgvector; Docker: the image pgvector/pgvector:pg18), "
                "or unset DATABASE_URL to use the embedded server.",
                id="memoryproject.E002",
            )
        )
    elif version(found.installed or found.available) < OLDEST_PGVECTOR:
        errors.append(
            Error(
                f"pgvector is too old: {found.installed or found.available}, but 0.8 "
                "or newer is needed.",
                hint="Upgrade the extension on the server, then run as a superuser in "
                "this database: ALTER EXTENSION vector UPDATE;",
                id="memoryproject.E003",
            )
        )
    elif found.installed is None and not found.may_install:
        errors.append(
            Error(
                "pgvector is not installed in the database, and its role may not "
                "install it.",
                hint="Run as a superuser in this database: CREATE EXTENSION vector;",
                id="memoryproject.E004",
            )
        )
    return errors


def too_old(detail: str) -> Error:
    return Error(
        f"The PostgreSQL server is too old. {detail}",
        hint=f"PostgreSQL {OLDEST_POSTGRES} or newer is needed. Upgrade it, point "
        "DATABASE_URL to another, or unset DATABASE_URL to use the embedded server.",
        id="memoryproject.E001",
    )


def version(text: str | None) -> tuple[int, ...]:
    """(0, 8, 5) of "0.8.5"."""
    return tuple(int(number) for number in re.findall(r"\d+", text or ""))


@register()
def check_model(app_configs: Any = None, **kwargs: Any) -> list[Error]:
    """Whether MEMORY_MODEL has the form of a model's name, and a provider that exists."""
    name = settings.MEMORY_MODEL
    provider, _, model = name.partition(":")
    if name in ("", "offline") or (model and known(provider)):
        return []
    return [
        Error(
            f'MEMORY_MODEL names no model: "{name}".',
            hint="It is offline, local:smollm2, or a provider and its model, such as "
            "openai:gpt-5-mini, anthropic:claude-haiku-4-5, google:gemini-2.5-flash.",
            id="memoryproject.E005",
        )
    ]


def known(provider: str) -> bool:
    """Whether a provider of models has this name."""
    if provider in ("local", "openai", "openai-chat", "anthropic", "google"):
        return True
    # It takes long to import, and hardly anybody needs it here.
    from pydantic_ai.providers import infer_provider_class

    try:
        infer_provider_class(provider)
    except ValueError:
        return False
    except ImportError:
        # It exists; that its package is missing is said where it is used.
        return True
    return True
