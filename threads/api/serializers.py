"""Threads, messages and resources as the wire shows them.

Rows become plain dictionaries in one step. The serializers around them describe the same
shapes to the REST framework and to OpenAPI, and hand over to these builders.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from threads.api.encoding import iso
from threads.api.fields import JsonObject, Text
from threads.models import Message, Resource, Thread


def thread_json(thread: Thread) -> dict[str, Any]:
    """A thread: ``metadata`` is null when empty, ``archivedAt`` there when archived."""
    shown = {
        "id": thread.id,
        "resourceId": thread.resource_id,
        "title": thread.title,
        "createdAt": iso(thread.created_at),
        "updatedAt": iso(thread.updated_at),
        "metadata": thread.metadata or None,
    }
    if thread.archived_at is not None:
        shown["archivedAt"] = iso(thread.archived_at)
    return shown


def message_json(message: Message) -> dict[str, Any]:
    """A message: ``type`` only when it was saved with one of its own."""
    shown = {
        "id": message.id,
        "role": message.role,
        "createdAt": iso(message.created_at),
        "threadId": message.thread_id,
        "resourceId": message.resource_id,
        "content": message.content,
    }
    if message.type and message.type != "v2":
        shown["type"] = message.type
    return shown


def resource_json(resource: Resource) -> dict[str, Any]:
    """A resource: ``metadata`` is null when empty, as for threads."""
    return {
        "id": resource.id,
        "metadata": resource.metadata or None,
        "createdAt": iso(resource.created_at),
        "updatedAt": iso(resource.updated_at),
    }


class ThreadSerializer(serializers.Serializer):
    """One conversation of one resource."""

    id = Text()
    resourceId = Text()
    title = Text(help_text="Empty when the thread has none.")
    createdAt = serializers.DateTimeField()
    updatedAt = serializers.DateTimeField(
        help_text="Time of the last change of the thread or its messages."
    )
    metadata = JsonObject(allow_null=True, required=False)
    archivedAt = serializers.DateTimeField(
        required=False, help_text="There only while the thread is archived."
    )

    def to_representation(self, instance: Thread) -> dict[str, Any]:
        return thread_json(instance)


class MessageContentSerializer(serializers.Serializer):
    """What was said, in parts."""

    format = serializers.IntegerField(help_text="Always 2.")
    parts = serializers.ListField(child=JsonObject())
    content = Text(required=False, help_text="Text of the last text part.")
    metadata = JsonObject(required=False)


class MessageSerializer(serializers.Serializer):
    """One entry of a thread."""

    id = Text()
    role = serializers.ChoiceField(choices=Message.Role.values)
    createdAt = serializers.DateTimeField()
    threadId = Text()
    resourceId = Text()
    content = MessageContentSerializer()
    type = Text(required=False, help_text="As given when the message was saved.")

    def to_representation(self, instance: Message) -> dict[str, Any]:
        return message_json(instance)


class ResourceSerializer(serializers.Serializer):
    """The owner of conversations."""

    id = Text()
    metadata = JsonObject(allow_null=True)
    createdAt = serializers.DateTimeField()
    updatedAt = serializers.DateTimeField()

    def to_representation(self, instance: Resource) -> dict[str, Any]:
        return resource_json(instance)


class IssueSerializer(serializers.Serializer):
    field = Text(help_text="Dotted path of the value, root for the whole.")
    message = Text()


class ErrorSerializer(serializers.Serializer):
    """Why a request was refused."""

    error = Text()
    issues = IssueSerializer(many=True, required=False)


class StaleSerializer(ErrorSerializer):
    """Somebody else changed it first."""

    current = JsonObject(help_text="The present state.")
