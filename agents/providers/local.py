"""The small local model: a demonstration that runs on this machine alone."""

from __future__ import annotations

import os

# Name, as in ``local:smollm2``, to what a person is told about it.
LOCAL_MODELS = {
    "smollm2": "SmolLM2-135M-Instruct, a demonstration: tiny, quick, often wrong"
}


def local_server_url() -> str:
    """Where ``make local-model`` serves, in the OpenAI protocol, on loopback."""
    return os.environ.get("LOCAL_MODEL_URL", "http://127.0.0.1:8011/v1")
