"""Titles without a language model: the phrases that a conversation is about.

Candidates are runs of content words, as in rapid automatic keyword extraction (Rose et
al., 2010), here with a preposition allowed inside ("trip to Rome"). A candidate counts
for each of its words as often as the conversation has them, more when a person wrote it
and when it came early.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

LONGEST = 60

_TOKEN = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*|[^\w\s]|\n", re.UNICODE)
_LINKS = frozenset(
    ["of", "to", "for", "in", "on", "with", "from", "between", "at", "de", "du", "von"]
)
_STOPWORDS = frozenset(
    [
        "a",
        "about",
        "after",
        "again",
        "all",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "ask",
        "at",
        "be",
        "because",
        "been",
        "before",
        "being",
        "best",
        "but",
        "by",
        "can",
        "cannot",
        "can't",
        "could",
        "did",
        "didn't",
        "do",
        "does",
        "doesn't",
        "doing",
        "don't",
        "done",
        "down",
        "each",
        "else",
        "ever",
        "every",
        "few",
        "find",
        "first",
        "for",
        "from",
        "get",
        "give",
        "go",
        "going",
        "good",
        "got",
        "great",
        "had",
        "has",
        "have",
        "having",
        "he",
        "hello",
        "help",
        "her",
        "here",
        "hers",
        "hey",
        "hi",
        "him",
        "his",
        "how",
        "however",
        "i",
        "i'd",
        "i'll",
        "i'm",
        "i've",
        "if",
        "in",
        "into",
        "is",
        "isn't",
        "it",
        "it's",
        "its",
        "just",
        "kind",
        "know",
        "let",
        "let's",
        "like",
        "ll",
        "make",
        "many",
        "may",
        "maybe",
        "me",
        "might",
        "more",
        "most",
        "much",
        "must",
        "my",
        "need",
        "new",
        "no",
        "nor",
        "not",
        "now",
        "of",
        "off",
        "ok",
        "okay",
        "on",
        "once",
        "one",
        "only",
        "or",
        "other",
        "our",
        "out",
        "over",
        "own",
        "please",
        "plan",
        "put",
        "really",
        "said",
        "same",
        "say",
        "see",
        "shall",
        "she",
        "should",
        "show",
        "so",
        "some",
        "something",
        "still",
        "such",
        "sure",
        "take",
        "tell",
        "than",
        "thank",
        "thanks",
        "that",
        "that's",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "thing",
        "things",
        "this",
        "those",
        "through",
        "to",
        "too",
        "try",
        "up",
        "us",
        "use",
        "used",
        "using",
        "very",
        "want",
        "was",
        "way",
        "we",
        "well",
        "were",
        "what",
        "what's",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "why",
        "will",
        "wish",
        "with",
        "won't",
        "work",
        "would",
        "write",
        "yes",
        "yet",
        "you",
        "you're",
        "your",
        "yours",
        "explain",
        "describe",
        "remember",
        "called",
        "tomorrow",
        "today",
        "yesterday",
    ]
)


def key_phrases(said: Sequence[tuple[str, str]], count: int = 2) -> str:
    """A title from ``(role, text)`` pairs in order; empty when nothing stands out."""
    words: Counter[str] = Counter()
    candidates: dict[str, tuple[float, int, list[str]]] = {}
    place = 0
    for role, text in said:
        weight = 3.0 if role == "user" else 1.0
        tokens = _TOKEN.findall(text[:4000])
        words.update({t.lower(): weight for t in tokens if _is_content(t)})
        for phrase in _phrases(tokens):
            place += 1
            key = " ".join(phrase).lower()
            if key not in candidates:
                candidates[key] = (weight, place, phrase)
    scored = sorted(
        candidates.values(),
        key=lambda c: (-_score(c[2], c[0], words), c[1]),
    )
    chosen: list[tuple[int, list[str]]] = []
    seen: set[str] = set()
    for _weight, at, phrase in scored:
        content = {word.lower() for word in phrase if _is_content(word)}
        if content & seen:
            continue
        length = sum(len(" ".join(p)) + 2 for _, p in chosen)
        if length + len(" ".join(phrase)) > LONGEST:
            continue
        chosen.append((at, phrase))
        seen |= content
        if len(chosen) == count:
            break
    title = ", ".join(" ".join(phrase) for _, phrase in sorted(chosen))
    return title[:1].upper() + title[1:]


def _is_content(token: str) -> bool:
    word = token.lower()
    return (
        word not in _STOPWORDS
        and any(c.isalpha() for c in word)
        and (len(word) > 2 or not word.isascii())
    )


def _phrases(tokens: Sequence[str]) -> list[list[str]]:
    """Runs of at most four content words, links inside them kept."""
    phrases: list[list[str]] = []
    current: list[str] = []

    def done() -> None:
        while current and current[-1].lower() in _LINKS:
            current.pop()
        if current:
            phrases.append(list(current))
        current.clear()

    for token in tokens:
        if _is_content(token) or (token.isdigit() and current):
            if sum(map(_is_content, current)) == 4:
                done()
            current.append(token)
        elif token.lower() in _LINKS and current and _is_content(current[-1]):
            current.append(token)
        else:
            done()
    done()
    return phrases


def _score(phrase: Sequence[str], weight: float, words: Counter[str]) -> float:
    content = [word for word in phrase if _is_content(word)]
    names = sum(word[0].isupper() for word in content)
    together = 1 + 0.5 * (len(content) - 1)
    mean = sum(words[word.lower()] for word in content) / len(content)
    return weight * (mean * together + names)
