"""Reading messages: a page of history, and windows around messages named by id.

One statement fetches the page and all windows together, however many there are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import connection

from recall.filters import MessageFilter
from recall.fragments import Fragment, reached, within
from recall.pagination import Page
from threads.models import Message
from threads.reach import Reach
from threads.rows import columns_of, messages_from, place

# From this offset on, the first row of a page is found in the index alone, so that the
# messages before it are not visited.
SEEK_FROM = 100


@dataclass(frozen=True)
class Listing:
    """The messages that a page is cut from.

    ``condition`` is over the alias ``m``. ``counted`` is their number where a thread
    keeps it, None where it takes counting. ``seekable`` says whether the order's index
    alone can tell which messages these are; ``whole_thread`` is the thread of which they
    are all.
    """

    condition: Fragment
    counted: int | None
    seekable: bool = True
    whole_thread: str | None = None


@dataclass(frozen=True)
class Window:
    """A message and its neighbours in its own thread: ``before`` older, ``after`` newer.

    ``thread_id``, if given, is the thread that the message must be in.
    """

    message_id: str
    before: int = 0
    after: int = 0
    thread_id: str | None = None


@dataclass(frozen=True)
class Reading:
    """What was read: the page in its own order, the windows' messages in none."""

    page: list[Message]
    extras: list[Message]
    total: int


# Id, resource and number of messages of a thread.
Head = tuple[str, str, int]


def thread_heads(thread_ids: Sequence[str]) -> list[Head]:
    """Id, resource and number of messages of the threads that exist."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, resource_id, message_count FROM threads_thread "
            "WHERE id = ANY(%s)",
            [list(thread_ids)],
        )
        return cursor.fetchall()


def messages_of_threads(
    thread_ids: Sequence[str], narrowed: MessageFilter, message_count: int
) -> Listing:
    """The messages of these threads that the filter leaves."""
    if len(thread_ids) == 1:
        scope = Fragment("m.thread_id = %s", (thread_ids[0],))
    else:
        scope = Fragment("m.thread_id = ANY(%s)", (list(thread_ids),))
    if narrowed.metadata and len(thread_ids) == 1:
        # By an index on both: other threads may hold the same metadata many times.
        scope &= Fragment(
            "message_facets(m.thread_id, m.metadata) @> message_facets(%s, %s::jsonb)",
            (thread_ids[0], json.dumps(narrowed.metadata)),
        )
    listing = _listing(scope, narrowed, message_count)
    if len(thread_ids) == 1 and not narrowed.narrows:
        return replace(listing, whole_thread=thread_ids[0])
    return listing


def messages_of_resource(resource_id: str, narrowed: MessageFilter) -> Listing:
    """The messages of all threads of a resource that the filter leaves."""
    return _listing(Fragment("m.resource_id = %s", (resource_id,)), narrowed, None)


def _listing(
    scope: Fragment, narrowed: MessageFilter, message_count: int | None
) -> Listing:
    condition = scope & within(narrowed.dates, "m.created_at")
    if narrowed.metadata:
        condition &= Fragment(
            "m.metadata @> %s::jsonb", (json.dumps(narrowed.metadata),)
        )
    if narrowed.roles is not None:
        condition &= Fragment("m.role = ANY(%s)", (list(narrowed.roles),))
    return Listing(
        condition,
        counted=None if narrowed.narrows else message_count,
        seekable=not narrowed.metadata and narrowed.roles is None,
    )


def read(
    listing: Listing | None,
    page: Page,
    *,
    newest_first: bool,
    windows: Sequence[Window] = (),
    reach: Reach,
    resource_id: str | None = None,
) -> Reading:
    """A page of ``listing`` (None: of nothing) and the windows, in two statements at most.

    Windows bring only messages within reach and, when one is named, of the resource.
    """
    parts = []
    if listing is not None and not page.is_empty:
        parts.append(_page(listing, page, newest_first))
    if windows:
        parts.append(_windows(windows, reach, resource_id))
    rows = []
    if parts:
        statement = " UNION ALL ".join(f"({part.sql})" for part in parts)
        values = [value for part in parts for value in part.values]
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            rows = cursor.fetchall()
    messages = messages_from(row[:-1] for row in rows)
    on_page = [row[-1] for row in rows]
    shown = [m for m, is_page in zip(messages, on_page, strict=True) if is_page]
    shown.sort(key=place, reverse=newest_first)
    extras = [m for m, is_page in zip(messages, on_page, strict=True) if not is_page]
    total = 0 if listing is None else _total(listing, page, len(shown))
    return Reading(shown, extras, total)


def read_thread(
    thread_id: str, narrowed: MessageFilter, page: Page, *, newest_first: bool
) -> tuple[list[Head], Reading]:
    """The head of a thread, if it exists, and a page of its messages, in one statement.

    Whether the caller may see them is for the caller to check before showing any. A
    narrowed page may take a second statement, which counts.
    """
    cut = _page(messages_of_threads([thread_id], narrowed, 0), page, newest_first)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT head.id, head.resource_id, head.message_count, page.* "
            "FROM threads_thread AS head "
            f"LEFT JOIN ({cut.sql}) AS page ON TRUE WHERE head.id = %s",
            (*cut.values, thread_id),
        )
        rows = cursor.fetchall()
    if not rows:
        return [], Reading([], [], 0)
    head = rows[0][:3]
    # An empty page joins as one row without a message.
    shown = messages_from(row[3:-1] for row in rows if row[-1])
    shown.sort(key=place, reverse=newest_first)
    listing = messages_of_threads([thread_id], narrowed, head[2])
    return [head], Reading(shown, [], _total(listing, page, len(shown)))


def _total(listing: Listing, page: Page, shown: int) -> int:
    if listing.counted is not None:
        return listing.counted
    if page.size is False or (0 < shown < page.size):
        return page.offset + shown
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM threads_message AS m WHERE {listing.condition.sql}",
            listing.condition.values,
        )
        return cursor.fetchone()[0]


def _page(listing: Listing, page: Page, newest_first: bool) -> Fragment:
    way = "DESC" if newest_first else "ASC"
    order = f"ORDER BY m.created_at {way}, m.position {way}"
    where = listing.condition
    rows = f"SELECT {columns_of('m')}, TRUE FROM threads_message AS m"
    size = None if page.size is False else page.size
    if page.offset < SEEK_FROM or not listing.seekable:
        return Fragment(
            f"{rows} WHERE {where.sql} {order} LIMIT %s OFFSET %s",
            (*where.values, size, page.offset),
        )
    if listing.whole_thread is not None:
        first = _first_by_anchor(listing.whole_thread, page.offset, newest_first)
    else:
        first = Fragment(
            f"SELECT m.created_at, m.position FROM threads_message AS m "
            f"WHERE {where.sql} {order} LIMIT 1 OFFSET %s",
            (*where.values, page.offset),
        )
    onward = "<=" if newest_first else ">="
    return Fragment(
        f"""
        SELECT page.* FROM ({first.sql}) AS first CROSS JOIN LATERAL (
            {rows} WHERE {where.sql}
            AND (m.created_at, m.position) {onward} (first.created_at, first.position)
            {order} LIMIT %s
        ) AS page
        """,
        (*first.values, *where.values, size),
    )


def _first_by_anchor(thread_id: str, offset: int, newest_first: bool) -> Fragment:
    """The place of a thread's message number ``offset``, counted on from an anchor.

    Numbers count from the oldest, so from the newest end the thread's own count is
    needed, as it stands for this very statement.
    """
    number = Fragment("SELECT %s::bigint AS ordinal", (offset,))
    if newest_first:
        number = Fragment(
            "SELECT message_count - 1 - %s::bigint AS ordinal FROM threads_thread "
            "WHERE id = %s",
            (offset, thread_id),
        )
    return Fragment(
        f"""
        SELECT found.* FROM ({number.sql}) AS wanted
        CROSS JOIN LATERAL (
            SELECT ordinal, created_at, position FROM (
                (SELECT ordinal, created_at, position FROM threads_anchor
                WHERE thread_id = %s AND ordinal <= wanted.ordinal
                ORDER BY ordinal DESC LIMIT 1)
                UNION ALL SELECT 0, '-infinity', 0
            ) AS known ORDER BY ordinal DESC LIMIT 1
        ) AS anchor
        CROSS JOIN LATERAL (
            SELECT m.created_at, m.position FROM threads_message AS m
            WHERE m.thread_id = %s
            AND (m.created_at, m.position) >= (anchor.created_at, anchor.position)
            ORDER BY m.created_at, m.position
            LIMIT 1 OFFSET wanted.ordinal - anchor.ordinal
        ) AS found
        WHERE wanted.ordinal >= 0
        """,
        (*number.values, thread_id, thread_id),
    )


def _windows(
    windows: Sequence[Window], reach: Reach, resource_id: str | None
) -> Fragment:
    scope = reached(reach, "target.resource_id")
    if resource_id is not None:
        scope &= Fragment("target.resource_id = %s", (resource_id,))
    neighbour = f"SELECT {columns_of('m')} FROM threads_message AS m"
    return Fragment(
        f"""
        SELECT near.*, FALSE FROM unnest(
            %s::text[], %s::text[], %s::bigint[], %s::bigint[]
        ) AS wanted (id, thread_id, older, newer)
        JOIN threads_message AS target ON target.id = wanted.id
            AND target.thread_id = coalesce(wanted.thread_id, target.thread_id)
            AND {scope.sql}
        CROSS JOIN LATERAL (
            ({neighbour} WHERE m.thread_id = target.thread_id
            AND (m.created_at, m.position) <= (target.created_at, target.position)
            ORDER BY m.created_at DESC, m.position DESC LIMIT wanted.older + 1)
          UNION ALL
            ({neighbour} WHERE m.thread_id = target.thread_id
            AND (m.created_at, m.position) > (target.created_at, target.position)
            ORDER BY m.created_at, m.position LIMIT wanted.newer)
        ) AS near
        """,
        (
            [window.message_id for window in windows],
            [window.thread_id for window in windows],
            [window.before for window in windows],
            [window.after for window in windows],
            *scope.values,
        ),
    )


def read_after(
    listing: Listing, last: Message | None, *, limit: int, newest_first: bool
) -> list[Message]:
    """The next messages of ``listing`` after ``last`` (None: from the beginning)."""
    way, onward = ("DESC", "<") if newest_first else ("ASC", ">")
    where = listing.condition
    if last is not None:
        where &= Fragment(f"(m.created_at, m.position) {onward} (%s, %s)", place(last))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {columns_of('m')} FROM threads_message AS m WHERE {where.sql} "
            f"ORDER BY m.created_at {way}, m.position {way} LIMIT %s",
            (*where.values, limit),
        )
        return messages_from(cursor.fetchall())
