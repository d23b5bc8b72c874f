"""Filters of lists beside what the wire contract has: archived, and moments."""

from __future__ import annotations

from typing import Any

import django_filters as filters
from django import forms
from rest_framework.request import Request

from threads.api.errors import invalid_query
from threads.api.query import may_give
from threads.errors import Issue
from threads.models import Thread

WORDS = [("true", "archived only"), ("false", "active only")]


class ThreadFilterSet(filters.FilterSet):
    """``?archived=true&createdAfter=2024-01-01T00:00:00Z`` on lists of threads.

    The moments include themselves. Its cleaned values are handed to the operation,
    which alone builds the query.
    """

    archived = filters.ChoiceFilter(field_name="archived_at", choices=WORDS)
    createdAfter = filters.IsoDateTimeFilter(field_name="created_at")
    createdBefore = filters.IsoDateTimeFilter(field_name="created_at")
    updatedAfter = filters.IsoDateTimeFilter(field_name="updated_at")
    updatedBefore = filters.IsoDateTimeFilter(field_name="updated_at")

    class Meta:
        model = Thread
        fields: list[str] = []

    def narrowing(self) -> dict[str, Any]:
        """The filter for ``Memory.list_threads``; raises InvalidInput for bad values."""
        form: forms.Form = self.form
        if not form.is_valid():
            raise invalid_query(
                *(
                    Issue(name, str(message))
                    for name, messages in form.errors.items()
                    for message in messages
                )
            )
        values = form.cleaned_data
        narrowing: dict[str, Any] = {}
        if values["archived"]:
            narrowing["archived"] = values["archived"] == "true"
        for ours, theirs in (("created", "created"), ("updated", "updated")):
            sides = {
                "start": values[f"{theirs}After"],
                "end": values[f"{theirs}Before"],
            }
            given = {side: moment for side, moment in sides.items() if moment}
            if given:
                narrowing[ours] = given
        return narrowing


def thread_narrowing(request: Request) -> dict[str, Any]:
    """The part of a thread filter that is given in the filter set's parameters."""
    if not may_give(request._request, *ThreadFilterSet.base_filters):
        return {}
    given = request._request.GET
    if not any(name in given for name in ThreadFilterSet.base_filters):
        return {}
    # A plus sign that was not encoded arrives as a space.
    data = {name: value.replace(" ", "+") for name, value in given.items()}
    return ThreadFilterSet(data, queryset=Thread.objects.none()).narrowing()
