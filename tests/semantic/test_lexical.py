"""How texts become terms."""

from itertools import product

import pytest

from recall.semantic import lexical
from recall.semantic.languages import detect
from recall.semantic.lexical import (
    document_terms,
    query_terms,
    resource_key,
    scoped_keys,
    term_hash,
)


def finds(query: str, text: str) -> list[str]:
    """Words of the query that the text has."""
    terms = document_terms(text).terms
    return [term.word for term in query_terms(query) if term.forms & set(terms)]


@pytest.mark.parametrize(
    ("query", "text", "words"),
    [
        ("ERR-4021", "It fails with ERR-4021 again", ["err", "4021", "err-4021"]),
        ("err-4021", "It fails with ERR-4021 again", ["err", "4021", "err-4021"]),
        (
            "get_user_id",
            "call get_user_id() first",
            ["get", "user", "id", "get_user_id"],
        ),
        ("user", "call getUserName first", ["user"]),
        ("getusername", "call getUserName first", ["getusername"]),
        ("C++", "written in C++ and Rust", ["c++"]),
        ("MÜLLER", "Frau Müller rief an", ["muller"]),
        ("muller", "Frau Müller rief an", ["muller"]),
        ("straße", "in der STRASSE", ["strasse"]),
        ("ｆｕｌｌ", "full width", ["full"]),
        ("咖啡", "我喜欢喝咖啡", ["咖啡"]),
        ("猫", "我的猫很可爱", ["猫"]),
        ("コーヒー", "毎朝コーヒーを飲む", ["コー", "ーヒ", "ヒー"]),
        ("ภาษา", "ภาษาไทยง่าย", ["ภา", "าษ", "ษา"]),
        ("한국어", "한국어 공부", ["한국어"]),
        ("Москва", "мы едем в москва", ["москва"]),
        ("dance", "She was dancing all the night with them", ["dance"]),
        ("painted", "I paint on Sundays with my sister", ["painted"]),
        ("vacances", "nous étions en vacances avec les enfants", ["vacances"]),
        ("journal", "nous lisons les journaux dans le train", ["journal"]),
        ("Häuser", "wir haben die Häuser mit dem Garten gesehen", ["hauser"]),
        ("coffee", "tea without sugar", []),
    ],
)
def test_a_query_finds_the_words_of_a_text(query, text, words):
    assert finds(query, text) == words


def test_function_words_are_not_looked_for_unless_nothing_else_is_there():
    assert [t.word for t in query_terms("What did she say about the lake?")] == [
        "say",
        "lake",
    ]
    assert [t.word for t in query_terms("to be or not to be")] == [
        "to",
        "be",
        "or",
        "not",
    ]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I told her about the trip to the lake", "english"),
        ("nous avons parlé de la maison avec elle", "french"),
        ("ich habe es ihm nicht gesagt", "german"),
        ("no sé cuándo vamos a la playa con ellos", "spanish"),
        ("não sei quando vamos com eles à praia", "portuguese"),
        ("non so quando andiamo con loro alla spiaggia", "italian"),
        ("ik weet niet wanneer we naar het strand gaan", "dutch"),
        ("ERR-4021 npm install", "simple"),
        ("我喜欢喝咖啡", "simple"),
        ("", "simple"),
    ],
)
def test_the_language_of_a_text_is_recognised_by_its_function_words(text, language):
    assert document_terms(text).language == language


def test_a_configured_language_is_that_of_every_text():
    assert detect(["nous", "avons"], setting="english") == "english"


def test_terms_are_packed_as_hashes_and_counts():
    terms = document_terms("red red blue")
    assert terms.length == 3
    assert terms.terms == {term_hash("red"): 2, term_hash("blue"): 1}
    assert terms.packed_counts() == bytes([2, 1])
    assert len(terms.packed_terms()) == 8


def test_a_huge_message_is_cut_to_a_small_row():
    terms = document_terms(" ".join(f"word{n}" for n in range(50_000)))
    assert len(terms.terms) == 20_000


def test_keys_of_different_resources_differ():
    assert scoped_keys("res-a", [7]) != scoped_keys("res-b", [7])
    assert scoped_keys("res-a", [7]) == [resource_key("res-a") | 7]
    assert 0 <= scoped_keys("res-a", [2**32 - 1])[0] < 2**63


@pytest.mark.django_db
def test_the_database_makes_the_same_key_of_a_resource():
    from django.db import connection

    for resource_id in ("res-a", "", "größe/ü", "x" * 255):
        with connection.cursor() as cursor:
            cursor.execute("SELECT recall_resource_key(%s)", [resource_id])
            assert cursor.fetchone()[0] == resource_key(resource_id)


@pytest.mark.parametrize(
    "text",
    ["a" * 500_000, "aB" * 250_000, "a-" * 250_000, "A" * 500_000, "+" * 500_000],
)
def test_no_text_takes_longer_than_its_length(text):
    """A pattern that goes back over such a text would not end within the test run."""
    assert len(document_terms(text).terms) <= 40_000
    assert len(query_terms(text)) <= 40_000


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["to be or not to be", "The Who", "Let it be"])
def test_a_message_of_nothing_but_function_words_is_found_by_them(memory, say, text):
    say("t1", {"m1": text, "m2": "zebra"})
    result = memory.search(text, resource_id="res-a")
    assert [hit.message_id for hit in result.hits][:1] == ["m1"]


def test_quick_looks_agree_with_the_patterns_they_stand_for():
    for letters in product("aA1_-+#", repeat=5):
        text = "".join(letters)
        assert bool(lexical._HAS_COMPOUND.search(text)) == bool(
            lexical._COMPOUND.search(text)
        ), text
        assert bool(lexical._HAS_HUMP.search(text)) == bool(
            lexical._HUMPED.search(text)
        ), text
