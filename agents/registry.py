"""The agents of this installation, found in the ``agents.py`` of every installed app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.module_loading import autodiscover_modules

from recall.profiles import Profile
from threads.errors import NotFound

if TYPE_CHECKING:
    from agents.agent import Agent

_agents: dict[str, Agent] = {}


class AgentNotFound(NotFound):
    def __init__(self, agent_id: str) -> None:
        super().__init__(f"Agent with id {agent_id} not found")
        self.agent_id = agent_id


def register(agent: Agent) -> Agent:
    """Makes an agent known under its id; the last one of an id counts."""
    _agents[agent.id] = agent
    return agent


def unregister(agent_id: str) -> None:
    _agents.pop(agent_id, None)


def autodiscover() -> None:
    """Imports the ``agents`` module of every installed app."""
    autodiscover_modules("agents")


def get_agent_by_id(agent_id: str) -> Agent:
    """The agent; raises AgentNotFound."""
    try:
        return _agents[agent_id]
    except KeyError:
        raise AgentNotFound(agent_id) from None


def is_known(agent_id: str) -> bool:
    return agent_id in _agents


def list_agents() -> list[Agent]:
    """All agents, in the order in which they were registered."""
    return list(_agents.values())


def profile_of(agent_id: str) -> Profile | None:
    """What an agent remembers with, for ``agentId`` on the wire."""
    agent = _agents.get(agent_id)
    if agent is None:
        return None
    memory = agent.get_memory()
    return Profile(agent_id, memory.config if memory is not None else None)
