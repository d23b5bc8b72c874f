"""What a message is made of, ready for the templates.

One view serves stored messages and replies that are still being written, so that both
look alike. Unknown parts are named and shown as JSON, never dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.utils.safestring import SafeString

from agents.studio.fragments import fragment
from agents.studio.markdown import render

# Characters of arguments and results that are shown at once.
MAX_JSON = 4096
# Images that the page itself carries; anything else would be fetched from elsewhere.
INLINE_IMAGES = (
    "data:image/png",
    "data:image/jpeg",
    "data:image/gif",
    "data:image/webp",
)

_TOOL_STATES = {
    "partial-call": ("running", "preparing"),
    "call": ("running", "running"),
    "result": ("done", "done"),
    "output-error": ("failed", "failed"),
    "output-denied": ("failed", "denied"),
    "approval-requested": ("running", "waiting for approval"),
    "approval-responded": ("running", "running"),
}


@dataclass(frozen=True)
class Json:
    """A value as indented text; ``text`` is cut when ``cut`` counts characters left out."""

    text: str
    cut: int = 0

    @classmethod
    def of(cls, value: Any) -> Json | None:
        """None for nothing to show."""
        if value is None or value == {}:
            return None
        text = (
            value
            if isinstance(value, str)
            else json.dumps(value, indent=2, ensure_ascii=False, default=str)
        )
        return cls(text[:MAX_JSON], max(0, len(text) - MAX_JSON))


@dataclass(frozen=True)
class Part:
    """One part; which fields are set depends on ``kind``, as ``_part.html`` shows."""

    kind: str
    html: SafeString | str = ""
    text: str = ""
    name: str = ""
    state: str = ""
    state_words: str = ""
    arguments: Json | None = None
    result: Json | None = None
    url: str = ""
    host: str = ""
    media_type: str = ""

    def render(self, index: int) -> SafeString:
        """The part as HTML; ``index`` is its place in the reply."""
        return fragment("_part", part=self, index=index)


def parts_of(content: Any, *, plain: bool = False) -> list[Part]:
    """The parts of a stored message's content, in order.

    ``plain`` shows text as it was typed, not as Markdown. Content that is not in the
    known shape becomes one unknown part, so that nothing stored is invisible.
    """
    if not isinstance(content, Mapping):
        return (
            [Part("text", text=content)]
            if isinstance(content, str)
            else [unknown("content", content)]
        )
    given = content.get("parts")
    if not isinstance(given, list) or not given:
        text = content.get("content")
        if isinstance(text, str) and text:
            return [text_part(text, plain)]
        return [] if given in (None, []) else [unknown("content", content)]
    return list(_known(given, plain))


def _known(given: Iterable[Any], plain: bool) -> Iterable[Part]:
    for part in given:
        made = _part(part, plain)
        if made is not None:
            yield made


def _part(part: Any, plain: bool) -> Part | None:
    if not isinstance(part, Mapping):
        return unknown("part", part)
    kind = str(part.get("type", ""))
    match kind:
        case "text":
            text = part.get("text")
            if not isinstance(text, str):
                return unknown(kind, dict(part))
            return text_part(text, plain) if text else None
        case "reasoning":
            return reasoning_part(_reasoning_text(part))
        case "tool-invocation":
            call = part.get("toolInvocation")
            return tool_part(call) if isinstance(call, Mapping) else unknown(kind, part)
        case "file" | "image":
            return file_part(part)
        case "source":
            source = part.get("source", part)
            return source_part(source) if isinstance(source, Mapping) else None
        case "source-document":
            return source_part(part)
        case "error":
            error = part.get("error")
            words = error.get("message", "") if isinstance(error, Mapping) else error
            return Part("error", text=str(words or "Something went wrong."))
        case "step-start":
            return None
    return unknown(kind or "part", dict(part))


def text_part(text: str, plain: bool = False) -> Part:
    return Part("plain", text=text) if plain else Part("text", html=render(text))


def reasoning_part(text: str) -> Part:
    return Part("reasoning", html=render(text)) if text else Part("redacted")


def _reasoning_text(part: Mapping[str, Any]) -> str:
    text = part.get("reasoning") or part.get("text")
    if isinstance(text, str) and text:
        return text
    details = part.get("details")
    return "".join(
        str(d.get("text", ""))
        for d in (details if isinstance(details, list) else [])
        if isinstance(d, Mapping) and d.get("type") == "text"
    )


def tool_part(call: Mapping[str, Any]) -> Part:
    """A tool call with its state, arguments and result."""
    given = str(call.get("state", "call"))
    state, words = _TOOL_STATES.get(given, ("running", given))
    result = call.get("result")
    if call.get("isError") or call.get("errorText"):
        state, words = "failed", "failed"
        result = call.get("errorText") or result
    return Part(
        "tool",
        name=str(call.get("toolName") or "tool"),
        state=state,
        state_words=words,
        arguments=Json.of(call.get("args") or call.get("rawInput")),
        result=Json.of(result),
    )


def file_part(part: Mapping[str, Any]) -> Part:
    """A file. Only images that the message itself carries are shown as such."""
    media_type = str(part.get("mimeType") or part.get("mediaType") or "")
    data = str(part.get("data") or part.get("url") or part.get("image") or "")
    name = str(part.get("filename") or part.get("name") or media_type or "file")
    if media_type.startswith("image/") and data and ":" not in data[:12]:
        data = f"data:{media_type};base64,{data}"
    url = data if data.startswith(INLINE_IMAGES) else ""
    return Part(
        "image" if url else "file",
        name=name,
        media_type=media_type,
        url=url,
        host=_host(data) if not url else "",
    )


def source_part(source: Mapping[str, Any]) -> Part:
    """Where something was found; a link only for http and https."""
    url = str(source.get("url") or "")
    safe = url if url.startswith(("http://", "https://")) else ""
    title = source.get("title") or source.get("filename") or url or "Source"
    return Part("source", name=str(title), url=safe, host=_host(safe))


def unknown(kind: str, value: Any) -> Part:
    return Part("unknown", name=kind, arguments=Json.of(value))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
