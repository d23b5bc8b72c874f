"""The model speaks: one turn's requests, tool calls and results as a stream of chunks.

No database is touched here and nothing is held while the model thinks.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.tools import Tool

from agents.chunks import Chunk
from agents.providers.failures import Stalled, StreamCut, described
from agents.tools import ClientTool, ToolFailure, call_tool
from threads.api.encoding import iso
from threads.identifiers import now
from threads.text import storable

# Seconds before a refused request is sent again, when the provider names no time.
PAUSES = (0.5, 1.5)
# Longest wait that a provider may ask for before the turn fails and says so.
LONGEST_WAIT = 10.0

_REASONS = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content-filter",
    "tool_call": "tool-calls",
    "error": "error",
}


@dataclass
class Meter:
    """What the turn costs, counted while it goes on."""

    input_tokens: int = 0
    output_tokens: int = 0
    started: float = field(default_factory=time.monotonic)
    first_token_ms: int | None = None

    def spoke(self) -> None:
        if self.first_token_ms is None:
            self.first_token_ms = round((time.monotonic() - self.started) * 1000)

    @property
    def as_wire(self) -> dict[str, int]:
        return {
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "totalTokens": self.input_tokens + self.output_tokens,
        }


@dataclass
class Speech:
    """All that the model is given for one turn.

    ``messages`` grows by what the model says and the tools answer. ``approved`` tells of
    tool calls that waited for a person: their results come first.
    """

    model: Model
    message_id: str
    messages: list[ModelMessage]
    instructions: str = ""
    tools: dict[str, Tool[Any]] = field(default_factory=dict)
    client_tools: dict[str, ClientTool] = field(default_factory=dict)
    ask_first: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    max_steps: int = 10
    run_id: str = ""
    request_context: dict[str, Any] = field(default_factory=dict)
    meter: Meter = field(default_factory=Meter)
    finish_reason: str = ""
    text_parts: int = 0

    @property
    def model_name(self) -> str:
        return self.model.model_name

    @property
    def provider(self) -> str:
        name = self.model.system
        return "offline" if name == "function" else name


async def speak(speech: Speech) -> AsyncIterator[Chunk]:
    """The chunks of a turn from its first step to ``finish``.

    Ends without ``finish`` when a tool waits for approval. Raises what the provider
    raises; see :func:`agents.providers.failures.described`.
    """
    said_before = len(speech.messages)
    for step in range(1, speech.max_steps + 1):
        yield Chunk("step-start", _step_start(speech))
        response: ModelResponse | None = None
        async for item in _one_response(speech):
            if isinstance(item, ModelResponse):
                response = item
            else:
                yield item
        assert response is not None
        speech.messages.append(response)
        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        mine, theirs, waiting = _shared_out(speech, calls)
        for call in waiting:
            yield _approval(speech, call)
        results: dict[str, ToolReturnPart] = {}
        async for chunk, result in _tool_results(speech, mine):
            results[result.tool_call_id] = result
            yield chunk
        if results:
            # In the order of the calls, whichever was quicker.
            answered = [
                results[c.tool_call_id] for c in mine if c.tool_call_id in results
            ]
            speech.messages.append(ModelRequest(answered))
        if waiting:
            speech.finish_reason = "suspended"
            return
        again = bool(mine) and not theirs and step < speech.max_steps
        yield Chunk("step-finish", _step_finish(speech, response, again))
        if not again:
            break
    yield Chunk("finish", _finish(speech, said_before))


def _step_start(speech: Speech) -> dict[str, Any]:
    return {
        "messageId": speech.message_id,
        "request": {},
        "warnings": [],
        "startedAt": iso(now()),
        "model": f"{speech.provider}/{speech.model_name}",
    }


def _shared_out(
    speech: Speech, calls: list[ToolCallPart]
) -> tuple[list[ToolCallPart], list[ToolCallPart], list[ToolCallPart]]:
    """The calls that we run, that the client runs, and that a person decides about."""
    mine, theirs, waiting = [], [], []
    for call in calls:
        tool = speech.tools.get(call.tool_name)
        if tool is None and call.tool_name in speech.client_tools:
            theirs.append(call)
        elif tool is not None and (speech.ask_first or tool.requires_approval):
            waiting.append(call)
        else:
            mine.append(call)
    return mine, theirs, waiting


async def _one_response(speech: Speech) -> AsyncIterator[Chunk | ModelResponse]:
    """One request to the model, sent again when it was refused before a word came."""
    for attempt in range(len(PAUSES) + 1):
        spoke = False
        try:
            async for item in _streamed(speech):
                spoke = True
                yield item
            return
        except Exception as error:
            failure = described(error)
            pause = failure.retry_after
            if pause is None and attempt < len(PAUSES):
                pause = PAUSES[attempt]
            if (
                spoke
                or not failure.passing
                or attempt == len(PAUSES)
                or pause > LONGEST_WAIT
            ):
                raise
            await asyncio.sleep(pause)


async def _streamed(speech: Speech) -> AsyncIterator[Chunk | ModelResponse]:
    first_wait = settings.MEMORY.get("MODEL_FIRST_TOKEN_TIMEOUT", 60.0)
    next_wait = settings.MEMORY.get("MODEL_STALL_TIMEOUT", 45.0)
    definitions = [tool.tool_def for tool in speech.tools.values()]
    definitions += [tool.definition for tool in speech.client_tools.values()]
    messages = list(speech.messages)
    if speech.instructions and messages and isinstance(messages[-1], ModelRequest):
        messages[-1] = ModelRequest(
            messages[-1].parts, instructions=speech.instructions
        )
    parts = _Parts(speech)
    opening = model_request_stream(
        speech.model,
        messages,
        model_settings=speech.settings or None,
        model_request_parameters=ModelRequestParameters(function_tools=definitions),
    )
    spoke = False
    try:
        async with asyncio.timeout(first_wait):
            stream = await opening.__aenter__()
    except TimeoutError as error:
        raise Stalled(first_wait, spoke=False) from error
    try:
        events = aiter(stream)
        while True:
            wait = next_wait if spoke else first_wait
            try:
                async with asyncio.timeout(wait):
                    event = await anext(events)
            except StopAsyncIteration:
                break
            except TimeoutError as error:
                raise Stalled(wait, spoke=spoke) from error
            for chunk in parts.chunks(event):
                spoke = True
                yield chunk
        response = stream.get()
        speech.meter.input_tokens += response.usage.input_tokens
        speech.meter.output_tokens += response.usage.output_tokens
        reason = response.finish_reason
        if reason is None and speech.provider not in ("offline", "test"):
            raise StreamCut
        speech.finish_reason = _REASONS.get(reason or "stop", "other")
        yield response
    finally:
        await opening.__aexit__(None, None, None)


class _Parts:
    """Turns the events of one response into chunks, with ids unique in the run."""

    def __init__(self, speech: Speech) -> None:
        self._speech = speech
        self._ids: dict[int, str] = {}

    def chunks(self, event: Any) -> list[Chunk]:
        match event:
            case PartStartEvent(part=TextPart() as part):
                return self._begin("text", event.index, part.content)
            case PartStartEvent(part=ThinkingPart() as part):
                return self._begin("reasoning", event.index, part.content)
            case PartStartEvent(part=ToolCallPart() as part):
                return self._begin_call(event.index, part)
            case PartDeltaEvent(delta=TextPartDelta() as delta):
                return self._delta("text", event.index, delta.content_delta)
            case PartDeltaEvent(delta=ThinkingPartDelta() as delta):
                return self._delta("reasoning", event.index, delta.content_delta)
            case PartDeltaEvent(delta=ToolCallPartDelta() as delta):
                return self._call_delta(event.index, delta.args_delta)
            case PartEndEvent(part=TextPart()):
                return [self._end("text", event.index, {})]
            case PartEndEvent(part=ThinkingPart() as part):
                signed = {"signature": part.signature} if part.signature else {}
                return [self._end("reasoning", event.index, signed)]
            case PartEndEvent(part=ToolCallPart() as part):
                return self._call(part)
            case PartEndEvent(part=FilePart() as part):
                return [
                    Chunk(
                        "file",
                        {
                            "data": part.content.base64,
                            "base64": part.content.base64,
                            "mimeType": part.content.media_type,
                        },
                    )
                ]
        return []

    def _begin(self, kind: str, index: int, text: str | None) -> list[Chunk]:
        self._speech.text_parts += 1
        self._ids[index] = f"{kind[0]}{self._speech.text_parts}"
        chunks = [Chunk(f"{kind}-start", {"id": self._ids[index]})]
        return chunks + self._delta(kind, index, text)

    def _delta(self, kind: str, index: int, text: str | None) -> list[Chunk]:
        if not text or index not in self._ids:
            return []
        self._speech.meter.spoke()
        return [Chunk(f"{kind}-delta", {"id": self._ids[index], "text": text})]

    def _end(self, kind: str, index: int, more: dict[str, Any]) -> Chunk:
        id_ = self._ids.get(index, "")
        return Chunk(f"{kind}-end", {"id": id_, "type": f"{kind}-end", **more})

    def _begin_call(self, index: int, part: ToolCallPart) -> list[Chunk]:
        self._ids[index] = part.tool_call_id
        self._speech.meter.spoke()
        named = {"toolCallId": part.tool_call_id, "toolName": part.tool_name}
        chunks = [Chunk("tool-call-input-streaming-start", named)]
        if part.args:
            args = part.args if isinstance(part.args, str) else json.dumps(part.args)
            chunks += self._call_delta(index, args, part.tool_name)
        return chunks

    def _call_delta(self, index: int, args: Any, name: str = "") -> list[Chunk]:
        if not args or index not in self._ids:
            return []
        text = args if isinstance(args, str) else json.dumps(args)
        payload = {"toolCallId": self._ids[index], "argsTextDelta": text}
        if name:
            payload["toolName"] = name
        return [Chunk("tool-call-delta", payload)]

    def _call(self, part: ToolCallPart) -> list[Chunk]:
        return [
            Chunk(
                "tool-call-input-streaming-end",
                {"toolCallId": part.tool_call_id, "toolName": part.tool_name},
            ),
            Chunk("tool-call", _named_call(part)),
        ]


def call_args(part: ToolCallPart) -> dict[str, Any] | None:
    """The arguments; None when the model wrote no JSON object."""
    if isinstance(part.args, dict):
        return part.args
    try:
        args = json.loads(part.args or "{}")
    except ValueError:
        return None
    return args if isinstance(args, dict) else None


def _named_call(part: ToolCallPart) -> dict[str, Any]:
    return {
        "toolCallId": part.tool_call_id,
        "toolName": part.tool_name,
        "args": storable(call_args(part) or {}),
    }


async def _tool_results(
    speech: Speech, calls: list[ToolCallPart]
) -> AsyncIterator[tuple[Chunk, ToolReturnPart]]:
    """Runs the calls side by side; each result as soon as it is there."""
    tasks = [asyncio.create_task(_tool_result(speech, call)) for call in calls]
    try:
        for done in asyncio.as_completed(tasks):
            yield await done
    finally:
        for task in tasks:
            task.cancel()


async def _tool_result(
    speech: Speech, call: ToolCallPart
) -> tuple[Chunk, ToolReturnPart]:
    named = _named_call(call)
    try:
        tool = speech.tools.get(call.tool_name)
        if tool is None:
            raise ToolFailure(f"There is no tool named {call.tool_name}")
        args = call_args(call)
        if args is None:
            raise ToolFailure("The arguments are not a JSON object")
        result = storable(await call_tool(tool, args, speech.request_context))
    except ToolFailure as failure:
        text = storable(str(failure))
        error = {"name": "ToolFailure", "message": text}
        back = ToolReturnPart(call.tool_name, f"Error: {text}", call.tool_call_id)
        return Chunk("tool-error", named | {"error": error}), back
    shown = result if isinstance(result, str) else json.dumps(result)
    back = ToolReturnPart(call.tool_name, shown, call.tool_call_id)
    return Chunk("tool-result", named | {"result": result}), back


def _approval(speech: Speech, call: ToolCallPart) -> Chunk:
    schema = {
        "type": "object",
        "properties": {"approved": {"type": "boolean"}},
        "required": ["approved"],
    }
    return Chunk(
        "tool-call-approval",
        _named_call(call)
        | {
            "resumeSchema": json.dumps(schema),
            "runId": speech.run_id,
            "approvalId": f"{speech.run_id}::{call.tool_call_id}",
        },
    )


def _step_finish(
    speech: Speech, response: ModelResponse, again: bool
) -> dict[str, Any]:
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
            "toolCalls": [_named_call(call) for call in calls],
            "usage": speech.meter.as_wire,
            "steps": [],
        },
        "messages": {"all": [], "user": [], "nonUser": []},
    }


def _finish(speech: Speech, said_before: int) -> dict[str, Any]:
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
                call = _named_call(part)
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
