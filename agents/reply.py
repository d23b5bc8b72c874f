"""The message that a run amounts to, stored with the run's end."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from agents.chunks import Event
from agents.models import Run
from agents.registry import AgentNotFound, get_agent_by_id
from agents.transcript import Transcript, message_content
from recall.memory import Memory
from threads.identifiers import now
from threads.models import Message

if TYPE_CHECKING:
    from agents.runs import Ending


def save_reply(run: Run, ending: Ending, events: list[Event]) -> None:
    """Stores the run's message, whatever it has come to; none when it said nothing."""
    if run.thread_id is None or not run.options.get("remember", True):
        return
    transcript = Transcript.of(events)
    if transcript.is_empty:
        return
    metadata: dict[str, Any] = {"run": {"id": run.id, "state": ending.state}}
    if ending.usage.model:
        metadata |= {"modelId": ending.usage.model, "provider": ending.usage.provider}
    if run.replaces_message_id:
        metadata["regenerates"] = run.replaces_message_id
    memory = _memory_of(run)
    reply = {
        "id": run.message_id,
        "role": "assistant",
        "created_at": _reply_time(run),
        "content": message_content(_continued(run, transcript), metadata),
    }
    memory.save_messages([reply], thread_id=run.thread_id, limited=False)
    if run.replaces_message_id:
        _supersede(memory, run)


def _memory_of(run: Run) -> Memory:
    """The memory of the run's agent, which decides what is embedded."""
    try:
        memory = get_agent_by_id(run.agent_id).get_memory()
    except AgentNotFound:
        memory = None
    config = memory.config if memory is not None else None
    return Memory(config, author="model")


def _continued(run: Run, transcript: Transcript) -> Transcript:
    """A turn that goes on in a reply adds to what the reply said before."""
    if run.trigger == Run.Trigger.CONTINUE:
        begun = Message.objects.filter(id=run.message_id).first()
        if begun is not None:
            earlier = begun.content.get("parts") or []
            transcript.parts[:0] = [*earlier, {"type": "step-start"}]
    return transcript


def _supersede(memory: Memory, run: Run) -> None:
    """Links the earlier reply to the one that was given again, which counts from now."""
    earlier = Message.objects.filter(
        id=run.replaces_message_id, thread_id=run.thread_id
    ).first()
    if earlier is None:
        return
    metadata = dict(earlier.content.get("metadata") or {})
    later = [*metadata.get("regeneratedBy", ()), run.message_id]
    metadata["regeneratedBy"] = list(dict.fromkeys(later))
    content = earlier.content | {"metadata": metadata}
    memory.save_messages(
        [{"id": earlier.id, "role": earlier.role, "content": content}],
        thread_id=run.thread_id,
        limited=False,
    )


def _reply_time(run: Run) -> datetime:
    """When the reply began: before messages sent while it was being given.

    Never before the message that it answers, whose time a client may have chosen.
    """
    asked = run.options.get("asked_at")
    started = run.started_at or now()
    return max(started, datetime.fromisoformat(asked)) if asked else started
