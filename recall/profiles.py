"""Named memory configurations: what ``agentId`` selects on the wire.

Agents live above this app, which must not know them. Their registry gives itself as the
resolver when the project starts; without it every name is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Profile:
    """What an agent remembers with: ``config`` is None when it has no memory."""

    name: str
    config: Any | None


Resolver = Callable[[str], Profile | None]

_resolvers: list[Resolver] = []


def add_resolver(resolver: Resolver) -> None:
    """From now on asks ``resolver`` too; it returns None for names it does not know."""
    if resolver not in _resolvers:
        _resolvers.append(resolver)


def remove_resolver(resolver: Resolver) -> None:
    """Undoes :func:`add_resolver`."""
    _resolvers.remove(resolver)


def profile_named(name: str) -> Profile | None:
    """The memory configuration called ``name``; None when nobody knows it."""
    for resolver in _resolvers:
        profile = resolver(name)
        if profile is not None:
            return profile
    return None
