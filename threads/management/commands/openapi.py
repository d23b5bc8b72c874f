"""``manage.py openapi`` writes the OpenAPI document to docs/reference/openapi.json."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from threads.api.openapi import document

SNAPSHOT = Path("docs/reference/openapi.json")


class Command(BaseCommand):
    help = "Write the OpenAPI document to a file; - for the terminal."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", nargs="?", default=settings.BASE_DIR / SNAPSHOT)

    def handle(self, *args: Any, **options: Any) -> None:
        text = readable(document())
        if str(options["path"]) == "-":
            self.stdout.write(text, ending="")
        else:
            Path(options["path"]).write_text(text)


def readable(content: bytes) -> str:
    """The document with a line for each member, as it is committed."""
    return json.dumps(json.loads(content), indent=1, ensure_ascii=False) + "\n"
