"""The agents' addresses in the OpenAPI document: a hook of its generator.

Their views are asynchronous functions, which the generator cannot look into.
"""

from __future__ import annotations

from typing import Any

MEMORY = {"thread": "t1", "resource": "alice"}
ASK = {"messages": "Where do I like to sit?", "memory": MEMORY}
CHAT = {
    "id": "t1",
    "messages": [
        {
            "id": "u1",
            "role": "user",
            "parts": [{"type": "text", "text": "Where do I like to sit?"}],
        }
    ],
    "trigger": "submit-message",
    "memory": MEMORY,
}
AGENT = {
    "id": "assistant",
    "name": "Assistant",
    "instructions": "You are a helpful assistant.",
    "tools": {},
    "provider": "offline",
    "modelId": "offline",
    "supportsMemory": True,
}
ANSWER = {
    "text": "By the window.",
    "finishReason": "stop",
    "usage": {"inputTokens": 12, "outputTokens": 4, "totalTokens": 16},
    "toolCalls": [],
    "runId": "r1",
}
RUN = {
    "id": "r1",
    "threadId": "t1",
    "resourceId": "alice",
    "agentId": "assistant",
    "state": "completed",
    "messageId": "m2",
    "finishReason": "stop",
    "createdAt": "2026-01-05T09:31:12.250Z",
}
CHUNKS = (
    'data: {"type":"text-delta","runId":"r1","from":"AGENT",'
    '"payload":{"id":"t1","text":"By"}}\n\ndata: [DONE]\n\n'
)
UI_CHUNKS = 'data: {"type":"text-delta","id":"t1","delta":"By"}\n\ndata: [DONE]\n\n'
ONE_AGENT = "/api/agents/{agent_id}"
ONE_RUN = "/api/runs/{run_id}"
THREAD = "/api/memory/threads/{thread_id}"
MESSAGE = f"{THREAD}/messages/{{message_id}}"
KEYED = {"agents_generate", "agents_stream", "chat", "chat_with_agent"}
KEY = {
    "in": "header",
    "name": "Idempotency-Key",
    "schema": {"type": "string"},
    "description": "The request with this key is one run; a repetition follows it.",
}
DECISION = {"runId": "r1", "toolCallId": "c1"}

# Address, method, operation, what it does, example of the body, example of the reply.
# Text for a reply is a stream of events.
OPERATIONS: list[tuple[str, str, str, str, Any, Any]] = [
    (
        "/api/agents",
        "get",
        "agents_list",
        "All agents, by id",
        None,
        {"assistant": AGENT},
    ),
    (ONE_AGENT, "get", "agents_retrieve", "One agent", None, AGENT),
    (
        f"{ONE_AGENT}/generate",
        "post",
        "agents_generate",
        "Answers in one reply, when the model is done",
        ASK,
        ANSWER,
    ),
    (
        f"{ONE_AGENT}/stream",
        "post",
        "agents_stream",
        "Answers as it comes, for @mastra/client-js",
        ASK,
        CHUNKS,
    ),
    (
        f"{ONE_AGENT}/observe",
        "post",
        "agents_observe",
        "Follows a run that was begun before",
        {"runId": "r1", "offset": 0},
        CHUNKS,
    ),
    (
        f"{ONE_AGENT}/approve-tool-call",
        "post",
        "agents_approve_tool_call",
        "Lets a waiting tool call run",
        DECISION,
        CHUNKS,
    ),
    (
        f"{ONE_AGENT}/decline-tool-call",
        "post",
        "agents_decline_tool_call",
        "Refuses a waiting tool call",
        DECISION,
        CHUNKS,
    ),
    (
        f"{ONE_AGENT}/threads/abort",
        "post",
        "agents_abort",
        "Stops whatever speaks in a thread",
        {"threadId": "t1", "resourceId": "alice"},
        {"success": True},
    ),
    (
        f"{ONE_AGENT}/suspended-runs",
        "get",
        "agents_suspended_runs",
        "Runs that wait for a decision about a tool call",
        None,
        {"runs": []},
    ),
    ("/api/chat", "post", "chat", "Answers useChat of the AI SDK", CHAT, UI_CHUNKS),
    (
        "/api/chat/{chat_id}/stream",
        "get",
        "chat_resume",
        "The reply that is under way in a chat, from its beginning",
        None,
        UI_CHUNKS,
    ),
    (
        "/chat/{agent_id}",
        "post",
        "chat_with_agent",
        "Answers useChat with a named agent",
        CHAT,
        UI_CHUNKS,
    ),
    (
        "/chat/{agent_id}/{chat_id}/stream",
        "get",
        "chat_with_agent_resume",
        "The reply that is under way in a chat with a named agent",
        None,
        UI_CHUNKS,
    ),
    ("/api/runs", "get", "runs_list", "Runs, newest first", None, {"runs": [RUN]}),
    (
        ONE_RUN,
        "get",
        "runs_retrieve",
        "One run, with what the model was shown",
        None,
        RUN,
    ),
    (
        f"{ONE_RUN}/events",
        "get",
        "runs_events",
        "The log of a run: as it comes, or as JSON when that is asked for",
        None,
        CHUNKS,
    ),
    (f"{ONE_RUN}/stop", "post", "runs_stop", "Asks a run to stop", None, RUN),
    (
        f"{THREAD}/context",
        "post",
        "threads_context",
        "What the model would be shown if this were sent now",
        {"message": "Where do I like to sit?"},
        {"segments": [], "tokens": 0},
    ),
    (
        f"{THREAD}/suggest-title",
        "post",
        "threads_suggest_title",
        "A title for the thread, saved nowhere",
        None,
        {"title": "Window seats"},
    ),
    (
        f"{MESSAGE}/edit",
        "post",
        "messages_edit",
        "Sends a message in another wording, as a new version of the thread",
        {"content": "Where do I like to eat?"},
        {"threadId": "t2"},
    ),
    (
        f"{MESSAGE}/regenerate",
        "post",
        "messages_regenerate",
        "Answers again",
        None,
        {"threadId": "t1"},
    ),
]
RESUMES = {"chat_resume", "chat_with_agent_resume"}


def add_agents(result: dict[str, Any], **context: Any) -> dict[str, Any]:
    """Adds the operations to the document; a postprocessing hook."""
    for path, method, name, words, sent, answered in OPERATIONS:
        result["paths"].setdefault(path, {})[method] = _operation(
            path, method, name, words, sent, answered
        )
    result["paths"] = dict(sorted(result["paths"].items()))
    return result


def _operation(
    path: str, method: str, name: str, words: str, sent: Any, answered: Any
) -> dict[str, Any]:
    names = [piece.strip("{}") for piece in path.split("/") if piece.startswith("{")]
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": words,
        "tags": ["agents"],
        "parameters": [
            {"in": "path", "name": key, "schema": {"type": "string"}, "required": True}
            for key in names
        ],
        "security": [{"apiKey": []}],
        "responses": {"200": {"description": "", "content": _content(answered)}},
    }
    if sent is not None:
        operation["requestBody"] = {"required": True, "content": _content(sent)}
    if name in KEYED:
        operation["parameters"].append(KEY)
    if name in RESUMES:
        operation["responses"]["204"] = {"description": "Nothing is under way."}
    refusal = {
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Error"}}
        }
    }
    for status, meaning in REFUSALS.items():
        if method == "post" or status in ("400", "401", "403", "404", "429"):
            operation["responses"][status] = {"description": meaning, **refusal}
    return operation


def _content(example: Any) -> dict[str, Any]:
    if isinstance(example, str):
        return {
            "text/event-stream": {
                "schema": {"type": "string"},
                "examples": {"Reply": {"value": example}},
            }
        }
    return {
        "application/json": {
            "schema": {"type": "object", "additionalProperties": True},
            "examples": {"Example": {"value": example}},
        }
    }


REFUSALS = {
    "400": "A value is wrong; issues name the fields.",
    "401": "No valid credentials.",
    "403": "Another resource owns it, or the credentials do not allow it.",
    "404": "It does not exist, or not within the caller's reach.",
    "409": "The present state does not allow it.",
    "413": "The body or a message is too large.",
    "415": "The body is not declared as JSON.",
    "424": "The model did not do it; trying again may help.",
    "429": "Too many requests; Retry-After says when.",
}
