"""Accepting a turn: the user's message and its run, committed together.

All of it happens under the lock of the thread, so two sends at once come one after the
other, and a message that is sent again finds the run that it began.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from django.conf import settings
from django.db import IntegrityError, transaction

from agents.attaching import Accepted, began_before, sent_before
from agents.models import Run
from agents.orders import Order, TurnOptions
from agents.runs import mark_running
from agents.wakes import RUN_STOP, THREAD_CHANGED, notify
from recall.memory import Memory
from threads.api.encoding import iso
from threads.errors import (
    Conflict,
    InvalidInput,
    Issue,
    MessageNotFound,
    OwnershipError,
)
from threads.identifiers import new_id
from threads.messages import normalise
from threads.models import Message, Thread
from threads.transactions import locked_threads, whole

WRONG_RESOURCE = "Access denied: thread belongs to a different resource"
NO_RESOURCE = (
    "A resource ID is required when using memory. Give memory.resource with "
    "memory.thread."
)

ConcurrentRuns = Literal["queue", "refuse", "replace"]


def concurrent_runs() -> ConcurrentRuns:
    """What a send does while the thread's run speaks: ``MEMORY["CONCURRENT_RUNS"]``."""
    return settings.MEMORY.get("CONCURRENT_RUNS", "queue")


def accept(agent_id: str, memory: Memory | None, order: Order, owner: str) -> Accepted:
    """Stores the user's message and the run of an order.

    The run is ``running`` for ``owner`` when nothing else in the thread is, else
    ``queued``. Raises OwnershipError, InvalidInput, and Conflict when the thread is busy
    and the setting refuses, or when another order came with the same fingerprinted id;
    then nothing is stored.
    """
    if not order.fingerprint:
        return _accepted(agent_id, memory, order, owner)
    earlier = sent_before(order)
    if earlier is not None:
        return earlier
    try:
        return _accepted(agent_id, memory, order, owner)
    except IntegrityError:
        # The same request, elsewhere, was quicker by a moment.
        earlier = sent_before(order)
        if earlier is None:
            raise
        return earlier


def _accepted(
    agent_id: str, memory: Memory | None, order: Order, owner: str
) -> Accepted:
    if memory is None or (order.thread_id is None and order.resource_id is None):
        return _unremembered(agent_id, order, owner)
    thread_id = order.thread_id or new_id()
    config = memory.config.merged(order.options.memory, at="memory.options")
    if config.read_only or not order.options.remember:
        return _not_kept(agent_id, memory, thread_id, order, owner)

    def work() -> Accepted:
        thread = _locked_thread(memory, thread_id, order)
        earlier = began_before(thread, order)
        if earlier is not None:
            return earlier
        busy = Run.objects.filter(thread_id=thread.id, state__in=Run.ACTIVE)
        is_busy = busy.exists()
        if is_busy and concurrent_runs() == "refuse":
            raise Conflict("The thread has a reply under way")
        replaced = None
        if order.trigger == Run.Trigger.REGENERATE:
            asked, replaced = _to_regenerate(memory, thread, order)
        else:
            asked = _save_new(memory, thread, order)
            _complete_calls(memory, thread, order)
        run = _new_run(agent_id, thread, order, asked)
        run.replaces_message_id = replaced.id if replaced else ""
        if not is_busy:
            mark_running(run, owner)
        run.save(force_insert=True)
        if is_busy and concurrent_runs() == "replace":
            _stop_all(busy.exclude(id=run.id))
        notify(THREAD_CHANGED, thread.id)
        return Accepted(run, asked, attached=False)

    return whole(work)


def _locked_thread(memory: Memory, thread_id: str, order: Order) -> Thread:
    """The thread, made if need be, under the lock that makes what follows alone."""
    thread = locked_threads([thread_id], memory.reach).get(thread_id)
    if thread is None:
        owner = order.resource_id or order.new_resource
        if owner is None:
            raise InvalidInput(NO_RESOURCE, [Issue("memory.resource", "is required")])
        thread = memory.create_thread(
            resource_id=owner,
            thread_id=thread_id,
            title=order.title,
            metadata=order.metadata,
        )
        # Made by us it is ours alone; found, it was made by somebody just now.
        return locked_threads([thread.id], memory.reach).get(thread.id, thread)
    if order.resource_id is not None and thread.resource_id != order.resource_id:
        raise OwnershipError(WRONG_RESOURCE)
    return thread


def _save_new(memory: Memory, thread: Thread, order: Order) -> Message | None:
    """Stores the messages that the order adds; returns the last one of them.

    A message that is in the thread already is left as it is.
    """
    new = order.new_messages()
    ids = [m["id"] for m in new if isinstance(m, Mapping) and m.get("id")]
    known = {
        message.id: message
        for message in Message.objects.filter(id__in=ids, thread_id=thread.id)
    }
    unknown = [m for m in new if not (isinstance(m, Mapping) and m.get("id") in known)]
    saved = memory.save_messages(
        [_here(message) for message in unknown],
        thread_id=thread.id,
        resource_id=thread.resource_id,
    )
    if saved:
        return saved[-1]
    return known.get(ids[-1]) if ids else None


def _to_regenerate(
    memory: Memory, thread: Thread, order: Order
) -> tuple[Message, Message | None]:
    """The message that is answered again, and the reply that it had.

    Named is the reply, else it is the thread's last one; a client that has dropped the
    reply from its own list sends the question last.
    """
    messages = Message.objects.filter(thread_id=thread.id)
    if order.replaces:
        replaced = messages.filter(id=order.replaces).first()
        if replaced is None:
            raise MessageNotFound(order.replaces)
    else:
        replaced = messages.order_by("-created_at", "-position").first()
    if replaced is not None and replaced.role == "user":
        return replaced, None
    asked = None
    if replaced is not None:
        before = messages.filter(role="user", created_at__lte=replaced.created_at)
        asked = before.order_by("-created_at", "-position").first()
    if asked is None:
        asked = _save_new(memory, thread, order)
    if asked is None:
        raise InvalidInput.of("messages", "there is no message to answer again")
    return asked, replaced


def _here(message: Any) -> Any:
    """A message for this thread, whatever thread the sender wrote into it."""
    if not isinstance(message, Mapping):
        return message
    elsewhere = ("threadId", "thread_id", "resourceId", "resource_id")
    return {key: value for key, value in message.items() if key not in elsewhere}


def _complete_calls(memory: Memory, thread: Thread, order: Order) -> None:
    """Writes the results of the client's tools into the replies that called them."""
    results, approvals = order.tool_results(), order.options.approvals
    if not results and not approvals:
        return
    replies = Message.objects.filter(thread_id=thread.id, role="assistant")
    changed = []
    for message in replies.order_by("-created_at", "-position")[:20]:
        content, touched = message.content, False
        for part in content.get("parts") or ():
            invocation = part.get("toolInvocation") or {}
            call_id = invocation.get("toolCallId")
            pending = invocation.get("state") in ("call", "partial-call", None)
            if call_id in results and pending:
                given = results[call_id]
                touched = True
                if given["isError"]:
                    invocation |= {
                        "state": "output-error",
                        "errorText": str(given["result"]),
                    }
                else:
                    invocation |= {"state": "result", "result": given["result"]}
            elif call_id in approvals and invocation.get("state") == (
                "approval-requested"
            ):
                touched = True
                yes = approvals[call_id] is True
                reason = {} if yes else {"reason": approvals[call_id]}
                invocation |= {
                    "state": "approval-responded" if yes else "output-denied",
                    "approval": invocation.get("approval", {})
                    | {"approved": yes, **reason},
                }
                waiting = (content.get("metadata") or {}).get("pendingToolApprovals")
                if waiting:
                    waiting.pop(call_id, None)
        if touched:
            changed.append(
                {
                    "id": message.id,
                    "role": message.role,
                    "content": content,
                    "created_at": message.created_at,
                }
            )
    if changed:
        memory.save_messages(changed, thread_id=thread.id, limited=False)


def _new_run(
    agent_id: str, thread: Thread | None, order: Order, asked: Message | None
) -> Run:
    options = order.options
    if asked is not None:
        options = options.with_(asked_at=iso(asked.created_at))
    kept = options.as_json()
    taken = False
    if order.fingerprint:
        kept["fingerprint"] = order.fingerprint
    elif order.run_id:
        taken = Run.objects.filter(id=order.run_id).exists()
    return Run(
        id=order.run_id if order.run_id and not taken else new_id(),
        thread_id=thread.id if thread else None,
        resource_id=thread.resource_id if thread else None,
        agent_id=agent_id,
        trigger=order.trigger,
        user_message_id=asked.id if asked else "",
        message_id=order.message_id or new_id(),
        options=kept,
    )


def _stop_all(runs: Any) -> None:
    """A newer send takes the place of those before it."""
    for run in runs:
        if run.state == Run.State.RUNNING:
            Run.objects.filter(id=run.id).update(stop_requested=True)
            notify(RUN_STOP, run.id)
        else:
            Run.objects.filter(id=run.id, state=Run.State.QUEUED).update(
                state=Run.State.STOPPED, finish_reason="replaced"
            )


def _unremembered(agent_id: str, order: Order, owner: str) -> Accepted:
    """A turn outside any thread: nothing but the run itself is kept."""
    run = _new_run(agent_id, None, order, None)
    run.options |= {"remember": False}
    mark_running(run, owner)
    run.save(force_insert=True)
    return Accepted(run, None, attached=False)


def _not_kept(
    agent_id: str, memory: Memory, thread_id: str, order: Order, owner: str
) -> Accepted:
    """A turn that sees a thread's memory and leaves no trace in it."""
    thread = memory.get_thread_by_id(thread_id)
    if thread is not None and order.resource_id not in (None, thread.resource_id):
        raise OwnershipError(WRONG_RESOURCE)
    asked = None
    new = order.new_messages()
    if new:
        asked = normalise(new[-1], thread_id=thread_id).drafts[0]
    with transaction.atomic():
        run = _new_run(agent_id, None, order, asked)
        mark_running(run, owner)
        run.save(force_insert=True)
    return Accepted(run, asked, attached=False)


def options_of(run: Run) -> TurnOptions:
    """The options that a run was accepted with."""
    return TurnOptions.from_json(run.options)
