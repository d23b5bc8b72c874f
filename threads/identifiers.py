"""Identifiers and clock of everything stored."""

from __future__ import annotations

from datetime import datetime

import uuid6
from django.utils import timezone

MAX_ID_LENGTH = 255


def new_id() -> str:
    """A fresh UUIDv7 as text: unique, and sorted by the time of its making."""
    return str(uuid6.uuid7())


def now() -> datetime:
    """The present moment in UTC, in whole milliseconds as the wire has it."""
    return whole_milliseconds(timezone.now())


def whole_milliseconds(moment: datetime) -> datetime:
    """``moment`` without the part that a millisecond clock cannot show."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
