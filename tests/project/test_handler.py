"""How requests reach their views: threads, connections, limits."""

import asyncio
import threading
from collections.abc import Iterator

import pytest
from django.db import connection, connections
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import path

from memoryproject.handler import Handler

endings: list[str] = []


def thread_name(request):
    return HttpResponse(threading.current_thread().name)


def backend(request):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return HttpResponse(str(cursor.fetchone()[0]))


def broken_connection(request):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


def size(request):
    return HttpResponse(str(len(request.body)))


async def idle_stream(request):
    async def body():
        try:
            yield b": open\n\n"
            await asyncio.Event().wait()
        finally:
            endings.append("closed")

    return StreamingHttpResponse(body(), content_type="text/event-stream")


urlpatterns = [
    path("thread", thread_name),
    path("api/thread", thread_name),
    path("api/backend", backend),
    path("api/broken", broken_connection),
    path("api/size", size),
    path("api/idle", idle_stream),
]


@pytest.fixture
def handler(settings) -> Iterator[Handler]:
    settings.ROOT_URLCONF = __name__
    settings.VIEW_THREADS = 1
    settings.ALLOWED_HOSTS = ["*"]
    handler = Handler()
    yield handler
    handler.threads.submit(connections.close_all).result()
    handler.threads.shutdown()


class Exchange:
    """One request to the application, and what came back."""

    def __init__(self, handler: Handler, path: str, body: bytes = b"") -> None:
        self.status = 0
        self.body = b""
        self.first_byte = asyncio.Event()
        self.leave = asyncio.Event()
        self.requests = [
            {"type": "http.request", "body": body, "more_body": False},
        ]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST" if body else "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(b"host", b"localhost")],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        self.task = asyncio.ensure_future(handler(scope, self.receive, self.send))

    async def receive(self):
        if self.requests:
            return self.requests.pop(0)
        await self.leave.wait()
        return {"type": "http.disconnect"}

    async def send(self, event):
        if event["type"] == "http.response.start":
            self.status = event["status"]
        elif event.get("body"):
            self.body += event["body"]
            self.first_byte.set()


async def answer(handler: Handler, path: str, body: bytes = b"") -> Exchange:
    exchange = Exchange(handler, path, body)
    await exchange.task
    return exchange


@pytest.mark.parametrize("path", ["/thread", "/api/thread"])
async def test_synchronous_views_run_in_the_kept_threads(handler, path):
    names = {(await answer(handler, path)).body for _ in range(3)}
    assert names == {b"view_0"}


@pytest.mark.django_db(transaction=True)
async def test_a_thread_keeps_its_database_connection(handler):
    backends = {(await answer(handler, "/api/backend")).body for _ in range(3)}
    assert len(backends) == 1


@pytest.mark.django_db(transaction=True)
async def test_a_connection_that_failed_is_replaced_for_the_next_request(handler):
    before = await answer(handler, "/api/backend")
    assert (await answer(handler, "/api/broken")).status == 500
    after = await answer(handler, "/api/backend")
    assert after.status == 200
    assert after.body != before.body


async def test_a_body_at_the_limit_is_read_and_one_byte_more_is_413(handler, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    assert (await answer(handler, "/api/size", b"x" * 1000)).body == b"1000"
    refused = await answer(handler, "/api/size", b"x" * 1001)
    assert refused.status == 413
    assert b"At most 1000 bytes" in refused.body


async def test_two_hundred_idle_streams_hold_no_thread(handler):
    endings.clear()
    before = threading.active_count()
    streams = [Exchange(handler, "/api/idle") for _ in range(200)]
    await asyncio.gather(*(stream.first_byte.wait() for stream in streams))
    assert threading.active_count() <= before + 1
    assert (await answer(handler, "/api/thread")).body == b"view_0"
    for stream in streams:
        stream.leave.set()
    await asyncio.gather(*(stream.task for stream in streams))
    assert endings == ["closed"] * 200


async def test_an_unknown_address_is_404(handler):
    assert (await answer(handler, "/api/nowhere")).status == 404
