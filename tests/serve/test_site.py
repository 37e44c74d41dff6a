"""The server's clock, which never goes back, and Markdown as safe HTML."""

from __future__ import annotations

import re
import time

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel import store as stores
from softlabel.serve.site import Clock, render_markdown
from softlabel.store import ItemRow, Plan

HOUR, DAY = 3600.0, 86_400.0
PLAN = Plan(per_item=1, lease_seconds=HOUR)


class Machine:
    """A machine whose time of day can be set, and on which time passes all the same."""

    def __init__(self) -> None:
        self.set_by, self.passed = 1_800_000_000.0, 50.0

    def wall(self) -> float:
        return self.set_by + self.passed

    def ticks(self) -> float:
        return self.passed

    def clock(self, newest: float | None = None) -> Clock:
        return Clock(newest, wall=self.wall, ticks=self.ticks)


@pytest.fixture
def machine():
    return Machine()


def test_a_clock_starts_at_the_time_of_day_and_goes_on_by_itself(machine):
    clock = machine.clock()
    assert clock() == machine.wall()
    machine.passed += 10
    assert clock() == machine.wall()
    before = clock()
    for jump in (-HOUR, DAY, -2 * DAY):
        machine.set_by += jump
        assert clock() == before
    machine.passed += 5
    assert clock() == before + 5


def test_the_real_clock_is_the_time_of_day():
    clock = Clock()
    assert abs(clock() - time.time()) < 60
    times = [clock() for _ in range(1000)]
    assert times == sorted(times)
    assert clock.behind == 0


def everything_at_once(folder):
    """One person holds all six items."""
    path = folder / "study.toml"
    text = path.read_text().replace("per_annotator = 4", "per_annotator = 6")
    path.write_text(text.replace("batch_size = 3", "batch_size = 6"))


@pytest.mark.parametrize("jump", [-HOUR, DAY], ids=["back an hour", "forward a day"])
def test_setting_the_time_of_day_changes_no_lease(serving, machine, jump):
    running = serving(per_item=1, edit=everything_at_once, clock=machine.clock())
    ann = running.person().to_task()
    machine.set_by += jump
    machine.passed += HOUR - 60
    assert running.person().heading() == "There is nothing left to do"
    assert ann.open_positions(), "what she holds is hers; asking extends the lease"
    machine.passed += HOUR + 1
    assert running.person().heading() == "Before you begin"
    assert running.person().to_task().open_positions()


def test_the_time_of_day_set_back_between_two_runs_makes_no_lease_longer(machine, tmp_path):
    with stores.open(tmp_path / "answers.db") as store:
        assert store.newest() is None
        now = machine.clock(store.newest())
        put(store, now)
        hold(store, now)
        machine.passed += 30
        store.lease(store.sessions("birds")[0].id, PLAN, now()).result()
        held = now()
    machine.set_by -= HOUR
    with stores.open(tmp_path / "answers.db") as store:
        assert store.newest() == held
        again = machine.clock(store.newest())
        assert (again(), again.behind) == (held, HOUR)
        machine.passed += HOUR - 1
        assert store.release_expired("birds", again()).result() == 0
        machine.passed += 2
        assert store.release_expired("birds", again()).result() == 1


def put(store, now):
    items = [ItemRow("bird-0")]
    store.put_study("birds", "[study]", ("wren", "owl"), items, 1, now()).result()


def hold(store, now):
    who = store.enter(
        "birds",
        "ann",
        "token of ann",
        label_order_of=lambda number: ("wren", "owl"),
        seed=0,
        recruiter_session=None,
        now=now(),
    ).result()
    store.lease(who.id, PLAN, now()).result()


def test_a_real_server_goes_on_from_the_newest_entry(serve_study, study_folder, tmp_path):
    """The database was written to by a machine that was a day ahead."""
    folder, later = study_folder(), time.time() + DAY
    place = tmp_path / "answers.db"
    with stores.open(place) as store:
        put(store, lambda: later)
        store.event("birds", None, "noted", {}, later).result()
    with stores.open(tmp_path / "answers.db") as store:
        assert store.newest() == later
    served = serve_study(folder, "--db", place)
    assert "minutes behind the newest entry" in served.log.read_text()
    boxes = {"adult": "on", "read": "on", "agree": "on"}
    own = {"sec-fetch-site": "same-origin"}
    assert httpx.post(f"{served.url}/consent", data=boxes, headers=own).status_code == 303
    with stores.open(place) as store:
        assert store.sessions("birds")[0].entered_at >= later


# ── Markdown ───────────────────────────────────────────────────────────────────────────────────


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
