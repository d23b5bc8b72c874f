"""What the pages of the admin have in common: looking, and changing through Memory alone.

Content is shown and not edited, lists cost a bounded number of rows whatever the size of
the table, and what a model or a program wrote is escaped wherever it appears.
"""

from __future__ import annotations

import json
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin

# Rows that a list counts and pages through; a search narrows what is beyond.
MAX_COUNTED = 5_000
# Characters of a JSON value that a page shows.
MAX_JSON = 32_768
# Rows of another table that a page shows beside its own.
MAX_RELATED = 20


# The admin's look shows links as plain text.
_LINK = '<a href="{}" style="text-decoration: underline">{}</a>'


class CappedPaginator(Paginator):
    """Counts no further than ``MAX_COUNTED``, for a full count reads the whole table."""

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        if isinstance(rows, QuerySet):
            return rows.order_by()[:MAX_COUNTED].count()
        return len(rows)


class InspectionAdmin(ModelAdmin):
    """A list and pages of rows that nobody adds or edits by hand."""

    show_full_result_count = False
    paginator = CappedPaginator
    list_per_page = 50
    list_max_show_all = 200
    # A filter is applied at once; it is not another reason to count.
    show_facets = ModelAdmin.show_facets.NEVER

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        return False

    def has_delete_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        return False


def json_block(value: Any) -> SafeString:
    """A JSON value, indented, with sorted keys, cut where it is very long."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, default=str)
    return text_block(text)


def text_block(text: str) -> SafeString:
    """Text as it is stored, in its lines."""
    rest = len(text) - MAX_JSON
    more = f"\n… {rest} more characters" if rest > 0 else ""
    return format_html(
        '<pre dir="auto" style="white-space: pre-wrap; overflow-wrap: anywhere; '
        'max-height: 32rem; overflow: auto; margin: 0">{}{}</pre>',
        text[:MAX_JSON],
        more,
    )


def link_to(model: type[Model], pk: Any, words: Any = None) -> SafeString | str:
    """A link to the page of one row; a dash without one."""
    if not pk:
        return "–"
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
    return format_html(_LINK, reverse(name, args=[pk]), words or pk)


def list_link(model: type[Model], words: str, **filters: Any) -> SafeString:
    """A link to the list of rows with these values."""
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
    return format_html(_LINK, f"{reverse(name)}?{urlencode(filters)}", words)


def lines(rows: list[tuple[Any, ...]], pattern: str, none: str) -> SafeString | str:
    """Rows below each other, each by a pattern of :func:`format_html`."""
    return format_html_join("", f"<div>{pattern}</div>", rows) if rows else none


def shortened(text: str, length: int = 80) -> str:
    """The beginning of a text on one line."""
    words = " ".join(text.split())
    return words if len(words) <= length else f"{words[: length - 1]}…"
