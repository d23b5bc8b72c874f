"""An agent: a language model with instructions, tools and a memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic_ai.models import Model
from pydantic_ai.tools import Tool

from agents import generation
from agents.tools import as_tool
from recall.config import MemoryConfig
from recall.memory import Memory
from threads.errors import InvalidInput
from threads.reach import Reach


class Agent:
    """Who answers.

    ``id``            as callers name it, unique in the installation
    ``instructions``  the system prompt: text, or a function of the request's context
    ``model``         name such as ``openai:gpt-5-mini``, a pydantic-ai model, or None for
                      the model that the installation is configured to use
    ``memory``        :class:`~recall.config.MemoryConfig`, a dictionary for one, or None
                      for an agent that remembers nothing
    ``tools``         functions with typed arguments, or pydantic-ai tools
    ``max_steps``     requests to the model in one turn, tool calls included

    Agents are made once, in the ``agents.py`` of an installed app, and found there.
    """

    def __init__(
        self,
        id: str,
        name: str = "",
        *,
        instructions: str | Callable[[dict[str, Any]], str] = "",
        model: str | Model | None = None,
        memory: MemoryConfig | dict[str, Any] | bool | None = True,
        tools: Sequence[Callable[..., Any] | Tool[Any]] = (),
        description: str = "",
        max_steps: int = 10,
        model_settings: dict[str, Any] | None = None,
    ) -> None:
        if not id:
            raise InvalidInput.of("id", "must not be empty")
        self.id = id
        self.name = name or id
        self.description = description
        self.model = model
        self.max_steps = max_steps
        self.model_settings = model_settings or {}
        self._instructions = instructions
        self._memory: MemoryConfig | None = None
        if memory is not None and memory is not False:
            given = MemoryConfig.parse(None if memory is True else memory, "memory")
            self._memory = MemoryConfig.from_settings().merged(given)
        tools = [as_tool(tool) for tool in tools]
        self.tools: dict[str, Tool[Any]] = {tool.name: tool for tool in tools}
        if len(self.tools) < len(tools):
            raise InvalidInput.of("tools", "two tools have the same name")

    def __repr__(self) -> str:
        return f"<Agent {self.id}>"

    def instructions(self, request_context: dict[str, Any] | None = None) -> str:
        """The system prompt for a request."""
        if callable(self._instructions):
            return self._instructions(request_context or {})
        return self._instructions

    @property
    def has_memory(self) -> bool:
        return self._memory is not None

    def get_memory(self, *, reach: Reach | None = None) -> Memory | None:
        """The memory of this agent within ``reach``; None when it has none."""
        if self._memory is None:
            return None
        return Memory(self._memory, reach=reach or Reach.all())

    async def generate(self, messages: Any, **options: Any) -> Any:
        """Answers, and returns the whole :class:`~agents.generation.Generation`.

        ``messages`` is text, a message or a list of messages. ``memory`` names
        ``{"thread": id or {id, title, metadata}, "resource": id}``; both are made when
        missing. See :func:`agents.turn.start_run` for the other options.
        """
        return await generation.generate(self, messages, **options)

    def stream(self, messages: Any, **options: Any) -> Any:
        """Answers piece by piece: an asynchronous iterator of the run's events."""
        return generation.stream(self, messages, **options)
