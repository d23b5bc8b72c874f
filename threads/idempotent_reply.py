"""Replies that are kept so that a repeated request gets the same one."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

MAX_KEY_LENGTH = 255


class IdempotentReply(models.Model):
    """The reply to a request that carried an ``Idempotency-Key``, kept for a day.

    ``fingerprint`` is the SHA-256 of the request's body. ``body`` is empty only inside
    the transaction that is at work on the request.
    """

    caller = models.CharField(max_length=80)
    address = models.TextField()
    key = models.CharField(max_length=MAX_KEY_LENGTH)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    body = models.BinaryField(default=b"")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "idempotent replies"
        constraints = [
            models.UniqueConstraint(
                name="idempotent_reply_once", fields=["caller", "address", "key"]
            ),
        ]
        indexes = [
            # Removing what has expired.
            models.Index(fields=["created_at"], name="idempotent_reply_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.key} at {self.address}"
