"""Turns are asynchronous and commit: each test runs an event loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from agents.agent import Agent
from agents.connections import close_readers
from agents.event_log import event_writer
from agents.registry import register, unregister
from agents.wakes import wakes
from tests.agents.provider import Provider
from tests.agents.server import Server


async def _with_clean_end(work: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await work
    finally:
        await event_writer().shut_down()
        await wakes().shut_down()
        await close_readers()


@pytest.fixture
def run_async(transactional_db: None) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a coroutine in a new event loop, which leaves no connection behind."""
    return lambda work: asyncio.run(_with_clean_end(work))


@pytest.fixture
def agent() -> Iterator[Agent]:
    """An agent on the offline model that remembers ten messages."""
    made = register(Agent("test-agent", model="offline", memory=True))
    yield made
    unregister(made.id)


@pytest.fixture(scope="session")
def provider_server() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.close()


@pytest.fixture
def provider(provider_server: Provider, settings: Any) -> Iterator[Provider]:
    """A provider that the models named ``openai:…`` reach, saying ``Hello there.``"""
    provider_server.reset()
    settings.OPENAI_BASE_URL = provider_server.url
    settings.OPENAI_API_KEY = "sk-very-secret"
    settings.MEMORY = settings.MEMORY | {
        "MODEL_FIRST_TOKEN_TIMEOUT": 1.0,
        "MODEL_STALL_TIMEOUT": 0.5,
    }
    yield provider_server
    provider_server.release.set()


@pytest.fixture
def talker(provider: Provider) -> Iterator[Agent]:
    """An agent whose model is at the provider."""
    made = register(Agent("talker", model="openai:stub", memory=True))
    yield made
    unregister(made.id)


@pytest.fixture(scope="session")
def web_process(database_url: str, provider_server: Provider) -> Iterator[Server]:
    made = Server(
        database_url,
        MEMORY_MODEL="openai:stub",
        OPENAI_BASE_URL=provider_server.url,
        OPENAI_API_KEY="sk-very-secret",
    )
    yield made
    made.stop()


@pytest.fixture
def server(transactional_db: None, provider: Provider, web_process: Server) -> Server:
    """A web process whose configured model is at the provider."""
    if web_process.process.poll() is not None:
        web_process.start_again()
    return web_process
