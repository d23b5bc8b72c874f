"""Whatever is sent is refused by name, or stored so that every reader can read it."""

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from threads.errors import MemoryFault
from threads.messages import normalise
from threads.parts import plain_text
from threads.ui_messages import to_ai_sdk_v4_messages, to_ai_sdk_v5_messages

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=4,
)
KINDS = [
    "text",
    "reasoning",
    "redacted-reasoning",
    "tool-invocation",
    "tool-call",
    "tool-result",
    "tool-clock",
    "dynamic-tool",
    "file",
    "image",
    "source",
    "source-url",
    "source-document",
    "step-start",
    "data-x",
    "data-signal",
    "error",
]
STATES = ["call", "partial-call", "result", "output-error", "output-denied"]


def objects(**fields):
    """Objects with any of the fields, each as it should be or anything at all."""
    return st.fixed_dictionaries(
        {}, optional={name: kind | anything for name, kind in fields.items()}
    )


calls = objects(
    toolCallId=st.just("c1"),
    toolName=st.sampled_from(["clock", "my.tool"]),
    args=anything,
    state=st.sampled_from(STATES),
    result=anything,
    errorText=st.just("no"),
    approval=objects(id=st.just("a"), reason=st.just("no")),
)
parts = objects(
    type=st.sampled_from(KINDS),
    text=st.text(max_size=4),
    reasoning=st.text(max_size=4),
    details=st.lists(objects(type=st.just("text"), text=st.just("x")), max_size=2),
    toolInvocation=calls,
    toolCallId=st.just("c1"),
    toolName=st.just("clock"),
    state=st.sampled_from(["output-available", "approval-requested", "done"]),
    input=anything,
    output=anything,
    approval=objects(id=st.just("a")),
    url=st.just("u"),
    image=st.just("aGk="),
    data=st.just("aGk=")
    | objects(type=st.just("reactive"), contents=st.text(max_size=3) | anything),
    mediaType=st.just("image/png"),
    mimeType=st.just("image/png"),
    source=objects(id=st.just("s"), url=st.just("u")),
    providerMetadata=objects(mastra=objects(createdAt=st.just(5))),
    callProviderMetadata=objects(mastra=objects(createdAt=st.just(5))),
    createdAt=st.just(5),
    ui=objects(set=objects(state=st.just("done")), unset=st.just(["state"])),
)
some_parts = st.lists(parts, max_size=3)
metadata = objects(
    createdAt=st.just("2024-01-01"),
    threadId=st.just("t"),
    signal=objects(type=st.just("x"), tagName=st.just("y")),
    providerMetadata=objects(a=anything),
    pendingToolApprovals=objects(
        c1=objects(type=st.just("approval"), runId=st.just("r"))
    ),
)
contents = objects(
    format=st.just(2),
    parts=some_parts,
    content=st.text(max_size=4),
    metadata=metadata,
    reasoning=st.just("Hm"),
    experimental_attachments=st.lists(
        objects(url=st.just("u"), contentType=st.just("image/png"), name=st.just("n")),
        max_size=2,
    ),
    toolInvocations=st.lists(calls, max_size=2),
    providerMetadata=objects(a=anything),
)
messages = objects(
    id=st.text(max_size=3),
    role=st.sampled_from(["user", "assistant", "system", "tool", "signal"]),
    content=st.text(max_size=4) | contents | some_parts,
    parts=some_parts,
    metadata=metadata,
    createdAt=st.just("2024-01-01T00:00:00Z"),
    type=st.just("reactive"),
    experimental_attachments=st.lists(objects(url=st.just("u")), max_size=1),
    toolInvocations=st.lists(calls, max_size=1),
)


@settings(max_examples=200, deadline=None)
@given(messages)
def test_a_message_is_refused_by_name_or_can_be_read_by_all(message):
    refusal = None
    try:
        [draft] = normalise([message], thread_id="t1", resource_id="res-a").drafts
    except MemoryFault as fault:
        refusal = fault
    if refusal is not None:
        assert refusal.issues[0].field.startswith("messages.0")
        return
    stored = orjson.dumps(draft.content)
    assert b"\\u0000" not in stored
    assert draft.text == plain_text(orjson.loads(stored))
    for version in ("v5", "v6", "v7"):
        orjson.dumps(to_ai_sdk_v5_messages([draft], version=version))
    orjson.dumps(to_ai_sdk_v4_messages([draft]))


@settings(max_examples=200, deadline=None)
@given(messages)
def test_a_stored_message_saved_again_is_the_same(message):
    try:
        [draft] = normalise([message], thread_id="t1").drafts
    except MemoryFault:
        return
    [again] = normalise([draft], thread_id="t1").drafts
    assert again.content == draft.content
    assert (again.role, again.type, again.text) == (draft.role, draft.type, draft.text)
