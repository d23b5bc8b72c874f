"""Embeddings over the OpenAI protocol, which many servers speak."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from django.conf import settings

from recall.embedding.base import Embedder, EmbedderUnavailable, checked

# As documented by the provider. Other models tell theirs with the first answer.
KNOWN_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
# Seconds. A search would rather go on with words than wait longer than this.
QUERY_TIMEOUT = 5.0
BATCH_TIMEOUT = 60.0


class OpenAIEmbedder(Embedder):
    """``openai:<model>`` at ``OPENAI_BASE_URL``, by default the provider's own address.

    Also serves compatible endpoints (Ollama, vLLM, LiteLLM …). A vector longer than
    4,000 dimensions cannot be indexed.
    """

    max_tokens = 8000
    batch_size = 256

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
    ) -> None:
        self.name = f"openai:{model}"
        self.model = model
        self.dimensions = dimensions or KNOWN_DIMENSIONS.get(model)
        self._base_url = base_url
        self._api_key = api_key
        self._lock = threading.Lock()
        self._client: Any = None

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return self._embed(texts, BATCH_TIMEOUT)

    def embed_query(self, text: str) -> np.ndarray:
        return self._embed([text], QUERY_TIMEOUT)[0]

    def _embed(self, texts: Sequence[str], timeout: float) -> np.ndarray:
        import openai

        if not texts:
            return np.empty((0, self.dimensions or 0), dtype=np.float32)
        try:
            answer = self._connected().embeddings.create(
                model=self.model,
                input=list(texts),
                encoding_format="float",
                timeout=timeout,
            )
        except openai.OpenAIError as error:
            # The text of the error may hold parts of the key or of the messages.
            raise EmbedderUnavailable(
                f"{self.name} did not answer ({type(error).__name__})",
                permanent=isinstance(
                    error, openai.AuthenticationError | openai.PermissionDeniedError
                ),
            ) from error
        rows = sorted(answer.data or [], key=lambda row: row.index)
        vectors = checked(
            [row.embedding for row in rows],
            count=len(texts),
            dimensions=self.dimensions,
        )
        self.dimensions = vectors.shape[1]
        return vectors

    def _connected(self) -> Any:
        import openai

        with self._lock:
            if self._client is None:
                base_url = self._base_url or settings.OPENAI_BASE_URL or None
                key = self._api_key or settings.OPENAI_API_KEY
                if not key and base_url:
                    key = "none"  # Local servers ask for none, the client for any.
                if not key:
                    raise EmbedderUnavailable(
                        f"{self.name} needs OPENAI_API_KEY", permanent=True
                    )
                self._client = openai.OpenAI(
                    base_url=base_url, api_key=key, max_retries=0
                )
            return self._client
