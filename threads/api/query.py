"""Query parameters in every spelling that clients use.

``a[b]=c`` is ``{"b": "c"}`` under ``a``; an object may as well be JSON text; the older
thread order is ``orderBy=<field>&sortDirection=<direction>``. Clients that interpolate a
missing value send the word ``undefined``, which for an id means that none was given.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from threads.api.parsing import parsed
from threads.text import storable

_BRACKETED = re.compile(r"([^\[\]]+)\[([^\[\]]+)\]\Z")
_IDS = ("agentId", "networkId", "resourceId", "threadId")

# What only the server may put into a request's context.
RESERVED_CONTEXT = frozenset(
    {
        "mastra__resourceId",
        "mastra__threadId",
        "mastra__user",
        "mastra__userPermissions",
        "mastra__userRoles",
        "mastra__authToken",
        "mastra__isStudio",
        "mastra__authMode",
        "mastra__inheritedMemory",
        "organizationId",
    }
)


def query_of(parameters: Mapping[str, str]) -> dict[str, Any]:
    """The parameters as given: text, or a dictionary for a bracketed key.

    Of a parameter that is given twice the last counts. Text that PostgreSQL cannot hold
    is replaced, ids that are the word ``undefined`` are left out.
    """
    query: dict[str, Any] = {}
    for key, value in parameters.items():
        value = storable(value)
        if key in _IDS and value == "undefined":
            continue
        bracketed = _BRACKETED.match(key)
        if bracketed:
            name, inner = bracketed.groups()
            if not isinstance(query.get(name), dict):
                query[name] = {}
            query[name][inner] = value
        elif not isinstance(query.get(key), dict):
            query[key] = value
    return query


def without_undefined(body: dict[str, Any]) -> dict[str, Any]:
    """``body`` without ids that are the word ``undefined``."""
    if not any(body.get(name) == "undefined" for name in _IDS):
        return body
    return {
        key: value
        for key, value in body.items()
        if key not in _IDS or value != "undefined"
    }


def may_give(request: HttpRequest, *names: str) -> bool:
    """Whether the query may hold one of these parameters, told without parsing it.

    Most requests have none of them, and need no parsing a second time.
    """
    text = request.META.get("QUERY_STRING", "")
    return "%" in text or any(name in text for name in names)


def order_given(query: dict[str, Any]) -> dict[str, Any] | None:
    """``orderBy`` as an object, in any of its three spellings.

    Text that is neither JSON nor an older spelling counts as absent, as clients send
    ``[object Object]``.
    """
    given = query.get("orderBy")
    if given is None or isinstance(given, dict):
        return given
    try:
        value = parsed(given)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    direction = query.get("sortDirection")
    if given.isidentifier() and isinstance(direction, str):
        return {"field": given, "direction": direction}
    return None


def request_context(request: HttpRequest, body: Any = None) -> dict[str, Any]:
    """What the client says about the request, without the keys reserved to the server.

    POST and PUT carry it in the body, GET in the query, as JSON or base64 of JSON.
    Anything that is not an object counts as absent.
    """
    if request.method in ("POST", "PUT"):
        value = body.get("requestContext") if isinstance(body, dict) else None
    else:
        value = _decoded(request.GET.get("requestContext", ""))
    if not isinstance(value, dict):
        return {}
    return {key: item for key, item in value.items() if key not in RESERVED_CONTEXT}


def _decoded(text: str) -> Any:
    for candidate in (text.encode(), _from_base64(text)):
        try:
            return parsed(candidate)
        except ValueError:
            continue
    return None


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text.replace(" ", "+"), validate=True)
    except (binascii.Error, ValueError):
        return b""
