"""Naming a conversation from what was said in it."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from typing import TYPE_CHECKING, Any

from django.conf import settings
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, TextPart, UserPromptPart

from agents.key_phrases import key_phrases
from agents.models import Run
from agents.providers.choosing import chosen_model
from agents.providers.offline import OFFLINE
from agents.registry import AgentNotFound, get_agent_by_id
from recall.config import GenerateTitle
from threads.models import Message, Thread

if TYPE_CHECKING:
    from agents.agent import Agent

LONGEST = 80
# Messages that a title is made from, and the characters of each.
MESSAGES = 6
CHARACTERS = 1500

INSTRUCTIONS = (
    "You name conversations. Answer with a title of at most 80 characters for the "
    "conversation that you are given, in its language: no quotes, no full stop, no "
    "explanation, nothing but the title."
)

_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_PREFIX = re.compile(r"^(title|titel|titre)[*_]*\s*[:：]\s*", re.IGNORECASE)
_QUOTES = "\"'“”„«»‘’`*#_"


def title_wanted(thread: Thread) -> tuple[Agent, GenerateTitle, Run] | None:
    """Who names the thread and how; None when it is not to be named (yet).

    The agent of the latest reply decides, with what that turn said about titles.
    """
    if thread.title_source != Thread.TitleSource.NONE or thread.title:
        return None
    answered = Run.objects.filter(thread_id=thread.id, state=Run.State.COMPLETED)
    run = answered.order_by("-created_at", "-id").first()
    if run is None:
        return None
    try:
        agent = get_agent_by_id(run.agent_id)
    except AgentNotFound:
        return None
    memory = agent.get_memory()
    if memory is None:
        return None
    options = memory.config.merged(run.options.get("memory")).generate_title
    if not isinstance(options, GenerateTitle):
        return None
    if thread.message_count < options.min_messages:
        return None
    return agent, options, run


def transcript(thread_id: str) -> list[tuple[str, str]]:
    """The beginning of a conversation as ``(role, text)``, tools and files named.

    What the ``offline`` model said is left out: it speaks of itself and quotes. So is a
    reply that was given again.
    """
    messages = Message.objects.filter(
        thread_id=thread_id, role__in=["user", "assistant"]
    ).order_by("created_at", "position")[:MESSAGES]
    return [
        (message.role, _told(message)[:CHARACTERS])
        for message in messages
        if (metadata := message.content.get("metadata") or {}).get("provider")
        != OFFLINE
        and not metadata.get("regeneratedBy")
    ]


def _told(message: Message) -> str:
    lines = [message.text] if message.text else []
    for part in message.content.get("parts") or ():
        if part.get("type") == "tool-invocation":
            name = (part.get("toolInvocation") or {}).get("toolName")
            lines.append(f"Tool Call {name}:")
        elif part.get("type") == "file":
            kind = part.get("mimeType") or part.get("mediaType") or "a"
            lines.append(f"{message.role.capitalize()} added {kind} file")
    return "\n".join(lines)


def suggest_title(agent: Agent, options: GenerateTitle, thread_id: str) -> str:
    """A title for a conversation, saved nowhere; empty when nothing was said.

    Raises what the model raises.
    """
    said = transcript(thread_id)
    if not any(text for _, text in said):
        return ""
    return asyncio.run(_model_title(agent, options, said)) or fallback_title(said)


async def _model_title(
    agent: Agent, options: GenerateTitle, said: list[tuple[str, str]]
) -> str:
    model = chosen_model(options.model or agent.model)
    if model.model_name == OFFLINE:
        return clean_title(key_phrases(said))
    told = "\n".join(f"{role.capitalize()}: {text}" for role, text in said)
    request = ModelRequest(
        [UserPromptPart(f"Name this conversation.\n\n{told}")],
        instructions=_instructions(options),
    )
    async with asyncio.timeout(settings.MEMORY.get("TITLE_TIMEOUT", 60.0)):
        response = await model_request(model, [request])
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    return clean_title("".join(texts))


def _instructions(options: GenerateTitle) -> str:
    given: Any = options.instructions
    if callable(given):
        given = given({})
    return given if given and given.strip() else INSTRUCTIONS


def fallback_title(said: list[tuple[str, str]]) -> str:
    """A readable title when the model gives none: key phrases, else the first words."""
    phrases = clean_title(key_phrases(said))
    if phrases:
        return phrases
    return next((clean_title(text) for _, text in said if clean_title(text)), "")


def clean_title(text: str) -> str:
    """``text`` as one line of at most 80 characters, cut at a word.

    Without thinking aloud, quotes and emphasis around it, control characters and
    direction overrides, which could make a title read as something else.
    """
    text = _THOUGHTS.sub("", text).strip()
    text = next((line for line in text.splitlines() if line.strip(" " + _QUOTES)), "")
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cf", "Cs"))
    text = _PREFIX.sub("", text.lstrip(_QUOTES + " "))
    text = " ".join(text.split()).strip(_QUOTES + " ").rstrip(".。 ").rstrip(_QUOTES)
    if len(text) > LONGEST:
        # With room for the ellipsis, at a word if there is one in the second half.
        words, _, _ = text[:LONGEST].rpartition(" ")
        cut = words if len(words) > LONGEST // 2 else text[: LONGEST - 1]
        text = cut.rstrip(",;: ") + "…"
    return text
