"""What every embedder offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

# Version of how a message's text becomes what an embedder reads: the text itself,
# surrounding white space removed, split where it is longer than the model reads.
# A change of it makes every space stale, as a change of the model does.
PREPARATION = 1


class EmbedderUnavailable(Exception):
    """The embedder cannot answer now: not installed, unreachable, refused, damaged.

    ``permanent`` says that trying again soon is of no use.
    """

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


class BadVector(Exception):
    """An embedder answered with vectors that must not be stored."""


class Embedder(ABC):
    """Turns texts into vectors whose cosine tells how alike the texts are in meaning.

    ``name`` identifies the model and is kept with every vector: two embedders of the
    same name give comparable vectors. ``dimensions`` is the length of a vector, None
    while the model has not told it. ``max_tokens`` is the most that the model reads of
    one text; ``batch_size`` the most texts that it is given at once.

    Both methods return float32 arrays, one row for a text, each of length 1. They raise
    :class:`EmbedderUnavailable` when the model cannot answer and :class:`BadVector`
    when its answer has the wrong shape or holds anything but finite numbers. They may
    be called from any thread. Making an embedder costs nothing: models are loaded at
    the first call, once for a process.
    """

    name: str
    dimensions: int | None
    max_tokens: int
    batch_size: int = 128

    @abstractmethod
    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of stored texts: ``(len(texts), dimensions)``."""

    def embed_query(self, text: str) -> np.ndarray:
        """The vector of a search text: ``(dimensions,)``."""
        return self.embed_documents([text])[0]

    def count_tokens(self, text: str) -> int:
        """Tokens of ``text`` as the model counts them, or a safe estimate from above."""
        return max(1, len(text.encode("utf-8", "replace")) // 3)


def checked(vectors: object, *, count: int, dimensions: int | None) -> np.ndarray:
    """``vectors`` as a float32 array with rows of length 1, or :class:`BadVector`.

    A zero vector is refused too: it is like nothing, and no model means it.
    """
    try:
        array = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise BadVector("the answer is not a table of numbers") from error
    if array.ndim != 2 or array.shape[0] != count:
        raise BadVector(f"{count} vectors were expected, shape {array.shape} came")
    if dimensions is not None and array.shape[1] != dimensions:
        raise BadVector(
            f"vectors of {dimensions} dimensions were expected, {array.shape[1]} came"
        )
    if not np.isfinite(array).all():
        raise BadVector("a vector holds NaN or infinity")
    norms = np.linalg.norm(array, axis=1, keepdims=True)
    if not (norms > 1e-12).all():
        raise BadVector("a vector is zero")
    return array / norms
