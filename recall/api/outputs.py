"""The replies of the API, described for OpenAPI. They are built in the views."""

from __future__ import annotations

from rest_framework import serializers

from threads.api.fields import Flag, JsonObject, PerPage, Text
from threads.api.serializers import (
    MessageSerializer,
    ResourceSerializer,
    ThreadSerializer,
)


class PageInfo(serializers.Serializer):
    total = serializers.IntegerField(help_text="All that match, on whichever page.")
    page = serializers.IntegerField()
    perPage = PerPage()
    hasMore = Flag()


class ThreadList(PageInfo):
    threads = ThreadSerializer(many=True)


class ResourceList(PageInfo):
    resources = ResourceSerializer(many=True)


class HitLeg(serializers.Serializer):
    score = serializers.FloatField()
    rank = serializers.IntegerField()


class FoundMessage(serializers.Serializer):
    messageId = Text()
    threadId = Text()
    score = serializers.FloatField(help_text="Higher fits better.")
    why = serializers.ChoiceField(choices=["words", "meaning", "both"])
    words = serializers.ListField(child=Text())
    legs = serializers.DictField(child=HitLeg())
    context = serializers.FloatField()


class MessageList(PageInfo):
    messages = MessageSerializer(many=True)
    uiMessages = JsonObject(allow_null=True, help_text="Always null.")
    hits = FoundMessage(
        many=True, required=False, help_text="There with vectorSearchString."
    )
    meaningAvailable = Flag(
        required=False, help_text="False when only words were compared."
    )


class UiMessageList(PageInfo):
    messages = serializers.ListField(child=JsonObject())
    format = Text()


class ThreadExport(PageInfo):
    thread = ThreadSerializer()
    messages = MessageSerializer(many=True)


class SavedMessages(serializers.Serializer):
    messages = MessageSerializer(many=True)


class Result(serializers.Serializer):
    result = Text()


class Success(serializers.Serializer):
    success = Flag()


class Deletion(Success):
    message = Text()


class ClonedThread(serializers.Serializer):
    thread = ThreadSerializer()
    messageIdMap = serializers.DictField(
        child=Text(), help_text="Id of each copied message to the id of its copy."
    )
    clonedMessages = MessageSerializer(many=True)


class Clones(serializers.Serializer):
    clones = ThreadSerializer(many=True)


class CloneHistory(serializers.Serializer):
    history = ThreadSerializer(many=True)


class CloneSource(serializers.Serializer):
    source = ThreadSerializer(allow_null=True)


class Template(serializers.Serializer):
    format = serializers.ChoiceField(choices=["markdown", "json"])
    content = Text()


class WorkingMemoryReply(serializers.Serializer):
    workingMemory = Text(allow_null=True)
    source = serializers.ChoiceField(choices=["resource", "thread"])
    workingMemoryTemplate = Template(allow_null=True)
    threadExists = Flag()


class ResourceWorkingMemoryReply(serializers.Serializer):
    workingMemory = Text(allow_null=True)
    source = serializers.ChoiceField(choices=["resource", "thread"])
    workingMemoryTemplate = Template(allow_null=True)
    revision = serializers.IntegerField(help_text="0 before the first write.")
    updatedAt = serializers.DateTimeField(allow_null=True)


class Revision(serializers.Serializer):
    revision = serializers.IntegerField()
    workingMemory = Text()
    author = Text(help_text="user, model, tool, admin, api or import")
    authorName = Text()
    messageId = Text(allow_null=True)
    restoredFrom = serializers.IntegerField(allow_null=True)
    createdAt = serializers.DateTimeField()


class Revisions(serializers.Serializer):
    revisions = Revision(many=True)


class ShortMessage(serializers.Serializer):
    id = Text()
    role = Text()
    content = Text(help_text="Its text.")
    createdAt = serializers.DateTimeField()


class Surroundings(serializers.Serializer):
    before = ShortMessage(many=True)
    after = ShortMessage(many=True)


class SearchHit(ShortMessage):
    threadId = Text()
    threadTitle = Text(help_text="The thread's id when it has no title.")
    context = Surroundings()
    score = serializers.FloatField(required=False)
    why = serializers.ChoiceField(choices=["words", "meaning", "both"], required=False)
    words = serializers.ListField(child=Text(), required=False)
    legs = serializers.DictField(
        child=HitLeg(),
        required=False,
        help_text="Score and rank by meaning and by words.",
    )


class SearchReply(serializers.Serializer):
    results = SearchHit(many=True)
    count = serializers.IntegerField()
    query = Text()
    searchScope = serializers.ChoiceField(
        choices=["resource", "thread"], required=False
    )
    searchType = serializers.ChoiceField(choices=["semantic", "text"], required=False)
    meaningAvailable = Flag(
        required=False, help_text="False when only words were compared."
    )


class Status(serializers.Serializer):
    result = Flag()
    memoryType = Text(required=False)


class Configuration(serializers.Serializer):
    config = JsonObject(allow_null=True)
