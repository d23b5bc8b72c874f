"""How a request reaches its view.

Django's own ASGI handler crosses into a new thread several times a request and opens a
database connection in each. Here a synchronous view runs, middleware included, in one of
a few long-lived threads (one crossing, one kept connection a thread), and an
asynchronous view runs on the event loop and holds no thread while it waits, so that
idle streams cost none.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler, ASGIRequest, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import convert_exception_to_response
from django.db import connections, reset_queries
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import Resolver404, ResolverMatch, resolve, set_script_prefix
from django.utils.module_loading import import_string

from agents.executing import shut_down

# Seconds that a connection may have been idle before it is tried, so that the first
# request after a restart of the database does not fail.
IDLE_UNCHECKED = 1.0

# Longest path, in characters, of which the view is remembered.
LONGEST_KEPT = 512

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Chain(BaseHandler):
    """The views behind a list of middleware, called either way."""

    def __init__(self, middleware: Sequence[str], *, is_async: bool) -> None:
        self._view_middleware = []
        self._template_response_middleware = []
        self._exception_middleware = []
        handler = convert_exception_to_response(
            self._get_response_async if is_async else self._get_response
        )
        for name in reversed(middleware):
            handler = convert_exception_to_response(import_string(name)(handler))
        self._middleware_chain = handler

    def resolve_request(self, request: ASGIRequest) -> ResolverMatch:
        request.resolver_match = view_at(request.path_info)
        return request.resolver_match


class Pages(BaseHandler):
    """The views behind all of MIDDLEWARE, called in a thread."""

    def __init__(self) -> None:
        self.load_middleware()


class Handler(ASGIHandler):
    """The site as an ASGI application.

    Paths below ``/api/`` and ``/chat/`` pass API_MIDDLEWARE only; the rest MIDDLEWARE.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pages = Pages()
        self.api = Chain(settings.API_MIDDLEWARE, is_async=False)
        self.api_async = Chain(settings.API_MIDDLEWARE, is_async=True)
        self.threads = ThreadPoolExecutor(
            settings.VIEW_THREADS, thread_name_prefix="view"
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.lifespan(receive, send)
        elif scope["type"] == "http":
            await self.handle(scope, receive, send)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        prefix = get_script_prefix(scope)
        set_script_prefix(prefix)
        for_programs = is_for_programs(scope["path"])
        if runs_on_the_loop(scope["path"]):
            if for_programs:
                await self.answer_on_the_loop(scope, receive, send)
            else:
                await super().handle(scope, receive, send)
            return
        request = await self.read(scope, receive, send)
        if request is None:
            return
        chain = self.api if for_programs else self.pages
        response = await asyncio.get_running_loop().run_in_executor(
            self.threads, answer_in_thread, chain, request, prefix
        )
        await self.deliver(response, send)

    async def answer_on_the_loop(
        self, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Run an asynchronous view; a client that goes away cancels its stream."""
        request = await self.read(scope, receive, send)
        if request is None:
            return
        response = await self.api_async.get_response_async(request)
        if not response.streaming:
            await self.deliver(response, send)
            return
        sending = asyncio.ensure_future(self.deliver(response, send))
        gone = asyncio.ensure_future(self.wait_for_disconnect(receive))
        try:
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, gone):
                if not task.done():
                    task.cancel()
            results = await asyncio.gather(sending, gone, return_exceptions=True)
        if isinstance(results[0], Exception):
            raise results[0]

    async def read(
        self, scope: Scope, receive: Receive, send: Send
    ) -> ASGIRequest | None:
        """The whole request; None when the client left or sent too much."""
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = bytearray()
        while True:
            event = await receive()
            if event["type"] == "http.disconnect":
                return None
            body += event.get("body", b"")
            if len(body) > limit:
                await self.deliver(too_large(limit), send)
                return None
            if not event.get("more_body", False):
                break
        try:
            return ASGIRequest(scope, io.BytesIO(bytes(body)))
        except UnicodeDecodeError:
            await self.deliver(
                JsonResponse({"error": "The address is not UTF-8"}, status=400), send
            )
            return None

    async def deliver(self, response: HttpResponse, send: Send) -> None:
        try:
            await self.send_response(response, send)
        finally:
            response.close()

    async def wait_for_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async def lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            event = await receive()
            if event["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif event["type"] == "lifespan.shutdown":
                await shut_down()
                self.threads.shutdown(wait=False)
                await send({"type": "lifespan.shutdown.complete"})
                return


def is_for_programs(path: str) -> bool:
    """Whether ``path`` belongs to the HTTP API rather than to pages."""
    return path.startswith(("/api/", "/chat/"))


def view_at(path: str) -> ResolverMatch:
    """The view behind ``path``; raises Resolver404. Recent short paths are remembered."""
    return _view_kept(path) if len(path) <= LONGEST_KEPT else resolve(path)


_view_kept = lru_cache(maxsize=4096)(resolve)


def runs_on_the_loop(path: str) -> bool:
    """Whether the view behind ``path`` is asynchronous."""
    try:
        return iscoroutinefunction(view_at(path).func)
    except Resolver404:
        return False


def too_large(limit: int) -> HttpResponse:
    return JsonResponse(
        {
            "error": "Request body too large",
            "issues": [{"field": "body", "message": f"At most {limit} bytes"}],
        },
        status=413,
    )


def answer_in_thread(
    chain: BaseHandler, request: ASGIRequest, prefix: str
) -> HttpResponse:
    set_script_prefix(prefix)
    ready_connections()
    try:
        response = chain.get_response(request)
        if response.streaming and not response.is_async:
            # A file: read it here, the event loop must not wait for the disk.
            response = read_whole(response)
        return response
    finally:
        note_use_of_connections()


def read_whole(response: StreamingHttpResponse) -> HttpResponse:
    whole = HttpResponse(b"".join(response), status=response.status_code)
    whole.headers = response.headers
    whole.cookies = response.cookies
    response.close()
    return whole


def ready_connections() -> None:
    """Drop this thread's connections that have failed or died while idle."""
    reset_queries()
    for connection in connections.all(initialized_only=True):
        if connection.connection is None:
            continue
        idle = time.monotonic() - getattr(connection, "last_used", 0.0)
        if connection.errors_occurred or (
            idle > IDLE_UNCHECKED and not connection.is_usable()
        ):
            connection.close()


def note_use_of_connections() -> None:
    for connection in connections.all(initialized_only=True):
        if connection.connection is None:
            continue
        connection.last_used = time.monotonic()
        if connection.in_atomic_block or connection.errors_occurred:
            connection.close()
