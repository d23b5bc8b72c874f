"""A real browser before a real installation, whose model the tests hold in their hand."""

from __future__ import annotations

import json
import os
import queue
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

from tests.agents.provider import DONE, Provider, Script, delta, says, usage
from tests.project.instances import Instance

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
TITLE = "Tea from the hills"
PATIENCE_MS = 30_000

expect.set_options(timeout=PATIENCE_MS)


class Conductor:
    """Says, piece by piece, what the model of an installation says.

    Without a score it answers ``Fine.`` at once. After :meth:`take_over` each request
    says what :meth:`say` is given, until :meth:`finish`.
    """

    def __init__(self) -> None:
        self.provider = Provider()
        self.provider.scripts = [self._script]
        self.provider.refuses_turns_only = True
        self._pieces: queue.Queue[str | None] | None = None
        self._before: list[Script] = []

    def first(self, script: Script) -> None:
        """Answers the next turn with ``script``. Titles are written beside the turns."""
        self._before.append(script)

    def take_over(self) -> None:
        self._pieces = queue.Queue()

    def say(self, *pieces: str) -> None:
        assert self._pieces is not None
        for piece in pieces:
            self._pieces.put(piece)

    def finish(self) -> None:
        assert self._pieces is not None
        self._pieces.put(None)
        self._pieces = None

    def _script(self, request: dict[str, Any]) -> Iterator[bytes]:
        if not request.get("stream"):
            return says(TITLE)(request)
        if self._before:
            return self._before.pop(0)(request)
        if self._pieces is None:
            return says("Fine.")(request)
        return self._held(self._pieces)

    def _held(self, pieces: queue.Queue[str | None]) -> Iterator[bytes]:
        yield delta("", role="assistant")
        while (piece := pieces.get(timeout=120)) is not None:
            yield delta(piece)
        yield delta(finish="stop")
        yield usage(10, 5)
        yield DONE


@pytest.fixture(scope="package")
def conductor() -> Iterator[Conductor]:
    made = Conductor()
    yield made
    made.provider.close()


def environment_of(conductor: Conductor) -> dict[str, str]:
    """The settings by which an installation's model is the conductor's."""
    return {
        "MEMORY_MODEL": "openai:stub",
        "OPENAI_BASE_URL": conductor.provider.url,
        "OPENAI_API_KEY": "sk-test",
        "PATH": os.environ["PATH"],
    }


@pytest.fixture(scope="package")
def instance(
    tmp_path_factory: pytest.TempPathFactory, conductor: Conductor
) -> Iterator[Instance]:
    """An installation that all browser tests share; each uses threads of its own."""
    made = Instance(tmp_path_factory.mktemp("studio"), **environment_of(conductor))
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium. Without it the test is skipped, unless CI demands it."""
    if not CHROMIUM.exists():
        reason = f"Chromium is not at {CHROMIUM}: install it, or set CHROMIUM"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages in contexts of their own, in which no other host exists.

    Afterwards no script of a payload has run, and the pages' own have not failed.
    """
    pages: list[Page] = []
    faults: list[str] = []
    foreign: list[str] = []

    def open_one(address: str, *, context: Any = None, **options: Any) -> Page:
        context = context or browser.new_context(**options)
        host = "/".join(address.split("/")[:3])

        def at_home(route: Route) -> None:
            if route.request.url.startswith((host, "data:", "blob:")):
                route.fallback()
            else:
                foreign.append(route.request.url)
                route.abort()

        context.route("**/*", at_home)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: faults.append(str(error)))
        pages.append(page)
        page.goto(address)
        return page

    yield open_one
    for page in pages:
        if not page.is_closed():
            assert page.evaluate("() => window.__x") is None
    for context in {page.context for page in pages}:
        context.close()
    assert faults == []
    assert foreign == []


class Api:
    """The HTTP API of an installation, by which tests prepare and check."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"{self.instance.address}/api/memory{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)

    def make_thread(
        self, thread_id: str, title: str = "", resource_id: str = "local"
    ) -> str:
        self(
            "POST",
            "/threads?agentId=assistant",
            {"threadId": thread_id, "resourceId": resource_id, "title": title},
        )
        return f"{self.instance.address}/t/{thread_id}"

    def save(
        self,
        thread_id: str,
        *messages: tuple[str, str, str],
        resource_id: str = "local",
    ) -> None:
        """Saves messages given as ``(id, role, text)``."""
        self(
            "POST",
            "/save-messages?agentId=assistant",
            {
                "messages": [
                    {
                        "id": message_id,
                        "role": role,
                        "threadId": thread_id,
                        "resourceId": resource_id,
                        "content": {
                            "format": 2,
                            "parts": [{"type": "text", "text": text}],
                        },
                    }
                    for message_id, role, text in messages
                ]
            },
        )

    def texts(self, thread_id: str) -> list[tuple[str, str]]:
        """What is stored in a thread: ``(role, text)``, oldest first."""
        path = f"/threads/{thread_id}/messages?agentId=assistant&perPage=false"
        return [
            (
                message["role"],
                "".join(part.get("text", "") for part in message["content"]["parts"]),
            )
            for message in self("GET", path)["messages"]
        ]

    def exists(self, thread_id: str) -> bool:
        try:
            self("GET", f"/threads/{thread_id}?agentId=assistant")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return False
            raise
        return True


@pytest.fixture
def api(instance: Instance) -> Api:
    return Api(instance)


def send(page: Page, text: str) -> None:
    """Types a message and presses Enter."""
    page.locator("#text").fill(text)
    page.locator("#text").press("Enter")


def replies(page: Page):
    """The replies that are finished."""
    return page.locator(".message.assistant:not(.live)")


def thread_of(page: Page) -> str:
    return page.locator("#pane").get_attribute("data-thread")
