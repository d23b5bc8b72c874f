"""What the model is shown for a turn: the context of recall, seen from the question."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from django.conf import settings

from agents.models import Run
from agents.orders import TurnOptions
from agents.providers.offline import Remembered
from recall.context import assemble_context
from recall.memory import Memory
from recall.segments import Context, Segment
from threads.models import Message, Thread

if TYPE_CHECKING:
    from agents.agent import Agent

# Key in the metadata of a reply that was given again: ids of the later replies.
SUPERSEDED = "regeneratedBy"

_NOTES = re.compile(r"<working_memory_data>\n(.*?)\n</working_memory_data>", re.DOTALL)


def assemble(
    agent: Agent,
    memory: Memory | None,
    options: TurnOptions,
    *,
    thread_id: str | None,
    resource_id: str | None,
    messages: list[Message],
    trigger: str = Run.Trigger.SEND,
) -> Context:
    """The context in which ``messages`` are answered. Changes nothing.

    ``messages`` are stored or not; the last one is the question. The same memory, thread
    and question give the same hash, before the question is sent and after.
    """
    instructions = options.instructions
    if instructions is None:
        instructions = agent.instructions(options.request_context)
    text = "\n\n".join(part for part in (instructions, options.system) if part)
    context = assemble_context(
        memory if memory is not None else _FORGETFUL,
        thread_id=thread_id if memory is not None else None,
        resource_id=resource_id if memory is not None else None,
        new_messages=messages,
        instructions=text,
        config=options.memory,
        budget_tokens=settings.MEMORY.get("CONTEXT_TOKENS"),
    )
    question = messages[-1] if messages else None
    kept = tuple(s for s in context.segments if _counts(s, question, trigger))
    return replace(context, segments=kept)


_FORGETFUL = Memory({"last_messages": 0})


def _counts(segment: Segment, question: Message | None, trigger: str) -> bool:
    """Whether a segment belongs before the question.

    What was asked after the question waits for its own turn, and a reply that was given
    again is told once.
    """
    message = segment.message
    if message is None or segment.kind == "message":
        return True
    if (message.content.get("metadata") or {}).get(SUPERSEDED):
        return False
    if question is None or message.thread_id != question.thread_id:
        return True
    if not isinstance(question.position, int):
        # Not stored yet, so everything that is stored was said before.
        return True
    after = (message.created_at, message.position) > (
        question.created_at,
        question.position,
    )
    if trigger == Run.Trigger.REGENERATE:
        return not after
    return not (after and message.role == "user")


@dataclass(frozen=True)
class LookUp:
    """What the ``offline`` model looks things up in."""

    remembered: tuple[Remembered, ...]
    notes: str


def look_up(context: Context, thread_id: str | None) -> LookUp:
    """The context as the ``offline`` model reads it, older conversations first."""
    segments = [
        segment
        for segment in context.of("recalled", "history")
        if segment.message is not None
        and segment.message.role in ("user", "assistant")
        and not _is_offline(segment.message)
    ]
    others = {s.message.thread_id for s in segments if s.message} - {thread_id}
    titles = dict(Thread.objects.filter(id__in=others).values_list("id", "title"))
    remembered = tuple(
        Remembered(
            segment.message.role,
            segment.message.text,
            segment.message.created_at,
            titles.get(segment.message.thread_id, ""),
        )
        for segment in segments
        if segment.message
    )
    notes = "\n".join(
        found.group(1)
        for segment in context.of("working_memory")
        if (found := _NOTES.search(segment.text)) and found.group(1) != "Nothing yet."
    )
    return LookUp(remembered, notes)


def _is_offline(message: Message) -> bool:
    """Whether the offline model said it: it would quote its own quotations."""
    metadata = message.content.get("metadata") or {}
    return metadata.get("provider") == "offline"
