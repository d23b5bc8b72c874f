"""Lists of any length in bounded memory.

``perPage=false`` on a thread of a hundred thousand messages is answered while it is read:
rows come from the database in batches and leave as JSON, a batch at a time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import islice
from typing import Any

from django.http import StreamingHttpResponse

from recall.asynchronous import in_database_thread
from threads.api.encoding import json_bytes

# Rows of one piece of the reply.
BATCH = 200


class PieceStream(StreamingHttpResponse):
    """A reply made of pieces, each of which takes a query of its own.

    On the event loop a piece is made in a database thread, when the client has taken
    the one before; a slow client holds neither a thread nor a connection.
    """

    def __init__(self, pieces: Iterator[bytes], **options: Any) -> None:
        super().__init__(pieces, **options)
        self._pieces = pieces
        self.is_async = True

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await in_database_thread(next, self._pieces, b""):
            yield piece


def streamed_list(
    name: str, rows: Iterable[dict[str, Any]], **extras: Any
) -> PieceStream:
    """The list envelope around all ``rows``, under ``name``; ``extras`` follow.

    The first batch is read before the reply begins, so that refusals are still told.
    """
    batches = _batches(iter(rows))
    first = next(batches, [])
    return PieceStream(
        _pieces(name, first, batches, extras),
        content_type="application/json",
        headers={"X-Accel-Buffering": "no"},
    )


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while batch := list(islice(rows, BATCH)):
        yield batch


def _pieces(
    name: str,
    first: list[dict[str, Any]],
    batches: Iterator[list[dict[str, Any]]],
    extras: dict[str, Any],
) -> Iterator[bytes]:
    total = len(first)
    yield b'{"%s":[' % name.encode() + json_bytes(first)[1:-1]
    for batch in batches:
        total += len(batch)
        yield b"," + json_bytes(batch)[1:-1]
    rest = {"total": total, "page": 0, "perPage": False, "hasMore": False, **extras}
    yield b"]," + json_bytes(rest)[1:]
