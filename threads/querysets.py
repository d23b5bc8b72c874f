"""Questions over many rows, each named after what it asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Self

from django.db import models
from django.db.models import Q

from threads.reach import Reach


class ResourceQuerySet(models.QuerySet):
    def within(self, reach: Reach) -> Self:
        """The resources that the caller's credentials reach."""
        return self.filter(reach.q("id"))

    def newest_first(self) -> Self:
        """By creation; ties by id, in the same direction."""
        return self.order_by("-created_at", "-id")


class ThreadQuerySet(models.QuerySet):
    def within(self, reach: Reach) -> Self:
        """The threads of resources that the caller's credentials reach."""
        return self.filter(reach.q("resource_id"))


class MessageQuerySet(models.QuerySet):
    def within(self, reach: Reach) -> Self:
        """The messages of resources that the caller's credentials reach."""
        return self.filter(reach.q("resource_id"))

    def in_order(self) -> Self:
        """Oldest first; ties in the order of insertion."""
        return self.order_by("created_at", "position")

    def matching(self, metadata: Mapping[str, Any]) -> Self:
        """The messages whose metadata holds these keys with exactly these values."""
        return self.filter(metadata__contains=dict(metadata)) if metadata else self

    def with_roles(self, roles: Sequence[str]) -> Self:
        """The messages of these roles."""
        return self.filter(role__in=roles)

    def between(
        self,
        start: datetime | None,
        end: datetime | None,
        *,
        start_exclusive: bool = False,
        end_exclusive: bool = False,
    ) -> Self:
        """The messages of a range of time; None leaves a side open."""
        return self.filter(
            in_range(
                "created_at",
                start,
                end,
                start_exclusive=start_exclusive,
                end_exclusive=end_exclusive,
            )
        )


def in_range(
    field: str,
    start: datetime | None,
    end: datetime | None,
    *,
    start_exclusive: bool,
    end_exclusive: bool,
) -> Q:
    """``field`` lies between two moments, which are included unless exclusive."""
    condition = Q()
    if start is not None:
        condition &= Q(**{f"{field}__{'gt' if start_exclusive else 'gte'}": start})
    if end is not None:
        condition &= Q(**{f"{field}__{'lt' if end_exclusive else 'lte'}": end})
    return condition
