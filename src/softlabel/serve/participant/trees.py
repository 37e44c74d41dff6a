"""Markdown of items as trees: the browser builds elements from them, and never reads HTML.

A node is a text, or ``[tag, attributes, *children]``.  The trees are made of the HTML that the
pages' own renderer makes, so that what it refuses (raw HTML, pictures, other links) is refused
here as well.
"""

from functools import lru_cache
from html.parser import HTMLParser
from typing import Any

from softlabel.serve.site import render_markdown

Node = Any  # str | list[...], which types cannot say shortly
KEPT = {"href", "rel", "target", "start"}  # attributes; styles and classes are the page's own
TAGS = {
    *("p", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "hr"),
    *("em", "strong", "a", "br", "table", "thead", "tbody", "tr", "th", "td"),
}
EMPTY = {"hr", "br"}
BLOCKS = {"", "ul", "ol", "blockquote", "table", "thead", "tbody", "tr"}  # hold no text themselves
MANY = 4096  # trees kept: people see the same items within a short time


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root: list[Node] = ["", {}]
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            raise ValueError(f"<{tag}> is not made by Markdown")
        node: list[Node] = [tag, {name: value for name, value in attrs if name in KEPT}]
        self._open[-1].append(node)
        if tag not in EMPTY:
            self._open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if tag not in EMPTY:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if data.strip() or self._open[-1][0] not in BLOCKS:
            self._open[-1].append(data)


@lru_cache(maxsize=MANY)
def grow_tree(text: str) -> list[Node]:
    """Return the nodes of a Markdown text.

    >>> grow_tree("Is it *big*?")
    [['p', {}, 'Is it ', ['em', {}, 'big'], '?']]
    """
    builder = _Builder()
    builder.feed(str(render_markdown.__wrapped__(text)))
    builder.close()
    return builder.root[2:]
