"""Which resources a caller's credentials reach.

Every query of the facade begins with the reach of the caller, so a forgotten check
finds nothing instead of somebody else's rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q


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
        return cls(patterns=frozenset(patterns))

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
                condition |= Q(**{f"{field}__startswith": pattern[:-1]})
        return condition
