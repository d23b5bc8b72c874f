"""Lists of threads and resources: pages, and streams in constant memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django.db import connection

from recall.arguments import any_id, identifier
from recall.filters import ThreadFilter, message_filter, thread_filter
from recall.fragments import EVERYTHING, Fragment, reached, within
from recall.history import messages_of_threads, read_after
from recall.pagination import Order, Page, order_of, page_of
from recall.results import ResourcePage, ThreadPage
from threads.errors import InvalidInput, ThreadNotFound
from threads.models import Message, Resource, Thread
from threads.reach import Reach
from threads.rows import columns_of, threads_from

DEFAULT_PAGE = 100
STREAM_CHUNK = 500

THREAD_ORDERS = ("created_at", "updated_at", "last_message_at")
NEWEST = Order("created_at", descending=True)


def list_threads(
    reach: Reach,
    *,
    filter: Mapping[str, Any] | None = None,
    page: Any = 0,
    per_page: Any = None,
    order_by: Mapping[str, Any] | None = None,
) -> ThreadPage:
    """See :meth:`recall.memory.Memory.list_threads`."""
    asked = page_of(page, DEFAULT_PAGE if per_page is None else per_page)
    order = order_of(order_by, fields=THREAD_ORDERS, default_descending=True) or NEWEST
    rows, total = _page(_condition(reach, thread_filter(filter)), order, asked)
    return ThreadPage(rows, total, asked.number, asked.size, asked.has_more(total))


def list_resources(
    reach: Reach, *, page: Any = 0, per_page: Any = None
) -> ResourcePage:
    """See :meth:`recall.memory.Memory.list_resources`."""
    asked = page_of(page, DEFAULT_PAGE if per_page is None else per_page)
    resources = Resource.objects.within(reach)
    rows = resources.newest_first()
    if asked.size is not False:
        rows = rows[asked.offset : asked.offset + asked.size]
    total = resources.count()
    return ResourcePage(
        list(rows), total, asked.number, asked.size, asked.has_more(total)
    )


def iter_threads(
    reach: Reach,
    *,
    filter: Mapping[str, Any] | None = None,
    order_by: Mapping[str, Any] | None = None,
) -> Iterator[Thread]:
    """See :meth:`recall.memory.Memory.iter_threads`."""
    order = order_of(order_by, fields=THREAD_ORDERS[:2], default_descending=True)
    order = order or NEWEST
    condition = _condition(reach, thread_filter(filter))
    chunk = Page(0, STREAM_CHUNK)
    return _chunks(lambda last: _rows(condition & _past(last, order), order, chunk))


def iter_messages(
    thread_id: str,
    reach: Reach,
    *,
    filter: Mapping[str, Any] | None = None,
    newest_first: bool = False,
) -> Iterator[Message]:
    """See :meth:`recall.memory.Memory.iter_messages`."""
    thread_id = identifier(thread_id, "thread_id")
    if not isinstance(newest_first, bool):
        raise InvalidInput.of("newest_first", "must be true or false")
    narrowed = message_filter(filter)
    if not Thread.objects.within(reach).filter(id=thread_id).exists():
        raise ThreadNotFound(thread_id)
    listing = messages_of_threads([thread_id], narrowed, 0)
    return _chunks(
        lambda last: read_after(
            listing, last, limit=STREAM_CHUNK, newest_first=newest_first
        )
    )


def _chunks(fetch: Callable[[Any], Any]) -> Iterator[Any]:
    """Rows chunk by chunk, each fetched after the last row of the one before."""
    last = None
    while True:
        rows = list(fetch(last))
        yield from rows
        if len(rows) < STREAM_CHUNK:
            return
        last = rows[-1]


def _past(last: Thread | None, order: Order) -> Fragment:
    """Only what follows ``last``, in an order whose field always has a value."""
    if last is None:
        return EVERYTHING
    sign = "<" if order.descending else ">"
    place = (getattr(last, order.field), last.id)
    return Fragment(f"(t.{order.field}, t.id) {sign} (%s, %s)", place)


def _condition(reach: Reach, wanted: ThreadFilter) -> Fragment:
    """The threads ``t`` within reach that the filter leaves."""
    condition = reached(reach, "t.resource_id")
    if wanted.resource_id is not None:
        condition &= Fragment("t.resource_id = %s", (wanted.resource_id,))
    if wanted.metadata:
        condition &= Fragment("t.metadata @> %s::jsonb", (json.dumps(wanted.metadata),))
    if wanted.archived is not None:
        condition &= Fragment(
            f"t.archived_at IS {'NOT NULL' if wanted.archived else 'NULL'}"
        )
    condition &= within(wanted.created, "t.created_at")
    return condition & within(wanted.updated, "t.updated_at")


def _page(condition: Fragment, order: Order, page: Page) -> tuple[list[Thread], int]:
    """A page of threads and how many there are in all, in one statement if it can be."""
    if page.size is False:
        threads = _rows(condition, order, page)
        return threads, len(threads)
    counting = f"SELECT count(*) FROM threads_thread AS t WHERE {condition.sql}"
    cut = _cut(condition, order, page)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {columns_of('t', Thread)}, ({counting}) {cut.sql}",
            (*condition.values, *cut.values),
        )
        rows = cursor.fetchall()
        if rows:
            return threads_from(row[:-1] for row in rows), rows[0][-1]
        # No row that could tell the number.
        cursor.execute(counting, condition.values)
        return [], cursor.fetchone()[0]


def _rows(condition: Fragment, order: Order, page: Page) -> list[Thread]:
    cut = _cut(condition, order, page)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns_of('t', Thread)} {cut.sql}", cut.values)
        return threads_from(cursor.fetchall())


def _cut(condition: Fragment, order: Order, page: Page) -> Fragment:
    """Everything of the statement behind its columns."""
    way = "DESC" if order.descending else "ASC"
    # Among last messages, that there is none counts as the oldest.
    nulls = "LAST" if order.descending else "FIRST"
    by = f"t.{order.field} {way}"
    if order.field == "last_message_at":
        by += f" NULLS {nulls}"
    return Fragment(
        f"FROM threads_thread AS t WHERE {condition.sql} "
        f"ORDER BY {by}, t.id {way} LIMIT %s OFFSET %s",
        (*condition.values, None if page.size is False else page.size, page.offset),
    )


def thread_by_id(
    reach: Reach, thread_id: Any, resource_id: str | None
) -> Thread | None:
    """See :meth:`recall.memory.Memory.get_thread_by_id`."""
    threads = Thread.objects.within(reach).filter(id=any_id(thread_id, "thread_id"))
    if resource_id is not None:
        threads = threads.filter(resource_id=any_id(resource_id, "resource_id"))
    return threads.first()


def resource_by_id(reach: Reach, resource_id: Any) -> Resource | None:
    """See :meth:`recall.memory.Memory.get_resource`."""
    id = any_id(resource_id, "resource_id")
    return Resource.objects.within(reach).filter(id=id).first()


def messages_by_id(reach: Reach, ids: Sequence[str]) -> list[Message]:
    """See :meth:`recall.memory.Memory.get_messages`."""
    return list(Message.objects.within(reach).filter(id__in=ids).in_order())
