"""What a caller asks an agent to do in one turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from agents.models import Run
from threads.errors import InvalidInput
from threads.identifiers import MAX_ID_LENGTH
from threads.messages import normalise
from threads.models import Message


@dataclass(frozen=True)
class TurnOptions:
    """Options of one turn, fit to be kept as JSON with the run.

    ``memory``         options over the agent's memory configuration
    ``remember``       False keeps nothing of the turn (``readOnly``)
    ``instructions``   replace the agent's; ``system`` is added to them
    ``client_tools``   tools that the caller executes
    ``approvals``      decisions about calls that wait: ``{call id: True or reason}``
    """

    model: str | None = None
    instructions: str | None = None
    system: str = ""
    memory: dict[str, Any] | None = None
    remember: bool = True
    max_steps: int | None = None
    client_tools: dict[str, Any] = field(default_factory=dict)
    active_tools: list[str] | None = None
    ask_first: bool = False
    model_settings: dict[str, Any] = field(default_factory=dict)
    request_context: dict[str, Any] = field(default_factory=dict)
    approvals: dict[str, Any] = field(default_factory=dict)
    asked_at: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value} | {
            "remember": self.remember
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        known = cls.__dataclass_fields__
        return cls(**{name: kept[name] for name in kept if name in known})

    def with_(self, **changes: Any) -> Self:
        return replace(self, **changes)


@dataclass(frozen=True)
class Order:
    """One turn, asked for.

    ``messages`` as callers write them: text, one message or a list. Without a thread and
    a resource the turn is not remembered. ``new_resource`` owns the thread if it must be
    made and no resource is named. ``replaces`` is the id of the reply that is given
    again, ``message_id`` that of the reply that is made. With a ``fingerprint`` the
    ``run_id`` stands for this very request: sent again it finds its run, and another
    request under the same id is refused.
    """

    messages: list[Any]
    thread_id: str | None = None
    resource_id: str | None = None
    new_resource: str | None = None
    title: str = ""
    metadata: dict[str, Any] | None = None
    options: TurnOptions = field(default_factory=TurnOptions)
    run_id: str | None = None
    message_id: str | None = None
    trigger: str = Run.Trigger.SEND
    replaces: str = ""
    fingerprint: str = ""

    def drafts(self) -> list[Message]:
        """The messages, checked, as unsaved rows; tool results are not among them."""
        return normalise(
            [m for m in self.messages if not _is_tool_message(m)],
            thread_id=self.thread_id or "-",
            resource_id=self.resource_id,
        ).drafts

    def new_messages(self) -> list[Any]:
        """The messages that this turn adds: the user's after the last reply in the list.

        What stands before is already stored, or was made up by the caller; of a whole
        history that is sent again only its end is new.
        """
        new: list[Any] = []
        for message in reversed(self.messages):
            if _role(message) == "assistant" or _is_tool_message(message):
                break
            if _role(message) in ("user", "signal"):
                new.append(message)
        return new[::-1]

    def system_text(self) -> str:
        """The text of system messages in the list, for this turn alone."""
        return "\n\n".join(
            draft.text for draft in self.drafts() if draft.role == "system"
        )

    def tool_results(self) -> dict[str, dict[str, Any]]:
        """Results of the caller's tools, by call id: ``{result, isError}``."""
        results: dict[str, dict[str, Any]] = {}
        for message in self.messages:
            if _is_tool_message(message):
                for part in message.get("content") or ():
                    if isinstance(part, Mapping) and part.get("type") == "tool-result":
                        results[_call_id(part)] = _given_result(part)
        if self.messages and _role(self.messages[-1]) == "assistant":
            results |= _finished_calls(self.messages[-1])
        return results

    def approvals(self) -> dict[str, Any]:
        """Decisions in the last message: ``{call id: True, or the reason against}``."""
        last = self.messages[-1] if self.messages else None
        decided: dict[str, Any] = {}
        if isinstance(last, Mapping) and last.get("role") == "assistant":
            for part in last.get("parts") or ():
                approval = isinstance(part, Mapping) and part.get("approval")
                if (
                    isinstance(approval, Mapping)
                    and part.get("state") == "approval-responded"
                ):
                    yes = approval.get("approved") is True
                    decided[part.get("toolCallId", "")] = (
                        yes or approval.get("reason") or "declined"
                    )
        return decided


def as_messages(given: Any) -> list[Any]:
    """``messages`` of a request as a list; text is one user message."""
    if isinstance(given, str):
        if not given.strip():
            raise InvalidInput.of("messages", "must not be empty")
        return [{"role": "user", "content": given}]
    if isinstance(given, Mapping):
        given = [given]
    if not isinstance(given, list):
        raise InvalidInput.of("messages", "must be text or a list of messages")
    for index, message in enumerate(given):
        if isinstance(message, Mapping):
            _check_message(message, f"messages.{index}")
    return [
        {"role": "user", "content": item} if isinstance(item, str) else item
        for item in given
    ]


def _check_message(message: Mapping[str, Any], at: str) -> None:
    """Refuses what a turn reads of a message before it is stored, if it stores it."""
    _check_id(message.get("id"), f"{at}.id")
    parts = message.get("parts")
    if parts is None:
        return
    if not isinstance(parts, list):
        raise InvalidInput.of(f"{at}.parts", "must be a list")
    for index, part in enumerate(parts):
        if isinstance(part, Mapping):
            _check_id(part.get("toolCallId"), f"{at}.parts.{index}.toolCallId")
            if not isinstance(part.get("approval"), Mapping | None):
                raise InvalidInput.of(
                    f"{at}.parts.{index}.approval", "must be an object"
                )


def _check_id(value: Any, at: str) -> None:
    """Refuses what is neither missing nor the text of an id."""
    if value is not None and not isinstance(value, str):
        raise InvalidInput.of(at, "must be text")
    if value is not None and len(value) > MAX_ID_LENGTH:
        raise InvalidInput.of(at, f"must have at most {MAX_ID_LENGTH} characters")


def _role(message: Any) -> str:
    if isinstance(message, Mapping):
        return str(message.get("role") or "user")
    return getattr(message, "role", "user")


def _is_tool_message(message: Any) -> bool:
    return (
        isinstance(message, Mapping)
        and message.get("role") == "tool"
        and isinstance(message.get("content"), list)
    )


def _call_id(part: Mapping[str, Any]) -> str:
    call_id = part.get("toolCallId")
    if not isinstance(call_id, str) or not call_id:
        raise InvalidInput.of("messages", "a tool result without toolCallId")
    return call_id


def _given_result(part: Mapping[str, Any]) -> dict[str, Any]:
    output = part.get("result", part.get("output"))
    failed = bool(part.get("isError"))
    if isinstance(output, Mapping) and set(output) == {"type", "value"}:
        failed = failed or str(output["type"]).startswith("error")
        output = output["value"]
    return {"result": output, "isError": failed}


def _finished_calls(message: Any) -> dict[str, dict[str, Any]]:
    """Tool parts of a UI message that the client has finished."""
    found: dict[str, dict[str, Any]] = {}
    if not isinstance(message, Mapping):
        return found
    for part in message.get("parts") or ():
        if not isinstance(part, Mapping) or not part.get("toolCallId"):
            continue
        if part.get("state") == "output-available":
            found[part["toolCallId"]] = {"result": part.get("output"), "isError": False}
        elif part.get("state") == "output-error":
            found[part["toolCallId"]] = {
                "result": part.get("errorText"),
                "isError": True,
            }
    return found
