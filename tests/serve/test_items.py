"""What is sent of an item: texts with headings, Markdown as trees, second pictures, videos."""

from __future__ import annotations

import json

import pytest

from softlabel.serve.participant.trees import TAGS, grow_tree
from softlabel.serve.site import render_markdown

VIDEO = b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00isom" + bytes(range(200))
FULL = {
    "premise": "A *man*.",
    "hypothesis": "He.",
    "text": "Both:",
    "question": "Does it follow?",
    "note": "From **a** caption.",
    "image": ["secret-file-0.png", "secret-file-1.png"],
    "alt": ["left", "right"],
    "video": "secret-clip.mp4",
}


def edit(folder, more=""):
    (folder / "secret-clip.mp4").write_bytes(VIDEO)
    rows = [FULL | {"id": f"hidden-id-{n}", "premise": f"Man *{n}*."} for n in range(6)]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    headings = 'headings = { premise = "Premise", hypothesis = "Hypothesis" }\n'
    text = (folder / "study.toml").read_text()
    source = f'source = "items.jsonl"\n{headings}{more}'
    (folder / "study.toml").write_text(text.replace('source = "items.csv"', source))


@pytest.fixture
def plain(serving):
    return serving(edit=edit)


@pytest.fixture
def rich(serving):
    def more(folder):
        edit(folder, 'markdown = true\nlayout = "rows"\nsmoothing = "smooth"\n')

    return serving(edit=more)


def first_main(person):
    plan = person.plan()
    return plan, next(one for one in plan["showings"] if one["phase"] == "main" and "texts" in one)


def test_a_plan_sends_what_is_shown_and_nothing_more(plain):
    ann = plain.person().to_task()
    plan, showing = first_main(ann)
    assert plan["look"] == {"layout": "auto", "smoothing": "auto", "parts": ["players", "words"]}
    headings = [one["heading"] for one in showing["texts"]]
    assert headings == ["Premise", "Hypothesis"]
    assert set(showing["texts"][0]) == {"heading", "text"}
    assert (showing["question"], showing["note"]) == ("Does it follow?", "From **a** caption.")
    assert (showing["alt"], showing["alt_2"], showing["text"]) == ("left", "right", "Both:")
    assert "secret" not in json.dumps(plan)
    assert "hidden-id" not in json.dumps(plan)
    practice = next(one for one in plan["showings"] if one["phase"] == "practice")
    assert not {"texts", "video", "image_2", "note", "question"} & set(practice)


def test_a_page_loads_only_the_parts_that_its_items_need(plain):
    page = plain.person().to_task().get("/").text
    assert 'href="/static/players.js"' in page
    assert 'href="/static/words.css"' in page


def test_a_study_of_pictures_loads_none(running):
    ann = running.person().to_task()
    assert ann.plan()["look"]["parts"] == []
    page = ann.get("/").text
    assert "words" not in page
    assert "video" not in page


def test_markdown_is_sent_as_trees(rich):
    plan, showing = first_main(rich.person().to_task())
    assert (plan["look"]["layout"], plan["look"]["smoothing"]) == ("rows", "smooth")
    tree = showing["texts"][0]["nodes"]
    assert tree[0][:3] == ["p", {}, "Man "]
    assert tree[0][3][0] == "em"
    assert showing["note_nodes"] == [
        ["p", {}, "From ", ["strong", {}, "a"], " caption."],
    ]
    assert showing["text_nodes"] == [["p", {}, "Both:"]]


def test_a_video_is_sent_in_ranges_and_kept_by_the_browser(plain):
    ann = plain.person().to_task()
    _, showing = first_main(ann)
    whole = ann.get(showing["video"])
    assert (whole.status_code, whole.content) == (200, VIDEO)
    assert whole.headers["content-type"] == "video/mp4"
    assert "immutable" in whole.headers["cache-control"]
    part = ann.get(showing["video"], headers={"range": "bytes=10-19"})
    assert (part.status_code, part.content) == (206, VIDEO[10:20])
    assert part.headers["content-range"] == f"bytes 10-19/{len(VIDEO)}"
    beyond = ann.get(showing["video"], headers={"range": "bytes=9999-"})
    assert beyond.status_code == 416
    second = ann.get(showing["image_2"])
    assert second.headers["content-type"] == "image/png"


def test_the_researcher_sees_all_of_an_item(rich):
    eve = rich.person()
    eve.post("/research/login", data={"token": rich.token})
    page = eve.get("/research/items").text
    assert page.count("<video") == 6
    assert "Premise</p>" in page
    assert "<em>0</em>" in page
    assert "<strong>Does it follow?</strong>" in page
    assert 'alt="right"' in page
    assert "secret-clip.mp4" in page
    assert "secret-file-1.png" in page


# ── trees ────────────────────────────────────────────────────────────────────────────────────


def flatten(nodes):
    for node in nodes:
        if isinstance(node, list):
            yield node[0], node[1]
            yield from flatten(node[2:])


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![a](https://example.org/a.png)",
        "[a](javascript:alert(1))",
        "[a](data:text/html,x)",
        "<https://example.org>",
        '[a](https://example.org "onclick=1")',
        "&lt;script&gt;",
        "```js\n</code><script>x</script>\n```",
    ],
)
def test_a_tree_holds_only_what_markdown_makes(text):
    for tag, attributes in flatten(grow_tree(text)):
        assert tag in TAGS - {"script", "img"}
        assert set(attributes) <= {"href", "rel", "target", "start"}
        assert attributes.get("href", "https://").startswith(("https://", "mailto:"))


def write(nodes):
    return "".join(
        node if isinstance(node, str) else f"<{node[0]}>{write(node[2:])}" for node in nodes
    )


def test_a_tree_says_what_the_pages_would_say():
    text = "# A\n\nb *c* `d`  \ne\n\n1. x\n2. y\n\n> q\n\n| a | b |\n|--|-:|\n| 1 | 2 |\n\n---\n"
    assert write(grow_tree(text)) == (
        "<h2>A<p>b <em>c <code>d<br>\ne<ol><li>x<li>y<blockquote><p>q"
        "<table><thead><tr><th>a<th>b<tbody><tr><td>1<td>2<hr>"
    )
    assert "style" not in json.dumps(grow_tree(text))


def test_item_texts_do_not_push_the_pages_out_of_memory():
    before = render_markdown.cache_info().currsize
    for n in range(50):
        grow_tree(f"text *{n}*")
    assert render_markdown.cache_info().currsize == before
