"""Async views of the API: their methods, their caller, their refusals."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse

from threads.api.access import acaller_of
from threads.api.errors import answers_faults, unknown_address

View = Callable[..., Awaitable[HttpResponse]]


def route(*methods: str) -> Callable[[View], View]:
    """A view for these methods, called with the request and its caller.

    No negotiation of content takes place: a stream is sent whatever ``Accept`` says.
    """

    def decorate(view: View) -> View:
        @answers_faults
        @wraps(view)
        async def answered(
            request: HttpRequest, *args: Any, **kwargs: Any
        ) -> HttpResponse:
            if request.method not in methods:
                return unknown_address()
            caller = await acaller_of(request)
            return await view(request, caller, *args, **kwargs)

        return answered

    return decorate
