"""Agents, runs and whole answers as the wire shows them."""

from __future__ import annotations

import json
from typing import Any

from agents.agent import Agent
from agents.chunks import Event
from agents.generation import generation_of
from agents.models import Run
from agents.providers.choosing import configured_model_name
from agents.turn import StartedRun
from threads.api.encoding import iso
from threads.api.serializers import message_json
from threads.api.wire_names import in_camel_case
from threads.models import Message
from threads.ui_messages import to_ai_sdk_v5_messages


def agent_json(agent: Agent, *, partial: bool) -> dict[str, Any]:
    """An agent; ``partial`` leaves the schemas of its tools out."""
    name = agent.model or configured_model_name()
    if not isinstance(name, str):
        name = f"{name.system}:{name.model_name}"
    provider, _, model = name.rpartition(":")
    return {
        "id": agent.id,
        "name": agent.name,
        "description": agent.description,
        "instructions": agent.instructions(),
        "tools": {
            key: {
                "id": key,
                "description": tool.description or "",
                "requireApproval": tool.requires_approval,
            }
            | (
                {}
                if partial
                else {
                    "inputSchema": json.dumps(
                        {"json": tool.tool_def.parameters_json_schema}
                    )
                }
            )
            for key, tool in agent.tools.items()
        },
        "agents": {},
        "workflows": {},
        "skills": [],
        "workspaceTools": [],
        "browserTools": [],
        "hasBrowser": False,
        "inputProcessors": [],
        "outputProcessors": [],
        "provider": provider or name,
        "modelId": model,
        "modelVersion": "v2",
        "supportsMemory": agent.has_memory,
        "defaultOptions": {},
        "defaultGenerateOptionsLegacy": {},
        "defaultStreamOptionsLegacy": {},
        "source": "code",
        "hasDraft": False,
    }


def run_json(run: Run, *, context: bool = False) -> dict[str, Any]:
    """A run; with ``context`` also what the model was shown."""
    shown = {
        "id": run.id,
        "threadId": run.thread_id,
        "resourceId": run.resource_id,
        "agentId": run.agent_id,
        "trigger": run.trigger,
        "state": run.state,
        "userMessageId": run.user_message_id or None,
        "messageId": run.message_id,
        "regenerates": run.replaces_message_id or None,
        "finishReason": run.finish_reason or None,
        "error": run.error or None,
        "provider": run.provider or None,
        "model": run.model or None,
        "usage": {
            "inputTokens": run.input_tokens,
            "outputTokens": run.output_tokens,
            "firstTokenMs": run.first_token_ms,
            "durationMs": run.duration_ms,
        },
        "contextHash": run.context_hash or None,
        "createdAt": iso(run.created_at),
        "startedAt": iso(run.started_at) if run.started_at else None,
        "finishedAt": iso(run.finished_at) if run.finished_at else None,
        "eventsPruned": run.events_pruned_at is not None,
    }
    if context:
        shown["context"] = in_camel_case(run.context)
    return shown


def generation_json(started: StartedRun, events: list[Event]) -> dict[str, Any]:
    """A whole answer. A failed one has ``finishReason`` and ``error``, and its text."""
    run = started.run
    answer = generation_of(run, events)
    reply = Message.objects.filter(id=run.message_id).first()
    stored = [m for m in (started.user_message, reply) if m is not None]
    finish = next((e.payload for e in events if e.type == "finish"), {})
    response = finish.get("response") or {}
    calls = [_chunk("tool-call", run.id, payload) for payload in answer.tool_calls]
    results = [
        _chunk("tool-result", run.id, payload) for payload in answer.tool_results
    ]
    reasoning = "".join(
        e.payload["text"] for e in events if e.type == "reasoning-delta"
    )
    started_at = run.started_at or run.created_at
    body: dict[str, Any] = {
        "text": answer.text,
        "usage": answer.usage,
        "totalUsage": answer.usage,
        "steps": [e.payload for e in events if e.type == "step-finish"],
        "finishReason": answer.finish_reason,
        "warnings": [],
        "request": {},
        "reasoning": [{"type": "reasoning", "text": reasoning}] if reasoning else [],
        "toolCalls": calls,
        "toolResults": results,
        "sources": [e.payload for e in events if e.type == "source"],
        "files": [e.payload for e in events if e.type == "file"],
        "response": {
            "id": run.message_id,
            "timestamp": iso(started_at),
            "modelId": response.get("modelId", ""),
            "messages": response.get("messages", []),
            "uiMessages": to_ai_sdk_v5_messages([reply]) if reply else [],
            "dbMessages": [message_json(reply)] if reply else [],
        },
        "usedFallbackValue": False,
        "runId": run.id,
        "state": answer.state,
        "messages": [message_json(m) for m in stored],
        "rememberedMessages": _remembered(run),
    }
    if reasoning:
        body["reasoningText"] = reasoning
    if answer.error:
        body["error"] = answer.error
    waiting = next((e.payload for e in events if e.type == "tool-call-approval"), None)
    if waiting is not None:
        shown = ("toolCallId", "toolName", "args", "resumeSchema")
        body["suspendPayload"] = {key: waiting[key] for key in shown}
        body["resumeSchema"] = waiting["resumeSchema"]
    return body


def _chunk(type_: str, run_id: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"type": type_, "runId": run_id, "from": "AGENT", "payload": payload}


def _remembered(run: Run) -> list[dict[str, Any]]:
    """The stored messages that the model was shown, in order."""
    context = Run.objects.values_list("context", flat=True).get(id=run.id) or {}
    ids = [
        segment["source_id"]
        for segment in context.get("segments", ())
        if segment["kind"] in ("recalled", "history")
    ]
    known = Message.objects.in_bulk(ids)
    return [message_json(known[id_]) for id_ in ids if id_ in known]
