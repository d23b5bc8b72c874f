"""What of a context fits into a budget of tokens, by a fixed rule.

What must be shown is paid for first. Of what then remains, the newest history may take
half; recalled messages follow in the order of their importance; then older history,
until something does not fit. Groups of history stay or go together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from recall.segments import LeftOut, Segment


class Choice:
    """Fills a budget (None: without limit) by the rule of this module."""

    def __init__(self, budget: int | None, fixed: Iterable[Segment]) -> None:
        spent = sum(segment.tokens for segment in fixed)
        self._left = float("inf") if budget is None else max(0, budget - spent)
        self._history: list[list[Segment]] = []
        self._rest: list[list[Segment]] = []
        self._recalled: list[Segment] = []
        self._dropped: list[Segment] = []

    def take_history(self, history: Sequence[list[Segment]]) -> None:
        """``history`` in groups, oldest first; as much as half of the budget holds."""
        self._rest = list(history)
        self._take_newest(self._left / 2)

    def take_rest_of_history(self) -> None:
        self._take_newest(self._left)

    def take_recalled(self, recalled: Sequence[Segment]) -> None:
        """``recalled`` in order of importance: hits best first, then neighbours."""
        for segment in recalled:
            if segment.tokens <= self._left:
                self._left -= segment.tokens
                self._recalled.append(segment)
            else:
                self._dropped.append(segment)

    def recalled(self) -> list[Segment]:
        """What was taken, oldest first."""
        return sorted(self._recalled, key=place)

    def history(self) -> list[Segment]:
        return [segment for group in self._history for segment in group]

    def left_out(self) -> list[LeftOut]:
        old = [segment for group in self._rest for segment in group]
        return [
            *(LeftOut(s, "over budget") for s in sorted(self._dropped, key=place)),
            *(LeftOut(s, "over budget") for s in old),
        ]

    def _take_newest(self, allowance: float) -> None:
        while self._rest:
            cost = sum(segment.tokens for segment in self._rest[-1])
            if cost > allowance:
                return
            allowance -= cost
            self._left -= cost
            self._history.insert(0, self._rest.pop())


def place(segment: Segment) -> Any:
    """Where the segment's message stands in time."""
    message = segment.message
    return (message.created_at, message.position) if message else ()
