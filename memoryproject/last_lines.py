"""The end of a log, for a person at a terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path

# Bytes that are looked at, and lines that are shown.
END = 64 * 1024
COUNT = 15

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def log_size(log: Path) -> int:
    """Where what is written next begins."""
    return log.stat().st_size if log.exists() else 0


def last_lines(log: Path, begin: int, width: int) -> list[str]:
    """The last lines that were written after the byte ``begin``.

    A log that is shorter has been put aside since then, so that all of it counts. Lines
    in JSON become "time level event", colours are left out, and a line longer than
    ``width`` ends in "…".
    """
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            start = begin if begin <= size else 0
            file.seek(max(start, size - END))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    lines = [readable(line) for line in text.splitlines() if line.strip()]
    return [cut(line, width) for line in lines[-COUNT:]]


def readable(line: str) -> str:
    bare = ESCAPES.sub("", line).rstrip()
    try:
        record = json.loads(bare)
        event = str(record["event"])
    except (ValueError, KeyError, TypeError):
        return printable(bare)
    # Of 2026-01-31T12:34:56.789Z the time of day.
    time = str(record.get("timestamp", ""))[11:19]
    # The last line of a traceback says what it was about.
    if cause := str(record.get("exception") or "").strip():
        event = f"{event}: {cause.splitlines()[-1]}"
    level = str(record.get("level", ""))
    shown = " ".join(part for part in (time, level, event) if part)
    return printable(ESCAPES.sub("", shown))


def printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text)


def cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"
