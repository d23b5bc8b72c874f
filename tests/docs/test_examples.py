"""The examples in the documentation do what the pages say."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = re.compile(r"^```pycon\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FLAGS = doctest.NORMALIZE_WHITESPACE


def _pages_with_examples():
    pages = sorted(page for page in DOCS.rglob("*.md"))
    return [page for page in pages if EXAMPLES.search(page.read_text())]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "page", _pages_with_examples(), ids=lambda page: str(page.relative_to(DOCS))
)
def test_examples_of(page):
    text = page.read_text()
    failures = []
    namespace: dict = {}
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for match in EXAMPLES.finditer(text):
        line = text[: match.start(1)].count("\n")
        test = doctest.DocTestParser().get_doctest(
            match[1], namespace, page.name, str(page), line
        )
        runner.run(test, out=failures.append, clear_globs=False)
        namespace = test.globs
    assert not failures, "\n".join(failures)
    assert runner.tries > 0
