"""Keys for programs: ``manage.py apikey create|list|revoke``."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from threads.access import ApiKey
from threads.errors import InvalidInput


class Command(BaseCommand):
    help = "Make, list and revoke API keys."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        create = verbs.add_parser("create", help="Make a key; it is shown once.")
        create.add_argument("--name", required=True, help="Whom the key is for.")
        create.add_argument(
            "--resource",
            action="append",
            default=[],
            metavar="ID",
            help="A resource that the key reaches, or a prefix such as org-1/*; "
            "repeatable.",
        )
        create.add_argument(
            "--all-resources", action="store_true", help="The key reaches everything."
        )
        create.add_argument(
            "--read-only", action="store_true", help="The key changes nothing."
        )
        create.add_argument(
            "--expires",
            metavar="WHEN",
            help="Days from now (30d or 30), or an ISO date or moment.",
        )
        create.add_argument(
            "--rate-limit", type=int, metavar="N", help="Requests a minute."
        )
        verbs.add_parser("list", help="List the keys, newest first.")
        revoke = verbs.add_parser("revoke", help="End a key for good.")
        revoke.add_argument("prefix", help="The first eight characters of the key.")

    def handle(self, *args: Any, **options: Any) -> None:
        {"create": self.create, "list": self.list, "revoke": self.revoke}[
            options["verb"]
        ](options)

    def create(self, options: dict[str, Any]) -> None:
        try:
            key, text = ApiKey.objects.issue(
                name=options["name"],
                resources=options["resource"],
                all_resources=options["all_resources"],
                read_only=options["read_only"],
                expires=moment_of(options["expires"]),
                rate_limit=options["rate_limit"],
            )
        except InvalidInput as fault:
            raise CommandError(fault.message) from fault
        reach = "every resource" if key.all_resources else ", ".join(key.resources)
        self.stdout.write(f"Key {key.prefix} for {key.name} reaches {reach}.")
        self.stdout.write("It is shown this once:")
        self.stdout.write(text)

    def list(self, options: dict[str, Any]) -> None:
        for key in ApiKey.objects.all():
            reach = "*" if key.all_resources else ",".join(key.resources)
            self.stdout.write(
                "\t".join([key.prefix, key.name, reach, *state_of(key)]).rstrip()
            )

    def revoke(self, options: dict[str, Any]) -> None:
        prefix = options["prefix"].partition(".")[0]
        if not ApiKey.objects.revoke(prefix):
            raise CommandError(f"No usable key begins with {prefix}")
        self.stdout.write(f"Key {prefix} is revoked.")


def state_of(key: ApiKey) -> list[str]:
    """What else is to be said of a key, in words."""
    said = []
    if key.read_only:
        said.append("read-only")
    if key.revoked:
        said.append("revoked")
    elif key.has_expired:
        said.append("expired")
    elif key.expiry_date:
        said.append(f"until {key.expiry_date:%Y-%m-%d %H:%M}")
    return said


def moment_of(text: str | None) -> datetime | None:
    """``30d``, ``30``, ``2030-01-01`` or an ISO moment as a moment in the future."""
    if not text:
        return None
    now = timezone.now()
    try:
        days = text.removesuffix("d")
        if days.isdecimal():
            moment = now + timedelta(days=int(days))
        elif (day := parse_date(text)) is not None:
            moment = datetime(day.year, day.month, day.day, tzinfo=now.tzinfo)
        else:
            moment = parse_datetime(text)
    except (ValueError, OverflowError):
        moment = None
    if moment is None:
        raise CommandError(f"{text!r} is no number of days, date or moment")
    if timezone.is_naive(moment):
        moment = timezone.make_aware(moment)
    if moment <= now:
        raise CommandError("The key would have expired already")
    return moment
