"""Starts everything a working installation needs, watches it, and stops it again."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
from django.conf import settings
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.db import Error as DatabaseFault
from django.db import OperationalError, connections

from memoryproject.broker_reachability import broker_problem
from memoryproject.checks import check_model
from memoryproject.embedded.broker import EmbeddedBroker
from memoryproject.embedded.places import EmbeddedServiceError, make_folder
from memoryproject.embedded.postgres import EmbeddedPostgres
from memoryproject.embedded.processes import spawn
from memoryproject.instance import ChildRecords, InstanceLock
from memoryproject.last_lines import last_lines, log_size
from memoryproject.reachability import explain, first_line
from memoryproject.static_files import collect_static

# Seconds.
READY_TIMEOUT = 120.0
STOP_PATIENCE = 15.0
POLL_INTERVAL = 0.2


class Failure(Exception):
    """The instance cannot run or go on. The message is for the person at the shell."""


class StopRequested(BaseException):
    """Ctrl-C, SIGTERM or SIGHUP. No Exception, so that nothing on its way eats it."""


@dataclass
class Child:
    """A process we started and watch.

    ``begin`` is the byte of its log where this instance's lines begin.
    """

    name: str
    process: subprocess.Popen
    log: Path
    begin: int

    def ending(self) -> str:
        """What to tell about its end: which it was, how, and what its log says."""
        code = self.process.returncode
        how = f"ended with exit code {code}"
        if code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        who = self.name if self.name == "PostgreSQL" else f"The {self.name}"
        sentence = f"{who} {how}, so everything is stopped."
        width = shutil.get_terminal_size().columns
        lines = last_lines(self.log, self.begin, width - 2)
        if not lines:
            return f"{sentence} Log: {self.log}"
        end = "\n".join(f"  {line}" for line in lines)
        return f"{sentence} The end of {self.log}:\n{end}\n{sentence} Log: {self.log}"


class Supervisor:
    """One instance: ``run()`` returns when it was asked to stop.

    ``say`` prints a line to the person who started it.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.var_dir: Path = settings.VAR_DIR
        self.logs = self.var_dir / "log"
        self.lock = InstanceLock(self.var_dir)
        self.records = ChildRecords(self.var_dir)
        self.postgres = EmbeddedPostgres(self.var_dir)
        self.broker = EmbeddedBroker(self.var_dir)
        # In the order of their start; they are stopped in the opposite one.
        self.children: list[Child] = []
        # Bytes that earlier instances have written, by log.
        self.earlier: dict[Path, int] = {}

    @property
    def address(self) -> str:
        """What to open in a browser on this machine."""
        host = settings.HOST
        if host in ("0.0.0.0", "::"):
            host = "127.0.0.1"
        if ":" in host:
            host = f"[{host}]"
        return f"http://{host}:{settings.PORT}"

    def run(self) -> None:
        """Raises Failure when something does not start, or dies on its own."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, request_stop)
        try:
            self.start()
            self.watch()
        except StopRequested:
            self.say("Stopping …")
        except EmbeddedServiceError as error:
            raise Failure(str(error)) from error
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            self.stop()

    def start(self) -> None:
        require_known_model()
        self.lock.acquire(self.address)
        require_free_port(settings.HOST, settings.PORT)
        make_folder(self.logs)
        self.earlier = {log: log_size(log) for log in self.logs.glob("*.log")}
        if left := self.records.end_leftovers():
            self.say(f"Ended what a killed instance had left: {', '.join(left)}.")
        if settings.EMBEDDED_POSTGRES:
            self.say("Starting PostgreSQL …")
            self.postgres.start()
            self.add("PostgreSQL", self.postgres.process, self.postgres.log)
        if settings.EMBEDDED_BROKER:
            self.say("Starting the broker …")
            self.broker.start()
            self.add("broker", self.broker.process, self.broker.log)
        self.require_database()
        self.say("Bringing the database and the static files up to date …")
        self.prepare(collect_static)
        # It starts while the tables are made, and is announced when both are ready.
        self.spawn("server", "memoryproject.server", death_signal=signal.SIGTERM)
        self.prepare(lambda: call_command("migrate", interactive=False, verbosity=0))
        self.say("Starting the worker and the web server …")
        self.spawn(
            "worker",
            *("celery", "--app", "memoryproject", "worker", "--beat"),
            *("--queues", ",".join(settings.WORKER_QUEUES), "--loglevel", "INFO"),
            *("--without-gossip", "--without-mingle", "--hostname", "worker@%h"),
            # A crash of the supervisor ends the worker as a crash: its tasks return.
            death_signal=signal.SIGKILL,
            DATABASE_POOL_MAX="0",
        )
        self.wait_until_healthy()
        self.say(
            f"\n  Chat:   {self.address}/\n"
            f"  Admin:  {self.address}/admin/  (make yourself a superuser: "
            f"{superuser_command(self.var_dir)})\n"
            f"  Logs:   {self.logs}\n\n"
            f"{self.broker_warning()}"
            "Ctrl-C stops everything."
        )

    def broker_warning(self) -> str:
        """A paragraph of the banner while the broker is away, else nothing."""
        if settings.EMBEDDED_BROKER or (problem := broker_problem()) is None:
            return ""
        return (
            f"  The broker {problem}.\n"
            "  Titles and embeddings wait until it can; check CELERY_BROKER_URL.\n\n"
        )

    def add(self, name: str, process: subprocess.Popen | None, log: Path) -> None:
        assert process is not None
        self.children.append(Child(name, process, log, self.earlier.get(log, 0)))
        self.records.write({child.name: child.process.pid for child in self.children})

    def spawn(
        self,
        name: str,
        *module: str,
        death_signal: signal.Signals,
        **variables: str,
    ) -> None:
        environment = dict(os.environ)
        # Set for commands by manage.py; the server has a pool.
        environment.pop("DATABASE_POOL_MAX", None)
        if given := environment.get("SERVER_DATABASE_POOL_MAX"):
            environment["DATABASE_POOL_MAX"] = given
        log = self.logs / f"{name}.log"
        process = spawn(
            [sys.executable, "-m", *module],
            log=log,
            death_signal=death_signal,
            environment=environment | variables | {"PYTHONUNBUFFERED": "1"},
            cwd=settings.BASE_DIR,
        )
        self.add(name, process, log)

    def require_database(self) -> None:
        try:
            connections["default"].ensure_connection()
        except OperationalError as error:
            raise Failure(explain(error) or first_line(error)) from error
        except DatabaseFault as error:
            raise Failure(first_line(error)) from error

    def prepare(self, step: Callable[[], object]) -> None:
        try:
            step()
        except SystemCheckError as error:
            raise Failure(str(error)) from error
        except (CommandError, DatabaseFault, OSError) as error:
            raise Failure(f"Preparing failed: {first_line(error)}") from error
        finally:
            connections.close_all()

    def wait_until_healthy(self) -> None:
        deadline = time.monotonic() + READY_TIMEOUT
        answer = "no answer"
        while time.monotonic() < deadline:
            self.require_all_alive()
            answer = health(self.address)
            if answer == "ok":
                return
            time.sleep(0.05)
        raise Failure(
            f"The web server did not get healthy in {READY_TIMEOUT:.0f} s "
            f"({answer}). See {self.logs / 'server.log'}."
        )

    def watch(self) -> None:
        while True:
            self.require_all_alive()
            time.sleep(POLL_INTERVAL)

    def require_all_alive(self) -> None:
        for child in self.children:
            if child.process.poll() is not None:
                raise Failure(child.ending())

    def stop(self) -> None:
        """Ends the processes that use the services, then the services."""
        users = [c for c in self.children if c.name in ("worker", "server")]
        for child in users:
            if child.process.poll() is None:
                child.process.terminate()
        deadline = time.monotonic() + STOP_PATIENCE
        for child in reversed(users):
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.process.wait(max(0.1, deadline - time.monotonic()))
            # Also what the child started itself: the worker's pool.
            kill_group(child.process)
        self.broker.stop()
        self.postgres.stop()
        self.children.clear()
        if self.lock.file is not None:
            self.records.clear()
            self.lock.release()


def request_stop(number: int, frame: object) -> None:
    # Once is enough; what follows must not be interrupted.
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise StopRequested


def kill_group(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        process.wait()


def require_known_model() -> None:
    for error in check_model():
        raise Failure(f"{error.msg} {error.hint}")


def require_free_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        # A port whose last connections are only fading away is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OverflowError as error:
            raise Failure(f"PORT must be between 1 and 65535, not {port}.") from error
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise Failure(
                    f"Port {port} is taken{holder_of(port)}. "
                    f"Choose another: make run PORT={port + 1}"
                ) from error
            raise Failure(
                f"Cannot listen on {host}, port {port}: {error.strerror}."
            ) from error


def holder_of(port: int) -> str:
    """Who listens on a port, when the system tells."""
    try:
        for connection in psutil.net_connections("tcp"):
            if (
                connection.status == psutil.CONN_LISTEN
                and connection.laddr.port == port
                and connection.pid
            ):
                name = psutil.Process(connection.pid).name()
                return f" by process {connection.pid} ({name})"
    except psutil.Error:
        pass
    return ""


def health(address: str) -> str:
    """ "ok", or what stands in its way."""
    request = urllib.request.Request(
        f"{address}/healthz", headers={"Host": served_host(settings.ALLOWED_HOSTS)}
    )
    # Whatever proxy the machine is set up with, this is an address of our own.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=5) as response:
            return json.load(response)["status"]
    except urllib.error.HTTPError as error:
        return f"status {error.code}"
    except (OSError, ValueError, KeyError) as error:
        return str(error)


def served_host(allowed: list[str]) -> str:
    """A host name that the server accepts, of Django's ALLOWED_HOSTS."""
    for pattern in allowed:
        if pattern != "*":
            return pattern.removeprefix(".")
    return "localhost"


def superuser_command(var_dir: Path) -> str:
    if var_dir == settings.BASE_DIR / "var":
        return "make superuser"
    return f"make superuser VAR_DIR='{var_dir}'"
