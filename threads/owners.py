"""Resources: the owners of conversations."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from threads.creating import ensure_resource
from threads.identifiers import now
from threads.models import Resource
from threads.reach import Reach
from threads.transactions import whole


def update_resource(
    resource_id: str, reach: Reach, *, metadata: dict[str, Any]
) -> Resource:
    """Merges metadata into a resource's, which is made when it is new."""

    def work() -> Resource:
        ensure_resource(resource_id)
        resource = (
            Resource.objects.within(reach)
            .select_for_update(no_key=True)
            .get(id=resource_id)
        )
        resource.metadata = {**resource.metadata, **metadata}
        resource.updated_at = max(
            now(), resource.updated_at + timedelta(milliseconds=1)
        )
        resource.save(force_update=True)
        return resource

    return whole(work)
