#!/usr/bin/env python
"""Runs one of Django's or the project's own commands."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryproject.settings")
    # A command works in one thread and ends soon: it needs no pool of connections.
    os.environ.setdefault("DATABASE_POOL_MAX", "0")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import OperationalError
    from environs import EnvError

    from memoryproject.reachability import explain

    try:
        execute_from_command_line(sys.argv)
    except (ImproperlyConfigured, EnvError) as error:
        sys.exit(f"Error: {error}")
    except OperationalError as error:
        if (explanation := explain(error)) is None:
            raise
        sys.exit(f"Error: {explanation}")


if __name__ == "__main__":
    main()
