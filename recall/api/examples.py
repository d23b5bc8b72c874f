"""One example for each operation of the API: what is sent, and what comes back."""

from __future__ import annotations

from typing import Any

THREAD: dict[str, Any] = {
    "id": "t1",
    "resourceId": "alice",
    "title": "Trip to Lisbon",
    "createdAt": "2026-01-05T09:30:00.000Z",
    "updatedAt": "2026-01-05T09:31:12.250Z",
    "metadata": {"topic": "travel"},
}
CLONE = {
    **THREAD,
    "id": "t2",
    "title": "Clone of Trip to Lisbon",
    "metadata": {
        "topic": "travel",
        "clone": {
            "sourceThreadId": "t1",
            "clonedAt": "2026-01-06T08:00:00.000Z",
            "lastMessageId": "m1",
        },
    },
}
MESSAGE: dict[str, Any] = {
    "id": "m1",
    "role": "user",
    "createdAt": "2026-01-05T09:31:12.250Z",
    "threadId": "t1",
    "resourceId": "alice",
    "content": {
        "format": 2,
        "parts": [{"type": "text", "text": "I like window seats"}],
    },
}
COPY = {**MESSAGE, "id": "m1-copy", "threadId": "t2"}
RESOURCE: dict[str, Any] = {
    "id": "alice",
    "metadata": {"plan": "pro"},
    "createdAt": "2026-01-05T09:30:00.000Z",
    "updatedAt": "2026-01-05T09:30:00.000Z",
}
PAGE = {"total": 1, "page": 0, "perPage": 100, "hasMore": False}
NOTES = {
    "workingMemory": "# User\n- seat: window",
    "source": "resource",
    "workingMemoryTemplate": {"format": "markdown", "content": "# User\n- seat:"},
}
RESOURCE_NOTES = {**NOTES, "revision": 1, "updatedAt": "2026-01-05T09:32:00.000Z"}
REVISIONS = {
    "revisions": [
        {
            "revision": 1,
            "workingMemory": "# User\n- seat: window",
            "author": "api",
            "authorName": "booking service",
            "messageId": None,
            "restoredFrom": None,
            "createdAt": "2026-01-05T09:32:00.000Z",
        }
    ]
}
SHORT = {
    "id": "m1",
    "role": "user",
    "content": "I like window seats",
    "createdAt": "2026-01-05T09:31:12.250Z",
}
WRITE_NOTES = {"workingMemory": "# User\n- seat: window"}

# Operation to (request body, reply).
EXAMPLES: dict[str, tuple[Any, Any]] = {
    "threads_list": (None, {"threads": [THREAD], **PAGE}),
    "threads_create": (
        {"resourceId": "alice", "threadId": "t1", "title": "Trip to Lisbon"},
        THREAD,
    ),
    "threads_retrieve": (None, THREAD),
    "threads_update": ({"metadata": {"topic": "travel"}}, THREAD),
    "threads_replace": (
        {"title": "Trip to Lisbon", "metadata": {"topic": "travel"}},
        THREAD,
    ),
    "threads_delete": (None, {"result": "Thread deleted"}),
    "threads_transfer": ({"resourceId": "bob"}, {**THREAD, "resourceId": "bob"}),
    "threads_archive": (None, {**THREAD, "archivedAt": "2026-02-01T00:00:00.000Z"}),
    "threads_unarchive": (None, THREAD),
    "threads_export": (
        None,
        {"messages": [MESSAGE], **PAGE, "perPage": False, "thread": THREAD},
    ),
    "messages_list": (
        None,
        {"messages": [MESSAGE], **PAGE, "perPage": 40, "uiMessages": None},
    ),
    "messages_as_ui": (
        None,
        {
            "messages": [
                {
                    "id": "m1",
                    "role": "user",
                    "metadata": {
                        "createdAt": "2026-01-05T09:31:12.250Z",
                        "threadId": "t1",
                        "resourceId": "alice",
                    },
                    "parts": [{"type": "text", "text": "I like window seats"}],
                }
            ],
            "format": "ai-sdk-v5",
            **PAGE,
            "perPage": 40,
        },
    ),
    "messages_save": ({"messages": [MESSAGE]}, {"messages": [MESSAGE]}),
    "messages_delete": (
        {"messageIds": ["m1"]},
        {"success": True, "message": "1 message deleted successfully"},
    ),
    "messages_retrieve": (None, MESSAGE),
    "messages_update": (
        {"content": {"metadata": {"starred": True}}},
        {**MESSAGE, "content": {**MESSAGE["content"], "metadata": {"starred": True}}},
    ),
    "messages_destroy": (None, {"result": "Message deleted"}),
    "clones_create": (
        {"newThreadId": "t2", "options": {"messageLimit": 10}},
        {
            "thread": CLONE,
            "messageIdMap": {"m1": "m1-copy"},
            "clonedMessages": [COPY],
        },
    ),
    "clones_list": (None, {"clones": [CLONE]}),
    "clones_history": (None, {"history": [THREAD, CLONE]}),
    "clones_source": (None, {"source": THREAD}),
    "working_memory_retrieve": (None, {**NOTES, "threadExists": True}),
    "working_memory_update": (WRITE_NOTES, {"success": True}),
    "working_memory_revisions": (None, REVISIONS),
    "working_memory_restore": ({"revision": 1}, {**NOTES, "threadExists": True}),
    "resource_working_memory_retrieve": (None, RESOURCE_NOTES),
    "resource_working_memory_replace": (WRITE_NOTES, RESOURCE_NOTES),
    "resource_working_memory_revisions": (None, REVISIONS),
    "resource_working_memory_restore": ({"revision": 1}, RESOURCE_NOTES),
    "resources_list": (None, {"resources": [RESOURCE], **PAGE}),
    "resources_retrieve": (None, RESOURCE),
    "resources_update": ({"metadata": {"plan": "pro"}}, RESOURCE),
    "resources_delete": (None, {"result": "Resource deleted"}),
    "search": (
        None,
        {
            "results": [
                {
                    **SHORT,
                    "threadId": "t1",
                    "threadTitle": "Trip to Lisbon",
                    "context": {"before": [], "after": []},
                    "score": 0.71,
                    "why": "both",
                }
            ],
            "count": 1,
            "query": "seat",
            "searchScope": "resource",
            "searchType": "semantic",
        },
    ),
    "status_retrieve": (None, {"result": True, "memoryType": "local"}),
    "config_retrieve": (
        None,
        {
            "config": {
                "lastMessages": 10,
                "semanticRecall": False,
                "generateTitle": False,
                "workingMemory": {"enabled": False, "template": "# User\n"},
                "observationalMemory": {"enabled": False},
            }
        },
    ),
    "observational_memory_retrieve": (None, None),
    "observational_memory_buffer_status": (None, None),
}
