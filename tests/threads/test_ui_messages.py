"""Stored messages and UI messages turn into each other without loss."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threads.errors import InvalidInput
from threads.ui_messages import (
    from_ui_message,
    to_ai_sdk_v4_messages,
    to_ai_sdk_v5_messages,
)

VECTORS = Path(__file__).parent / "vectors"
SINGLE = json.loads((VECTORS / "ui_vectors.json").read_text())
SEVERAL = json.loads((VECTORS / "ui_vectors_multi.json").read_text())


def _named(vectors):
    return [pytest.param(vector, id=vector["name"]) for vector in vectors]


@pytest.mark.parametrize("version", ["v5", "v6", "v7", "v4"])
@pytest.mark.parametrize("vector", _named(SINGLE))
def test_message_is_shown_as_the_reference_shows_it(vector, version):
    expected = vector[f"ai_sdk_{version}"]
    if version == "v4":
        shown = to_ai_sdk_v4_messages(vector["input"])
    else:
        shown = to_ai_sdk_v5_messages([vector["input"]], version=version)
    assert shown == ([] if expected is None else [expected])


@pytest.mark.parametrize("vector", _named(SEVERAL))
def test_conversation_is_shown_as_the_reference_shows_it(vector):
    assert to_ai_sdk_v5_messages(vector["input"]) == vector["ai_sdk_v5"]
    assert to_ai_sdk_v4_messages(vector["input"]) == vector["ai_sdk_v4"]


@pytest.mark.parametrize("version", ["v5", "v6", "v7"])
@pytest.mark.parametrize("vector", _named(SINGLE))
def test_shown_message_comes_back_the_same_after_being_stored(vector, version):
    shown = vector[f"ai_sdk_{version}"]
    if shown is None:
        return
    stored = from_ui_message(shown)
    assert to_ai_sdk_v5_messages(stored, version=version) == [shown]


def test_tool_message_is_shown_as_the_assistants():
    stored = {**SINGLE[0]["input"], "role": "tool"}
    assert to_ai_sdk_v5_messages(stored)[0]["role"] == "assistant"
    assert to_ai_sdk_v4_messages(stored)[0]["role"] == "assistant"


def test_unknown_version_is_refused():
    with pytest.raises(InvalidInput) as refusal:
        to_ai_sdk_v5_messages([], version="v9")
    assert refusal.value.issues[0].field == "version"


def test_signal_becomes_a_signal_again():
    signal = next(v["input"] for v in SINGLE if v["name"] == "signal_message")
    [shown] = to_ai_sdk_v5_messages(signal)
    assert from_ui_message(shown) == signal


# What a stored message keeps through the UI form of version 6: everything but what its
# documented rules lose.
LASTING = [
    "user_text_parts_only",
    "assistant_text_part_createdAt_and_model_metadata",
    "assistant_two_text_parts",
    "assistant_text_providerMetadata",
    "content_metadata",
    "tool_call_pending",
    "tool_partial_call",
    "tool_result",
    "tool_result_null",
    "tool_output_error",
    "tool_output_denied",
    "tool_approval_requested",
    "tool_approval_responded",
    "tool_provider_executed",
    "tool_two_calls",
    "reasoning_text",
    "file_data_url",
    "file_https_url",
    "file_filename_createdAt",
    "source_url",
    "error_part",
    "unknown_part",
]


@pytest.mark.parametrize("name", LASTING)
def test_stored_message_survives_being_shown(name):
    stored = next(vector["input"] for vector in SINGLE if vector["name"] == name)
    [shown] = to_ai_sdk_v5_messages(stored, version="v6")
    expected = json.loads(json.dumps(stored))
    expected["content"].pop("content", None)
    came_back = from_ui_message(shown)
    for part in came_back["content"]["parts"]:
        part.pop("ui", None)
    assert came_back == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner)
    ),
    max_leaves=5,
)
names = st.text("abcxyz-_.", min_size=1, max_size=8)
metadata = st.fixed_dictionaries(
    {},
    optional={
        "openai": st.dictionaries(names, json_values, max_size=2),
        "mastra": st.fixed_dictionaries(
            {}, optional={"createdAt": st.integers(1, 9), "x": json_values}
        ),
    },
)


def _part(kind, required, optional=None):
    optional = {"providerMetadata": metadata, **(optional or {})}
    return st.fixed_dictionaries({"type": kind, **required}, optional=optional)


tool = {
    "toolCallId": names,
    "state": st.sampled_from(["input-streaming", "input-available"]),
}
tool_extra = {
    "input": json_values,
    "callProviderMetadata": metadata,
    "providerExecuted": st.booleans(),
    "title": names,
    "rawInput": json_values,
}
answered = {
    "toolCallId": names,
    "state": st.just("output-available"),
    "output": json_values,
}
failed = {"toolCallId": names, "state": st.just("output-error"), "errorText": names}
static = names.map(lambda name: f"tool-{name}")
text_parts = _part(
    st.just("text"),
    {"text": st.text(max_size=9).filter(lambda text: "<system" not in text)},
    {"state": st.sampled_from(["done", "streaming"])},
)
parts = st.one_of(
    text_parts,
    _part(
        st.just("reasoning"),
        {"text": st.text(max_size=9)},
        {"state": st.sampled_from(["done", "streaming"])},
    ),
    _part(st.just("file"), {"url": names, "mediaType": names}, {"filename": names}),
    _part(st.just("source-url"), {"sourceId": names, "url": names}, {"title": names}),
    _part(
        st.just("source-document"),
        {"sourceId": names, "mediaType": names, "title": names},
        {"filename": names},
    ),
    _part(st.just("step-start"), {}),
    _part(names.map(lambda name: f"data-{name}"), {"data": json_values}, {"id": names}),
    *(
        st.fixed_dictionaries({"type": static, **required}, optional=tool_extra)
        for required in (tool, answered, failed)
    ),
    *(
        st.fixed_dictionaries(
            {"type": st.just("dynamic-tool"), "toolName": names, **required},
            optional=tool_extra,
        )
        for required in (tool, answered, failed)
    ),
)
approvals = st.fixed_dictionaries(
    {
        "type": static,
        "toolCallId": names,
        "state": st.sampled_from(
            ["approval-requested", "approval-responded", "output-denied"]
        ),
        "approval": st.fixed_dictionaries(
            {"id": names}, optional={"approved": st.booleans(), "reason": names}
        ),
    },
    optional=tool_extra,
)


def _ui_messages(of):
    return st.builds(
        lambda role, parts, own: {
            "id": "m1",
            "role": role,
            "metadata": {**own, "createdAt": "2024-01-02T03:04:05.678Z"},
            "parts": parts,
        },
        st.sampled_from(["user", "assistant"]),
        st.lists(of, min_size=1, max_size=4),
        st.dictionaries(names, json_values, max_size=2),
    )


@given(_ui_messages(parts))
def test_ui_message_of_version_5_comes_back_as_it_went(message):
    assert to_ai_sdk_v5_messages(from_ui_message(message)) == [message]


@given(_ui_messages(parts | approvals))
def test_ui_message_of_version_6_comes_back_as_it_went(message):
    stored = from_ui_message(message)
    assert to_ai_sdk_v5_messages(stored, version="v6") == [message]
