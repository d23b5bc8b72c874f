"""What a step and a turn say when they end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)

from agents.model_events import named_call
from threads.api.encoding import iso
from threads.identifiers import now
from threads.text import storable

if TYPE_CHECKING:
    from agents.speaking import Speech


def step_finish(speech: Speech, response: ModelResponse, again: bool) -> dict[str, Any]:
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    reason = "tool-calls" if calls else speech.finish_reason
    speech.finish_reason = reason
    return {
        "messageId": speech.message_id,
        "stepResult": {"reason": reason, "isContinued": again, "warnings": []},
        "metadata": {
            "modelId": speech.model_name,
            "timestamp": iso(now()),
            "modelMetadata": {
                "modelId": speech.model_name,
                "modelProvider": speech.provider,
            },
        },
        "output": {
            "text": "".join(
                p.content for p in response.parts if isinstance(p, TextPart)
            ),
            "toolCalls": [named_call(call) for call in calls],
            "usage": speech.meter.as_wire,
            "steps": [],
        },
        "messages": {"all": [], "user": [], "nonUser": []},
    }


def finish(speech: Speech, said_before: int) -> dict[str, Any]:
    messages = core_messages(speech.messages[said_before:])
    return {
        "messageId": speech.message_id,
        "stepResult": {
            "reason": speech.finish_reason,
            "isContinued": False,
            "warnings": [],
        },
        "metadata": {
            "modelId": speech.model_name,
            "timestamp": iso(now()),
            "modelMetadata": {
                "modelId": speech.model_name,
                "modelProvider": speech.provider,
            },
        },
        "output": {"usage": speech.meter.as_wire, "steps": []},
        "messages": {"all": messages, "user": [], "nonUser": messages},
        "response": {"messages": messages, "modelId": speech.model_name},
    }


def core_messages(messages: list[ModelMessage]) -> list[dict[str, Any]]:
    """What was said in this turn, in the form that clients send back."""
    out: list[dict[str, Any]] = []
    for message in messages:
        content: list[dict[str, Any]] = []
        for part in message.parts:
            if isinstance(part, TextPart):
                content.append({"type": "text", "text": storable(part.content)})
            elif isinstance(part, ToolCallPart):
                call = named_call(part)
                content.append(
                    {
                        "type": "tool-call",
                        "toolCallId": call["toolCallId"],
                        "toolName": call["toolName"],
                        "input": call["args"],
                    }
                )
            elif isinstance(part, ToolReturnPart):
                content.append(
                    {
                        "type": "tool-result",
                        "toolCallId": part.tool_call_id,
                        "toolName": part.tool_name,
                        "output": {"type": "text", "value": part.content},
                    }
                )
        if content:
            role = "assistant" if isinstance(message, ModelResponse) else "tool"
            out.append({"role": role, "content": content})
    return out
