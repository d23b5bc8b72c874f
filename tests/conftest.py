"""A PostgreSQL server of the session's own, started when the first test needs it."""

from collections.abc import Iterator

import pytest
from django.conf import settings

from memoryproject.embedded.postgres import EmbeddedPostgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(settings.VAR_DIR, throwaway=True)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(postgres: EmbeddedPostgres) -> None:
    """Has the server running before pytest-django creates the tests' database."""


@pytest.fixture(scope="session")
def database_url(django_db_setup: None) -> str:
    """The tests' database, for DATABASE_URL of a process that a test starts."""
    from django.db import connection

    given = connection.settings_dict
    host = given["HOST"].replace("/", "%2F")
    return f"postgresql://{given['USER']}:{given['PASSWORD']}@{host}/{given['NAME']}"
