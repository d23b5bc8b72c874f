"""What a model will see, and what is left out."""

import pytest

from recall.context import assemble_context
from recall.memory import Memory
from recall.tokens import estimate_tokens
from threads.errors import OwnershipError
from threads.models import Message

pytestmark = pytest.mark.django_db


def draft(id: str, text: str, role: str = "user", parts=None) -> dict:
    parts = [{"type": "text", "text": text}] if parts is None else parts
    return {"id": id, "role": role, "content": {"format": 2, "parts": parts}}


def unsaved(id: str, text: str) -> Message:
    content = {"format": 2, "parts": [{"type": "text", "text": text}]}
    return Message(id=id, role="user", text=text, content=content)


def tool(call: str, state: str, **more) -> dict:
    invocation = {"state": state, "toolCallId": call, "toolName": "look", **more}
    return {"type": "tool-invocation", "toolInvocation": invocation}


@pytest.fixture
def remembering(planned, embed) -> Memory:
    """Two threads: t1 about a dog, t2 with six remarks."""
    planned.plan = {
        "My dog is called Rex": [1, 0],
        "What is my dog called?": [1, 0],
    }
    memory = Memory(
        {"last_messages": 3, "semantic_recall": {"top_k": 1, "message_range": 1}}
    )
    memory.create_thread(thread_id="t1", resource_id="res-a", title="Pets")
    memory.save_messages(
        [draft("d1", "My dog is called Rex"), draft("d2", "Nice name", "assistant")],
        thread_id="t1",
    )
    memory.create_thread(thread_id="t2", resource_id="res-a")
    memory.save_messages(
        [draft(f"m{n}", f"remark {n}") for n in range(6)], thread_id="t2"
    )
    embed()
    return memory


def assemble(memory: Memory, **options):
    return assemble_context(
        memory,
        **{
            "thread_id": "t2",
            "resource_id": "res-a",
            "new_messages": [unsaved("n1", "What is my dog called?")],
            "instructions": "Be kind.",
            **options,
        },
    )


def shown(context) -> list[tuple[str, str]]:
    return [(segment.kind, segment.source_id) for segment in context.segments]


def test_segments_are_in_the_order_in_which_a_model_reads_them(remembering):
    context = assemble(remembering, config={"working_memory": True})
    assert shown(context) == [
        ("instructions", ""),
        ("working_memory", "v0"),
        ("recalled", "d1"),
        ("recalled", "d2"),
        ("history", "m3"),
        ("history", "m4"),
        ("history", "m5"),
        ("message", "n1"),
    ]
    assert context.tokens == sum(segment.tokens for segment in context.segments)


def test_recalled_messages_tell_their_date_and_conversation(remembering):
    first, second = assemble(remembering).of("recalled")
    day = first.message.created_at
    assert first.text == (
        f'[{day:%Y-%m-%d %H:%M} UTC, other conversation "Pets"] '
        "user: My dog is called Rex"
    )
    assert first.why.startswith("matched by words and meaning: ")
    assert second.why == "neighbour of a match"


def test_the_preview_has_the_hash_of_the_call_until_something_changes(remembering):
    preview = assemble(remembering)
    remembering.save_messages([draft("n1", "What is my dog called?")], thread_id="t2")
    stored = remembering.get_messages(["n1"])
    call = assemble(remembering, new_messages=stored)
    assert call.hash == preview.hash
    assert shown(call) == shown(preview)
    remembering.update_messages([{"id": "m5", "content": "something else"}])
    assert assemble(remembering, new_messages=stored).hash != preview.hash


def test_what_is_in_the_history_is_not_recalled_as_well(remembering):
    context = assemble(remembering, thread_id="t1", config={"last_messages": 10})
    assert shown(context)[1:] == [
        ("history", "d1"),
        ("history", "d2"),
        ("message", "n1"),
    ]


def test_over_budget_neighbours_go_first_and_the_new_message_never(remembering):
    whole = assemble(remembering)
    tight = assemble(remembering, budget_tokens=whole.tokens - 1)
    assert [left.segment.source_id for left in tight.left_out] == ["d2"]
    assert tight.tokens <= whole.tokens - 1
    none = assemble(remembering, budget_tokens=1)
    assert shown(none) == [("instructions", ""), ("message", "n1")]
    assert {left.reason for left in none.left_out} == {"over budget"}
    assert len(none.left_out) == 5


def test_a_tool_call_is_never_without_its_result(planned):
    memory = Memory({"last_messages": 10})
    memory.create_thread(thread_id="t2", resource_id="res-a")
    memory.save_messages(
        [
            draft("c1", "", "assistant", [tool("x", "call", args={"q": "dog"})]),
            draft("c2", "hm"),
            draft("c3", "", "assistant", [tool("x", "result", args={}, result="Rex")]),
            draft("c4", "thanks"),
        ],
        thread_id="t2",
    )
    whole = assemble(memory)
    call, _, result, _ = whole.of("history")
    assert call.text == '[tool look({"q": "dog"})]'
    assert result.text == "[tool look({}) -> Rex]"
    for budget in range(whole.tokens + 1):
        kept = {
            s.source_id for s in assemble(memory, budget_tokens=budget).of("history")
        }
        assert not kept & {"c1", "c2", "c3"} or {"c1", "c2", "c3"} <= kept


def test_a_thread_that_does_not_exist_yet_still_recalls(remembering):
    context = assemble(remembering, thread_id="new")
    assert shown(context) == [
        ("instructions", ""),
        ("recalled", "d1"),
        ("recalled", "d2"),
        ("message", "n1"),
    ]


def test_another_resource_sees_nothing_of_it(remembering):
    context = assemble(remembering, thread_id="new", resource_id="res-b")
    assert shown(context) == [("instructions", ""), ("message", "n1")]
    with pytest.raises(OwnershipError):
        assemble(remembering, resource_id="res-b")


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abcd", 1), ("abcde", 2), ("привет", 3), ("咖啡", 2)]
)
def test_tokens_are_estimated_by_script(text, tokens):
    assert estimate_tokens(text) == tokens
