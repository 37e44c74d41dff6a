"""The task page while the study is paused, closed, extended and corrected by the researcher."""

from __future__ import annotations

import re
import time

import httpx
import pytest
from playwright.sync_api import expect

from softlabel.serve.actions import AddItems, Close, Desk, Exclude, Pause, Reopen, Resume

FEW = "0\nbatch_size = 2\nper_annotator = 4"  # two items at a time


@pytest.fixture
def running(served):
    return served(mode="hard", items=8, repeats=FEW)


@pytest.fixture
def do(running):
    def act(action):
        done = action.do(Desk(running.study, running.store, "dora", time.time()))
        if isinstance(action, Resume | Reopen):  # pages look again each second
            while re.search("paused|closed", httpx.get(running.url).text):
                time.sleep(0.1)
        return done

    return act


def test_a_pause_shows_its_page_and_nothing_is_lost(running, person, do):
    somebody = person(running.url).start()
    do(Pause())
    try:
        somebody.answer("1").answer("2")
        page = somebody.page
        expect(page.get_by_role("heading", name="The study is paused")).to_be_visible()
        expect(page.locator("main")).to_contain_text("are stored")
        page.get_by_role("link", name="Try again").click()
        expect(page.get_by_role("heading", name="The study is paused")).to_be_visible()
    finally:
        do(Resume())
    while page.get_by_role("link", name="Try again").count():  # pages look again each second
        page.reload()
    somebody.ready()
    assert somebody.position == 2


def test_closing_ends_with_what_is_held(running, person, do):
    somebody = person(running.url).start()
    do(Close())
    try:
        somebody.answer("1").answer("2").done()
        expect(somebody.page.get_by_role("heading", name="Thank you")).to_be_visible()
    finally:
        do(Reopen())


def test_whoever_is_left_out_meanwhile_is_told(running, person, do):
    somebody = person(running.url).start()
    who = running.store.sessions("animals")[-1].annotator
    do(Exclude(who, "a test"))
    somebody.answer("1")
    expect(somebody.page.get_by_role("heading", name="closed for you")).to_be_visible()


def test_items_that_were_added_appear(running, person, do, tmp_path):
    table = tmp_path / "more.jsonl"
    table.write_text('{"id": "late", "text": "A late lark", "image": "1.png", "alt": "a lark"}\n')
    somebody = person(running.url).start()
    do(AddItems(table, table.name))
    other = person(running.url).start()
    seen = []
    for one in (somebody, other):
        for n in range(4):
            seen.append(one.page.locator("#task").inner_text())
            one.answer(str(n + 1))
    assert any("A late lark" in text for text in seen)
