"""Text of models and people as HTML that is safe to show.

:func:`render` is the one place where such text becomes markup. Markdown is parsed without
raw HTML, which therefore shows as the characters it is made of; whatever comes out passes
an allow-list all the same. No image is loaded: its address could carry data away, so a
placeholder names the host instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

import nh3
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.tasklists import tasklists_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

SCHEMES = {"http", "https", "mailto"}
REL = "noopener noreferrer nofollow ugc"
# Characters above which code is shown without colours: lexers take their time. Less
# while the code still grows, and is rendered again and again.
MAX_COLOURED = 50_000
MAX_COLOURED_GROWING = 8_000
# Characters above which a growing block is rendered only once it has grown by a
# sixteenth, so that the work for a long block stays in proportion to its length.
LONG_BLOCK = 4_000
# Characters above which text is shown as it is: parsing would hold up everybody else.
MAX_PARSED = 400_000

# Pages have no inline styles: the alignment of a table's column becomes a class.
_ALIGNMENTS = {"text-align:right": "end", "text-align:center": "center"}
_TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "a", "blockquote", "code", "pre"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "input"),
    *("table", "thead", "tbody", "tr", "th", "td", "span", "div", "figure"),
    *("figcaption", "button"),
}
_ATTRIBUTES = {
    "*": {"class", "dir"},
    "a": {"href", "title"},
    "ol": {"start"},
    "input": {"type", "checked", "disabled"},
    "pre": {"tabindex"},
    "div": {"tabindex", "role", "aria-label"},
    "button": {"type", "data-copy-code", "hidden"},
}


def render(text: str) -> SafeString:
    """``text`` as Markdown (CommonMark, tables, task lists, bare addresses) in safe HTML."""
    if len(text) > MAX_PARSED:
        return format_html('<pre class="plain" dir="auto" tabindex="0">{}</pre>', text)
    return _clean(_MARKDOWN.render(text))


@dataclass(frozen=True)
class Growth:
    """What a longer text changed on the page.

    The first ``keep`` blocks of the part stay as they are; ``blocks`` take the place of
    all that follow.
    """

    keep: int
    blocks: list[SafeString]


class GrowingText:
    """Renders a text that arrives in pieces, again only from its last block on.

    A block is final once a later block has begun on a complete line. Definitions of link
    targets that arrive later leave earlier blocks alone; :func:`render` of the whole
    text, at the end, does not.
    """

    def __init__(self) -> None:
        self.text = ""
        self._tail = 0
        self._final = 0
        self._rendered = 0

    def append(self, piece: str) -> Growth | None:
        """Adds ``piece`` and says what to change for it.

        None when the block is long and has grown little: it is shown with what follows.
        """
        self.text += piece
        source = self.text[self._tail :]
        if LONG_BLOCK < len(source) < self._rendered * 17 // 16:
            return None
        self._rendered = len(source)
        tokens = _MARKDOWN.parse(source)
        blocks = _top_level(tokens)
        html = [_clean(_render(group)) for group, _ in blocks]
        growth = Growth(self._final, html)
        complete = source.count("\n")
        last = max(
            (i for i, (_, line) in enumerate(blocks) if line < complete), default=0
        )
        if last:
            starts = _line_starts(source)
            self._tail += starts[blocks[last][1]]
            self._final += last
            self._rendered = 0
        return growth


def _top_level(tokens: list[Token]) -> list[tuple[list[Token], int]]:
    """The tokens of each outermost block, with the line on which it begins."""
    blocks: list[tuple[list[Token], int]] = []
    group: list[Token] = []
    depth = 0
    for token in tokens:
        group.append(token)
        depth += token.nesting
        if depth == 0:
            blocks.append((group, group[0].map[0] if group[0].map else 0))
            group = []
    return blocks


def _line_starts(source: str) -> list[int]:
    starts = [0]
    for index, character in enumerate(source):
        if character == "\n":
            starts.append(index + 1)
    return starts


def _render(tokens: list[Token]) -> str:
    return _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {"growing": True})


def _clean(html: str) -> SafeString:
    cleaned = nh3.clean(
        html,
        tags=_TAGS,
        clean_content_tags=set(),
        attributes=_ATTRIBUTES,
        url_schemes=SCHEMES,
        link_rel=REL,
        strip_comments=True,
    )
    return mark_safe(cleaned)  # noqa: S308 - sanitised on the line above


def highlighted(code: str, language: str, limit: int = MAX_COLOURED) -> SafeString:
    """Code as spans with the highlighter's class names.

    Plain for unknown languages and above ``limit`` characters.
    """
    if len(code) <= limit and language:
        try:
            lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
        except ClassNotFound:
            pass
        else:
            return mark_safe(highlight(code, lexer, HtmlFormatter(nowrap=True)))  # noqa: S308 - pygments escapes
    return format_html("{}", code)


def _fence(self, tokens, index, options, env) -> str:
    token = tokens[index]
    words = token.info.split()
    language = words[0][:40] if words else ""
    return format_html(
        '<figure class="code" dir="ltr"><figcaption><span>{}</span>'
        '<button type="button" data-copy-code="1">Copy</button></figcaption>'
        '<pre tabindex="0"><code>{}</code></pre></figure>\n',
        language or "text",
        highlighted(
            token.content,
            language,
            MAX_COLOURED_GROWING if env.get("growing") else MAX_COLOURED,
        ),
    )


def _image(self, tokens, index, options, env) -> str:
    token = tokens[index]
    address = str(token.attrs.get("src", ""))
    return remote_image(address, token.content)


def remote_image(address: str, alt: str = "") -> SafeString:
    """A placeholder that names where an image would come from, with a link to it."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        parts, host = None, ""
    label = alt or "image"
    if parts is None or parts.scheme not in ("http", "https") or not host:
        return format_html('<span class="image-off">Image: {}</span>', label)
    return format_html(
        '<a class="image-off" href="{}">Image not loaded: {} ({})</a>',
        address,
        label,
        host,
    )


def _table_open(self, tokens, index, options, env) -> str:
    return '<div class="table" role="region" aria-label="Table" tabindex="0"><table>\n'


def _table_close(self, tokens, index, options, env) -> str:
    return "</table></div>\n"


def _with_direction(self, tokens, index, options, env) -> str:
    # Each block finds its own direction, so that scripts can be mixed.
    token = tokens[index]
    token.attrSet("dir", "auto")
    alignment = _ALIGNMENTS.get(str(token.attrs.pop("style", "")))
    if alignment:
        token.attrSet("class", alignment)
    return self.renderToken(tokens, index, options, env)


def _markdown() -> MarkdownIt:
    markdown = MarkdownIt(
        "commonmark", {"html": False, "linkify": True, "breaks": True}
    )
    markdown.enable(["table", "strikethrough", "linkify"])
    markdown.use(tasklists_plugin)
    markdown.linkify.set({"fuzzy_link": False, "fuzzy_ip": False})
    for name, rule in {
        "fence": _fence,
        "code_block": _fence,
        "image": _image,
        "table_open": _table_open,
        "table_close": _table_close,
        "paragraph_open": _with_direction,
        "heading_open": _with_direction,
        "blockquote_open": _with_direction,
        "bullet_list_open": _with_direction,
        "ordered_list_open": _with_direction,
        "th_open": _with_direction,
        "td_open": _with_direction,
    }.items():
        markdown.add_render_rule(name, rule)
    return markdown


_MARKDOWN = _markdown()
