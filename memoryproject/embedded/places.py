"""Where the embedded services keep their files, secrets and sockets.

Everything lives under ``VAR_DIR`` but the sockets: the path of a Unix socket ends at 107
bytes, and ``VAR_DIR`` may be longer. A socket therefore lies in a private folder of the
machine's temporary directory, named after a digest of ``VAR_DIR``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
import tempfile
from pathlib import Path

# 107 bytes less the longest socket name ("/.s.PGSQL.5432.lock") and the folder's own.
LONGEST_TEMPORARY_DIRECTORY = 50
# What means something in an address or in PostgreSQL's settings.
UNSAFE = re.compile(r"[^A-Za-z0-9/_.+-]")


class EmbeddedServiceError(Exception):
    """A service cannot run here. The message says why and what to do."""


def digest(var_dir: Path) -> str:
    """Sixteen characters that stand for this ``VAR_DIR``."""
    return hashlib.sha256(os.fsencode(var_dir.resolve())).hexdigest()[:16]


def socket_folder(var_dir: Path, service: str) -> Path:
    """The folder of a service's socket: the one it was started with, else a new name.

    The choice is recorded, so that a command with another ``TMPDIR`` finds the socket.
    A record that was copied from another ``VAR_DIR`` does not count.
    """
    name = f"memory-{digest(var_dir)}-{service}"
    record = var_dir / "run" / f"{service}.socket"
    try:
        recorded = Path(record.read_text().strip())
    except OSError:
        recorded = None
    if recorded is not None and recorded.name == name:
        return recorded
    base = tempfile.gettempdir()
    if len(os.fsencode(base)) > LONGEST_TEMPORARY_DIRECTORY or UNSAFE.search(base):
        base = "/tmp"
    return Path(base) / name


def make_socket_folder(var_dir: Path, service: str, uid: int, gid: int) -> Path:
    """Creates the folder for its owner alone; refuses one that somebody else made."""
    folder = socket_folder(var_dir, service)
    try:
        folder.mkdir(mode=0o700)
        if os.geteuid() == 0:
            os.chown(folder, uid, gid)
    except FileExistsError:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != uid:
            raise EmbeddedServiceError(
                f"{folder} belongs to somebody else. Remove it, "
                "or set TMPDIR to another directory."
            ) from None
        folder.chmod(0o700)
    record = make_folder(var_dir / "run") / f"{service}.socket"
    record.write_text(f"{folder}\n")
    return folder


def remove_socket_folder(var_dir: Path, service: str) -> None:
    """Removes the folder of a service that has ended, and the record of it."""
    with contextlib.suppress(OSError):
        socket_folder(var_dir, service).rmdir()
        (var_dir / "run" / f"{service}.socket").unlink(missing_ok=True)


def make_folder(folder: Path, mode: int = 0o700) -> Path:
    """Creates a folder and its parents, the folder itself with this mode."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=mode, exist_ok=True)
    except OSError as error:
        raise EmbeddedServiceError(
            f"{folder} cannot be created ({error.strerror}). "
            "Set VAR_DIR to a directory that can be written, "
            "for instance: make run VAR_DIR=~/memory"
        ) from error
    return folder


def secret(var_dir: Path, name: str) -> str:
    """A random secret, made once and kept in ``VAR_DIR`` for its owner alone."""
    path = var_dir / name
    try:
        return path.read_text().strip()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise EmbeddedServiceError(
            f"{path} cannot be read ({error.strerror}). "
            "Run as its owner, or set VAR_DIR to another directory."
        ) from error
    make_folder(var_dir, mode=0o755)
    value = secrets.token_urlsafe(48)
    # Written aside and linked: of two processes that start at once, one wins, and the
    # other reads the winner's value.
    try:
        descriptor, aside = tempfile.mkstemp(dir=var_dir, prefix=f".{name}-")
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{value}\n")
        try:
            os.link(aside, path)
        except FileExistsError:
            value = path.read_text().strip()
        finally:
            os.unlink(aside)
    except OSError as error:
        raise EmbeddedServiceError(
            f"{var_dir} cannot be written ({error.strerror}). "
            "Set VAR_DIR to a directory that can be, "
            "for instance: make run VAR_DIR=~/memory"
        ) from error
    return value
