"""Other versions of a conversation: nothing that was said is lost or altered.

A message in another wording begins a new thread, a copy up to that message, so recall in
one version never sees what was said later in another. A last reply that is given again
stands beside the first, which is marked and not shown to the model any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.models import Run
from agents.orders import Order
from recall.memory import Memory
from threads.errors import InvalidInput, MessageNotFound, NotConfigured
from threads.models import Message, Thread
from threads.reach import Reach

if TYPE_CHECKING:
    from agents.agent import Agent


def version_before(
    agent: Agent,
    reach: Reach,
    thread_id: str,
    message_id: str,
    *,
    with_it: bool = False,
) -> Thread:
    """A copy of the thread up to a message, without it unless ``with_it``.

    Original and copy name each other: ``metadata.version`` of the copy says what it
    differs in, and the thread's clones are its versions.
    """
    memory = _memory(agent, reach)
    message = _message(thread_id, message_id)
    before = Message.objects.filter(
        thread_id=thread_id, created_at__lte=message.created_at
    ).order_by("created_at", "position")
    ids = [
        m.id
        for m in before.only("id", "created_at", "position")
        if (m.created_at, m.position) < (message.created_at, message.position)
        or (with_it and m.id == message_id)
    ]
    source = memory.get_thread(thread_id)
    clone = memory.clone_thread(
        thread_id,
        title=source.title,
        metadata={"version": {"of": thread_id, "at": message_id}},
        options={"message_filter": {"message_ids": ids}},
    )
    return clone.thread


def edited(version: Thread, content: Any, message_id: str) -> Order:
    """The order that sends the new wording into a version."""
    message: dict[str, Any] = {"role": "user", "content": content}
    if isinstance(content, str):
        parts = [{"type": "text", "text": content}]
        message["content"] = {
            "format": 2,
            "parts": parts,
            "content": content,
            "metadata": {"editOf": message_id},
        }
    return Order(
        messages=[message],
        thread_id=version.id,
        resource_id=version.resource_id,
    )


def regenerated(
    agent: Agent, reach: Reach, thread_id: str, message_id: str
) -> tuple[Thread, Order]:
    """Where and how a reply is given again."""
    memory = _memory(agent, reach)
    thread = memory.get_thread(thread_id)
    message = _message(thread_id, message_id)
    if message.role != "assistant":
        raise InvalidInput.of("messageId", "must be the id of a reply")
    later = Message.objects.filter(
        thread_id=thread_id, role="user", created_at__gte=message.created_at
    )
    is_last = not any(
        (m.created_at, m.position) > (message.created_at, message.position)
        for m in later.only("created_at", "position")
    )
    if is_last:
        return thread, Order(
            messages=[],
            thread_id=thread_id,
            resource_id=thread.resource_id,
            trigger=Run.Trigger.REGENERATE,
            replaces=message_id,
        )
    version = version_before(agent, reach, thread_id, message_id)
    return version, Order(
        messages=[],
        thread_id=version.id,
        resource_id=version.resource_id,
        trigger=Run.Trigger.REGENERATE,
    )


def _memory(agent: Agent, reach: Reach) -> Memory:
    memory = agent.get_memory(reach=reach)
    if memory is None:
        raise NotConfigured("Memory is not initialized")
    return memory


def _message(thread_id: str, message_id: str) -> Message:
    message = Message.objects.filter(id=message_id, thread_id=thread_id).first()
    if message is None:
        raise MessageNotFound(message_id)
    return message
