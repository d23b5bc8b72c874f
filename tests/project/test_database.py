"""The database backend: moments as they are stored, whatever the server writes."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import DataError, connection

pytestmark = pytest.mark.django_db

NOON = datetime(2024, 1, 2, 12, tzinfo=UTC)


def read(literal: str) -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz", [literal])
        return cursor.fetchone()[0]


@pytest.mark.parametrize(
    ("literal", "moment"),
    [
        ("2024-01-02 12:00:00+00", NOON),
        ("2024-01-02 12:00:00.5Z", NOON + timedelta(milliseconds=500)),
        ("2024-01-02 12:00:00.123456Z", NOON + timedelta(microseconds=123456)),
        ("2024-01-02 17:30:00+05:30", NOON),
        ("0001-01-01 00:00:00+00", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31 23:59:59+00", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_a_moment_is_read_in_utc(literal, moment):
    found = read(literal)
    assert (found, found.tzinfo) == (moment, UTC)


def test_a_moment_is_the_same_in_a_session_of_another_zone():
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL TIME ZONE 'Asia/Kolkata'")
    found = read("2024-01-02 12:00:00+00")
    assert (found, found.tzinfo) == (NOON, UTC)


@pytest.mark.parametrize("literal", ["infinity", "0044-03-15 00:00:00+00 BC"])
def test_a_moment_beyond_the_calendar_is_an_error_not_another_moment(literal):
    with pytest.raises(DataError):
        read(literal)
