"""``manage.py embeddings status|build|switch|prune``"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.timesince import timesince

from recall.embedding import filling, spaces
from recall.embedding.registry import configured_name
from threads.errors import MemoryFault


class Command(BaseCommand):
    """Shows and changes which model's embeddings are searched."""

    help = "Shows, builds, switches and prunes the spaces of embeddings."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("status", help="coverage, backlog and age of every space")
        build = verbs.add_parser(
            "build", help="ask for every vector that a space lacks, making the space"
        )
        build.add_argument(
            "--embedder", help="its embedder; default: the one that is configured"
        )
        build.add_argument(
            "--here", action="store_true", help="embed in this process, not in workers"
        )
        switch = verbs.add_parser("switch", help="search another space from now on")
        switch.add_argument("space", type=int)
        switch.add_argument(
            "--force", action="store_true", help="although vectors are missing in it"
        )
        verbs.add_parser("prune", help="remove spaces that are no longer searched")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, options["verb"])(options)
        except MemoryFault as fault:
            raise CommandError(fault.message) from fault

    def status(self, options: dict[str, Any]) -> None:
        self.stdout.write(f"configured embedder: {configured_name()}")
        for found in spaces.status():
            age = (
                f", oldest waiting for {timesince(found.oldest, timezone.now())}"
                if found.oldest
                else ""
            )
            failing = f", {found.failing} failing" if found.failing else ""
            self.stdout.write(
                f"space {found.space.id}: {found.space.embedder}, "
                f"{found.space.dimensions or '?'} dimensions, {found.space.state}, "
                f"{'indexed' if found.indexed else 'not indexed'}\n"
                f"    {found.embedded} of {found.messages} messages embedded "
                f"({100 * found.coverage:.1f} %), {found.waiting} waiting"
                f"{failing}{age}"
            )

    def build(self, options: dict[str, Any]) -> None:
        space = spaces.build(options["embedder"])
        if options["here"]:
            while filling.embed_due(seconds=60):
                self.stdout.write(".", ending="")
                self.stdout.flush()
            spaces.build_index(space)
            self.stdout.write("")
        self.stdout.write(f"space {space.id} ({space.embedder}) is {space.state}")

    def switch(self, options: dict[str, Any]) -> None:
        space = spaces.switch(options["space"], force=options["force"])
        self.stdout.write(f"searches use space {space.id} ({space.embedder})")

    def prune(self, options: dict[str, Any]) -> None:
        self.stdout.write(f"{spaces.prune()} spaces removed")
