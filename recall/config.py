"""What a memory keeps and recalls: frozen options with validation.

Every class takes keyword arguments, or a dictionary through ``parse`` (snake_case or the
wire's camelCase). A wrong value is :class:`~threads.errors.InvalidInput` naming the field
in the caller's spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import jsonschema
from django.conf import settings

from recall.options import (
    UNSET,
    Options,
    boolean,
    join,
    one_of,
    switch,
    text,
    whole_number,
)
from threads.errors import InvalidInput, NotConfigured
from threads.json_values import json_object

DEFAULT_LAST_MESSAGES = 10

# The largest whole number that JavaScript holds exactly; clients use it for "all".
MOST_MESSAGES = 2**53 - 1

Scope = Literal["resource", "thread"]
Mode = Literal["hybrid", "vector", "lexical"]


@dataclass(frozen=True)
class MessageRange(Options):
    """How many neighbours a hit brings from its own thread. Defaults: 1 and 1."""

    before: int = UNSET
    after: int = UNSET

    DEFAULTS: ClassVar[Mapping[str, Any]] = {"before": 1, "after": 1}
    CHECKS: ClassVar[Mapping[str, Any]] = {
        "before": whole_number(0, 1000),
        "after": whole_number(0, 1000),
    }


def _message_range(value: Any, path: str) -> MessageRange:
    if isinstance(value, MessageRange):
        return value
    if isinstance(value, Mapping):
        # A side that is not named brings nothing, as {"before": 2} says.
        return MessageRange.parse({"before": 0, "after": 0, **value}, path)
    count = MessageRange.CHECKS["before"](value, path)
    return MessageRange(before=count, after=count)


def _threshold(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput.of(path, "must be a number from -1 to 1")
    if not -1 <= value <= 1:  # also refuses NaN
        raise InvalidInput.of(path, "must be a number from -1 to 1")
    return float(value)


@dataclass(frozen=True)
class SemanticRecall(Options):
    """Recall of messages by what they are about.

    ``top_k``          number of hits, 1 to 1000; default 4
    ``message_range``  neighbours of each hit: a number for both sides, or
                       :class:`MessageRange`; default 1 and 1
    ``scope``          ``resource`` (default): all threads of the resource; ``thread``
    ``threshold``      cosine similarity that a hit must reach, -1 to 1; default none
    ``mode``           ``hybrid`` (default): meaning and words; ``vector``; ``lexical``
    """

    top_k: int = UNSET
    message_range: MessageRange | int = UNSET
    scope: Scope = UNSET
    threshold: float | None = UNSET
    mode: Mode = UNSET

    DEFAULTS: ClassVar[Mapping[str, Any]] = {
        "top_k": 4,
        "message_range": MessageRange(),
        "scope": "resource",
        "threshold": None,
        "mode": "hybrid",
    }
    CHECKS: ClassVar[Mapping[str, Any]] = {
        "top_k": whole_number(1, 1000),
        "message_range": _message_range,
        "scope": one_of("resource", "thread"),
        "threshold": _threshold,
        "mode": one_of("hybrid", "vector", "lexical"),
    }


def _template(value: Any, path: str) -> str:
    # The wire's spelling of a template is {"format": "markdown", "content": text}.
    if isinstance(value, Mapping) and value.get("format", "markdown") == "markdown":
        return text(value.get("content"), join(path, "content"))
    return text(value, path)


def _schema(value: Any, path: str) -> Mapping[str, Any]:
    model_schema = getattr(value, "model_json_schema", None)
    if callable(model_schema):
        value = model_schema()
    if not isinstance(value, Mapping):
        raise InvalidInput.of(path, "must be a JSON Schema object or a pydantic model")
    schema = json_object(value, path)
    try:
        jsonschema.validators.validator_for(schema).check_schema(schema)
    except jsonschema.SchemaError as fault:
        raise InvalidInput.of(
            path, f"is not a JSON Schema: {fault.message[:200]}"
        ) from None
    except RecursionError:
        raise InvalidInput.of(path, "is nested too deeply") from None
    if schema.get("type", "object") != "object":
        raise InvalidInput.of(join(path, "type"), "must be object")
    return schema


@dataclass(frozen=True)
class WorkingMemoryConfig(Options):
    """Notes that are kept up to date and shown to the model at every turn.

    ``enabled``   default ``True`` (it is :class:`MemoryConfig` that has none by default)
    ``scope``     ``resource`` (default): one for all threads of a resource; ``thread``
    ``template``  Markdown to fill in; a write replaces the text. Default: a general one
    ``schema``    JSON Schema of an object, or a pydantic model; a write is merged

    ``template`` and ``schema`` exclude each other.
    """

    enabled: bool = UNSET
    scope: Scope = UNSET
    template: str | None = UNSET
    schema: Mapping[str, Any] | None = UNSET

    DEFAULTS: ClassVar[Mapping[str, Any]] = {
        "enabled": True,
        "scope": "resource",
        "template": None,
        "schema": None,
    }
    CHECKS: ClassVar[Mapping[str, Any]] = {
        "enabled": boolean,
        "scope": one_of("resource", "thread"),
        "template": _template,
        "schema": _schema,
    }

    @classmethod
    def check_together(cls, values: Mapping[str, Any], at: str) -> None:
        if values.get("template") is not None and values.get("schema") is not None:
            raise InvalidInput.of(
                join(at, "schema"), "template and schema exclude each other"
            )

    def merged(self, over: Self) -> Self:
        """As for all options; a template puts a schema out of force, and vice versa."""
        base = self
        if {"template", "schema"} & over.given:
            kept = {name: getattr(self, name) for name in self.given}
            kept.pop("template", None)
            kept.pop("schema", None)
            base = type(self)(**kept)
        return super(WorkingMemoryConfig, base).merged(over)


def _working_memory(value: Any, path: str) -> WorkingMemoryConfig:
    chosen = switch(WorkingMemoryConfig)(value, path)
    return WorkingMemoryConfig(enabled=False) if chosen is None else chosen


def _model(value: Any, path: str) -> Any:
    if isinstance(value, str) and not value.strip():
        raise InvalidInput.of(path, "must not be blank")
    return value


def _instructions(value: Any, path: str) -> str | Callable[..., str]:
    if not (isinstance(value, str) or callable(value)):
        raise InvalidInput.of(path, "must be text or a function")
    return value


@dataclass(frozen=True)
class GenerateTitle(Options):
    """Titles written by a model after a reply.

    ``model``         name or model object; default: the agent's own
    ``instructions``  replace the system prompt of the title call, as text or a function
                      of the request's context; blank or ``None``: the built-in prompt
    ``min_messages``  messages that the thread must have first; default 1
    """

    model: Any = UNSET
    instructions: str | Callable[..., str] | None = UNSET
    min_messages: int = UNSET

    DEFAULTS: ClassVar[Mapping[str, Any]] = {
        "model": None,
        "instructions": None,
        "min_messages": 1,
    }
    CHECKS: ClassVar[Mapping[str, Any]] = {
        "model": _model,
        "instructions": _instructions,
        "min_messages": whole_number(1),
    }


def _last_messages(value: Any, path: str) -> int | Literal[False]:
    if value is False:
        return False
    return whole_number(0, MOST_MESSAGES)(value, path)


# What settings.MEMORY says, and the configuration made of it.
_in_force: tuple[Mapping[str, Any], MemoryConfig] | None = None


@dataclass(frozen=True)
class MemoryConfig(Options):
    """Everything that can be set about a memory, for an instance or for one call.

    ``last_messages``    messages of the thread in a recall; ``False`` or 0 for none;
                         default 10
    ``semantic_recall``  ``True``, ``False`` or :class:`SemanticRecall`; default off
                         (``None`` when read)
    ``working_memory``   ``True``, ``False`` or :class:`WorkingMemoryConfig`; default off
    ``generate_title``   ``True``, ``False`` or :class:`GenerateTitle`; default off
                         (``None`` when read)
    ``read_only``        write nothing at all; default ``False``
    """

    last_messages: int | Literal[False] = UNSET
    semantic_recall: SemanticRecall | bool | None = UNSET
    working_memory: WorkingMemoryConfig | bool = UNSET
    generate_title: GenerateTitle | bool | None = UNSET
    read_only: bool = UNSET

    DEFAULTS: ClassVar[Mapping[str, Any]] = {
        "last_messages": DEFAULT_LAST_MESSAGES,
        "semantic_recall": None,
        "working_memory": WorkingMemoryConfig(enabled=False),
        "generate_title": None,
        "read_only": False,
    }
    CHECKS: ClassVar[Mapping[str, Any]] = {
        "last_messages": _last_messages,
        "semantic_recall": switch(SemanticRecall),
        "working_memory": _working_memory,
        "generate_title": switch(GenerateTitle),
        "read_only": boolean,
    }

    @classmethod
    def parse(
        cls, values: MemoryConfig | Mapping[str, Any] | None, at: str = ""
    ) -> Self:
        """The configuration in ``values``: an instance, a dictionary or ``None``.

        The older nesting ``threads: {generateTitle}`` is understood.
        ``observationalMemory`` is understood when it is off.
        """
        if values is None:
            return cls()
        if isinstance(values, MemoryConfig):
            return values
        if not isinstance(values, Mapping):
            raise InvalidInput.of(at or "root", "must be an object")
        options = dict(values)
        _drop_observational(options, at)
        threads = options.pop("threads", None)
        if threads is not None:
            path = join(at, "threads")
            if not isinstance(threads, Mapping):
                raise InvalidInput.of(path, "must be an object")
            for key in threads:
                if key not in ("generateTitle", "generate_title"):
                    raise InvalidInput.of(join(path, key), "unknown option")
            options = {**threads, **options}
        return super().parse(options, at)

    @classmethod
    def from_settings(cls) -> Self:
        """The defaults of this installation, from ``settings.MEMORY``."""
        global _in_force
        kept = {
            name: settings.MEMORY[name.upper()]
            for name in cls.CHECKS
            if name.upper() in settings.MEMORY
        }
        known = _in_force
        if known is None or known[0] != kept:
            known = _in_force = kept, cls.parse(kept, "MEMORY")
        return known[1]

    def merged(
        self, over: MemoryConfig | Mapping[str, Any] | None, at: str = "config"
    ) -> Self:
        """This configuration for a call that brings options of its own.

        What the call names wins, option by option and inside ``semantic_recall``,
        ``working_memory`` and ``generate_title`` too; what it does not name stays.
        """
        return self if over is None else super().merged(MemoryConfig.parse(over, at))

    @property
    def history_limit(self) -> int:
        """``last_messages`` as a number of messages: 0 when history is off."""
        return self.last_messages or 0


def _drop_observational(options: dict[str, Any], at: str) -> None:
    for key in ("observationalMemory", "observational_memory"):
        value = options.pop(key, None)
        if isinstance(value, Mapping):
            value = value.get("enabled", True)
        if value:
            raise NotConfigured(f"{join(at, key)}: observational memory is not offered")
