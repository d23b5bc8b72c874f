"""``Idempotency-Key`` on the routes that ask an agent: one key, one run.

The run's id is made from the caller, the address and the key, so a request that is sent
again finds its run, follows it from the beginning, and asks no model.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from uuid import NAMESPACE_URL, uuid5

from django.http import HttpRequest

from agents.orders import Order
from threads.access import Caller
from threads.idempotency import check_key


def with_key(request: HttpRequest, order: Order, caller: Caller) -> Order:
    """The order, known by the key of its request if there is one.

    A thread that is not named gets its id from the key as well. Raises InvalidInput for
    a key that is no key.
    """
    key = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        return order
    asked = "\n".join((caller.id, request.path, check_key(key)))
    return replace(
        order,
        run_id=str(uuid5(NAMESPACE_URL, f"run:{asked}")),
        thread_id=order.thread_id
        or (str(uuid5(NAMESPACE_URL, f"thread:{asked}")) if _kept(order) else None),
        fingerprint=hashlib.sha256(request.body).hexdigest(),
    )


def _kept(order: Order) -> bool:
    return order.resource_id is not None
