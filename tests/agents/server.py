"""The site in a process of its own, as it is served, on the tests' database."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any

import httpx
from django.conf import settings


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """The web process. ``env`` is added to the environment."""

    def __init__(self, database_url: str, **env: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.env = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "memoryproject.settings",
            "DATABASE_URL": database_url,
            "VAR_DIR": str(settings.VAR_DIR),
            # Nothing listens there: a broker that is gone must not matter.
            "CELERY_BROKER_URL": "redis://127.0.0.1:9/0",
            "MEMORY_MODEL": "offline",
            "MEMORY_EMBEDDER": "hashing",
            "LOG_FORMAT": "console",
            "PORT": str(self.port),
            **env,
        }
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "memoryproject.server"],
            env=self.env,
            cwd=settings.BASE_DIR,
        )
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline:
            try:
                httpx.get(f"{self.url}/healthz", timeout=5)
                return process
            except httpx.TransportError:
                if process.poll() is not None:
                    raise RuntimeError("The server did not start") from None
                time.sleep(0.05)
        raise RuntimeError("The server did not answer in time")

    def kill(self) -> None:
        """``kill -9``."""
        self.process.kill()
        self.process.wait()

    def start_again(self) -> None:
        self.process = self._start()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()

    def post(self, path: str, body: Any, **options: Any) -> httpx.Response:
        return httpx.post(self.url + path, json=body, timeout=30, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return httpx.get(self.url + path, timeout=30, **options)


def data_frames(text: str) -> list[str]:
    """The frames of a stream, read as strictly as the strictest client reads them."""
    frames = text.split("\n\n")
    assert frames.pop() == ""
    for frame in frames:
        assert frame.startswith(("data: ", ": "))
        assert "\n" not in frame
        assert "\r" not in frame
    return [f.removeprefix("data: ") for f in frames if f.startswith("data: ")]
