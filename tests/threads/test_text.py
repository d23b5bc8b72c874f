"""Text that PostgreSQL can hold."""

from hypothesis import given
from hypothesis import strategies as st

from threads.text import storable

anything = st.text(st.characters(codec=None, categories=None), max_size=20)
nested = st.recursive(
    anything | st.integers() | st.none() | st.booleans(),
    lambda inner: st.lists(inner) | st.dictionaries(anything, inner),
    max_leaves=8,
)


def test_what_cannot_be_stored_becomes_the_replacement_character():
    assert storable("a\x00b") == "a\ufffdb"
    assert storable("\ud83d half") == "\ufffd half"
    assert storable({"\x00": ["\udc00", 1, None]}) == {"\ufffd": ["\ufffd", 1, None]}


def test_what_can_be_stored_is_the_same_object():
    value = {"a": ["é🌍", {"b": "\t\n"}], "c": 1.5}
    assert storable(value) is value


@given(nested)
def test_everything_becomes_utf_8_without_nul(value):
    def check(value):
        if isinstance(value, str):
            assert b"\x00" not in value.encode()
        elif isinstance(value, dict):
            for key, item in value.items():
                check(key)
                check(item)
        elif isinstance(value, list):
            for item in value:
                check(item)

    check(storable(value))


@given(anything)
def test_only_the_bad_characters_change(text):
    assert len(storable(text)) == len(text)
    for before, after in zip(text, storable(text), strict=True):
        bad = before == "\x00" or 0xD800 <= ord(before) <= 0xDFFF
        assert after == ("\ufffd" if bad else before)
