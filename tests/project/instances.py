"""Running installations of the project, as real processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent.parent
# Seconds; far above what is needed, for machines that are busy with other tests.
PATIENCE = 90.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def command(
    var_dir: Path, *arguments: str, checkout: Path = ROOT, **environment: str
) -> tuple[list[str], dict[str, str]]:
    """A ``manage.py`` command and its environment: nothing of the tests' own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "HOME", "LANG", "TMPDIR", "PYTHONPATH")
    }
    kept |= {
        "VAR_DIR": str(var_dir),
        "MEMORY_MODEL": "offline",
        "DJANGO_SETTINGS_MODULE": "memoryproject.settings",
    }
    return (
        [sys.executable, str(checkout / "manage.py"), *arguments],
        kept | environment,
    )


def manage(
    var_dir: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess:
    """Runs a ``manage.py`` command to its end."""
    line, variables = command(var_dir, *arguments, **environment)
    return subprocess.run(
        line,
        env=variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


class Instance:
    """``manage.py studio`` with a VAR_DIR and a port."""

    def __init__(
        self, var_dir: Path, port: int | None = None, **environment: str
    ) -> None:
        self.var_dir = var_dir
        self.port = port or free_port()
        self.environment = environment
        self.output = ""
        self.process: subprocess.Popen | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Instance:
        """Returns when it has printed that it is ready; fails when it ends before."""
        line, variables = command(
            self.var_dir, "studio", PORT=str(self.port), **self.environment
        )
        self.process = subprocess.Popen(
            line,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        for said in self.process.stdout:
            self.output += said
            if said.startswith("Ctrl-C stops everything"):
                return self
        raise AssertionError(f"The instance ended: {self.output}")

    def health(self) -> dict[str, str]:
        with urllib.request.urlopen(f"{self.address}/healthz", timeout=30) as response:
            return json.load(response)

    def descendants(self) -> list[psutil.Process]:
        assert self.process is not None
        return psutil.Process(self.process.pid).children(recursive=True)

    def child(self, part: str) -> psutil.Process:
        """The direct child whose command line has this part."""
        assert self.process is not None
        for process in psutil.Process(self.process.pid).children():
            if any(part in word for word in process.cmdline()):
                return process
        raise AssertionError(f"No child is called {part}.")

    def signal(self, number: signal.Signals) -> int:
        """Sends a signal, reads what is still said, returns the exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        assert self.process is not None
        said, _ = self.process.communicate(timeout=PATIENCE)
        self.output += said
        return self.process.returncode

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.signal(signal.SIGTERM)


def gone(processes: list[psutil.Process]) -> bool:
    """Waits until all of them have ended."""
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    return not alive


def until(question, patience: float = PATIENCE):
    """The first true answer to a question that is asked again and again."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if answer := question():
            return answer
        time.sleep(0.05)
    raise AssertionError("It did not come true in time.")
