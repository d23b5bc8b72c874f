"""Lists of threads and resources: pages, and streams in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Q

from recall.arguments import any_id, identifier
from recall.filters import DateRange, ThreadFilter, message_filter, thread_filter
from recall.history import messages_of_threads, read_after
from recall.pagination import Order, order_of, page_of
from recall.results import ResourcePage, ThreadPage
from threads.errors import InvalidInput, ThreadNotFound
from threads.models import Message, Resource, Thread
from threads.querysets import ThreadQuerySet
from threads.reach import Reach

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
    threads = _threads(reach, thread_filter(filter))
    ordered = threads.ordered(order.field, descending=order.descending)
    if asked.size is False:
        rows = list(ordered)
        total = len(rows)
    else:
        rows = list(ordered[asked.offset : asked.offset + asked.size])
        full = not 0 < len(rows) < asked.size
        total = threads.count() if full else asked.offset + len(rows)
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
    threads = _threads(reach, thread_filter(filter)).ordered(
        order.field, descending=order.descending
    )
    return _chunks(lambda last: threads.filter(_past(last, order))[:STREAM_CHUNK])


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


def _past(last: Thread | None, order: Order) -> Q:
    if last is None:
        return Q()
    value, sign = getattr(last, order.field), "lt" if order.descending else "gt"
    tied = Q(**{order.field: value, f"id__{sign}": last.id})
    return Q(**{f"{order.field}__{sign}": value}) | tied


def _threads(reach: Reach, wanted: ThreadFilter) -> ThreadQuerySet:
    threads = Thread.objects.within(reach).matching(wanted.metadata)
    if wanted.resource_id is not None:
        threads = threads.filter(resource_id=wanted.resource_id)
    if wanted.archived is not None:
        threads = threads.archived(wanted.archived)
    threads = _between(threads, "created_at", wanted.created)
    return _between(threads, "updated_at", wanted.updated)


def _between(threads: ThreadQuerySet, field: str, dates: DateRange) -> ThreadQuerySet:
    return threads.between(
        field,
        dates.start,
        dates.end,
        start_exclusive=dates.start_exclusive,
        end_exclusive=dates.end_exclusive,
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
