"""What `Memory.recall` does: check the request, read, and put the pieces together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet

from recall.arguments import Arguments, identifier
from recall.config import MemoryConfig, SemanticRecall
from recall.filters import MessageFilter, message_filter
from recall.history import (
    Head,
    Reading,
    Window,
    messages_of_resource,
    messages_of_threads,
    read,
    read_thread,
    thread_heads,
)
from recall.pagination import Page, order_of, page_of
from recall.results import RecallResult
from recall.semantic import search as semantic
from recall.semantic.hits import SearchResult
from threads.errors import (
    InvalidInput,
    Issue,
    OwnershipError,
    ThreadNotFound,
)
from threads.lineage import other_versions
from threads.models import Message, Thread
from threads.reach import Reach
from threads.rows import place
from threads.text import storable

# Page size of a resource's messages when none is asked for.
RESOURCE_PAGE = 40

NOTHING_FOUND = SearchResult()
NOTHING_READ = Reading([], [], 0)

# More neighbours than any thread has messages; larger numbers mean the same.
MANY = 2**31

_INCLUDE = frozenset(
    {"id", "thread_id", "with_previous_messages", "with_next_messages"}
)


def recall(
    thread_id: str | Sequence[str],
    resource_id: str | None,
    *,
    reach: Reach,
    config: MemoryConfig,
    per_page: Any = None,
    page: Any = 0,
    order_by: Mapping[str, Any] | None = None,
    filter: Mapping[str, Any] | None = None,
    include: Sequence[Mapping[str, Any]] | None = None,
    vector_search_string: str | None = None,
) -> RecallResult:
    """See :meth:`recall.memory.Memory.recall`."""
    thread_ids = _thread_ids(thread_id)
    if resource_id is not None:
        resource_id = identifier(resource_id, "resource_id")
    asked = page_of(page, config.history_limit if per_page is None else per_page)
    order = order_of(order_by, fields=("created_at",), default_descending=False)
    narrowed = message_filter(filter)
    windows = include_windows(include)
    if not isinstance(vector_search_string, str | None):
        raise InvalidInput.of("vector_search_string", "must be a string")
    descending = order.descending if order else None
    searched = bool(vector_search_string) and config.semantic_recall is not None
    if len(thread_ids) == 1 and not (windows or searched or asked.is_empty):
        heads, reading = read_thread(
            thread_ids[0], narrowed, asked, newest_first=descending is not False
        )
        known = _known(heads, thread_ids, resource_id, reach)
        return _result(reading if known else NOTHING_READ, asked, descending)
    found = NOTHING_FOUND
    known = _known(thread_heads(thread_ids), thread_ids, resource_id, reach)
    listing = (
        messages_of_threads(list(known), narrowed, sum(known.values()))
        if known
        else None
    )
    if searched:
        found = _search(
            vector_search_string, list(known), resource_id, narrowed, reach, config
        )
        windows += [Window(id) for hit in found.hits for id in hit.message_ids]
    reading = read(
        listing,
        asked,
        newest_first=descending is not False,
        windows=windows,
        reach=reach,
        resource_id=resource_id,
    )
    return _result(reading, asked, descending, found)


def recall_by_resource(
    resource_id: str,
    *,
    reach: Reach,
    per_page: Any = None,
    page: Any = 0,
    order_by: Mapping[str, Any] | None = None,
    filter: Mapping[str, Any] | None = None,
    include: Sequence[Mapping[str, Any]] | None = None,
) -> RecallResult:
    """See :meth:`recall.memory.Memory.recall_by_resource`."""
    resource_id = identifier(resource_id, "resource_id")
    asked = page_of(page, RESOURCE_PAGE if per_page is None else per_page)
    order = order_of(order_by, fields=("created_at",), default_descending=False)
    narrowed = message_filter(filter)
    windows = include_windows(include)
    within = reach.covers(resource_id)
    descending = order is not None and order.descending
    reading = read(
        messages_of_resource(resource_id, narrowed) if within else None,
        asked,
        newest_first=descending,
        windows=windows,
        reach=reach,
        resource_id=resource_id,
    )
    return _result(reading, asked, descending)


def search(
    query: str,
    *,
    resource_id: str,
    thread_id: str | Sequence[str] | None,
    filter: Mapping[str, Any] | None,
    reach: Reach,
    config: MemoryConfig,
) -> SearchResult:
    """See :meth:`recall.memory.Memory.search`."""
    resource_id = identifier(resource_id, "resource_id")
    narrowed = message_filter(filter)
    known = None
    if thread_id is not None:
        thread_ids = _thread_ids(thread_id)
        heads = thread_heads(thread_ids)
        known = list(_known(heads, thread_ids, resource_id, reach))
    if not reach.covers(resource_id):
        return SearchResult()
    return semantic.search(
        query,
        resource_id=resource_id,
        thread_ids=known,
        config=config.semantic_recall or SemanticRecall(),
        matching=_matching(narrowed),
        field="query",
    )


def _search(
    query: str,
    thread_ids: Sequence[str],
    resource_id: str | None,
    narrowed: MessageFilter,
    reach: Reach,
    config: MemoryConfig,
) -> SearchResult:
    """What semantic recall adds to a page, in the scope that it is configured for."""
    if not query.strip():
        raise InvalidInput.of("vector_search_string", "must be a non-empty string")
    options = config.semantic_recall
    owner = resource_id
    if options.scope == "thread":
        owner = owner or _owner(thread_ids)
    elif owner is None:
        raise InvalidInput(
            "Resource-scoped semantic recall is enabled but no resource_id was "
            'provided. Give one, or set semantic_recall.scope to "thread".',
            [Issue("resource_id", "is required for semantic recall of a resource")],
        )
    if owner is None or not reach.covers(owner):
        return SearchResult()
    return semantic.search(
        query,
        resource_id=owner,
        thread_ids=thread_ids if options.scope == "thread" else None,
        without_threads=[
            version
            for thread_id in thread_ids
            for version in other_versions(thread_id)
            if version not in thread_ids
        ],
        config=options,
        matching=_matching(narrowed),
        field="vector_search_string",
    )


def _owner(thread_ids: Sequence[str]) -> str | None:
    rows = Thread.objects.filter(id__in=thread_ids)
    return rows.values_list("resource_id", flat=True).first()


def _matching(narrowed: MessageFilter) -> QuerySet[Message] | None:
    """The messages that the filter leaves, as the search wants them; None for all."""
    if not narrowed.narrows:
        return None
    dates = narrowed.dates
    messages = Message.objects.between(
        dates.start,
        dates.end,
        start_exclusive=dates.start_exclusive,
        end_exclusive=dates.end_exclusive,
    ).matching(narrowed.metadata)
    return messages if narrowed.roles is None else messages.with_roles(narrowed.roles)


def include_windows(include: Any) -> list[Window]:
    """The windows that ``include`` asks for; an item with a blank id asks for none."""
    if include is None:
        return []
    if not isinstance(include, (list, tuple)):
        raise InvalidInput.of("include", "must be a list")
    windows = []
    for index, item in enumerate(include):
        given = Arguments(item, f"include.{index}", _INCLUDE)
        message_id, thread_id = given.text("id"), given.text("thread_id")
        if message_id is None:
            raise InvalidInput.of(given.field("id"), "is required")
        older = given.count("with_previous_messages")
        newer = given.count("with_next_messages")
        if message_id:
            windows.append(
                Window(
                    storable(message_id),
                    min(older, MANY),
                    min(newer, MANY),
                    storable(thread_id) or None,
                )
            )
    return windows


def _result(
    reading: Reading,
    page: Page,
    descending: bool | None,
    found: SearchResult = NOTHING_FOUND,
) -> RecallResult:
    """What was read, merged. ``descending`` None: the newest page, oldest first."""
    messages = _merged([*reading.page, *reading.extras], reverse=bool(descending))
    return RecallResult(
        messages=messages,
        total=reading.total,
        page=page.number,
        per_page=page.size,
        # A page of no messages has no next one: walking the pages would never end.
        has_more=not page.is_empty and page.has_more(reading.total),
        hits=list(found.hits),
        meaning_available=found.meaning_available,
    )


def _merged(messages: Iterable[Message], *, reverse: bool) -> list[Message]:
    once = {message.id: message for message in messages}
    return sorted(once.values(), key=place, reverse=reverse)


def _thread_ids(value: Any) -> list[str]:
    ids = [value] if isinstance(value, str) else value
    if (
        not isinstance(ids, (list, tuple))
        or not ids
        or not all(isinstance(id, str) and id.strip() for id in ids)
    ):
        raise InvalidInput.of(
            "thread_id", "must be a non-empty string or list of non-empty strings"
        )
    return list(dict.fromkeys(storable(id) for id in ids))


def _known(
    heads: Iterable[Head],
    thread_ids: Sequence[str],
    resource_id: str | None,
    reach: Reach,
) -> dict[str, int]:
    """The threads of ``heads`` within reach, with the number of their messages.

    When a resource is named, all of ``thread_ids`` must be there and be its own.
    """
    found = {id: (owner, count) for id, owner, count in heads if reach.covers(owner)}
    if resource_id is not None:
        for id in thread_ids:
            if id not in found:
                raise ThreadNotFound(id, f"No thread found with id {id}")
            owner = found[id][0]
            if owner != resource_id:
                raise OwnershipError(
                    f"Thread with id {id} is for resource with id {owner} "
                    f"but resource {resource_id} was queried."
                )
    elif len({owner for owner, _ in found.values()}) > 1:
        raise InvalidInput.of("thread_id", "must be threads of one resource")
    return {id: count for id, (_, count) in found.items()}
