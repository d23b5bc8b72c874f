"""``python manage.py studio``: everything a working installation needs."""

import contextlib
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memoryproject.supervisor import Failure, Supervisor


class Command(BaseCommand):
    help = (
        "Starts the database, the broker, the worker and the web server, prints the "
        "chat's address, and stops everything on Ctrl-C. HOST, PORT and VAR_DIR come "
        "from the environment."
    )
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        def say(line: str) -> None:
            # Whoever read it may have gone; that is no reason to stop, or not to.
            with contextlib.suppress(BrokenPipeError):
                self.stdout.write(line)
                self.stdout.flush()

        try:
            Supervisor(say).run()
        except Failure as failure:
            raise CommandError(str(failure)) from failure
