"""Markdown to HTML that is safe to show: no raw HTML, no foreign pictures, plain links only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

SCHEMES = {"http", "https", "mailto"}


@lru_cache(maxsize=256)  # a study has a few texts, and everybody reads them
def render(text: str) -> Markup:
    """The HTML of a text; raw HTML in it is shown as the text that it is."""
    tokens = _reader.parse(text)
    _lower_headings(tokens)
    return Markup(_reader.renderer.render(tokens, _reader.options, {}))


def _lower_headings(tokens: Sequence[Token]) -> None:
    """The page has its own first heading, so the text's begin at the second level."""
    headings = [token for token in tokens if token.type in ("heading_open", "heading_close")]
    top = min((int(token.tag[1]) for token in headings), default=2)
    for token in headings:
        token.tag = f"h{min(6, int(token.tag[1]) + 2 - top)}"


def _is_plain_link(address: str) -> bool:
    try:
        return urlsplit(address).scheme.lower() in SCHEMES
    except ValueError:
        return False


def _open_link(
    renderer: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType
) -> str:
    """Links open beside the study, which goes on, and tell the other side nothing."""
    if not _is_plain_link(str(tokens[place].attrGet("href") or "")):
        return "<a>"  # an empty address is no link, though the library takes it for one
    tokens[place].attrSet("rel", "noopener noreferrer")
    tokens[place].attrSet("target", "_blank")
    return renderer.renderToken(tokens, place, options, env)


def _make_reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    # the library's own rule also lets relative addresses and data: pictures through
    reader.validateLink = _is_plain_link  # type: ignore[method-assign,assignment]
    reader.add_render_rule("link_open", _open_link)
    return reader


_reader = _make_reader()
