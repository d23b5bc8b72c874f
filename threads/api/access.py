"""Finding out who makes a request: :func:`caller_of`.

In order: an API key (``Authorization: Bearer <key>``, ``Authorization: Api-Key <key>`` or
``?apiKey=<key>``), a session with its CSRF token on writes, and, while ``ACCESS`` is
``loopback``, the operator of this machine. The last has no credentials that a hostile page
in the same browser could lack, so such a request must come from this machine, name it as
host, and not stem from another site's page.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from functools import lru_cache
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.core.exceptions import DisallowedHost
from django.db import connection, connections
from django.http import HttpRequest
from django.http.request import split_domain_port
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.permissions import SAFE_METHODS, BasePermission

from threads.access import ApiKey, ApiKeyUse, Caller, operator, session_caller
from threads.api.errors import Forbidden, RateLimited, Unauthorized
from threads.api.query import may_give

_KEY = re.compile(r"[A-Za-z0-9]{8}\.[A-Za-z0-9]{16,}\Z")
_READ_ONLY = "Access denied: this key may only read"


def caller_of(request: HttpRequest) -> Caller:
    """The caller of a request. May ask the database.

    Raises Unauthorized without valid credentials, Forbidden for a write with a
    read-only key, a session's write without its CSRF token and a request that another
    site's page made, RateLimited for a key that is used too often.
    """
    caller = getattr(request, "_caller", None)
    if caller is None:
        caller = _find_caller(request)
        request._caller = caller
    return caller


async def acaller_of(request: HttpRequest) -> Caller:
    """:func:`caller_of` for async views; leaves the thread pools alone when it can."""
    if (
        shown_key(request) is None
        and settings.SESSION_COOKIE_NAME not in request.COOKIES
    ):
        return caller_of(request)
    return await asyncio.to_thread(_caller_in_thread, request)


def _caller_in_thread(request: HttpRequest) -> Caller:
    try:
        return caller_of(request)
    finally:
        connections.close_all()


def shown_key(request: HttpRequest) -> str | None:
    """The text shown as a key, by header or query; None when there is none."""
    scheme, _, value = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() in ("bearer", "api-key") and value.strip():
        return value.strip()
    return may_give(request, "apiKey") and request.GET.get("apiKey") or None


def _find_caller(request: HttpRequest) -> Caller:
    text = shown_key(request)
    loopback = settings.ACCESS == "loopback"
    # On loopback nobody needs a key, and clients send made-up tokens.
    if text is not None and (_KEY.match(text) or not loopback):
        key = ApiKey.objects.holding(text) if _KEY.match(text) else None
        if key is None:
            raise Unauthorized
        _count(key)
        caller = key.caller
        if caller.read_only and request.method not in SAFE_METHODS:
            raise Forbidden(_READ_ONLY)
        return caller
    user = _signed_in(request)
    if user is not None:
        _require_csrf_token(request)
        return session_caller(user)
    if loopback:
        return _local_operator(request)
    raise Unauthorized


def _signed_in(request: HttpRequest) -> Any | None:
    """The user of the session that a cookie names; None without one.

    The API's requests pass no session middleware: few bring a cookie.
    """
    cookie = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    if not cookie:
        return None
    if not hasattr(request, "session"):
        request.session = import_module(settings.SESSION_ENGINE).SessionStore(cookie)
    user = get_user(request)
    return user if user.is_authenticated and user.is_active else None


def _count(key: ApiKey) -> None:
    """Counts one use of the key; raises RateLimited over its limit.

    The counter is a row of PostgreSQL, so that it holds for all processes.
    """
    limit = key.rate_limit or settings.MEMORY.get("API_RATE_LIMIT") or 0
    if not limit:
        return
    moment = timezone.now()
    minute = moment.replace(second=0, microsecond=0)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {ApiKeyUse._meta.db_table} AS used (prefix, minute, count) "
            "VALUES (%s, %s, 1) ON CONFLICT (prefix, minute) "
            "DO UPDATE SET count = used.count + 1 RETURNING count",
            [key.prefix, minute],
        )
        (count,) = cursor.fetchone()
    if count == 1:
        ApiKeyUse.objects.filter(prefix=key.prefix, minute__lt=minute).delete()
    if count > limit:
        raise RateLimited(60 - moment.second)


def _require_csrf_token(request: HttpRequest) -> None:
    check = CSRFCheck(lambda request: None)
    check.process_request(request)
    reason = check.process_view(request, None, (), {})
    if reason:
        raise Forbidden(f"CSRF failed: {reason}")


def _local_operator(request: HttpRequest) -> Caller:
    if not _is_loopback(request.META.get("REMOTE_ADDR", "")) or any(
        header in request.META for header in ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED")
    ):
        raise Unauthorized
    host = _host_of_this_machine(request)
    if host is None:
        raise Forbidden("Access denied: unknown host")
    origin = request.META.get("HTTP_ORIGIN")
    foreign = (
        origin not in (f"{request.scheme}://{host}", *settings.CSRF_TRUSTED_ORIGINS)
        if origin is not None
        else request.META.get("HTTP_SEC_FETCH_SITE") in ("cross-site", "same-site")
    )
    if foreign:
        raise Forbidden("Access denied: request of another site")
    return operator()


@lru_cache(maxsize=256)
def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _host_of_this_machine(request: HttpRequest) -> str | None:
    """``Host`` if it names this machine; None for a name that was made to resolve to it."""
    try:
        host = request.get_host()
    except DisallowedHost:
        return None
    domain, _ = split_domain_port(host)
    if (
        domain == "localhost"
        or _is_loopback(domain.strip("[]"))
        or domain in settings.ALLOWED_HOSTS
    ):
        return host
    return None


class CallerAuthentication(BaseAuthentication):
    """Makes the :class:`Caller` the ``auth`` of the REST framework's requests."""

    def authenticate(self, request: Any) -> tuple[Any, Caller]:
        caller = caller_of(request._request)
        return getattr(request._request, "user", None), caller

    def authenticate_header(self, request: Any) -> str:
        return "Bearer"


class IsCaller(BasePermission):
    """Lets nobody in of whom it is not known who it is."""

    def has_permission(self, request: Any, view: Any) -> bool:
        return isinstance(request.auth, Caller)
