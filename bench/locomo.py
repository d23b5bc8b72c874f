"""Measures recall on LoCoMo through Memory.recall, end to end.

    python -m bench.locomo --data conversations.json
    python -m bench.locomo --data conversations.json --embedder local:english
    LOCOMO=conversations.json python -m bench.locomo --each

The data (Maharana et al. 2024, CC BY-NC 4.0) is not part of this repository. The file
maps a conversation's name to ``{"sessions": [{"session", "date_time", "turns": [{"id",
"speaker", "text", "image_caption"?}]}], "questions": [{"question", "category",
"evidence": [turn ids]}]}``.

Each conversation is stored as one resource with a thread a session and a message a turn,
``<speaker>: <text> [<image caption>]``. Measured is, for the questions of categories 1
to 4 whose evidence exists, the share of the evidence among the first k hits, averaged
over the questions.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.server import prepare

KS = (1, 5, 10, 20, 25, 50)
# Ranking constants were chosen on these; the others show that they hold elsewhere.
TUNED_ON = ("30", "41", "43", "44")
MODES = {"hybrid": "hybrid", "vectors only": "vector", "words only": "lexical"}


@dataclass(frozen=True)
class Question:
    """A question, and the messages that hold its answer."""

    conversation: str
    text: str
    evidence: frozenset[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("LOCOMO"))
    parser.add_argument("--embedder", default="local:multilingual")
    parser.add_argument("--each", action="store_true", help="also each conversation")
    options = parser.parse_args()
    if not options.data:
        parser.error("--data or LOCOMO must name the file of conversations")
    os.environ["MEMORY_EMBEDDER"] = options.embedder
    prepare()

    conversations = json.loads(Path(options.data).read_text())
    questions = [
        question
        for name, conversation in conversations.items()
        for question in store(name, conversation)
    ]
    embed()
    report(questions, options.embedder, each=options.each)


def store(name: str, conversation: dict[str, Any]) -> Iterator[Question]:
    """Saves a conversation and gives its questions."""
    from recall.memory import Memory

    memory = Memory({"semantic_recall": True})
    known = set()
    for session in conversation["sessions"]:
        thread_id = f"{name}-{session['session']}"
        memory.create_thread(thread_id=thread_id, resource_id=name)
        start = moment(session["date_time"])
        memory.save_messages(
            [
                {
                    "id": f"{name}/{turn['id']}",
                    "role": "user",
                    "content": said(turn),
                    "createdAt": start + timedelta(seconds=30 * number),
                }
                for number, turn in enumerate(session["turns"])
            ],
            thread_id=thread_id,
        )
        known |= {turn["id"] for turn in session["turns"]}
    for question in conversation["questions"]:
        evidence = set(question["evidence"]) & known
        if question["category"] in (1, 2, 3, 4) and evidence:
            yield Question(
                name,
                question["question"],
                frozenset(f"{name}/{turn}" for turn in evidence),
            )


def said(turn: dict[str, Any]) -> str:
    caption = turn.get("image_caption")
    return f"{turn['speaker']}: {turn['text']}" + (f" [{caption}]" if caption else "")


def moment(text: str) -> datetime:
    """``4:04 pm on 20 January, 2023``"""
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def embed() -> None:
    """Does a worker's work here."""
    from recall.embedding.filling import embed_due
    from recall.embedding.models import Embedding

    began = time.perf_counter()
    embed_due(seconds=3600)
    took = time.perf_counter() - began
    count = Embedding.objects.count()
    print(f"{count} messages embedded in {took:.1f} s\n")


def report(questions: list[Question], embedder: str, *, each: bool) -> None:
    names = sorted({question.conversation for question in questions})
    held_out = [name for name in names if name not in TUNED_ON]
    print(f"{embedder}, {len(questions)} questions; share of the evidence in percent\n")
    print(f"{'':32}" + "".join(f"{f'k={k}':>8}" for k in KS))
    for label, mode in MODES.items():
        found = {question: hits(question, mode) for question in questions}
        line(label, questions, found)
        if mode == "hybrid":
            line("  tuned on", of(questions, TUNED_ON), found)
            line("  held out", of(questions, held_out), found)
            for name in names if each else ():
                line(f"  conversation {name}", of(questions, [name]), found)


def hits(question: Question, mode: str) -> list[str]:
    from recall.memory import Memory

    memory = Memory(
        {
            "last_messages": False,
            "semantic_recall": {
                "top_k": max(KS),
                "message_range": 0,
                "mode": mode,
            },
        }
    )
    thread = f"{question.conversation}-1"
    found = memory.recall(
        thread, question.conversation, vector_search_string=question.text
    )
    return [hit.message_id for hit in found.hits]


def of(questions: list[Question], names: Any) -> list[Question]:
    return [question for question in questions if question.conversation in names]


def line(
    label: str, questions: list[Question], found: dict[Question, list[str]]
) -> None:
    if not questions:
        return
    shares = [
        sum(
            len(question.evidence & set(found[question][:k])) / len(question.evidence)
            for question in questions
        )
        / len(questions)
        for k in KS
    ]
    print(f"{label:32}" + "".join(f"{100 * share:8.1f}" for share in shares))


if __name__ == "__main__":
    main()
