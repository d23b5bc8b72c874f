"""Async views of the API: their methods, their caller, their refusals."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse

from threads.api.access import acaller_of
from threads.api.errors import answers_faults, unknown_address
from threads.api.wire_names import in_wire_words
from threads.errors import InvalidInput
from threads.text import storable

View = Callable[..., Awaitable[HttpResponse]]


def route(*methods: str) -> Callable[[View], View]:
    """A view for these methods, called with the request and its caller.

    ``HEAD`` is let in where ``GET`` is. No negotiation of content takes place: a stream is sent whatever ``Accept`` says.
    """

    allowed = {*methods, "HEAD"} if "GET" in methods else set(methods)

    def decorate(view: View) -> View:
        @answers_faults
        @wraps(view)
        async def answered(
            request: HttpRequest, *args: Any, **kwargs: Any
        ) -> HttpResponse:
            if request.method not in allowed:
                return unknown_address()
            caller = await acaller_of(request)
            ids = {name: storable(text) for name, text in kwargs.items()}
            try:
                reply = await view(request, caller, *args, **ids)
            except InvalidInput as fault:
                if not fault.issues:
                    raise
                raise in_wire_words(fault, request.method) from fault
            if request.method == "HEAD" and reply.streaming:
                return HttpResponse(status=reply.status_code, headers=reply.headers)
            return reply

        return answered

    return decorate
