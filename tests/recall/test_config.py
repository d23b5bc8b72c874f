"""The configuration of a memory: defaults, spellings, mistakes, and one call's options."""

import math

import pytest
from pydantic import BaseModel

from recall.config import (
    GenerateTitle,
    MemoryConfig,
    MessageRange,
    SemanticRecall,
    WorkingMemoryConfig,
)
from threads.errors import InvalidInput, NotConfigured


def test_defaults():
    config = MemoryConfig()
    assert config.last_messages == 10
    assert config.semantic_recall is None
    assert config.working_memory.enabled is False
    assert config.generate_title is None
    assert config.read_only is False


def test_true_means_the_defaults_of_each_part():
    config = MemoryConfig(
        semantic_recall=True, working_memory=True, generate_title=True
    )
    recall = config.semantic_recall
    assert (recall.top_k, recall.scope, recall.mode) == (4, "resource", "hybrid")
    assert recall.threshold is None
    assert recall.message_range == MessageRange(before=1, after=1)
    notes = config.working_memory
    assert (notes.enabled, notes.scope) == (True, "resource")
    assert (notes.template, notes.schema) == (None, None)
    title = config.generate_title
    assert (title.model, title.instructions, title.min_messages) == (None, None, 1)


def test_both_spellings_and_classes_say_the_same():
    camel = MemoryConfig.parse(
        {
            "lastMessages": 5,
            "semanticRecall": {"topK": 2, "messageRange": {"before": 2}},
            "workingMemory": {"enabled": True, "scope": "thread"},
            "generateTitle": {"minMessages": 3},
            "readOnly": True,
        }
    )
    snake = MemoryConfig.parse(
        {
            "last_messages": 5,
            "semantic_recall": {"top_k": 2, "message_range": {"before": 2}},
            "working_memory": {"enabled": True, "scope": "thread"},
            "generate_title": {"min_messages": 3},
            "read_only": True,
        }
    )
    classes = MemoryConfig(
        last_messages=5,
        semantic_recall=SemanticRecall(
            top_k=2, message_range=MessageRange(before=2, after=0)
        ),
        working_memory=WorkingMemoryConfig(enabled=True, scope="thread"),
        generate_title=GenerateTitle(min_messages=3),
        read_only=True,
    )
    assert camel == snake == classes


def test_number_as_message_range_counts_for_both_sides():
    recall = SemanticRecall(message_range=2)
    assert recall.message_range == MessageRange(before=2, after=2)


def test_older_nesting_of_generate_title_is_understood():
    config = MemoryConfig.parse({"threads": {"generateTitle": {"minMessages": 2}}})
    assert config.generate_title.min_messages == 2


def test_history_may_be_off():
    for off in (False, 0):
        assert MemoryConfig(last_messages=off).history_limit == 0
    assert MemoryConfig(last_messages=2**53 - 1).history_limit == 9007199254740991


def test_pydantic_model_as_schema():
    class About(BaseModel):
        name: str = ""

    schema = WorkingMemoryConfig(schema=About).schema
    assert schema["properties"]["name"]["type"] == "string"


def test_none_counts_as_not_given():
    assert MemoryConfig.parse({"lastMessages": None}) == MemoryConfig()
    assert MemoryConfig.parse(None) == MemoryConfig()


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"lastMessages": -1}, "config.lastMessages"),
        ({"last_messages": 1.5}, "config.last_messages"),
        ({"lastMessages": True}, "config.lastMessages"),
        ({"lastMessages": "10"}, "config.lastMessages"),
        ({"semanticRecall": "yes"}, "config.semanticRecall"),
        ({"semanticRecall": {"topK": 0}}, "config.semanticRecall.topK"),
        ({"semanticRecall": {"scope": "all"}}, "config.semanticRecall.scope"),
        ({"semanticRecall": {"mode": "x"}}, "config.semanticRecall.mode"),
        ({"semanticRecall": {"threshold": 2}}, "config.semanticRecall.threshold"),
        (
            {"semanticRecall": {"threshold": math.nan}},
            "config.semanticRecall.threshold",
        ),
        (
            {"semanticRecall": {"messageRange": {"before": -1}}},
            "config.semanticRecall.messageRange.before",
        ),
        ({"workingMemory": {"enabled": 1}}, "config.workingMemory.enabled"),
        (
            {"workingMemory": {"template": "a", "schema": {"type": "object"}}},
            "config.workingMemory.schema",
        ),
        (
            {"workingMemory": {"schema": {"type": "string"}}},
            "config.workingMemory.schema.type",
        ),
        ({"workingMemory": {"schema": {"type": 3}}}, "config.workingMemory.schema"),
        (
            {"workingMemory": {"schema": {"properties": {"a": {"pattern": "("}}}}},
            "config.workingMemory.schema",
        ),
        ({"generateTitle": {"minMessages": 0}}, "config.generateTitle.minMessages"),
        ({"readOnly": "no"}, "config.readOnly"),
        ({"lastMesages": 3}, "config.lastMesages"),
        ({"lastMessages": 3, "last_messages": 3}, "config.last_messages"),
        ({"threads": {"x": 1}}, "config.threads.x"),
        ([], "config"),
    ],
)
def test_mistake_is_named_by_its_field(values, field):
    with pytest.raises(InvalidInput) as refusal:
        MemoryConfig.parse(values, "config")
    assert refusal.value.issues[0].field == field


def test_schema_nested_without_end_is_refused():
    schema = {"type": "object"}
    for _ in range(400):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(InvalidInput):
        MemoryConfig.parse({"workingMemory": {"schema": schema}})


def test_mistake_in_a_keyword_argument_is_named_too():
    with pytest.raises(InvalidInput) as refusal:
        MemoryConfig(last_messages=-1)
    assert refusal.value.issues[0].field == "last_messages"


def test_observational_memory_is_understood_only_when_it_is_off():
    assert MemoryConfig.parse({"observationalMemory": {"enabled": False}}) == (
        MemoryConfig()
    )
    with pytest.raises(NotConfigured):
        MemoryConfig.parse({"observationalMemory": True})


# One call's options


@pytest.fixture
def base():
    return MemoryConfig(
        last_messages=20,
        semantic_recall={"top_k": 2, "message_range": 3, "scope": "thread"},
        working_memory={"scope": "thread", "template": "# Notes"},
        generate_title=True,
    )


def test_call_changes_what_it_names_and_nothing_else(base):
    merged = base.merged({"semanticRecall": {"topK": 7}})
    assert merged.semantic_recall == SemanticRecall(
        top_k=7, message_range=3, scope="thread"
    )
    assert merged.last_messages == 20
    assert merged.working_memory == base.working_memory
    assert base.semantic_recall.top_k == 2


def test_call_given_as_a_class_changes_only_what_was_given(base):
    merged = base.merged(MemoryConfig(last_messages=10))
    assert merged.last_messages == 10
    assert merged.semantic_recall == base.semantic_recall
    assert merged.generate_title == GenerateTitle()


def test_call_can_switch_parts_off_and_on(base):
    assert base.merged({"semanticRecall": False}).semantic_recall is None
    assert base.merged({"generateTitle": False}).generate_title is None
    assert base.merged({"workingMemory": {"enabled": False}}).working_memory == (
        WorkingMemoryConfig(enabled=False, scope="thread", template="# Notes")
    )
    assert MemoryConfig().merged({"workingMemory": {"scope": "thread"}}) == (
        MemoryConfig(working_memory={"scope": "thread"})
    )


def test_true_over_options_means_the_defaults(base):
    assert base.merged({"semanticRecall": True}).semantic_recall == SemanticRecall()


def test_schema_of_a_call_takes_the_place_of_a_template(base):
    notes = base.merged(
        {"workingMemory": {"schema": {"type": "object"}}}
    ).working_memory
    assert notes.template is None
    assert notes.schema == {"type": "object"}
    assert notes.scope == "thread"


def test_no_options_are_no_change(base):
    assert base.merged(None) == base.merged({}) == base


def test_settings_give_the_defaults(settings):
    settings.MEMORY = {"LAST_MESSAGES": 3, "EMBEDDER": "auto"}
    assert MemoryConfig.from_settings() == MemoryConfig(last_messages=3)
