"""One running instance a ``VAR_DIR``: its lock, and a record of what it started."""

from __future__ import annotations

import fcntl
import json
import os
import signal
from pathlib import Path
from typing import TextIO

import psutil

from memoryproject.embedded.places import EmbeddedServiceError, make_folder


class InstanceLock:
    """Held for as long as the process lives; the kernel lets go however it dies."""

    def __init__(self, var_dir: Path) -> None:
        self.var_dir = var_dir
        self.file: TextIO | None = None

    def acquire(self, address: str) -> None:
        """Raises EmbeddedServiceError, naming the holder, when another has it."""
        path = make_folder(self.var_dir / "run") / "lock"
        try:
            file = path.open("a+")
        except OSError as error:
            raise EmbeddedServiceError(
                f"{path} cannot be written ({error.strerror}). "
                "Set VAR_DIR to a directory that can be."
            ) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            holder = file.read().strip() or "another process"
            file.close()
            raise EmbeddedServiceError(
                f"{self.var_dir} is in use by {holder}. Stop that instance, or start "
                "this one elsewhere: make run PORT=8001 VAR_DIR=./var-2"
            ) from error
        file.truncate(0)
        file.write(f"process {os.getpid()} at {address}\n")
        file.flush()
        self.file = file

    def release(self) -> None:
        if self.file is not None:
            self.file.truncate(0)
            self.file.close()
            self.file = None


class ChildRecords:
    """The children of the instance, so that the next start finds those left behind.

    A process number is used again by the system; with the time of its start it names
    one process for good.
    """

    def __init__(self, var_dir: Path) -> None:
        self.path = var_dir / "run" / "children.json"

    def write(self, pids: dict[str, int]) -> None:
        found = []
        for name, pid in pids.items():
            try:
                started = psutil.Process(pid).create_time()
            except psutil.NoSuchProcess:
                continue
            found.append({"name": name, "pid": pid, "started": started})
        aside = self.path.with_suffix(".new")
        aside.write_text(json.dumps(found))
        aside.rename(self.path)

    def clear(self) -> None:
        self.path.unlink(missing_ok=True)

    def end_leftovers(self) -> list[str]:
        """Ends what a killed instance left running; returns their names."""
        try:
            recorded = json.loads(self.path.read_text())
        except (OSError, ValueError):
            return []
        ended = []
        for child in recorded:
            # Each child leads a process group of its own, which may outlive it.
            members = [
                process
                for process in psutil.process_iter()
                if belongs(process, child["pid"], child["started"])
            ]
            for process in members:
                ended.append(child["name"])
                signal_quietly(process, signal.SIGTERM)
            _, alive = psutil.wait_procs(members, timeout=5)
            for process in alive:
                signal_quietly(process, signal.SIGKILL)
            psutil.wait_procs(alive, timeout=5)
        self.clear()
        return sorted(set(ended))


def belongs(process: psutil.Process, leader: int, started: float) -> bool:
    """Whether a process is the leader, or a member of its group that began later."""
    try:
        begun = process.create_time()
        if process.pid == leader:
            # Times are counted in clock ticks, a hundredth of a second.
            return abs(begun - started) < 0.1
        return os.getpgid(process.pid) == leader and begun >= started
    except (psutil.Error, ProcessLookupError, PermissionError):
        return False


def signal_quietly(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.Error:
        return
