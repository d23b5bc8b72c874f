"""Argument dictionaries: read strictly, in snake_case or in the wire's camelCase."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from threads.errors import InvalidInput, Issue
from threads.text import storable

# What the database can count to.
MAX_REVISION = 2**63 - 1

_UPPER = re.compile(r"[A-Z]")


def snake_case(name: str) -> str:
    """``withNextMessages`` as ``with_next_messages``."""
    return _UPPER.sub(lambda letter: "_" + letter[0].lower(), name)


class Arguments:
    """A dictionary from a caller, whose keys must be among ``allowed``.

    Keys are given and asked for in snake_case; what the caller wrote is remembered for
    errors, which name the field as ``path.key`` in the caller's spelling. A value of
    None counts as not given.
    """

    def __init__(self, value: Any, path: str, allowed: frozenset[str]) -> None:
        if not isinstance(value, Mapping):
            raise InvalidInput.of(path, "must be an object")
        self.path = path
        self._values: dict[str, Any] = {}
        self._spelling: dict[str, str] = {}
        unknown = []
        for key, item in value.items():
            name = snake_case(key) if isinstance(key, str) else None
            if name not in allowed:
                unknown.append(Issue(self._join(str(key)), "is not known here"))
            elif name in self._values and self._values[name] != item:
                unknown.append(Issue(self._join(key), "is given twice"))
            else:
                self._values[name] = item
                self._spelling[name] = key
        if unknown:
            first = unknown[0]
            raise InvalidInput(f"{first.field}: {first.message}", unknown)

    def get(self, name: str, default: Any = None) -> Any:
        """The value given for ``name``, else ``default``."""
        value = self._values.get(name)
        return default if value is None else value

    def given(self, name: str) -> bool:
        """Whether ``name`` was in the dictionary, be it as None."""
        return name in self._values

    def field(self, name: str) -> str:
        """The dotted path of ``name`` for an error."""
        return self._join(self._spelling.get(name, name))

    def flag(self, name: str) -> bool:
        """A boolean, False when not given."""
        value = self.get(name, False)
        if not isinstance(value, bool):
            raise InvalidInput.of(self.field(name), "must be true or false")
        return value

    def count(self, name: str, default: int = 0) -> int:
        """An integer of at least 0."""
        return whole_number(self.get(name, default), self.field(name))

    def text(self, name: str) -> str | None:
        """A string, None when not given."""
        value = self.get(name)
        if value is not None and not isinstance(value, str):
            raise InvalidInput.of(self.field(name), "must be a string")
        return value

    def _join(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key


def whole_number(value: Any, field: str) -> int:
    """``value`` if it is an integer of at least 0; True is none."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInput.of(field, "must be an integer >= 0")
    return value


def identifier(value: Any, field: str, *, max_length: int = 255) -> str:
    """``value`` as the id of a row, storable: text that is not blank or too long."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput.of(field, "must be a non-empty string")
    if len(value) > max_length:
        raise InvalidInput.of(field, f"must be at most {max_length} characters")
    return storable(value)


def revision(value: Any, field: str) -> int | None:
    """The revision that a caller expects: None, or an integer of at least 0."""
    if value is None:
        return None
    if whole_number(value, field) > MAX_REVISION:
        raise InvalidInput.of(field, f"must be at most {MAX_REVISION}")
    return value


def any_id(value: Any, field: str) -> str:
    """An id to look for: any text. One that cannot be stored names nothing."""
    if not isinstance(value, str):
        raise InvalidInput.of(field, "must be a string")
    return storable(value)


def owner_id(value: Any, field: str = "resource_id") -> str | None:
    """An asserted owner: None when the caller asserts nothing, else any text."""
    return None if value is None else any_id(value, field)
