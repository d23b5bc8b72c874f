"""Who calls, and what the caller may see and do.

A program shows an API key: hashed in the database, shown once when made, and good for
the resources it names. A person has a session: staff see everything, anybody else the
resource that bears the user's name. The local operator is whoever calls from this machine
while ``ACCESS`` is ``loopback``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.contrib.postgres.fields import ArrayField
from django.db import models
from rest_framework_api_key.models import AbstractAPIKey, APIKeyManager

from threads.errors import InvalidInput
from threads.reach import Reach


@dataclass(frozen=True)
class Caller:
    """Whoever makes a request.

    ``id`` tells callers apart for idempotency and rates; ``name`` is for people.
    """

    reach: Reach
    read_only: bool
    name: str
    kind: Literal["operator", "key", "session"]
    id: str


class ApiKeyManager(APIKeyManager):
    def issue(
        self,
        *,
        name: str,
        resources: Iterable[str] = (),
        all_resources: bool = False,
        read_only: bool = False,
        expires: datetime | None = None,
        rate_limit: int | None = None,
    ) -> tuple[ApiKey, str]:
        """A new key and its secret text, which is kept nowhere and cannot be shown again.

        Raises InvalidInput when the name is missing, or when the key names no resource
        or names some beside ``all_resources``.
        """
        patterns = list(dict.fromkeys(resources))
        if not name.strip():
            raise InvalidInput.of("name", "is required")
        if len(name) > 50:
            raise InvalidInput.of("name", "must have at most 50 characters")
        for pattern in patterns:
            check_pattern(pattern)
        if all_resources == bool(patterns):
            raise InvalidInput.of(
                "resources", "name at least one resource, or all of them, not both"
            )
        if rate_limit is not None and rate_limit < 1:
            raise InvalidInput.of("rate_limit", "must be 1 or more")
        return self.create_key(
            name=name,
            resources=patterns,
            all_resources=all_resources,
            read_only=read_only,
            expiry_date=expires,
            rate_limit=rate_limit,
        )

    def holding(self, text: str) -> ApiKey | None:
        """The key whose secret text this is, if it may still be used."""
        try:
            key = self.get_from_key(text)
        except self.model.DoesNotExist:
            return None
        return None if key.has_expired else key

    def revoke(self, prefix: str) -> bool:
        """Ends a key for good; False when no usable key has this prefix."""
        return self.filter(prefix=prefix, revoked=False).update(revoked=True) == 1


def check_pattern(pattern: str) -> None:
    """Raises InvalidInput unless ``pattern`` is a resource id or ``beginning/*``.

    Stars alone are refused: that a key reaches everything is said by another option.
    """
    if not pattern.strip("*"):
        raise InvalidInput.of("resources", f"{pattern!r} names no resource")
    if "\x00" in pattern or len(pattern) > 255:
        raise InvalidInput.of("resources", "not a resource id")


class ApiKey(AbstractAPIKey):
    """The credentials of one program. ``prefix`` names it wherever keys are listed."""

    resources = ArrayField(
        models.TextField(),
        default=list,
        blank=True,
        help_text="Resource ids, comma-separated; org-1/* covers a whole prefix.",
    )
    all_resources = models.BooleanField(
        default=False, help_text="Reaches every resource, present and future."
    )
    read_only = models.BooleanField(
        default=False, help_text="May look, may not change anything."
    )
    rate_limit = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Requests a minute; empty for the limit in the settings.",
    )

    objects = ApiKeyManager()

    class Meta(AbstractAPIKey.Meta):
        verbose_name = "API key"
        verbose_name_plural = "API keys"
        constraints = [
            models.CheckConstraint(
                name="api_key_reaches_named_or_all",
                condition=models.Q(all_resources=True, resources=[])
                | models.Q(all_resources=False) & ~models.Q(resources=[]),
            ),
        ]

    @property
    def caller(self) -> Caller:
        """The caller that this key makes of whoever shows it."""
        reach = Reach.all() if self.all_resources else Reach.of(self.resources)
        return Caller(reach, self.read_only, self.name, "key", f"key:{self.prefix}")

    @property
    def usable(self) -> bool:
        """Whether a request that shows it is let in."""
        return not self.revoked and not self.has_expired


class ApiKeyUse(models.Model):
    """How often a key was used in one minute, counted for its rate limit."""

    prefix = models.CharField(max_length=8)
    minute = models.DateTimeField()
    count = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="api_key_use_a_minute", fields=["prefix", "minute"]
            ),
        ]
        indexes = [
            # Removing past minutes.
            models.Index(fields=["minute"], name="api_key_use_by_minute"),
        ]

    def __str__(self) -> str:
        return f"{self.prefix} at {self.minute:%H:%M}: {self.count}"


def session_caller(user: Any) -> Caller:
    """The caller that a signed-in user is."""
    if user.is_staff:
        reach = Reach.all()
    else:
        name = user.get_username()
        # A name that ends in a star would be a prefix.
        reach = Reach.of([] if name.endswith("*") else [name])
    return Caller(reach, False, user.get_username(), "session", f"user:{user.pk}")


def operator() -> Caller:
    """The caller from this machine, who needs no credentials on loopback."""
    return Caller(Reach.all(), False, "local operator", "operator", "operator")
