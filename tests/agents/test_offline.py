"""The built-in model: quotes what was said, admits what it does not know."""

from datetime import UTC, datetime

from agents.providers.offline import LABEL, Remembered, answer

AT = datetime(2026, 3, 3, 14, 5, tzinfo=UTC)
SAID = [
    Remembered("user", "My dog is called Rex.", AT),
    Remembered("user", "Can you plan a trip? My sister Ada lives in Rome.", AT, "Rome"),
    Remembered("user", "Who is Ada?", AT),
    Remembered("assistant", "Rex likes long walks.", AT),
]


def test_answer_says_who_and_when():
    assert answer("What is my dog called?", SAID) == (
        "This is what was said:\n\n"
        "- On 3 March 2026 at 14:05 you said: “My dog is called Rex.”\n\n" + LABEL
    )


def test_answer_names_the_other_conversation():
    found = answer("Who is Ada?", SAID)
    assert "you said in “Rome”: “Can you plan a trip? My sister Ada lives" in found
    assert "Who is Ada?" not in found


def test_nothing_found_is_admitted():
    assert answer("What is my blood type?", SAID).startswith("I found nothing about")


def test_statement_is_acknowledged_and_a_mixed_message_gets_both():
    assert answer("I moved to Oslo.", []).startswith("I have kept that")
    mixed = answer("Where is Bergen? I moved to Oslo.", [])
    assert mixed.startswith(
        "I found nothing about that in what was said before. I have"
    )


def test_notes_are_looked_up_too():
    notes = "# About\n- **Name**: Ann\n- **City**:"
    assert "- In the notes: Name: Ann" in answer("What is my name?", [], notes)


def test_every_answer_says_what_it_is():
    for question in ("", "?", "hello", "Who?", "Rex"):
        assert answer(question, SAID).endswith(LABEL)


def test_same_question_gets_the_same_answer():
    assert len({answer("Tell me about Rex", SAID) for _ in range(5)}) == 1
