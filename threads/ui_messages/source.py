"""The stored message that a UI message is made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from threads.json_values import iso_moment
from threads.parts import plain_text


@dataclass(frozen=True)
class Source:
    """A stored message, read from a row or a dictionary in either spelling."""

    id: str
    role: str
    content: Mapping[str, Any]
    created_at: str | None = None
    thread_id: str | None = None
    resource_id: str | None = None
    type: str = ""

    @property
    def parts(self) -> list[Mapping[str, Any]]:
        return list(self.content.get("parts") or ())

    @property
    def metadata(self) -> dict[str, Any]:
        return dict(self.content.get("metadata") or {})

    @property
    def attachments(self) -> list[Mapping[str, Any]]:
        return list(self.content.get("experimental_attachments") or ())

    def signal(self) -> dict[str, Any]:
        """A signal's only part: its text, or all its parts when there is more than text."""
        about = self.metadata.get("signal")
        if not isinstance(about, Mapping):
            about = {}
        kind = self.type or about.get("type") or "signal"
        only_text = all(set(part) == {"type", "text"} for part in self.parts)
        contents = (
            plain_text(self.content)
            if only_text and len(self.parts) <= 1
            else self.parts
        )
        data = {
            "id": self.id,
            "type": kind,
            "tagName": about.get("tagName") or kind,
            "contents": contents,
            "createdAt": self.created_at,
        }
        return {"type": "data-signal", "data": data}


def sources(messages: Any) -> list[Source]:
    """The messages that a chat shows, oldest first.

    Of messages with the same id the last one counts. System messages, and user messages
    that hold a reminder of the system, are not shown.
    """
    single = isinstance(messages, Mapping) or not isinstance(messages, Iterable)
    by_id: dict[str, Source] = {}
    for message in [messages] if single else messages:
        source = source_of(message)
        by_id[source.id] = source
    shown = (source for source in by_id.values() if _shown(source))
    return sorted(shown, key=lambda source: source.created_at or "")


def source_of(message: Any) -> Source:
    """One message, whatever its role."""
    if isinstance(message, Mapping):
        given = message

        def read(name: str, camel: str) -> Any:
            return given.get(camel, given.get(name))

    else:

        def read(name: str, camel: str) -> Any:
            return getattr(message, name, None)

    created_at = read("created_at", "createdAt")
    if isinstance(created_at, str):
        created_at = datetime.fromisoformat(created_at)
    content = read("content", "content")
    if isinstance(content, str):
        content = {"format": 2, "parts": [], "content": content}
    return Source(
        id=read("id", "id"),
        role=read("role", "role"),
        content=content,
        created_at=iso_moment(created_at) if created_at is not None else None,
        thread_id=read("thread_id", "threadId"),
        resource_id=read("resource_id", "resourceId"),
        type=read("type", "type") or "",
    )


def _shown(source: Source) -> bool:
    if source.role == "system":
        return False
    return source.role != "user" or "<system-reminder" not in plain_text(source.content)


@dataclass(frozen=True)
class File:
    """A file as UI messages have it: always a URL."""

    url: str
    media_type: str | None
    filename: str | None = None


def file_of(part: Mapping[str, Any]) -> File:
    """A file part, in the stored spelling or in that of UI messages."""
    media_type = part.get("mimeType") or part.get("mediaType")
    data = part.get("data")
    url = data if isinstance(data, str) else part.get("url") or ""
    return File(_as_url(url, media_type), media_type, part.get("filename"))


def file_of_attachment(attachment: Mapping[str, Any]) -> File:
    media_type = attachment.get("contentType")
    return File(_as_url(attachment.get("url") or "", media_type), media_type)


def _as_url(data: str, media_type: str | None) -> str:
    """Bare base64 as a data: URL; what is a URL already stays."""
    if data.startswith(("data:", "http:", "https:", "blob:", "/")) or not data:
        return data
    return f"data:{media_type or 'application/octet-stream'};base64,{data}"
