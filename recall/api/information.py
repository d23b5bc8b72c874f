"""What a memory can do: status and configuration. Observational memory is not offered."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from recall.api import inputs
from recall.api.base import MemoryViewSet
from recall.api.schema import describe
from recall.config import MemoryConfig, MessageRange
from recall.notes import DEFAULT_TEMPLATE
from recall.profiles import profile_named
from threads.api.encoding import JsonReply
from threads.errors import NotConfigured

NO_OBSERVATION = "Observational Memory is not enabled for this agent"


class InformationViewSet(MemoryViewSet):
    """Facts about an agent's memory."""

    @describe("status_retrieve", inputs.StatusQuery)
    def status(self, request: Request) -> HttpResponse:
        """Whether the agent has a memory. An unknown agent has the plain storage."""
        name = self.read_query(inputs.StatusQuery)["agentId"]
        profile = profile_named(name)
        if profile is None:
            return JsonReply({"result": True})
        if profile.config is None:
            return JsonReply({"result": False})
        return JsonReply({"result": True, "memoryType": "local"})

    @describe("config_retrieve", inputs.RequiredAgentQuery)
    def config(self, request: Request) -> HttpResponse:
        """The agent's memory configuration; null without one."""
        profile = profile_named(self.read_query(inputs.RequiredAgentQuery)["agentId"])
        if profile is None or profile.config is None:
            return JsonReply({"config": None})
        return JsonReply({"config": config_json(MemoryConfig.parse(profile.config))})

    @describe("observational_memory_retrieve", inputs.StatusQuery)
    def observational_memory(self, request: Request) -> HttpResponse:
        """Always refused: this server keeps no observational memory."""
        raise NotConfigured(NO_OBSERVATION)

    @describe("observational_memory_buffer_status")
    def buffer_status(self, request: Request) -> HttpResponse:
        """Always refused: this server keeps no observational memory."""
        raise NotConfigured(NO_OBSERVATION)


def config_json(config: MemoryConfig) -> dict[str, Any]:
    """A memory configuration as the wire shows it."""
    semantic, working = config.semantic_recall, config.working_memory
    notes: dict[str, Any] = {
        "enabled": working.enabled,
        "template": working.template or DEFAULT_TEMPLATE,
    }
    if "scope" in working.given:
        notes["scope"] = working.scope
    if working.schema is not None:
        notes["schema"] = working.schema
    return {
        "lastMessages": config.last_messages,
        "semanticRecall": semantic
        and {
            "topK": semantic.top_k,
            "messageRange": range_json(semantic.message_range),
            "scope": semantic.scope,
        }
        or False,
        "generateTitle": config.generate_title is not None,
        "workingMemory": notes,
        "observationalMemory": {"enabled": False},
    }


def range_json(neighbours: MessageRange) -> int | dict[str, int]:
    """One number where both sides are equal."""
    if neighbours.before == neighbours.after:
        return neighbours.before
    return {"before": neighbours.before, "after": neighbours.after}
