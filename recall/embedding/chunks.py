"""Cutting a long text into pieces that an embedder reads whole."""

from __future__ import annotations

import hashlib
import re
import uuid

from recall.embedding.base import Embedder

_SPACE = re.compile(r"\s+")


def text_digest(text: str) -> uuid.UUID:
    """Identifies a text: the first 16 bytes of its SHA-256."""
    encoded = text.encode("utf-8", "surrogatepass")
    return uuid.UUID(bytes=hashlib.sha256(encoded).digest()[:16])


def split(text: str, embedder: Embedder) -> list[str]:
    """``text`` in pieces of at most ``max_tokens``, cut between words.

    A word longer than that is cut inside. Every piece holds something; a blank text has
    no pieces.
    """
    text = text.strip()
    if not text:
        return []
    # A token is at least one character, but for the marks at both ends; and more than
    # eight characters on average are not met, so that a long text need not be counted.
    if len(text) + 2 <= embedder.max_tokens or (
        len(text) <= 8 * embedder.max_tokens
        and embedder.count_tokens(text) <= embedder.max_tokens
    ):
        return [text]
    middle = len(text) // 2
    cut = _nearest_space(text, middle)
    return split(text[:cut], embedder) + split(text[cut:], embedder)


def _nearest_space(text: str, middle: int) -> int:
    """Where white space nearest to the middle begins, else the middle itself."""
    after = _SPACE.search(text, middle)
    before = max(text.rfind(space, 0, middle) for space in " \n\t")
    candidates = [before] if before > 0 else []
    if after and after.end() < len(text):
        candidates.append(after.start())
    return min(candidates, key=lambda at: abs(at - middle), default=middle)
