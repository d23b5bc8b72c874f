"""Embedders by name, one of each in a process."""

from __future__ import annotations

import threading

from django.conf import settings

from recall.embedding.base import Embedder
from recall.embedding.english import EnglishEmbedder
from recall.embedding.hashing import HashingEmbedder
from recall.embedding.multilingual import MultilingualEmbedder
from recall.embedding.openai import OpenAIEmbedder
from threads.errors import NotConfigured

DEFAULT = MultilingualEmbedder.name

_lock = threading.Lock()
_embedders: dict[str, Embedder] = {}


def embedder(name: str) -> Embedder:
    """The embedder called ``name``; nothing is loaded yet.

    ``local:multilingual``, ``local:english``, ``openai:<model>``, or
    ``hashing:<dimensions>`` for tests. Raises :class:`NotConfigured` for another name.
    """
    with _lock:
        if name not in _embedders:
            _embedders[name] = _make(name)
        return _embedders[name]


def register(embedder: Embedder) -> None:
    """Makes an embedder of one's own known under its name, in place of any other."""
    with _lock:
        _embedders[embedder.name] = embedder


def configured_name() -> str:
    """Name of the embedder that the settings choose."""
    name = settings.MEMORY.get("EMBEDDER") or "auto"
    return DEFAULT if name == "auto" else name


def _make(name: str) -> Embedder:
    kind, _, rest = name.partition(":")
    if name == MultilingualEmbedder.name:
        return MultilingualEmbedder()
    if name == EnglishEmbedder.name:
        return EnglishEmbedder()
    if kind == "openai" and rest:
        return OpenAIEmbedder(rest)
    if kind == "hashing" and rest.isdecimal() and 8 <= int(rest) <= 4000:
        return HashingEmbedder(int(rest))
    raise NotConfigured(f"There is no embedder called {name!r}")
