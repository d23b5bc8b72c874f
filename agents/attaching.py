"""An order that is sent again finds the run that it began."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import QuerySet

from agents.models import Run
from agents.orders import Order
from threads.errors import Conflict
from threads.models import Message, Thread


@dataclass(frozen=True)
class Accepted:
    """What became of an order. ``attached``: the run had been asked for before."""

    run: Run
    user_message: Message | None
    attached: bool


def sent_before(order: Order) -> Accepted | None:
    """The run of this very request; raises Conflict when its id is another request's."""
    run = Run.objects.filter(id=order.run_id).first()
    if run is None:
        return None
    if run.options.get("fingerprint") != order.fingerprint:
        raise Conflict("Idempotency-Key was used with another request body")
    return Accepted(run, _asked(run), attached=True)


def began_before(thread: Thread, order: Order) -> Accepted | None:
    """The run that this order began when it was first sent, if it did."""
    runs = Run.objects.filter(thread_id=thread.id)
    if order.fingerprint:
        return sent_before(order) or _of_message(runs, order)
    if order.run_id is not None:
        same = runs.filter(id=order.run_id).first()
        if same is not None:
            return Accepted(same, _asked(same), attached=True)
    return _of_message(runs, order)


def _of_message(runs: QuerySet[Run], order: Order) -> Accepted | None:
    """The run that answers, or has answered, the message of this order."""
    new = order.new_messages()
    message_id = new[-1].get("id") if new and isinstance(new[-1], Mapping) else None
    if order.trigger != Run.Trigger.SEND or not message_id:
        return None
    # Failed and stopped runs are not taken up again: the sender wants an answer.
    alive = [*Run.ACTIVE, Run.State.COMPLETED]
    same = runs.filter(
        user_message_id=message_id, trigger=Run.Trigger.SEND, state__in=alive
    ).first()
    return Accepted(same, _asked(same), attached=True) if same else None


def _asked(run: Run) -> Message | None:
    return Message.objects.filter(id=run.user_message_id).first()
