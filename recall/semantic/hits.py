"""What a search found, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Why = Literal["words", "meaning", "both"]


@dataclass(frozen=True)
class Leg:
    """How a message did on one side of the search.

    ``score`` is the cosine similarity for ``vector`` (-1 to 1, higher is more alike)
    and BM25 for ``lexical`` (0 and up); ``rank`` counts from 1 among the messages that
    were compared, and is the best that equal scores share.
    """

    score: float
    rank: int


@dataclass(frozen=True)
class Window:
    """Ids of a hit's neighbours in its own thread, in order."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Hit:
    """One message that was found.

    ``score`` orders the hits: the cosine similarity in mode ``vector``, BM25 in mode
    ``lexical``, the fused score in mode ``hybrid`` (see
    :mod:`recall.semantic.ranking`). ``legs`` holds ``vector`` and ``lexical``, each
    only where there is something to say. ``words`` are the words of the query that the
    message has. ``context`` is the part of a fused score that comes from neighbours.
    """

    message_id: str
    thread_id: str
    score: float
    why: Why
    legs: dict[str, Leg] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    context: float = 0.0
    window: Window = Window()

    @property
    def message_ids(self) -> tuple[str, ...]:
        """The hit with its neighbours, in order."""
        return (*self.window.before, self.message_id, *self.window.after)


@dataclass(frozen=True)
class SearchResult:
    """Hits, best first.

    ``meaning_available`` is False when meaning was asked for and could not be compared
    (the embedder did not answer, nothing is embedded yet); ``problem`` says why.
    ``tokens`` is what the embedder read of the query.
    """

    hits: tuple[Hit, ...] = ()
    meaning_available: bool = True
    problem: str = ""
    tokens: int = 0
