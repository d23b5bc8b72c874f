"""Bodies of the agents' routes, read into orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from agents.models import Run
from agents.orders import Order, TurnOptions, as_messages
from agents.tools import client_tools
from recall.config import MemoryConfig
from threads.access import Caller
from threads.api.errors import invalid_body
from threads.api.fields import MAX_NUMBER
from threads.api.query import request_context
from threads.errors import Issue
from threads.identifiers import MAX_ID_LENGTH
from threads.messages import normalise

DEFAULT_RESOURCE = "local"

# What ``useChat`` may want.
TRIGGERS = ("submit-message", "regenerate-message")


def turn_order(request: HttpRequest, body: dict[str, Any], caller: Caller) -> Order:
    """The order in the body of ``generate`` and ``stream``."""
    if "messages" not in body:
        raise invalid_body(Issue("messages", "is required"))
    messages = _messages(body["messages"])
    memory = _memory(body)
    thread = memory.get("thread")
    if not isinstance(thread, Mapping):
        thread = {"id": thread}
    thread_id = _identifier(thread.get("id"), "memory.thread")
    order = Order(
        messages=messages,
        thread_id=thread_id,
        resource_id=_identifier(memory.get("resource"), "memory.resource"),
        title=_text(thread.get("title"), "memory.thread.title"),
        metadata=_object(thread.get("metadata"), "memory.thread.metadata"),
        options=_options(request, body, memory),
        run_id=_identifier(body.get("runId"), "runId"),
    )
    if thread_id is not None and order.resource_id is None:
        order = _with_own_resource(order, caller)
    return _triggered(order)


def chat_order(request: HttpRequest, body: dict[str, Any], caller: Caller) -> Order:
    """The order in the body that ``useChat`` sends."""
    if not isinstance(body.get("messages"), list):
        raise invalid_body(Issue("messages", "must be a list of messages"))
    memory = _memory(body)
    thread = memory.get("thread")
    if isinstance(thread, Mapping):
        thread = thread.get("id")
    thread_id = _identifier(thread or body.get("id"), "id")
    resource = memory.get("resource") or body.get("resourceId")
    order = Order(
        messages=_messages(body["messages"]),
        thread_id=thread_id,
        resource_id=_identifier(resource, "memory.resource"),
        options=_options(request, body, memory),
    )
    if order.resource_id is None:
        order = _with_own_resource(order, caller, DEFAULT_RESOURCE)
    trigger = body.get("trigger")
    if trigger is not None and trigger not in TRIGGERS:
        raise invalid_body(Issue("trigger", f"must be one of {', '.join(TRIGGERS)}"))
    _identifier(body.get("messageId"), "messageId")
    if trigger == "regenerate-message":
        return _changed(order, trigger=Run.Trigger.REGENERATE)
    return _triggered(order, continues=True)


def _messages(given: Any) -> list[Any]:
    """The messages as a list; raises InvalidInput for one that cannot be stored."""
    messages = as_messages(given)
    # Results of tools are no messages of their own; their place in the list is kept.
    normalise(["" if _holds_results(m) else m for m in messages], thread_id="-")
    return messages


def _holds_results(message: Any) -> bool:
    return (
        isinstance(message, Mapping)
        and message.get("role") == "tool"
        and isinstance(message.get("content"), list)
    )


def _with_own_resource(
    order: Order, caller: Caller, otherwise: str | None = None
) -> Order:
    """A caller that reaches one resource need not name it."""
    patterns = caller.reach.patterns
    if len(patterns) == 1 and not next(iter(patterns)).endswith("*"):
        return _changed(order, resource_id=next(iter(patterns)))
    return _changed(order, new_resource=otherwise)


def _triggered(order: Order, *, continues: bool = False) -> Order:
    """A turn that brings results or decisions instead of a message goes on."""
    if order.new_messages():
        return order
    approvals = order.approvals()
    if not (order.tool_results() or approvals):
        return order
    changes: dict[str, Any] = {"trigger": Run.Trigger.CONTINUE}
    if approvals:
        changes["options"] = order.options.with_(approvals=approvals)
    last = order.messages[-1]
    if continues and isinstance(last, Mapping) and last.get("role") == "assistant":
        changes["message_id"] = last.get("id")
    return _changed(order, **changes)


def _changed(order: Order, **changes: Any) -> Order:
    values = {name: getattr(order, name) for name in order.__dataclass_fields__}
    return Order(**{**values, **changes})


def _options(
    request: HttpRequest, body: dict[str, Any], memory: Mapping[str, Any]
) -> TurnOptions:
    steps = body.get("maxSteps")
    if steps is not None and (
        isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= 100
    ):
        raise invalid_body(Issue("maxSteps", "must be a whole number from 1 to 100"))
    active = body.get("activeTools")
    if active is not None and not isinstance(active, list):
        raise invalid_body(Issue("activeTools", "must be a list of names"))
    if active is not None and not all(isinstance(name, str) for name in active):
        raise invalid_body(Issue("activeTools", "must be a list of names"))
    tools = _object(body.get("clientTools"), "clientTools") or {}
    client_tools(tools)  # raises InvalidInput for what is no tool
    options = _object(memory.get("options"), "memory.options") or {}
    MemoryConfig.parse(options, "memory.options")
    read_only = memory.get("readOnly") or options.get("readOnly")
    return TurnOptions(
        instructions=_joined(body.get("instructions"), "instructions") or None,
        system=_joined(body.get("system"), "system"),
        memory=options or None,
        remember=not read_only,
        max_steps=steps,
        client_tools=tools,
        active_tools=active,
        ask_first=body.get("requireToolApproval") is True,
        model_settings=_model_settings(body.get("modelSettings")),
        request_context=request_context(request, body),
    )


_MODEL_SETTINGS = {
    "temperature": ("temperature", float),
    "maxOutputTokens": ("max_tokens", int),
    "maxTokens": ("max_tokens", int),
    "topP": ("top_p", float),
    "presencePenalty": ("presence_penalty", float),
    "frequencyPenalty": ("frequency_penalty", float),
    "seed": ("seed", int),
}


def _model_settings(given: Any) -> dict[str, Any]:
    """What a caller may say to the model; what is not understood is left out."""
    settings: dict[str, Any] = {}
    for key, value in (_object(given, "modelSettings") or {}).items():
        if key in _MODEL_SETTINGS and value is not None:
            name, kind = _MODEL_SETTINGS[key]
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise invalid_body(Issue(f"modelSettings.{key}", "must be a number"))
            try:
                settings[name] = kind(value)
            except (OverflowError, ValueError):
                raise invalid_body(
                    Issue(f"modelSettings.{key}", "is out of range")
                ) from None
            if not -MAX_NUMBER <= settings[name] <= MAX_NUMBER:
                raise invalid_body(Issue(f"modelSettings.{key}", "is out of range"))
    return settings


def _memory(body: dict[str, Any]) -> Mapping[str, Any]:
    memory = dict(_object(body.get("memory"), "memory") or {})
    # The older spelling, beside the messages.
    memory.setdefault("thread", body.get("threadId"))
    memory.setdefault("resource", body.get("resourceId"))
    return memory


def _object(value: Any, field: str) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise invalid_body(Issue(field, "must be an object"))
    return dict(value)


def _text(value: Any, field: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise invalid_body(Issue(field, "must be text"))
    return value


def _joined(value: Any, field: str) -> str:
    """Text, a list of texts, or messages with text in them."""
    if isinstance(value, list):
        return "\n\n".join(_joined(item, field) for item in value)
    if isinstance(value, Mapping):
        return _joined(value.get("content"), field)
    return _text(value, field)


def _identifier(value: Any, field: str) -> str | None:
    # Clients that interpolate a missing value send this word.
    if value is None or value == "undefined":
        return None
    if not isinstance(value, str) or not value or len(value) > MAX_ID_LENGTH:
        raise invalid_body(Issue(field, f"must be text of 1 to {MAX_ID_LENGTH}"))
    return value
