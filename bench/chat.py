"""First words under load: many replies at once on one web process.

    python -m bench.chat [--runs 100] [--tokens 100]

A stub in this process speaks chat-completions: the first word at once, then one every
100 ms. Measured is the time from sending a message to the first words on the wire: of one
conversation alone; of many that begin one after the other, until all of them speak at the
same time; and of many sent in the same instant, where the last waits for the work of all
before it. The database's connections are counted meanwhile, and every reply is compared
with what the stub said.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from statistics import median

from bench.server import prepare

PAUSE = 0.1


async def stub() -> tuple[asyncio.Server, int]:
    """The provider: as many words as the message says."""

    def chunk(content: str | None, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": {"content": content}, "finish_reason": finish}
        value = {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "stub",
            "choices": [choice],
        }
        data = b"data: " + json.dumps(value).encode() + b"\n\n"
        return b"%x\r\n%b\r\n" % (len(data), data)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            request = json.loads(await reader.readexactly(length))
            tokens = int(request["messages"][-1]["content"])
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            for number in range(tokens):
                if number:
                    await asyncio.sleep(PAUSE)
                writer.write(chunk(f"w{number} "))
                await writer.drain()
            writer.write(chunk(None, "stop") + b"0\r\n\r\n")
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
    return server, server.sockets[0].getsockname()[1]


async def ask(port: int, thread: str, tokens: int) -> tuple[float, float]:
    """Milliseconds to the first words and to the end of one reply."""
    body = json.dumps(
        {"messages": str(tokens), "memory": {"thread": thread, "resource": "bench"}}
    ).encode()
    started = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"POST /api/agents/assistant/stream HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
        b"Content-Type: application/json\r\nConnection: close\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (port, len(body), body)
    )
    first = 0.0
    text = []
    while line := await reader.readline():
        if b'"text-delta"' in line:
            first = first or time.perf_counter()
            text.append(json.loads(line[6:])["payload"]["text"])
    ended = time.perf_counter()
    writer.close()
    expected = "".join(f"w{number} " for number in range(tokens))
    if "".join(text) != expected:
        raise RuntimeError(f"{thread}: {len(''.join(text))} characters arrived")
    return (first - started) * 1000, (ended - started) * 1000


def connections() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        return cursor.fetchone()[0]


def start_site(stub_port: int) -> tuple[subprocess.Popen[bytes], int]:
    from django.db import connection

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    given = connection.settings_dict
    host = given["HOST"].replace("/", "%2F")
    env = {
        **os.environ,
        "DATABASE_URL": (
            f"postgresql://{given['USER']}:{given['PASSWORD']}@{host}/{given['NAME']}"
        ),
        "CELERY_BROKER_URL": "memory://",
        "MEMORY_MODEL": "openai:stub",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{stub_port}/v1",
        "OPENAI_API_KEY": "none",
        "LOG_LEVEL": "WARNING",
    }
    command = [sys.executable, "-m", "uvicorn", "memoryproject.asgi:application"]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--log-level", "warning"], env=env
    )
    return process, port


async def ready(port: int) -> None:
    for _ in range(600):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        except OSError:
            await asyncio.sleep(0.1)


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def measure(runs: int, tokens: int) -> None:
    server, stub_port = await stub()
    site, port = await asyncio.to_thread(start_site, stub_port)
    try:
        await ready(port)
        for number in range(5):
            await ask(port, f"warm-{number}", 10)
        alone = [(await ask(port, f"alone-{n}", 10))[0] for n in range(15)]
        before = await asyncio.to_thread(connections)
        # Evenly over the time that one reply takes, so that all speak in the end.
        step = (tokens - 1) * PAUSE / runs
        spread, most = await watched(
            [begun_after(n * step, port, f"s-{n}", tokens) for n in range(runs)]
        )
        burst, more = await watched([ask(port, f"t-{n}", tokens) for n in range(runs)])
    finally:
        site.terminate()
        site.wait()
        server.close()
    base = median(alone)
    print(f"first words, alone           p50 {base:7.1f} ms")
    for name, results in (("in turn", spread), ("at once", burst)):
        first = [result[0] for result in results]
        print(
            f"first words, {runs:3} {name}     p50 {median(first):7.1f} ms   "
            f"p95 {percentile(first, 0.95):7.1f} ms   "
            f"ratio of p50 {median(first) / base:.1f}"
        )
    spoken = (tokens - 1) * PAUSE * 1000
    late = median(result[1] for result in spread) - spoken
    print(f"whole reply, {runs:3} in turn     p50 {late:7.1f} ms later than the stub")
    print(f"database connections         {before} before, {max(most, more)} at most")
    print(f"replies complete             {len(spread) + len(burst)} of {2 * runs}")


async def begun_after(wait: float, *given) -> tuple[float, float]:
    await asyncio.sleep(wait)
    return await ask(*given)


async def watched(work: list) -> tuple[list[tuple[float, float]], int]:
    """The results of all, and the most connections seen meanwhile."""
    together = asyncio.gather(*work)
    most = 0
    while not together.done():
        most = max(most, await asyncio.to_thread(connections))
        await asyncio.sleep(0.2)
    return await together, most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--tokens", type=int, default=100)
    given = parser.parse_args()
    prepare()
    asyncio.run(measure(given.runs, given.tokens))


if __name__ == "__main__":
    main()
