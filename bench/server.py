"""A PostgreSQL server for one measurement, as the product embeds it, settings and all."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from pathlib import Path


def prepare(var_dir: str | None = None) -> None:
    """Sets Django up on DATABASE_URL, else on a server of our own, and migrates.

    ``var_dir`` keeps the data of our own server for another run; without it they are
    thrown away.
    """
    kept = var_dir is not None
    os.environ["VAR_DIR"] = var_dir or tempfile.mkdtemp(prefix="memory-bench-")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryproject.settings")
    if not os.environ.get("DATABASE_URL"):
        _start(Path(os.environ["VAR_DIR"]), kept)
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def _start(var_dir: Path, kept: bool) -> None:
    from memoryproject.embedded.postgres import EmbeddedPostgres

    server = EmbeddedPostgres(var_dir)
    server.start()
    # The reference's driver makes its own database, as the role postgres.
    rules = server.data / "pg_hba.conf"
    rules.write_text("local all all trust\n")
    server.process.send_signal(signal.SIGHUP)
    given = server.connection()
    os.environ["PGHOST"] = given["HOST"]
    os.environ.setdefault("PGPORT", "5432")

    def stop() -> None:
        server.stop()
        if not kept:
            shutil.rmtree(var_dir, ignore_errors=True)

    atexit.register(stop)
