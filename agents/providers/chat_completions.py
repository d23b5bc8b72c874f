"""Models behind any server that speaks OpenAI's chat-completions protocol."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from django.conf import settings
from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from openai.types.chat import ChatCompletionChunk
from pydantic_ai.messages import FinishReason
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse
from pydantic_ai.providers.openai import OpenAIProvider

from agents.providers.failures import StreamCut, Unreadable

# The line that ends a stream, which no text of the model can forge: JSON has no line ends.
_DONE = re.compile(rb"(?:^|[\r\n])data: ?\[DONE\]")
_SEEN_DONE = "stream_done"


def chat_completions_model(model: str, url: str, key: str) -> Model:
    """The model of this name at the server whose address is ``url``."""
    client = AsyncOpenAI(
        base_url=url,
        api_key=key,
        timeout=settings.MEMORY.get("MODEL_FIRST_TOKEN_TIMEOUT", 60.0),
        # A refusal that says when to come back is tried again by the turn itself.
        max_retries=0,
        http_client=DefaultAsyncHttpxClient(event_hooks={"response": [_watch]}),
    )
    return ChatCompletionsModel(model, provider=OpenAIProvider(openai_client=client))


class ChatCompletionsModel(OpenAIChatModel):
    """A model whose streams are read strictly where a reader would be misled."""

    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return _Streamed


class _Streamed(OpenAIStreamedResponse):
    async def _validate_response(self) -> AsyncIterator[ChatCompletionChunk]:
        async for chunk in self._response:
            yield _first_choice(chunk)

    def _map_finish_reason(self, key: Any) -> FinishReason | None:
        # One that nobody knows is no sign of a fault; speaking calls it "other".
        return super()._map_finish_reason(key) if isinstance(key, str) else None

    def _missing_finish_reason(self) -> FinishReason:
        """``stop`` for a stream that said that it was done, else it was cut off."""
        if not self._response.source.response.extensions.get(_SEEN_DONE):
            raise StreamCut
        return "stop"


def _first_choice(chunk: Any) -> ChatCompletionChunk:
    """The chunk with the one choice that is asked for; a refusal is its text.

    Raises Unreadable for what is no chunk at all.
    """
    if not isinstance(chunk, ChatCompletionChunk):
        raise Unreadable
    choices: Any = chunk.choices or []
    if not isinstance(choices, list):
        raise Unreadable
    chunk.choices = [c for c in choices if not getattr(c, "index", 0)]
    for choice in chunk.choices:
        delta = choice.delta
        if delta is not None and isinstance(delta.refusal, str) and delta.refusal:
            delta.content = (delta.content or "") + delta.refusal
            delta.refusal = None
    return chunk


class _WatchedStream(httpx2.AsyncByteStream):
    """A body that notes in ``extensions`` that the closing line has come."""

    def __init__(self, stream: Any, extensions: dict[str, Any]) -> None:
        self._stream = stream
        self._extensions = extensions

    async def __aiter__(self) -> AsyncIterator[bytes]:
        tail = b""
        async for data in self._stream:
            tail += data
            if _DONE.search(tail):
                self._extensions[_SEEN_DONE] = True
            tail = tail[-16:] if len(tail) > 16 else tail
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _watch(response: httpx2.Response) -> None:
    response.stream = _WatchedStream(response.stream, response.extensions)
