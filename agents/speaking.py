"""The model speaks: one turn's requests, tool calls and results as a stream of chunks.

No database is touched here and nothing is held while the model thinks.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.tools import Tool

from agents.chunks import Chunk
from agents.finishing import finish, step_finish
from agents.model_events import Meter, ResponseChunks, call_args, named_call
from agents.providers.failures import Stalled, StreamCut, Unreadable, described
from agents.tools import ClientTool, ToolFailure, call_tool
from threads.api.encoding import iso
from threads.identifiers import now
from threads.text import storable

# Seconds before a refused request is sent again, when the provider names no time.
PAUSES = (0.5, 1.5)
# Longest wait that a provider may ask for before the turn fails and says so.
LONGEST_WAIT = 10.0

# What readers of a provider's reply raise when it is none.
_UNREADABLE = (AttributeError, TypeError, ValueError, LookupError)

_REASONS = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content-filter",
    "tool_call": "tool-calls",
    "error": "error",
}


@dataclass
class Speech:
    """All that the model is given for one turn.

    ``messages`` grows by what the model says and the tools answer. ``approved`` are ids
    of calls in ``messages`` that waited for a person and may run now: they come first.
    """

    model: Model
    message_id: str
    messages: list[ModelMessage]
    instructions: str = ""
    tools: dict[str, Tool[Any]] = field(default_factory=dict)
    client_tools: dict[str, ClientTool] = field(default_factory=dict)
    approved: frozenset[str] = frozenset()
    ask_first: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    max_steps: int = 10
    run_id: str = ""
    request_context: dict[str, Any] = field(default_factory=dict)
    meter: Meter = field(default_factory=Meter)
    finish_reason: str = ""

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
    speech.meter.call_ids |= {
        part.tool_call_id
        for message in speech.messages
        for part in message.parts
        if isinstance(part, ToolCallPart)
    }
    if speech.approved:
        async for chunk in _approved_calls(speech):
            yield chunk
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
        yield Chunk("step-finish", step_finish(speech, response, again))
        if not again:
            break
    yield Chunk("finish", finish(speech, said_before))


async def _approved_calls(speech: Speech) -> AsyncIterator[Chunk]:
    """Runs the calls that were approved, and puts their results where they were made."""
    calls = [
        part
        for message in speech.messages
        if isinstance(message, ModelResponse)
        for part in message.parts
        if isinstance(part, ToolCallPart) and part.tool_call_id in speech.approved
    ]
    yield Chunk("step-start", _step_start(speech))
    for call in calls:
        yield Chunk("tool-call", named_call(call))
    async for chunk, result in _tool_results(speech, calls):
        for message in speech.messages:
            for part in message.parts:
                if (
                    isinstance(part, ToolReturnPart)
                    and part.tool_call_id == result.tool_call_id
                ):
                    part.content = result.content
        yield chunk


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
        if call_args(call) is None:
            # Nobody can run it: the model is told so.
            mine.append(call)
        elif tool is None and call.tool_name in speech.client_tools:
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
    parts = ResponseChunks(speech.meter)
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
    except _UNREADABLE as error:
        raise Unreadable from error
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
            except _UNREADABLE as error:
                raise Unreadable from error
            for chunk in parts.chunks(event):
                spoke = True
                yield chunk
        response = parts.named(stream.get())
        speech.meter.count(response.usage.input_tokens, response.usage.output_tokens)
        speech.finish_reason = _finish_reason(speech, response)
        yield response
    finally:
        await opening.__aexit__(None, None, None)


def _finish_reason(speech: Speech, response: ModelResponse) -> str:
    """Why the model ended; raises StreamCut when it does not say."""
    if response.finish_reason is not None:
        return _REASONS.get(response.finish_reason, "other")
    if speech.provider in ("offline", "test"):
        return "stop"
    if (response.provider_details or {}).get("finish_reason"):
        # A reason that only the provider knows.
        return "other"
    raise StreamCut


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
    named = named_call(call)
    try:
        tool = speech.tools.get(call.tool_name)
        if tool is None and call.tool_name not in speech.client_tools:
            raise ToolFailure(f"There is no tool named {call.tool_name}")
        args = call_args(call)
        if args is None or tool is None:
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
        named_call(call)
        | {
            "resumeSchema": json.dumps(schema),
            "runId": speech.run_id,
            "approvalId": f"{speech.run_id}::{call.tool_call_id}",
        },
    )
