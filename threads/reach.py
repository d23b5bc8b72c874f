"""Which resources a caller's credentials reach.

Every query of the facade begins with the reach of the caller, so a forgotten check
finds nothing instead of somebody else's rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q

from threads.errors import InvalidInput
from threads.text import storable


@dataclass(frozen=True)
class Reach:
    """The resources that may be seen: all of them, or named ones and prefixes.

    ``patterns`` are resource ids; one that ends in ``*`` covers every id with that
    beginning (``org-1/*``).
    """

    everything: bool = False
    patterns: frozenset[str] = frozenset()

    @classmethod
    def all(cls) -> Reach:
        """No limit: the local operator, or code in this process."""
        return cls(everything=True)

    @classmethod
    def of(cls, patterns: Iterable[str]) -> Reach:
        """Only the resources named; none at all when ``patterns`` is empty."""
        named = [patterns] if isinstance(patterns, str) else list(patterns)
        for pattern in named:
            if not isinstance(pattern, str):
                raise InvalidInput.of("resources", "must be the ids of resources")
        return cls(patterns=frozenset(storable(named)))

    def covers(self, resource_id: str) -> bool:
        """Whether ``resource_id`` is within reach."""
        return self.everything or any(
            resource_id.startswith(pattern[:-1])
            if pattern.endswith("*")
            else resource_id == pattern
            for pattern in self.patterns
        )

    def q(self, field: str = "resource_id") -> Q:
        """The condition that keeps rows whose ``field`` is within reach."""
        if self.everything:
            return Q()
        exact = [p for p in self.patterns if not p.endswith("*")]
        condition = Q(**{f"{field}__in": exact})
        for pattern in self.patterns:
            if pattern.endswith("*"):
                condition |= _beginning_with(field, pattern[:-1])
        return condition


def _beginning_with(field: str, prefix: str) -> Q:
    """Ids that begin with ``prefix``, as a range: ids are ordered by code point.

    Unlike a pattern match this works on foreign keys, and an index answers it.
    """
    condition = Q(**{f"{field}__gte": prefix})
    end = end_of_beginning(prefix)
    return condition if end is None else condition & Q(**{f"{field}__lt": end})


def end_of_beginning(prefix: str) -> str | None:
    """The first text after all that begin with ``prefix``; None when nothing is."""
    stem = prefix.rstrip(chr(sys.maxunicode))
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    if following == 0xD800:  # surrogates are no characters
        following = 0xE000
    return stem[:-1] + chr(following)
