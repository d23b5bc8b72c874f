"""Frozen options that remember which of them were given.

A per-call configuration lies over an instance's. To merge the two it must be known what
the call said and what is merely a default, so every field starts as :data:`UNSET` and is
filled from ``DEFAULTS`` afterwards; ``given`` keeps the names that were said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

from threads.errors import InvalidInput
from threads.text import storable

_CAPITAL = re.compile(r"(?<!^)([A-Z])")


class _Unset:
    def __repr__(self) -> str:
        return "UNSET"


UNSET: Any = _Unset()

Check = Callable[[Any, str], Any]


@dataclass(frozen=True)
class Options:
    """Base of the option classes.

    ``CHECKS`` maps a field to a function of ``(value, path)`` that returns the value to
    keep or raises :class:`~threads.errors.InvalidInput` naming ``path``.
    """

    DEFAULTS: ClassVar[Mapping[str, Any]] = {}
    CHECKS: ClassVar[Mapping[str, Check]] = {}

    given: frozenset[str] = field(
        init=False, repr=False, compare=False, default=frozenset()
    )

    def __post_init__(self) -> None:
        given: dict[str, Any] = {}
        for option in fields(self):
            value = getattr(self, option.name)
            if not option.init or value is UNSET:
                continue
            if value is not None:
                given[option.name] = self.CHECKS[option.name](value, option.name)
            elif self.DEFAULTS[option.name] is None:
                given[option.name] = None
        self.check_together(given, "")
        for name, value in {**self.DEFAULTS, **given}.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "given", frozenset(given))

    @classmethod
    def check_together(cls, values: Mapping[str, Any], at: str) -> None:
        """Raises when fields that are each right do not go together."""

    @classmethod
    def parse(cls, values: Mapping[str, Any], at: str = "") -> Self:
        """The options in a dictionary with snake_case or camelCase keys.

        ``at`` is the path of the dictionary in the caller's input, for error messages.
        ``None`` counts as not given. Unknown keys are refused.
        """
        if not isinstance(values, Mapping):
            raise InvalidInput.of(at or "root", "must be an object")
        checked: dict[str, Any] = {}
        for key, value in values.items():
            name, path = snake_case(key), join(at, key)
            if name not in cls.CHECKS:
                known = ", ".join(cls.CHECKS)
                raise InvalidInput.of(path, f"unknown option; known are {known}")
            if name in checked:
                raise InvalidInput.of(path, "given twice, in two spellings")
            if value is not None:
                checked[name] = cls.CHECKS[name](value, path)
        cls.check_together(checked, at)
        return cls(**checked)

    def merged(self, over: Self) -> Self:
        """These options with everything that ``over`` was given lying over them."""
        if self.given <= over.given and not any(
            isinstance(getattr(self, name), Options) for name in self.given
        ):
            return over
        values = {name: getattr(self, name) for name in self.given}
        for name in over.given:
            mine, theirs = values.get(name), getattr(over, name)
            if (
                isinstance(mine, Options)
                and isinstance(theirs, type(mine))
                and theirs.given
            ):
                theirs = mine.merged(theirs)
            values[name] = theirs
        return type(self)(**values)


def snake_case(key: Any) -> Any:
    """``topK`` as ``top_k``; what is already in snake_case stays."""
    return _CAPITAL.sub(r"_\1", key).lower() if isinstance(key, str) else key


def join(at: str, key: object) -> str:
    """The dotted path of ``key`` inside ``at``."""
    return f"{at}.{key}" if at else str(key)


def boolean(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput.of(path, "must be true or false")
    return value


def one_of(*choices: str) -> Check:
    def check(value: Any, path: str) -> str:
        if value not in choices:
            raise InvalidInput.of(path, f"must be one of {', '.join(choices)}")
        return value

    return check


def whole_number(lowest: int, highest: int | None = None) -> Check:
    def check(value: Any, path: str) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidInput.of(path, "must be a whole number")
        if value < lowest or (highest is not None and value > highest):
            limits = f"of at least {lowest}"
            if highest is not None:
                limits = f"from {lowest} to {highest}"
            raise InvalidInput.of(path, f"must be a whole number {limits}")
        return value

    return check


def text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput.of(path, "must be text")
    return storable(value)


def switch(options: type[Options]) -> Check:
    """A field that is off (``False``), on with its defaults (``True``), or options."""

    def check(value: Any, path: str) -> Options | None:
        if isinstance(value, options):
            return value
        if isinstance(value, bool):
            return options() if value else None
        if isinstance(value, Mapping):
            return options.parse(value, path)
        raise InvalidInput.of(path, "must be true, false or an object of options")

    return check
