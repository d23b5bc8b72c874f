"""Pieces of Studio's pages."""

from __future__ import annotations

from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString


def fragment(name: str, **context: Any) -> SafeString:
    """The piece that ``templates/studio/<name>.html`` makes, as HTML."""
    return render_to_string(f"studio/{name}.html", context)
