"""Markdown becomes safe HTML, also piece by piece."""

from __future__ import annotations

import random

import pytest

from agents.studio.markdown import GrowingText, render

DOCUMENT = """# Heading

A paragraph with *emphasis* and a line
break.

1. one
2. two
   - nested

> quoted
> text

```python
def f(x):

    return "<b>"
```

| a | b |
|---|--:|
| 1 | 2 |

text
# not lost
text
***bold***

שלום <script>x</script>

- [x] done
- [ ] open
"""


def shown_after(pieces: list[str]) -> str:
    """What the page shows when it applies every change."""
    growing = GrowingText()
    blocks: list[str] = []
    for piece in pieces:
        growth = growing.append(piece)
        blocks[growth.keep :] = growth.blocks
    assert growing.text == "".join(pieces)
    return "".join(blocks)


@pytest.mark.parametrize("seed", range(20))
def test_pieces_show_the_same_as_the_whole(seed) -> None:
    chance = random.Random(seed)
    pieces = []
    rest = DOCUMENT
    while rest:
        length = chance.randint(1, 25)
        pieces.append(rest[:length])
        rest = rest[length:]
    assert shown_after(pieces) == render(DOCUMENT)


def test_single_characters_show_the_same_as_the_whole() -> None:
    assert shown_after(list(DOCUMENT)) == render(DOCUMENT)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("<b>x</b>", '<p dir="auto">&lt;b&gt;x&lt;/b&gt;</p>\n'),
        ("a < b && c", '<p dir="auto">a &lt; b &amp;&amp; c</p>\n'),
        ("[c](javascript:x)", '<p dir="auto">[c](javascript:x)</p>\n'),
        ("{{7*7}}", '<p dir="auto">{{7*7}}</p>\n'),
        ("one\ntwo", '<p dir="auto">one<br>\ntwo</p>\n'),
    ],
)
def test_markup_of_others_is_text(text, html) -> None:
    assert render(text) == html


@pytest.mark.parametrize(
    "address", ["javascript:x", "data:text/html,x", "file:///etc/passwd", "vbscript:x"]
)
def test_no_link_leaves_the_allowed_schemes(address) -> None:
    assert "<a" not in render(f"[x]({address}) <{address}> ![x]({address})")


def test_an_image_is_named_with_its_host_and_never_loaded() -> None:
    html = render("![a chart](https://tracker.example/p.png)")
    assert "<img" not in html
    assert "Image not loaded: a chart (tracker.example)" in html


def test_code_in_an_unknown_language_is_plain() -> None:
    html = render('```nonsense"><b>\n<i>\n```')
    assert "&lt;i&gt;" in html
    assert "<i>" not in html
    assert "<b>" not in html


def test_a_long_block_is_rendered_a_bounded_number_of_times() -> None:
    growing = GrowingText()
    growths = [growing.append("words and more words ") for _ in range(3_000)]
    rendered = [growth for growth in growths if growth is not None]
    # All of the short beginning, then once for each sixteenth that is added.
    assert len(rendered) < 300
    assert len(growing.text) == 63_000


def test_text_beyond_all_measure_is_shown_as_it_is() -> None:
    text = "*x* <b> " * 60_000
    html = render(text)
    assert html.startswith('<pre class="plain"')
    assert html.count("*x* &lt;b&gt; ") == 60_000
