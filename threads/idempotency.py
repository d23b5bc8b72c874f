"""Doing a request once, however often it arrives.

The reply is stored in the transaction of the effect: either both are there or neither.
Requests with the same key that arrive meanwhile wait for that transaction at the unique
index, then read its reply. Refusals are not stored, so a corrected request may use the
key again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from threads.errors import Conflict, InvalidInput
from threads.idempotent_reply import MAX_KEY_LENGTH, IdempotentReply
from threads.transactions import whole

KEPT = timedelta(hours=24)
# An index entry has room for this much; longer addresses are known by their hash.
MAX_ADDRESS_LENGTH = 400
# Expired rows that one request removes beside its own work.
SWEPT = 50


@dataclass(frozen=True)
class Reply:
    """A successful reply: its status and the bytes of its body."""

    status: int
    body: bytes


def check_key(key: str) -> str:
    """Raises InvalidInput for a key that is too long or not printable."""
    if not 0 < len(key) <= MAX_KEY_LENGTH or not key.isprintable():
        raise InvalidInput.of(
            "Idempotency-Key", f"must be 1 to {MAX_KEY_LENGTH} printable characters"
        )
    return key


def once(
    work: Callable[[], Reply], *, caller: str, address: str, key: str, content: bytes
) -> tuple[Reply, bool]:
    """The reply of ``work``, done at most once for this caller, address and key.

    Also tells whether the reply is a repeated one. Raises Conflict when the key came
    with other content before, and whatever ``work`` raises, which then has no effect
    and leaves the key free.
    """
    fingerprint = hashlib.sha256(content).hexdigest()
    if len(address) > MAX_ADDRESS_LENGTH:
        address = hashlib.sha256(address.encode()).hexdigest()
    asked = {"caller": caller, "address": address, "key": check_key(key)}

    def attempt() -> tuple[Reply, bool]:
        _forget_expired()
        # Waits here while another transaction holds the same key.
        IdempotentReply.objects.bulk_create(
            [IdempotentReply(**asked, fingerprint=fingerprint)], ignore_conflicts=True
        )
        row = IdempotentReply.objects.get(**asked)
        if row.status:
            if row.fingerprint != fingerprint:
                raise Conflict("Idempotency-Key was used with another request body")
            return Reply(row.status, bytes(row.body)), True
        reply = work()
        IdempotentReply.objects.filter(pk=row.pk).update(
            status=reply.status, body=reply.body
        )
        return reply, False

    return whole(attempt)


def _forget_expired() -> None:
    old = (
        IdempotentReply.objects.filter(created_at__lt=timezone.now() - KEPT)
        .order_by("created_at")
        .select_for_update(skip_locked=True)
        .values("pk")[:SWEPT]
    )
    IdempotentReply.objects.filter(pk__in=old).delete()
