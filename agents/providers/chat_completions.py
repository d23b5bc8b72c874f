"""Models behind any server that speaks OpenAI's chat-completions protocol."""

from __future__ import annotations

from django.conf import settings
from openai import AsyncOpenAI
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider


def chat_completions_model(model: str, url: str, key: str) -> Model:
    """The model of this name at the server whose address is ``url``."""
    client = AsyncOpenAI(
        base_url=url,
        api_key=key,
        timeout=settings.MEMORY.get("MODEL_FIRST_TOKEN_TIMEOUT", 60.0),
        # A refusal that says when to come back is tried again by the turn itself.
        max_retries=0,
    )
    # A stream that ends without saying why was cut off.
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    provider = OpenAIProvider(openai_client=client)
    return OpenAIChatModel(model, provider=provider, profile=profile)
