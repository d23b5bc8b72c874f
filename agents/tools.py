"""Tools: Python functions with typed arguments that a model may call.

A tool's arguments are validated against its signature. Whatever goes wrong in a tool
becomes the result that the model sees, never the end of the turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from pydantic import ValidationError
from pydantic_ai._run_context import RunContext
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import Tool, ToolDefinition
from pydantic_ai.usage import RunUsage
from pydantic_core import to_jsonable_python

from recall.config import MemoryConfig
from recall.memory import Memory
from threads.errors import InvalidInput, MemoryFault

UPDATE_WORKING_MEMORY = "updateWorkingMemory"


def as_tool(function: Callable[..., Any] | Tool[Any]) -> Tool[Any]:
    """A function as a tool, named and described by the function itself."""
    return function if isinstance(function, Tool) else Tool(function)


class ToolFailure(Exception):
    """A tool could not do it. The text is for the model, and safe to show."""


async def call_tool(tool: Tool[Any], args: dict[str, Any], deps: Any = None) -> Any:
    """Calls a tool with the model's arguments; returns a result fit for JSON.

    A plain function runs in a thread. Raises ToolFailure for wrong arguments, for
    whatever the function raises, and when it takes longer than ``TOOL_TIMEOUT``.
    """
    schema = tool.function_schema
    context: RunContext[Any] = RunContext(
        deps=deps, model=TestModel(), usage=RunUsage(), tool_name=tool.name
    )
    try:
        valid = schema.validator.validate_python(args)
        async with asyncio.timeout(settings.MEMORY.get("TOOL_TIMEOUT", 60.0)):
            result = await schema.call(valid, context)
        return to_jsonable_python(result, fallback=str)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}"
            for e in error.errors(include_url=False)
        )
        raise ToolFailure(f"Wrong arguments: {wrong}") from error
    except TimeoutError as error:
        raise ToolFailure(f"{tool.name} took too long") from error
    except (MemoryFault, ModelRetry) as error:
        raise ToolFailure(str(error)) from error
    except Exception as error:
        raise ToolFailure(f"{type(error).__name__}: {error}"[:2000]) from error


@dataclass(frozen=True)
class ClientTool:
    """A tool that the caller executes: the model's call ends the turn."""

    name: str
    description: str
    schema: dict[str, Any]

    @property
    def definition(self) -> ToolDefinition:
        return ToolDefinition(
            name=self.name,
            description=self.description,
            parameters_json_schema=self.schema,
        )


def client_tools(given: Any) -> dict[str, ClientTool]:
    """The tools that a request brings: ``{name: {description, inputSchema}}``."""
    if given in (None, {}):
        return {}
    if not isinstance(given, dict):
        raise InvalidInput.of("clientTools", "must be an object")
    tools = {}
    for key, value in given.items():
        if not isinstance(value, dict):
            raise InvalidInput.of(f"clientTools.{key}", "must be an object")
        name = value.get("id") or key
        schema = value.get("inputSchema") or value.get("parameters")
        if isinstance(schema, dict) and isinstance(schema.get("jsonSchema"), dict):
            schema = schema["jsonSchema"]
        if not isinstance(schema, dict) or schema.get("type", "object") != "object":
            schema = {"type": "object", "properties": {}}
        tools[key] = ClientTool(key, str(value.get("description") or name), schema)
    return tools


def working_memory_tool(
    config: MemoryConfig, *, thread_id: str, resource_id: str, message_id: str
) -> Tool[Any] | None:
    """The tool by which a model keeps its notes; None when it may not write any."""
    notes = config.working_memory
    if not notes.enabled or config.read_only:
        return None

    memory = Memory(config, author="model")

    async def save(**given: Any) -> str:
        value = given.get("memory", given)
        if notes.schema:
            change = {"merge": value}
        elif isinstance(value, str):
            change = {"value": value}
        else:
            raise InvalidInput.of("memory", "must be string")
        await memory.aupdate_working_memory(
            thread_id=thread_id,
            resource_id=resource_id,
            message_id=message_id,
            **change,
        )
        return "saved"

    if notes.schema:
        described = (
            "Update what is remembered about the user. Give only the fields that "
            "change; null removes a field; arrays are replaced."
        )
        memory_schema: dict[str, Any] = {**notes.schema, "required": []}
    else:
        described = (
            "Replace what is remembered about the user with this whole text, "
            "in the form of the template. Keep what is still true."
        )
        memory_schema = {"type": "string"}
    return Tool.from_schema(
        save,
        name=UPDATE_WORKING_MEMORY,
        description=described,
        json_schema={
            "type": "object",
            "properties": {"memory": memory_schema},
            "required": ["memory"],
        },
    )
