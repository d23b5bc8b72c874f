"""The errors that operations on conversations and memory raise.

    MemoryFault                 something a caller asked for cannot be done
    ├── InvalidInput            a value is wrong; ``issues`` name the fields
    ├── NotConfigured           the feature is off or its configuration is incomplete
    ├── OwnershipError          the named resource does not own what was asked for
    ├── NotFound                no such thread, message, resource or run
    │   ├── ThreadNotFound
    │   ├── MessageNotFound
    │   └── ResourceNotFound
    ├── Conflict                the identifier is taken, or the state forbids it
    ├── PreconditionFailed      somebody else changed it first; ``current`` is its state
    └── TooLarge                over a stated limit

Each class carries the HTTP ``status`` that it maps to, so that every interface answers
alike. Anything else that is raised is a fault of the program.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Issue:
    """One thing wrong with the input.

    ``field`` is the dotted path in the caller's own spelling (``orderBy.field`` over
    HTTP, ``order_by.field`` in Python), ``root`` for the value as a whole.
    """

    field: str
    message: str


class MemoryFault(Exception):
    """Base of all refusals. ``message`` is safe to show to the caller."""

    status = 400

    def __init__(self, message: str, issues: Iterable[Issue] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.issues = list(issues)


class InvalidInput(MemoryFault):
    """A value is of the wrong type, out of range or malformed."""

    @classmethod
    def of(cls, field: str, message: str) -> InvalidInput:
        """The common case: one field is wrong."""
        return cls(f"{field}: {message}", [Issue(field, message)])


class NotConfigured(MemoryFault):
    """The feature is switched off, or its configuration cannot work."""


class OwnershipError(MemoryFault):
    """The resource named by the caller does not own the thread or message."""

    status = 403


class NotFound(MemoryFault):
    """No such row, or none that the caller may know of: the two look the same."""

    status = 404


class ThreadNotFound(NotFound):
    def __init__(self, thread_id: str, message: str | None = None) -> None:
        super().__init__(message or f"Thread {thread_id} not found")
        self.thread_id = thread_id


class MessageNotFound(NotFound):
    def __init__(self, message_id: str) -> None:
        super().__init__(f"Message {message_id} not found")
        self.message_id = message_id


class ResourceNotFound(NotFound):
    def __init__(self, resource_id: str) -> None:
        super().__init__(f"Resource {resource_id} not found")
        self.resource_id = resource_id


class Conflict(MemoryFault):
    """The identifier is taken, or the present state does not allow it."""

    status = 409


class PreconditionFailed(MemoryFault):
    """The expected revision is not the present one. ``current`` is the present state.

    ``tag`` is the entity tag of that state over HTTP, empty elsewhere.
    """

    status = 412
    tag = ""

    def __init__(self, message: str, current: Any = None) -> None:
        super().__init__(message)
        self.current = current


class TooLarge(MemoryFault):
    """A message, a batch or a body is over its limit, which the message names."""

    status = 413
