"""What a caller is told when a request cannot be done.

Every refusal is ``{"error": message}``, with ``issues`` where fields can be named, and
``current`` where a precondition failed. An unknown address and a method that an address
does not have are both 404 in plain text. ``api_exception_handler`` serves the viewsets,
``answers_faults`` any other view, plain or async, so that all of them answer alike.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.core.exceptions import (
    DisallowedHost,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.db import DataError
from django.http import Http404, HttpRequest, HttpResponse
from django.views import defaults
from rest_framework import exceptions

from threads.api.encoding import JsonReply
from threads.errors import InvalidInput, MemoryFault, PreconditionFailed

logger = logging.getLogger(__name__)

BODY_TOO_LARGE = "Request body too large"
THREAD_OF_ANOTHER_RESOURCE = "Access denied: thread belongs to a different resource"


class Unauthorized(MemoryFault):
    """No credentials, or none that are valid."""

    status = 401

    def __init__(self, message: str = "Invalid or expired token") -> None:
        super().__init__(message)


class Forbidden(MemoryFault):
    """The credentials are valid and do not allow this."""

    status = 403


class UnsupportedContent(MemoryFault):
    """The body is not declared to be JSON."""

    status = 415


class RateLimited(MemoryFault):
    """Too many requests; ``retry_after`` is in whole seconds."""

    status = 429

    def __init__(self, retry_after: int) -> None:
        super().__init__("Too many requests")
        self.retry_after = retry_after


def invalid_query(*issues: Any) -> InvalidInput:
    """The refusal of query parameters, in the wire's words."""
    return InvalidInput("Invalid query parameters", issues)


def invalid_body(*issues: Any) -> InvalidInput:
    """The refusal of a request body, in the wire's words."""
    return InvalidInput("Invalid request body", issues)


def unknown_address() -> HttpResponse:
    """The reply to an address or method that does not exist."""
    return HttpResponse(
        "404 Not Found", status=404, content_type="text/plain; charset=utf-8"
    )


def fault_reply(fault: MemoryFault) -> HttpResponse:
    """The reply that tells a refusal."""
    body: dict[str, Any] = {"error": fault.message}
    if fault.issues:
        body["issues"] = [
            {"field": issue.field, "message": issue.message} for issue in fault.issues
        ]
    if isinstance(fault, PreconditionFailed):
        body["current"] = fault.current
    reply = JsonReply(body, status=fault.status)
    if isinstance(fault, PreconditionFailed) and fault.tag:
        reply["ETag"] = fault.tag
    if isinstance(fault, RateLimited):
        reply["Retry-After"] = str(fault.retry_after)
    if isinstance(fault, Unauthorized):
        reply["WWW-Authenticate"] = "Bearer"
    return reply


def reply_to(error: BaseException) -> HttpResponse | None:
    """The reply to an error that is the caller's; None when it is a fault of ours."""
    match error:
        case MemoryFault():
            return fault_reply(error)
        case Http404() | exceptions.NotFound() | exceptions.MethodNotAllowed():
            return unknown_address()
        case RequestDataTooBig():
            return JsonReply({"error": BODY_TOO_LARGE}, status=413)
        case DisallowedHost():
            return JsonReply({"error": "Access denied: unknown host"}, status=403)
        case PermissionDenied():
            return JsonReply({"error": "Access denied"}, status=403)
        case exceptions.APIException() if error.status_code < 500:
            return JsonReply({"error": str(error.detail)}, status=error.status_code)
        case SuspiciousOperation() | DataError():
            # DataError: a number beyond what a column of the database can count.
            return JsonReply({"error": "Invalid request"}, status=400)
    return None


def server_fault() -> HttpResponse:
    """The reply to a fault of ours, which says nothing about its cause."""
    return JsonReply({"error": "Internal Server Error"}, status=500)


def api_exception_handler(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """``EXCEPTION_HANDLER`` of the REST framework."""
    reply = reply_to(error)
    if reply is None:
        logger.exception("Request failed", exc_info=error)
        reply = server_fault()
    return reply


def answers_faults(view: Callable[..., Any]) -> Callable[..., Any]:
    """A view, plain or async, that answers the caller's mistakes as all others do."""

    def handled(error: Exception) -> HttpResponse:
        return api_exception_handler(error, {})

    if iscoroutinefunction(view):

        @wraps(view)
        async def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            try:
                return await view(request, *args, **kwargs)
            except Exception as error:
                return handled(error)

    else:

        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            try:
                return view(request, *args, **kwargs)
            except Exception as error:
                return handled(error)

    guarded.csrf_exempt = True
    return guarded


def is_api(request: HttpRequest) -> bool:
    """Whether the address is one that programs use."""
    return request.path.startswith(("/api/", "/chat/")) or request.path == "/api"


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """``handler404``: plain text for programs, Django's page for people."""
    if is_api(request):
        return unknown_address()
    return defaults.page_not_found(request, exception)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """``handler400``: JSON for programs, Django's page for people."""
    if is_api(request):
        return reply_to(exception) or JsonReply({"error": "Bad Request"}, status=400)
    return defaults.bad_request(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """``handler500``: JSON for programs, Django's page for people."""
    if is_api(request):
        return server_fault()
    return defaults.server_error(request)
