"""Search over HTTP: what was said lately, and what fits the words of the query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from recall.api import inputs
from recall.api.base import MemoryViewSet, filled, owned
from recall.api.messages import hit_json
from recall.api.schema import describe
from recall.config import MemoryConfig
from recall.memory import Memory
from recall.semantic.hits import Hit, SearchResult
from threads.api.encoding import JsonReply, iso
from threads.models import Message, Thread

# What a result that was found says of it; ``context`` has another meaning here.
WHY_FOUND = ("score", "why", "words", "legs")

# Neighbours shown around a result when the configuration names none.
NEIGHBOURS = 2


class SearchViewSet(MemoryViewSet):
    """Finding messages of a resource."""

    @describe("search", inputs.SearchQuery)
    def list(self, request: Request) -> HttpResponse:
        """The best hits, filled up with the latest messages of the thread; newest first.

        Without ``threadId`` the latest messages are those of the resource's thread that
        changed last. A result that fits the query says so in ``score`` and ``why``.
        """
        query = self.read_query(inputs.SearchQuery)
        filled(query, "searchQuery", "resourceId")
        memory = self.memory_to_write(query)
        options = memory.config.merged(query.get("memoryConfig"), at="memoryConfig")
        return JsonReply(found_json(memory, options, query))


def found_json(
    memory: Memory, options: MemoryConfig, query: dict[str, Any]
) -> dict[str, Any]:
    """The reply: results with their neighbours, and what kind of search it was."""
    text, resource_id = query["searchQuery"], query["resourceId"]
    semantic = options.semantic_recall
    if semantic is None and not options.history_limit:
        return {"results": [], "count": 0, "query": text}
    thread = _base(memory, resource_id, query.get("threadId"))
    within = semantic is not None and semantic.scope == "thread"
    found = SearchResult()
    latest: list[Message] = []
    if thread is not None:
        if options.history_limit:
            latest = memory.recall(thread.id, per_page=options.history_limit).messages
        if semantic is not None:
            found = memory.search(
                text,
                resource_id=resource_id,
                thread_id=thread.id if within else None,
                config=options,
            )
    results = _results(
        memory, resource_id, found.hits, latest, query["limit"], semantic
    )
    reply = {
        "results": results,
        "count": len(results),
        "query": text,
        "searchScope": "thread" if within else "resource",
        "searchType": "text" if semantic is None else "semantic",
    }
    if semantic is not None:
        reply["meaningAvailable"] = found.meaning_available
    return reply


def _base(memory: Memory, resource_id: str, thread_id: str | None) -> Thread | None:
    """The thread that the search starts from: the one named, or the one used last."""
    if thread_id:
        thread = memory.get_thread_by_id(thread_id)
        return owned(thread, resource_id) if thread is not None else None
    newest = memory.list_threads(
        filter={"resource_id": resource_id},
        per_page=1,
        order_by={"field": "updated_at", "direction": "DESC"},
    )
    return newest.threads[0] if newest.threads else None


def _results(
    memory: Memory,
    resource_id: str,
    hits: Sequence[Hit],
    latest: list[Message],
    limit: int,
    semantic: Any,
) -> list[dict[str, Any]]:
    found = {hit.message_id: hit for hit in hits}
    ids = list(dict.fromkeys([*found, *(m.id for m in reversed(latest))]))[:limit]
    if not ids:
        return []
    before, after = (
        (semantic.message_range.before, semantic.message_range.after)
        if semantic is not None
        else (NEIGHBOURS, NEIGHBOURS)
    )
    around = memory.recall_by_resource(
        resource_id,
        per_page=0,
        include=[
            {"id": id, "with_previous_messages": before, "with_next_messages": after}
            for id in ids
        ],
    ).messages
    by_thread: dict[str, list[Message]] = {}
    for message in around:
        by_thread.setdefault(message.thread_id, []).append(message)
    titles = {id: _title(memory, id) for id in by_thread}
    wanted = set(ids)
    results = []
    for messages in by_thread.values():
        for index, message in enumerate(messages):
            if message.id not in wanted:
                continue
            result = {
                **short_json(message),
                "threadId": message.thread_id,
                "threadTitle": titles[message.thread_id],
                "context": {
                    "before": list(
                        map(short_json, messages[max(0, index - before) : index])
                    ),
                    "after": list(
                        map(short_json, messages[index + 1 : index + 1 + after])
                    ),
                },
            }
            hit = found.get(message.id)
            if hit is not None:
                shown = hit_json(hit)
                result |= {name: shown[name] for name in WHY_FOUND}
            results.append(result)
    results.sort(key=lambda result: result["createdAt"], reverse=True)
    return results


def _title(memory: Memory, thread_id: str) -> str:
    thread = memory.get_thread_by_id(thread_id)
    return (thread.title if thread else "") or thread_id


def short_json(message: Message) -> dict[str, Any]:
    """A message in one line: its text instead of its content."""
    return {
        "id": message.id,
        "role": message.role,
        "content": message.text,
        "createdAt": iso(message.created_at),
    }
