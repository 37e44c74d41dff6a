"""Texts of researchers become HTML, and nothing but the HTML that we mean."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel.serve.site import render_markdown


def test_ordinary_text():
    html = render_markdown(
        "# One\n\nSome *words*, `code` and:\n\n- a\n- b\n\n| x | y |\n|---|---|\n| 1 | 2 |\n"
    )
    for part in ("<h2>One</h2>", "<em>words</em>", "<li>a</li>", "<td>2</td>", "<code>code</code>"):
        assert part in html


def test_headings_begin_at_the_second_level_and_keep_their_order():
    assert re.findall(r"<(h\d)>", render_markdown("# a\n## b\n### c")) == ["h2", "h3", "h4"]
    assert re.findall(r"<(h\d)>", render_markdown("### a\n#### b")) == ["h2", "h3"]
    assert re.findall(r"<(h\d)>", render_markdown("## a\n# b")) == ["h3", "h2"]
    assert re.findall(r"<(h\d)>", render_markdown("# a\n###### b")) == ["h2", "h6"]


def test_foreign_pictures_are_not_shown():
    assert "<img" not in render_markdown("![x](https://evil.example/x.png)")


def test_links_open_apart_and_tell_nothing():
    html = render_markdown("[us](https://x.example) [mail](mailto:a@x.example)")
    assert html.count('rel="noopener noreferrer"') == 2
    assert html.count('target="_blank"') == 2


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "a <b onclick=x>b</b>",
        "![x](/media/1)",
        "![x](data:image/png;base64,AA)",
        "[x](javascript:alert(1))",
        "[x](JAVASCRIPT:alert(1))",
        "[x](java\nscript:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](data:text/html,x)",
        "[x](vbscript:x)",
        "[x](/withdraw)",
        "[x](//evil.example)",
        "<javascript:alert(1)>",
        "[x]: javascript:alert(1)\n\n[x]",
    ],
)
def test_nothing_else_becomes_html(text):
    html = render_markdown(text)
    assert not re.search(r"<(script|img|b|a)[\s>]", html), html


TAGS = set(
    [
        "p",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "em",
        "strong",
        "code",
        "pre",
        "ul",
        "ol",
        "li",
        "blockquote",
        "hr",
        "br",
        "a",
    ]
)
TAGS |= set(["table", "thead", "tbody", "tr", "th", "td"])
PIECES = st.sampled_from(
    ["<", ">", '"', "'", "[x](", ")", "javascript:", "http://a", "![", "](", "&lt;", "`", "\n", "#"]
)


@given(st.lists(PIECES | st.text(max_size=4), max_size=20).map("".join))
def test_only_known_tags_and_attributes_come_out(text):
    html = render_markdown(text)
    for tag, attributes in re.findall(r"</?([a-zA-Z0-9]+)([^>]*)>", html):
        assert tag in TAGS
        names = set(re.findall(r"([a-z-]+)=\"", attributes))
        assert names <= {"href", "rel", "target", "title", "start", "class", "style"}
    for address in re.findall(r'href="([^"]*)"', html):
        assert address.lower().startswith(("http:", "https:", "mailto:"))
    assert "style=" not in html
