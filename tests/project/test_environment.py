"""Settings that are refused, and in which words."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from memoryproject.environment import database, one_of


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_address_of_a_database_becomes_djangos_settings(scheme):
    found = database(f"{scheme}://alice:p%40ss@db.internal:5433/memory")
    assert found["ENGINE"] == "memoryproject.database"
    assert (found["USER"], found["PASSWORD"]) == ("alice", "p@ss")
    assert (found["HOST"], found["PORT"]) == ("db.internal", 5433)
    assert found["NAME"] == "memory"


@pytest.mark.parametrize(
    ("url", "end"),
    [
        ("garbage", "/name."),
        ("mysql://alice:secret@h/x", "/name, not mysql://…."),
        (
            "postgresql://alice:secret@h:port/x",
            "is written as %40 for @, for instance.",
        ),
        ("postgresql://alice:secret@[h/x", "is written as %40 for @, for instance."),
    ],
)
def test_other_addresses_are_refused_without_their_password(url, end):
    with pytest.raises(ImproperlyConfigured) as caught:
        database(url)
    said = str(caught.value)
    assert said.startswith("DATABASE_URL must be postgresql://user:password@host:5432")
    assert said.endswith(end)
    assert "secret" not in said


def test_value_that_is_not_among_the_allowed_is_refused_naming_them():
    assert one_of("ACCESS", "required", ("loopback", "required")) == "required"
    with pytest.raises(ImproperlyConfigured) as caught:
        one_of("ACCESS", "nobody", ("loopback", "required"))
    assert str(caught.value) == (
        'ACCESS must be one of loopback, required, not "nobody".'
    )
