"""What agents add to the routes of a thread: preview, titles, versions."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from agents import turn, versions
from agents.agent import Agent
from agents.api.replies import run_json
from agents.api.requests import turn_order
from agents.api.routing import route
from agents.api.views import thread_within
from agents.prompt import assemble
from agents.providers.failures import described
from agents.registry import get_agent_by_id
from agents.titles import suggest_title
from recall.asynchronous import in_database_thread
from recall.config import GenerateTitle
from threads.access import Caller
from threads.api.encoding import JsonReply
from threads.api.errors import invalid_body
from threads.api.parsing import json_body, json_object
from threads.api.serializers import message_json, thread_json
from threads.api.wire_names import in_camel_case
from threads.errors import Issue, MemoryFault


class ModelUnavailable(MemoryFault):
    """The model did not do it; trying again may help."""

    status = 424


@route("POST")
async def context(request: HttpRequest, caller: Caller, thread_id: str) -> HttpResponse:
    """What the model would be shown if this were sent now. Changes nothing."""
    body = json_object(request)
    if "messages" not in body:
        text = body.get("message", body.get("text", ""))
        body = body | {"messages": text if text else []}
    agent = _agent(request, body)
    thread = await in_database_thread(thread_within, thread_id, caller)
    memory = {"thread": thread_id, "resource": thread.resource_id}
    given = body.get("memory")
    options = given.get("options") if isinstance(given, dict) else None
    order = turn_order(
        request, body | {"memory": memory | {"options": options}}, caller
    )

    def work() -> dict[str, Any]:
        options = order.options.with_(system=_system(order))
        drafts = [m for m in order.drafts() if m.role != "system"][-1:]
        assembled = assemble(
            agent,
            agent.get_memory(reach=caller.reach),
            options,
            thread_id=thread.id,
            resource_id=thread.resource_id,
            messages=drafts,
        )
        return in_camel_case(assembled.as_json())

    return JsonReply(await in_database_thread(work))


def _system(order: Any) -> str:
    return "\n\n".join(filter(None, [order.options.system, order.system_text()]))


def _agent(request: HttpRequest, body: Any) -> Agent:
    given = request.GET.get("agentId")
    if given is None and isinstance(body, dict):
        given = body.get("agentId")
    if given is None:
        given = settings.MEMORY.get("CHAT_AGENT", "assistant")
    if not isinstance(given, str):
        raise invalid_body(Issue("agentId", "must be text"))
    return get_agent_by_id(given)


@route("POST")
async def title(request: HttpRequest, caller: Caller, thread_id: str) -> HttpResponse:
    """A title for the thread, saved nowhere."""
    body = json_body(request)
    agent = _agent(request, body)
    thread = await in_database_thread(thread_within, thread_id, caller)
    memory = agent.get_memory()
    options = memory.config.generate_title if memory is not None else None
    if not isinstance(options, GenerateTitle):
        options = GenerateTitle()
    try:
        suggested = await in_database_thread(suggest_title, agent, options, thread.id)
    except MemoryFault:
        raise
    except Exception as error:
        raise ModelUnavailable(described(error).message) from error
    return JsonReply({"title": suggested})


@route("POST")
async def edit(
    request: HttpRequest, caller: Caller, thread_id: str, message_id: str
) -> HttpResponse:
    """Sends a message in another wording, as a new version of the thread."""
    body = json_object(request)
    content = body.get("content", body.get("text"))
    if not content:
        raise invalid_body(Issue("content", "is required"))
    agent = _agent(request, body)
    await in_database_thread(thread_within, thread_id, caller)
    version = await in_database_thread(
        versions.version_before, agent, caller.reach, thread_id, message_id
    )
    order = versions.edited(version, content, message_id)
    return await _answered(agent, order, caller, version)


@route("POST")
async def regenerate(
    request: HttpRequest, caller: Caller, thread_id: str, message_id: str
) -> HttpResponse:
    """Answers again: beside the thread's last reply, else in a new version."""
    body = json_body(request) or {}
    agent = _agent(request, body)
    await in_database_thread(thread_within, thread_id, caller)
    version, order = await in_database_thread(
        versions.regenerated, agent, caller.reach, thread_id, message_id
    )
    return await _answered(agent, order, caller, version)


async def _answered(agent: Agent, order: Any, caller: Caller, version: Any) -> Any:
    started = await turn.start_run(agent, order, reach=caller.reach)
    asked = started.user_message
    return JsonReply(
        {
            "thread": thread_json(version),
            "run": run_json(started.run),
            "message": message_json(asked) if asked is not None else None,
        }
    )
