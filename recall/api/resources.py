"""Resources over HTTP: the owners of conversations."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from recall.api import inputs
from recall.api.base import MemoryViewSet
from recall.api.schema import describe
from recall.memory import Memory
from threads.api.encoding import JsonReply
from threads.api.serializers import resource_json


class ResourceViewSet(MemoryViewSet):
    """The resources that the caller reaches."""

    @describe("resources_list", inputs.ResourceListQuery)
    def list(self, request: Request) -> HttpResponse:
        """A page of resources, newest first."""
        query = self.read_query(inputs.ResourceListQuery)
        page = self._memory().list_resources(
            page=query["page"], per_page=query["perPage"]
        )
        return JsonReply(
            {
                "resources": [resource_json(resource) for resource in page.resources],
                "total": page.total,
                "page": page.page,
                "perPage": page.per_page,
                "hasMore": page.has_more,
            }
        )

    @describe("resources_retrieve")
    def retrieve(self, request: Request, resource_id: str) -> HttpResponse:
        """One resource."""
        return JsonReply(resource_json(self.resource(self._memory(), resource_id)))

    @describe("resources_update", None, inputs.UpdateResource)
    def partial_update(self, request: Request, resource_id: str) -> HttpResponse:
        """Merges metadata."""
        body = self.read_body(inputs.UpdateResource)
        memory = self._memory()
        self.resource(memory, resource_id)
        resource = memory.update_resource(resource_id, metadata=body["metadata"])
        return JsonReply(resource_json(resource))

    @describe("resources_delete")
    def destroy(self, request: Request, resource_id: str) -> HttpResponse:
        """Deletes the resource with all its threads, messages and notes."""
        memory = self._memory()
        self.resource(memory, resource_id)
        memory.delete_resource(resource_id)
        return JsonReply({"result": "Resource deleted"})

    def _memory(self) -> Memory:
        return Memory(reach=self.reach)
