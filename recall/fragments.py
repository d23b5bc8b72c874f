"""Pieces of SQL with their parameters.

The text of a piece is fixed by us; whatever a caller gives travels as a parameter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recall.filters import DateRange
from threads.reach import Reach, end_of_beginning


@dataclass(frozen=True)
class Fragment:
    """A piece of SQL with its parameters."""

    sql: str
    values: tuple[Any, ...] = ()

    def __and__(self, other: Fragment) -> Fragment:
        return Fragment(f"{self.sql} AND {other.sql}", self.values + other.values)


EVERYTHING = Fragment("TRUE")


def within(dates: DateRange, column: str) -> Fragment:
    """The moment ``column`` lies in the range."""
    condition = EVERYTHING
    if dates.start is not None:
        sign = ">" if dates.start_exclusive else ">="
        condition &= Fragment(f"{column} {sign} %s", (dates.start,))
    if dates.end is not None:
        sign = "<" if dates.end_exclusive else "<="
        condition &= Fragment(f"{column} {sign} %s", (dates.end,))
    return condition


def reached(reach: Reach, column: str) -> Fragment:
    """The resource id ``column`` is within reach."""
    if reach.everything:
        return EVERYTHING
    named = [pattern for pattern in reach.patterns if not pattern.endswith("*")]
    alternatives = [Fragment(f"{column} = ANY(%s::text[])", (named,))]
    for pattern in sorted(reach.patterns):
        if pattern.endswith("*"):
            alternatives.append(_beginning_with(column, pattern[:-1]))
    values = [value for fragment in alternatives for value in fragment.values]
    text = " OR ".join(f"({fragment.sql})" for fragment in alternatives)
    return Fragment(f"({text})", tuple(values))


def _beginning_with(column: str, prefix: str) -> Fragment:
    """A range, as ids are ordered by code point: an index answers it."""
    end = end_of_beginning(prefix)
    condition = Fragment(f"{column} >= %s", (prefix,))
    return condition if end is None else condition & Fragment(f"{column} < %s", (end,))
