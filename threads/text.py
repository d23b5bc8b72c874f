"""Text that PostgreSQL can hold."""

from __future__ import annotations

import re
from typing import Any

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# NUL cannot be stored in text or jsonb; a lone half of a surrogate pair has no UTF-8.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(value: Any) -> Any:
    """``value`` with every character that PostgreSQL refuses replaced by U+FFFD.

    Takes text, or any nesting of dictionaries and lists with text in it; keys count as
    text too. Nothing else is altered: what needs no change is returned as the same
    object, so the common case costs one scan and no copy.
    """
    if isinstance(value, str):
        return _storable_text(value)
    if isinstance(value, dict):
        pairs = [(storable(key), storable(item)) for key, item in value.items()]
        unchanged = all(
            key is old_key and item is old_item
            for (key, item), (old_key, old_item) in zip(
                pairs, value.items(), strict=True
            )
        )
        return value if unchanged else dict(pairs)
    if isinstance(value, list | tuple):
        items = [storable(item) for item in value]
        unchanged = all(new is old for new, old in zip(items, value, strict=True))
        return value if unchanged else items
    return value


def _storable_text(text: str) -> str:
    # ASCII text holds no surrogate, and isascii() is a flag that need not be computed.
    if text.isascii() and "\x00" not in text:
        return text
    return _UNSTORABLE.sub(REPLACEMENT, text) if _UNSTORABLE.search(text) else text
