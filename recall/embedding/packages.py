"""Model files that are installed as Python packages, and their check on load."""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path

from recall.embedding.base import EmbedderUnavailable


def verified_file(distribution: str, path: str, sha256: str) -> Path:
    """The file of an installed distribution, after its hash has been compared.

    The hash pins the numbers that a model computes: with another file, new vectors
    would not be comparable with those stored under the same name.
    """
    try:
        found = Path(str(metadata.distribution(distribution).locate_file(path)))
    except metadata.PackageNotFoundError as error:
        raise EmbedderUnavailable(
            f"the package {distribution} is not installed", permanent=True
        ) from error
    if not found.is_file():
        raise EmbedderUnavailable(f"{distribution} has no {path}", permanent=True)
    with found.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != sha256:
        raise EmbedderUnavailable(
            f"{path} of {distribution} is not the expected file", permanent=True
        )
    return found
