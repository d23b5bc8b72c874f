"""An embedder without a model, for tests: the same words give the same vector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recall.embedding.base import Embedder, checked
from recall.semantic.lexical import document_terms, term_hash


class HashingEmbedder(Embedder):
    """Texts that share words are near each other, by feature hashing.

    Each term adds +1 or -1 to eight places chosen by its hash (Weinberger et al. 2009).
    Deterministic on every machine. It knows no meaning beyond equal words.
    """

    def __init__(self, dimensions: int = 256) -> None:
        self.name = f"hashing:{dimensions}"
        self.dimensions: int = dimensions
        self.max_tokens = 8192

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            terms = document_terms(text).terms or {term_hash(text): 1}
            for term, count in terms.items():
                state = term or 1
                for _ in range(8):
                    # xorshift32, Marsaglia 2003
                    state ^= state << 13 & 0xFFFFFFFF
                    state ^= state >> 17
                    state ^= state << 5 & 0xFFFFFFFF
                    sign = 1 if state & 0x10000 else -1
                    row[state % self.dimensions] += sign * count
            if not row.any():
                row[0] = 1
        return checked(vectors, count=len(texts), dimensions=self.dimensions)
