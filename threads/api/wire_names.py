"""Refusals in the words of the wire: fields by the names that clients gave them."""

from __future__ import annotations

import re
from typing import Any

from threads.api.errors import invalid_body, invalid_query
from threads.errors import InvalidInput, Issue

# Names that operations use and the wire spells in its own way.
WIRE_NAMES = {
    "value": "workingMemory",
    "query": "searchQuery",
}

# What lies below these is the client's own.
_KEYS_OF_CLIENTS = frozenset({"metadata", "content", "parts", "schema"})
_OPTIONS_KNOWN = "unknown option; known are "
_SNAKE = re.compile(r"_([a-z])")


def wire_path(path: str) -> str:
    """A field's path with our own names in the wire's spelling; keys of metadata stay."""
    names = path.removeprefix("config.").split(".")
    names[0] = WIRE_NAMES.get(names[0], names[0])
    for index, name in enumerate(names):
        if name in _KEYS_OF_CLIENTS:
            break
        names[index] = _camel(name)
    return ".".join(names)


def in_wire_words(fault: InvalidInput, method: str | None) -> InvalidInput:
    """``fault`` as the route of a request with this method tells it."""
    issues = [Issue(wire_path(i.field), _wire_message(i.message)) for i in fault.issues]
    plain = f"{fault.issues[0].field}: {fault.issues[0].message}"
    if fault.message != plain:
        return InvalidInput(fault.message, issues)
    read = method in ("GET", "HEAD", "DELETE")
    return invalid_query(*issues) if read else invalid_body(*issues)


def in_camel_case(value: Any) -> Any:
    """JSON of ours, as an operation keeps it, with the keys of the wire."""
    if isinstance(value, dict):
        return {_camel(key): in_camel_case(item) for key, item in value.items()}
    if isinstance(value, list):
        return [in_camel_case(item) for item in value]
    return value


def _wire_message(message: str) -> str:
    return _camel(message) if message.startswith(_OPTIONS_KNOWN) else message


def _camel(text: str) -> str:
    return _SNAKE.sub(lambda found: found[1].upper(), text)
