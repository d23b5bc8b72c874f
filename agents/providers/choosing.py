"""Which language model answers, by name.

``openai:…``, ``anthropic:…``, ``google:…`` and the other names of pydantic-ai reach their
providers with the key in the environment. With ``OPENAI_BASE_URL`` set, ``openai:…``
speaks the chat-completions protocol to that server, as Ollama, vLLM and llama.cpp do.
``local:smollm2`` is the demonstration model of ``make local-model``; ``offline`` is built
in and is no language model.
"""

from __future__ import annotations

import asyncio
import os
import weakref

from django.conf import settings
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model

from agents.providers.local import LOCAL_MODELS, local_server_url
from agents.providers.offline import OFFLINE, offline_model
from threads.errors import NotConfigured

# What is chosen when a key is there and MEMORY_MODEL says nothing.
_BY_KEY = (
    (("OPENAI_API_KEY",), "openai:gpt-5-mini"),
    (("ANTHROPIC_API_KEY",), "anthropic:claude-haiku-4-5"),
    (("GOOGLE_API_KEY", "GEMINI_API_KEY"), "google:gemini-2.5-flash"),
)

# HTTP clients belong to the event loop that made them.
_models: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Model]] = (
    weakref.WeakKeyDictionary()
)


def configured_model_name() -> str:
    """The model of agents that name none: MEMORY_MODEL, else by key, else offline."""
    if settings.MEMORY_MODEL:
        return settings.MEMORY_MODEL
    if settings.OPENAI_BASE_URL:
        return "openai:default"
    for variables, name in _BY_KEY:
        if any(os.environ.get(variable) for variable in variables):
            return name
    return OFFLINE


def takes_tools(given: str | Model | None) -> bool:
    """Whether tools are offered: not to ``offline``, nor to the tiny local models."""
    name = given or configured_model_name()
    return not (isinstance(name, str) and name.startswith((OFFLINE, "local:")))


def chosen_model(given: str | Model | None) -> Model:
    """The model for an agent's ``model``; needs a running event loop.

    Raises NotConfigured for an unknown name and for a provider without its key.
    """
    if isinstance(given, Model):
        return given
    name = given or configured_model_name()
    if name == OFFLINE:
        return offline_model()
    models = _models.setdefault(asyncio.get_running_loop(), {})
    if name not in models:
        models[name] = _made(name)
    return models[name]


def _made(name: str) -> Model:
    provider, _, model = name.partition(":")
    if provider == "local":
        if model not in LOCAL_MODELS:
            known = ", ".join(f"local:{m}" for m in LOCAL_MODELS)
            raise NotConfigured(f"Unknown model {name}; known are {known}")
        return _chat_completions(model, local_server_url(), "local")
    if provider in ("openai", "openai-chat") and settings.OPENAI_BASE_URL:
        return _chat_completions(
            model, settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY or "none"
        )
    try:
        return infer_model(name)
    except (UserError, ValueError, ImportError) as error:
        raise NotConfigured(
            f"The model {name} cannot be used: {str(error).splitlines()[0]}"
        ) from error


def _chat_completions(model: str, url: str, key: str) -> Model:
    # The client takes longer to import than all the rest, and most processes use none.
    from agents.providers.chat_completions import chat_completions_model

    return chat_completions_model(model, url, key)
