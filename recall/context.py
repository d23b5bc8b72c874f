"""What a model will see: assembled by one function for the real call and the preview.

The order of the segments is the order in which the model reads them:

    instructions     the agent's system prompt
    working_memory   the notes kept about the resource or the thread
    recalled         messages that semantic recall found, with their neighbours, oldest
                     first, each with its date and where it comes from
    history          the newest messages of the thread, oldest first
    message          what is new in this turn

With a budget, what does not fit is left out by a fixed rule. Instructions, working
memory and the new messages always stay. Of what then remains, the newest history may
take half; hits follow, best first; then their neighbours; then older history, until
something does not fit. Messages that a tool call holds together stay or go together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recall.budget import Choice
from recall.config import MemoryConfig
from recall.memory import Memory
from recall.segments import Context, Kind, LeftOut, Segment
from recall.semantic.hits import Hit, SearchResult
from recall.semantic.search import search
from recall.tokens import PER_MESSAGE, estimate_tokens
from recall.toolcalls import groups, readable_text
from recall.working_memory import get_working_memory
from recall.working_memory import instructions as notes_instructions
from threads.errors import OwnershipError
from threads.lineage import other_versions
from threads.models import Message, Thread


def assemble_context(
    memory: Memory,
    *,
    thread_id: str | None,
    resource_id: str | None,
    new_messages: Sequence[Message] = (),
    instructions: str = "",
    config: MemoryConfig | Mapping[str, Any] | None = None,
    budget_tokens: int | None = None,
) -> Context:
    """Gathers what the model will see when ``new_messages`` are answered.

    The new messages may be stored already or not: the result is the same. ``config``
    lies over the memory's own. A thread that does not exist yet has no history.
    OwnershipError when the thread is another resource's.
    """
    options = memory.config.merged(config)
    thread = memory.get_thread_by_id(thread_id) if thread_id is not None else None
    if thread is not None and resource_id not in (None, thread.resource_id):
        raise OwnershipError(
            f"Thread with id {thread.id} is for resource with id "
            f"{thread.resource_id} but resource {resource_id} was queried."
        )
    resource_id = resource_id or (thread.resource_id if thread else None)
    new = [_new_segment(message) for message in new_messages]
    new_ids = [message.id for message in new_messages]
    fixed: list[Segment] = []
    if instructions.strip():
        fixed.append(
            Segment(
                "instructions",
                "",
                "the agent's instructions",
                instructions,
                estimate_tokens(instructions),
            )
        )
    fixed += _notes(memory, thread_id, resource_id, options)
    history, cut_off = _history(memory, thread, options, new_ids)
    shown = {message.id for group in history for message in group} | set(new_ids)
    found = _search(memory, thread, resource_id, options, new_messages)
    recalled = _recalled(memory, found, thread_id, shown | set(_ids(cut_off)))
    choice = Choice(budget_tokens, [*fixed, *new])
    choice.take_history(
        [[_history_segment(message) for message in group] for group in history]
    )
    choice.take_recalled(recalled)
    choice.take_rest_of_history()
    return Context(
        segments=(*fixed, *choice.recalled(), *choice.history(), *new),
        left_out=(*choice.left_out(), *cut_off),
        budget_tokens=budget_tokens,
        meaning_available=found.meaning_available,
    )


def _notes(
    memory: Memory,
    thread_id: str | None,
    resource_id: str | None,
    options: MemoryConfig,
) -> list[Segment]:
    """Working memory, where it is on and its owner is known."""
    notes = options.working_memory
    owner = thread_id if notes.scope == "thread" else resource_id
    if not notes.enabled or owner is None:
        return []
    state = get_working_memory(
        memory.reach,
        options,
        thread_id=thread_id if notes.scope == "thread" else None,
        resource_id=resource_id,
    )
    text = notes_instructions(state.value, notes)
    return [
        Segment(
            "working_memory",
            f"v{state.revision}",
            f"notes about this {notes.scope}",
            text,
            estimate_tokens(text),
        )
    ]


def _history(
    memory: Memory, thread: Thread | None, options: MemoryConfig, new_ids: Sequence[str]
) -> tuple[list[list[Message]], list[LeftOut]]:
    """The newest messages in groups, and those whose tool call is further back."""
    limit = options.history_limit
    if thread is None or not limit:
        return [], []
    page = memory.recall(thread.id, per_page=limit + len(new_ids)).messages
    messages = [message for message in page if message.id not in set(new_ids)]
    complete, broken = groups(messages[-limit:])
    return complete, [
        LeftOut(_history_segment(message), "its tool call is further back")
        for message in broken
    ]


def _search(
    memory: Memory,
    thread: Thread | None,
    resource_id: str | None,
    options: MemoryConfig,
    new_messages: Sequence[Message],
) -> SearchResult:
    semantic = options.semantic_recall
    query = "\n".join(
        message.text for message in new_messages if message.role == "user"
    ).strip()
    if semantic is None or not query or resource_id is None:
        return SearchResult()
    if semantic.scope == "thread" and thread is None:
        return SearchResult()
    if not memory.reach.covers(resource_id):
        return SearchResult()
    return search(
        query,
        resource_id=resource_id,
        thread_ids=[thread.id] if semantic.scope == "thread" and thread else None,
        config=semantic,
        without=[message.id for message in new_messages],
        without_threads=other_versions(thread.id) if thread is not None else (),
    )


def _recalled(
    memory: Memory, found: SearchResult, thread_id: str | None, shown: set[str]
) -> list[Segment]:
    """Hits best first, then neighbours in the same order; none that is shown anyway."""
    ids = {id for hit in found.hits for id in hit.message_ids} - shown
    if not ids:
        return []
    messages = {message.id: message for message in memory.get_messages(sorted(ids))}
    titles = dict(
        Thread.objects.filter(
            id__in={message.thread_id for message in messages.values()}
        ).values_list("id", "title")
    )
    own: dict[str, Segment] = {}
    beside: dict[str, Segment] = {}
    for hit in found.hits:
        if hit.message_id in messages:
            own[hit.message_id] = _recalled_segment(
                messages[hit.message_id], _reason(hit), hit, thread_id, titles
            )
    for hit in found.hits:
        for id in (*reversed(hit.window.before), *hit.window.after):
            if id in messages and id not in own and id not in beside:
                if not messages[id].text.strip():
                    continue  # tool calls and files say nothing out of their place
                beside[id] = _recalled_segment(
                    messages[id], "neighbour of a match", hit, thread_id, titles
                )
    return [*own.values(), *beside.values()]


def _reason(hit: Hit) -> str:
    quoted = ", ".join(hit.words[:5])
    reason = {
        "words": f"matched by words: {quoted}",
        "meaning": "matched by meaning",
        "both": f"matched by words and meaning: {quoted}",
    }[hit.why]
    # Most of its score is its neighbours'.
    return f"{reason}, next to a match" if hit.context > hit.score / 2 > 0 else reason


def _recalled_segment(
    message: Message,
    why: str,
    hit: Hit,
    thread_id: str | None,
    titles: Mapping[str, str],
) -> Segment:
    if message.thread_id == thread_id:
        place = "earlier in this conversation"
    else:
        title = titles.get(message.thread_id, "")
        place = f'other conversation "{title}"' if title else "other conversation"
    text = (
        f"[{message.created_at:%Y-%m-%d %H:%M} UTC, {place}] "
        f"{message.role}: {message.text}"
    )
    return Segment(
        "recalled", message.id, why, text, estimate_tokens(text), message, hit
    )


def _history_segment(message: Message) -> Segment:
    return _message_segment(message, "history", "recent message")


def _new_segment(message: Message) -> Segment:
    return _message_segment(message, "message", "new in this turn")


def _message_segment(message: Message, kind: Kind, why: str) -> Segment:
    text = readable_text(message)
    return Segment(
        kind, message.id, why, text, estimate_tokens(text) + PER_MESSAGE, message
    )


def _ids(left_out: Iterable[LeftOut]) -> list[str]:
    return [left.segment.source_id for left in left_out]
