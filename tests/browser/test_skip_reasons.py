"""The dialog of skipping with a study's own reasons, and without any."""

from __future__ import annotations

REASONS = '0\nskip_reasons = { too_dark = "It is too dark", not_in_list = false }'


def test_ones_own_reasons_are_offered_by_key_and_stored(served, person, check):
    running = served(mode="hard", items=4, repeats=REASONS)
    somebody = person(running.url).start().press("s")
    page = somebody.page
    reasons = page.locator("dialog .stack button span")
    usual = ["It cannot be seen, heard or read", "I cannot judge it at all"]
    assert reasons.all_inner_texts() == [*usual, "It is too dark"]
    check(page)
    somebody.answer("3").saved()
    assert running.store.progress("animals").skips == {"too_dark": 1}


def test_where_nobody_may_skip_there_is_no_button_and_no_key(served, person):
    running = served(mode="hard", items=4, repeats="0\nskip_reasons = false")
    somebody = person(running.url).start().press("s")
    page = somebody.page
    assert page.locator("dialog").count() == 0
    assert page.get_by_role("button", name="Skip").count() == 0
    somebody.press("?")
    page.locator("dialog").wait_for()
    assert "skip this item" not in page.locator("dialog").inner_text()
