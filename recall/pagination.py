"""Which page of a list, and in which order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from recall.arguments import Arguments, whole_number
from threads.errors import InvalidInput

PerPage = int | Literal[False]

# PostgreSQL's OFFSET is a 64-bit number.
MAX_OFFSET = 2**63 - 1


@dataclass(frozen=True)
class Page:
    """Page ``number`` (from 0) of ``size`` rows; ``size`` False means all rows."""

    number: int
    size: PerPage

    @property
    def offset(self) -> int:
        """How many rows come before the page."""
        return 0 if self.size is False else self.number * self.size

    @property
    def is_empty(self) -> bool:
        """Whether no row at all is asked for. (False equals 0, hence this.)"""
        return self.size is not False and self.size == 0

    def has_more(self, total: int) -> bool:
        """Whether rows follow this page, of ``total`` rows in all."""
        return self.size is not False and self.offset + self.size < total


@dataclass(frozen=True)
class Order:
    """By which ``field`` (snake_case), and whether the greatest comes first."""

    field: str
    descending: bool


def page_of(page: Any, per_page: Any) -> Page:
    """The page asked for.

    ``page`` is an integer >= 0; ``per_page`` an integer >= 0 or False. True, None,
    floats and strings are errors.
    """
    number = whole_number(page, "page")
    if per_page is False:
        return Page(number, False)
    if isinstance(per_page, bool) or not isinstance(per_page, int) or per_page < 0:
        raise InvalidInput.of("per_page", "must be an integer >= 0 or false")
    if number * per_page + per_page > MAX_OFFSET:
        raise InvalidInput.of("page", "value too large")
    return Page(number, per_page)


def order_of(
    order_by: Mapping[str, Any] | None,
    *,
    fields: tuple[str, ...],
    default_descending: bool,
) -> Order | None:
    """``{"field": …, "direction": "ASC"|"DESC"}`` as an order; None when not given.

    ``fields`` are the ones allowed, in snake_case; the first is the default.
    """
    if not order_by and order_by in (None, {}):
        return None
    given = Arguments(order_by, "order_by", frozenset({"field", "direction"}))
    field = given.get("field", fields[0])
    camel = {_camel_case(name): name for name in fields}
    if not isinstance(field, str) or (field not in fields and field not in camel):
        raise InvalidInput.of(
            given.field("field"), f"must be one of {', '.join(camel)}"
        )
    direction = given.get("direction", "DESC" if default_descending else "ASC")
    if direction not in ("ASC", "DESC"):
        raise InvalidInput.of(given.field("direction"), "must be ASC or DESC")
    return Order(camel.get(field, field), direction == "DESC")


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
