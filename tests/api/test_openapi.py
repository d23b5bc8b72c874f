"""The OpenAPI document: complete, with examples, and the committed one."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from django.conf import settings
from django.urls import reverse

from threads.api.openapi import document
from threads.api.serializers import (
    MessageSerializer,
    ResourceSerializer,
    ThreadSerializer,
    message_json,
    resource_json,
    thread_json,
)
from threads.identifiers import now
from threads.management.commands.openapi import SNAPSHOT, readable
from threads.models import Message, Resource, Thread

OPERATIONS = [
    (path, method, operation)
    for path, methods in json.loads(document())["paths"].items()
    for method, operation in methods.items()
]


def test_the_committed_document_is_the_present_one():
    """After a change of the API: ``python manage.py openapi``."""
    committed = (Path(settings.BASE_DIR) / SNAPSHOT).read_text()
    assert committed == readable(document())


def test_the_document_is_served_as_openapi_3_1(client):
    reply = client.get("/api/openapi.json")
    assert reply.status_code == 200
    assert reply.json()["openapi"].startswith("3.1")


def test_the_page_brings_its_own_files_and_no_inline_script(client):
    page = client.get("/api/docs").content.decode()
    assert "//cdn" not in page
    assert "https://" not in page
    assert 'src="/api/docs?script="' in page
    script = client.get("/api/docs?script=").content.decode()
    assert reverse("openapi") in script


@pytest.mark.parametrize(
    ("path", "method", "operation"),
    OPERATIONS,
    ids=[f"{method} {path}" for path, method, _ in OPERATIONS],
)
def test_each_operation_has_words_and_an_example(path, method, operation):
    assert operation["summary"]
    assert operation["operationId"]
    if "observational" in path:
        return
    content = operation["responses"]["200"]["content"]
    assert all("examples" in media or "example" in media for media in content.values())


@pytest.mark.parametrize(
    ("row", "build", "serializer"),
    [
        (
            Thread(id="t", resource_id="r", metadata={"a": 1}, archived_at=now()),
            thread_json,
            ThreadSerializer,
        ),
        (
            Message(id="m", thread_id="t", resource_id="r", content={}, type="text"),
            message_json,
            MessageSerializer,
        ),
        (Resource(id="r"), resource_json, ResourceSerializer),
    ],
)
def test_builders_and_serializers_describe_the_same_shape(row, build, serializer):
    assert set(build(row)) == set(serializer().fields)
    assert serializer(row).data == build(row)


@pytest.mark.parametrize(
    ("operation", "path", "reply"),
    [
        ("threads_list", "/threads", "/threads?resourceId=res-a"),
        ("messages_list", "/threads/{thread_id}/messages", "/threads/t1/messages"),
        (
            "search",
            "/search",
            "/search?agentId=agent1&resourceId=res-a&searchQuery=number",
        ),
        ("resources_list", "/resources", "/resources"),
        ("clones_list", "/threads/{thread_id}/clones", "/threads/t1/clones"),
    ],
)
def test_lists_are_as_the_document_says(api, thread, operation, path, reply):
    described = json.loads(document())
    method = described["paths"][f"/api/memory{path}"]["get"]
    assert method["operationId"] == operation
    schema = method["responses"]["200"]["content"]["application/json"]["schema"]
    api.post("/api/memory/threads/t1/clone?agentId=agent1", {})
    shown = api.get(f"/api/memory{reply}").json()
    assert isinstance(shown, dict)
    jsonschema.validate(shown, schema | {"components": described["components"]})
