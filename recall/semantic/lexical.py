"""Words: how a text becomes terms, and how terms are packed for the index.

A term is a folded word (Unicode case folding, accents of Latin, Greek and Cyrillic
letters removed), brought to its stem when the language of the text was recognised.
Scripts written without spaces (Chinese, Japanese, Thai …) give single characters and
pairs of neighbouring ones. A code or identifier (``ERR-4021``, ``get_user``,
``v2.1.3``) gives its parts and the whole.

Terms are kept as 32-bit hashes. With 100,000 different words in a scope, the chance
that a given word shares its hash with any other is 1 in 43,000.
"""

from __future__ import annotations

import hashlib
import re
import struct
import unicodedata
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from django.conf import settings

from recall.semantic.languages import (
    FUNCTION_WORDS,
    LANGUAGES,
    SIMPLE,
    detect,
    function_word_counts,
    stem,
)

# Words of one message that are indexed; a message of a megabyte is cut here, so that
# its row stays small. Embeddings see the whole text.
MAX_WORDS = 20_000
# A run of letters this long is data (base64, a key), not a word; it is cut.
MAX_WORD_LENGTH = 64

_ACCENTS = re.compile("[\u0300-\u036f]")
_UNSPACED_RANGES = (
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\U00020000-\U0003ffff"
)
_UNSPACED = re.compile(f"[{_UNSPACED_RANGES}]+")
_WORD = re.compile(r"[^\W_]+")
# Words joined by the signs that hold identifiers, versions, paths and dates together.
# Both patterns begin at the beginning of a word and never go back into one, so that a
# long run of letters takes no longer than its length.
_COMPOUND = re.compile(
    r"(?<![^\W_])[^\W_]++(?:(?:[-_./:@#+][^\W_]++)+|\+\+|#)",
)
# Words with a capital inside: getUser, HTTPServer.
_HUMPED = re.compile(r"(?<![^\W_])(?=[^\W_]*?(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z]))[^\W_]++")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CODE_SIGN = re.compile(r"[\d_@#+]")
# Whether the two patterns above match at all. Most texts have neither, and to look for
# the one sign that each needs is several times faster than to try every word.
_HAS_COMPOUND = re.compile(
    r"[-_./:@#+](?<=[^\W_].)(?:[^\W_]|(?<=\+)\+|(?<=#))",
)
_HAS_HUMP = re.compile(r"[A-Z](?:(?<=[a-z0-9].)|[A-Z][a-z])")


@dataclass(frozen=True)
class DocumentTerms:
    """What the index keeps of a text. ``terms`` maps a term's hash to its count."""

    language: str
    length: int
    terms: dict[int, int]

    def packed_terms(self) -> bytes:
        """The hashes as little-endian uint32."""
        return struct.pack(f"<{len(self.terms)}I", *self.terms)

    def packed_counts(self) -> bytes:
        """The counts in the same order as uint8; 255 stands for all above."""
        return bytes(n if n < 256 else 255 for n in self.terms.values())


@dataclass(frozen=True)
class QueryTerm:
    """One word of a query with every form that the index may hold of it."""

    word: str
    forms: frozenset[int]


def fold(text: str) -> str:
    """``text`` for comparison: compatibility forms, case and accents made equal."""
    return _folded(text)


def document_terms(text: str) -> DocumentTerms:
    """The terms of a message's text."""
    words, codes, grams = _split(text)
    language = detect(words, setting=settings.MEMORY.get("LANGUAGE", "auto"))
    ignored = FUNCTION_WORDS.get(language, frozenset())
    # A message of nothing but function words is found by them ("The Who").
    kept = [word for word in words if word not in ignored] or words
    terms: dict[int, int] = {}
    for word in kept:
        key = _form(word, language)
        terms[key] = terms.get(key, 0) + 1
    length = len(kept)
    # A code counts by its parts; the whole only adds a way to match. The same for the
    # pairs of an unspaced script.
    for term in (*codes, *grams):
        key = term_hash(term)
        terms[key] = terms.get(key, 0) + 1
    return DocumentTerms(language, length + (len(grams) + 1) // 2, terms)


def query_terms(text: str) -> list[QueryTerm]:
    """The words to look for, each once, in the order of the query.

    A query is too short for its language to be certain, and the messages may be in
    several: each word is looked for as written and as the stem that each language
    would have made of it. Function words are left out, unless nothing else remains.
    """
    words, codes, grams = _split(text)
    counts = function_word_counts(words)
    best = max(counts.values(), default=0)
    likely = [language for language, n in counts.items() if n == best]
    setting = settings.MEMORY.get("LANGUAGE", "auto")
    if setting != "auto":
        likely = [setting] if setting in FUNCTION_WORDS else []
    ignored = frozenset().union(*(FUNCTION_WORDS[name] for name in likely))
    kept = [word for word in words if word not in ignored]
    if not kept and not codes and not grams:
        kept = words
    languages = LANGUAGES if setting == "auto" else tuple(likely)
    found: dict[str, QueryTerm] = {}
    for word in kept:
        forms = {_form(word, language) for language in (SIMPLE, *languages)}
        found.setdefault(word, QueryTerm(word, frozenset(forms)))
    pairs = [gram for gram in grams if len(gram) > 1]
    singles = [gram for gram in grams if len(gram) == 1]
    covered = {character for pair in pairs for character in pair}
    for term in [*codes, *pairs, *(s for s in singles if s not in covered)]:
        found.setdefault(term, QueryTerm(term, frozenset({term_hash(term)})))
    return list(found.values())


def term_hash(term: str) -> int:
    """The 32-bit number that stands for a term (CRC-32 of its UTF-8 bytes)."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def resource_key(resource_id: str) -> int:
    """The upper half of the keys of a resource (31 bits, so that keys are positive).

    The same as the database's ``recall_resource_key``.
    """
    head = hashlib.md5(resource_id.encode(), usedforsecurity=False).digest()[:4]
    return (int.from_bytes(head, "big") & 0x7FFFFFFF) << 32


def scoped_keys(resource_id: str, hashes: Iterable[int]) -> list[int]:
    """The terms as the index holds them: each together with the resource.

    A word's entry in the index thus lists the messages of one resource, however many
    messages of others hold the word.
    """
    upper = resource_key(resource_id)
    return [upper | term for term in hashes]


def _split(text: str) -> tuple[list[str], list[str], list[str]]:
    """Folded words, whole codes, and characters and pairs of unspaced scripts."""
    grams: list[str] = []
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        if _UNSPACED.search(text):
            for run in _UNSPACED.findall(text):
                grams.extend(run)
                grams.extend(run[i : i + 2] for i in range(len(run) - 1))
            text = _UNSPACED.sub(" ", text)
    words = _WORD.findall(_folded(text))[:MAX_WORDS]
    codes: list[str] = []
    if _HAS_COMPOUND.search(text):
        codes = [
            code[: 2 * MAX_WORD_LENGTH]
            for code in map(_folded, _COMPOUND.findall(text))
            if _CODE_SIGN.search(code)
        ]
    for word in _HUMPED.findall(text) if _HAS_HUMP.search(text) else ():
        if len(word) <= MAX_WORD_LENGTH:
            words.extend(_folded(part) for part in _HUMP.split(word))
    return words[:MAX_WORDS], codes[:MAX_WORDS], grams[: 2 * MAX_WORDS]


@lru_cache(maxsize=200_000)
def _form(word: str, language: str) -> int:
    """The hash under which a word of a text in ``language`` is indexed."""
    return term_hash(stem(word[:MAX_WORD_LENGTH], language))


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    # Put together again what is more than a letter with an accent: Hangul, say.
    return unicodedata.normalize("NFC", bare.casefold())


__all__ = [
    "LANGUAGES",
    "SIMPLE",
    "DocumentTerms",
    "QueryTerm",
    "document_terms",
    "fold",
    "query_terms",
    "resource_key",
    "scoped_keys",
    "term_hash",
]
