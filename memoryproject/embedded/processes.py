"""Child processes that do not outlive their parent, and the account they run as."""

from __future__ import annotations

import ctypes
import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

# Numbers of <linux/prctl.h> and <linux/capability.h>.
PR_SET_PDEATHSIG = 1
PR_SET_SECUREBITS = 28
SECBIT_NO_SETUID_FIXUP = 1 << 2
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
CAP_DAC_OVERRIDE = 1
CAPABILITY_VERSION_3 = 0x20080522

# Bytes.
LARGE_LOG = 20 * 1024 * 1024

LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True)
class Account:
    """A user of the machine."""

    uid: int
    gid: int
    name: str

    @classmethod
    def current(cls) -> Account:
        return cls.of(os.geteuid())

    @classmethod
    def of(cls, uid: int) -> Account:
        """Raises KeyError when the machine knows no such user."""
        entry = pwd.getpwuid(uid)
        return cls(entry.pw_uid, entry.pw_gid, entry.pw_name)

    @property
    def is_current(self) -> bool:
        return self.uid == os.geteuid()

    def reaches(self, path: Path) -> bool:
        """Whether the permissions let this account enter every folder above a path."""
        for folder in path.resolve().parents:
            found = folder.stat()
            if found.st_uid == self.uid:
                entered = found.st_mode & 0o100
            elif found.st_gid == self.gid:
                entered = found.st_mode & 0o010
            else:
                entered = found.st_mode & 0o001
            if not entered:
                return False
        return True


class CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class CapabilityData(ctypes.Structure):
    _fields_ = [
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    ]


def become(account: Account, *, passing_folders: bool) -> None:
    """Gives up root for an account, in a child before it executes its program.

    ``passing_folders`` keeps one capability, with which the account passes folders that
    are closed to it (a checkout under ``/root``) while nobody else gets to.
    """
    if passing_folders and LIBC is not None:
        # Capabilities stay when the user changes, and access(2), with which PostgreSQL
        # looks for its own programs, counts them.
        LIBC.prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0)
    os.setgroups([])
    os.setgid(account.gid)
    os.setuid(account.uid)
    if passing_folders and LIBC is not None:
        bit = 1 << CAP_DAC_OVERRIDE
        data = (CapabilityData * 2)()
        data[0] = CapabilityData(bit, bit, bit)
        header = CapabilityHeader(CAPABILITY_VERSION_3, 0)
        LIBC.capset(ctypes.byref(header), data)
        LIBC.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0)


def preparation(
    *,
    account: Account | None = None,
    passing_folders: bool = False,
    death_signal: signal.Signals | None = None,
) -> Callable[[], None]:
    """What a child does between fork and exec.

    ``death_signal`` is what the kernel sends the child when its parent dies, however it
    dies. Linux alone has it; elsewhere the next start clears up.
    """
    parent = os.getpid()

    def prepare() -> None:
        if account is not None and not account.is_current:
            become(account, passing_folders=passing_folders)
        if death_signal is not None and LIBC is not None:
            LIBC.prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)

    return prepare


def die_with_parent() -> None:
    """Has the kernel kill this process when its parent dies. Linux alone can."""
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def turn_over(log: Path) -> None:
    """Puts a log that has grown large aside; the one before it is dropped."""
    if log.exists() and log.stat().st_size > LARGE_LOG:
        log.rename(log.with_suffix(".old.log"))


def spawn(
    command: Sequence[str | Path],
    *,
    log: Path,
    death_signal: signal.Signals,
    account: Account | None = None,
    passing_folders: bool = False,
    environment: dict[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.Popen:
    """Starts a child in a session of its own; what it says is appended to ``log``."""
    turn_over(log)
    with log.open("ab") as output:
        return subprocess.Popen(
            [os.fspath(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=cwd,
            start_new_session=True,
            preexec_fn=preparation(
                account=account,
                passing_folders=passing_folders,
                death_signal=death_signal,
            ),
        )


def end(
    process: subprocess.Popen, *signals: signal.Signals, patience: float = 20.0
) -> None:
    """Ends a child: each signal in turn, ``patience`` seconds apart, then SIGKILL."""
    for number in (*signals, signal.SIGKILL):
        if process.poll() is not None:
            return
        process.send_signal(number)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue


def end_stranger(pid: int, *signals: signal.Signals, patience: float = 10.0) -> None:
    """The same for a process that is not our child."""
    for number in (*signals, signal.SIGKILL):
        try:
            process = psutil.Process(pid)
            process.send_signal(number)
            process.wait(patience)
        except psutil.NoSuchProcess:
            return
        except psutil.TimeoutExpired:
            continue
