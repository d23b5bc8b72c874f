"""The built-in ``offline`` model: answers by looking things up, and says so.

It is not a language model. It quotes what was said before in the words in which it was
said, with who and when, and admits when it finds nothing. It is instant, deterministic,
needs no network and calls no tool; it serves first runs and tests.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel

OFFLINE = "offline"
LABEL = "_Built-in offline responder: not a language model, only a look-up._"

QUOTES = 3
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?？。])\s+|\n+")
_STOPWORDS = frozenset(
    [
        "a",
        "about",
        "all",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "hi",
        "his",
        "how",
        "i",
        "if",
        "in",
        "is",
        "it",
        "its",
        "just",
        "know",
        "like",
        "me",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "please",
        "remember",
        "said",
        "say",
        "she",
        "so",
        "tell",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "told",
        "up",
        "us",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
        "yours",
    ]
)
_QUESTION = re.compile(
    r"^(who|what|when|where|which|why|how|do|does|did|is|are|was|were|can|could|have|"
    r"has|had|will|would|should|tell me|remind me)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Remembered:
    """One message that the context holds. ``where`` is the title of another thread."""

    role: str
    text: str
    created_at: datetime | None = None
    where: str = ""


def offline_model() -> Model:
    """The model. What is remembered reaches it in the settings, as ``remembered``."""
    return FunctionModel(_whole, stream_function=_pieces, model_name=OFFLINE)


def answer(question: str, remembered: Sequence[Remembered], notes: str = "") -> str:
    """The reply to ``question`` from what is remembered, the best match first."""
    terms = _terms(question)
    lines = [line for line in _matching_lines(notes, terms) if line]
    hits = _best(terms, remembered)
    if hits or lines:
        found = [f"- {_quoted(hit)}" for hit in hits]
        found += [f"- In the notes: {line}" for line in lines]
        return "\n".join(["This is what was said:", "", *found, "", LABEL])
    nothing = "I found nothing about that in what was said before."
    if not _statements(question):
        return f"{nothing}\n\n{LABEL}"
    kept = (
        "I have kept what you told me" if _is_question(question) else "I have kept that"
    )
    return (
        f"{nothing + ' ' if _is_question(question) else ''}"
        f"{kept} and can find it again when you ask for it. "
        f"For an answer that thinks, configure a model.\n\n{LABEL}"
    )


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def _is_question(text: str) -> bool:
    return any(map(_asks, _sentences(text)))


def _asks(sentence: str) -> bool:
    return sentence.endswith(("?", "？")) or bool(_QUESTION.match(sentence))


def _statements(text: str) -> str:
    """The sentences that tell something."""
    return " ".join(part for part in _sentences(text) if not _asks(part))


def _terms(text: str) -> set[str]:
    words = (word.lower() for word in _WORD.findall(text))
    return {_stem(word) for word in words if word not in _STOPWORDS}


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _best(terms: set[str], remembered: Sequence[Remembered]) -> list[Remembered]:
    """The messages that share most terms; of equals the latest."""
    scored = []
    for place, message in enumerate(remembered):
        shared = len(terms & _terms(_statements(message.text)))
        if shared:
            scored.append((shared, place, message))
    scored.sort(key=lambda item: item[:2], reverse=True)
    least = scored[0][0] / 2 if scored else 0
    return [message for shared, _, message in scored if shared >= least][:QUOTES]


def _matching_lines(notes: str, terms: set[str]) -> list[str]:
    """Lines of the notes that have a value and share a term."""
    found = []
    for line in notes.splitlines():
        text = line.strip().lstrip("-*# ").replace("**", "")
        if text and not text.endswith(":") and terms & _terms(text):
            found.append(text)
    return found[:QUOTES]


def _quoted(message: Remembered) -> str:
    who = {"user": "you", "assistant": "I"}.get(message.role, message.role)
    when = ""
    if message.created_at is not None:
        moment = message.created_at
        when = f"On {moment.day} {moment:%B %Y at %H:%M} "
    where = f" in “{message.where}”" if message.where else ""
    text = " ".join(message.text.split())
    if len(text) > 400:
        text = text[:400].rsplit(" ", 1)[0] + " …"
    sentence = f"{when}{who} said{where}: “{text}”"
    return sentence[0].upper() + sentence[1:]


def _reply(messages: list[ModelMessage], info: AgentInfo) -> str:
    settings: dict[str, Any] = dict(info.model_settings or {})
    return answer(
        _question(messages),
        settings.get("remembered", ()),
        settings.get("notes", ""),
    )


def _question(messages: list[ModelMessage]) -> str:
    for message in reversed(messages):
        if isinstance(message, ModelRequest):
            for part in reversed(message.parts):
                if isinstance(part, UserPromptPart):
                    content = part.content
                    if isinstance(content, str):
                        return content
                    return " ".join(item for item in content if isinstance(item, str))
    return ""


def _whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart(_reply(messages, info))])


async def _pieces(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
    for piece in re.findall(r"\S+\s*|\s+", _reply(messages, info)):
        yield piece
