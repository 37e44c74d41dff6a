"""classic: the published form, with and without its freedom to contradict oneself."""

from __future__ import annotations


def fill(page, top, p1, second, p2, impossible=()):
    blocks = page.locator("fieldset")
    blocks.nth(0).get_by_text(top, exact=True).click()
    page.locator("[data-field=p1]").fill(p1)
    blocks.nth(1).get_by_text(second, exact=True).click()
    page.locator("[data-field=p2]").fill(p2)
    for label in impossible:
        blocks.nth(2).get_by_text(label, exact=True).click()


def test_contradictions_are_kept_as_they_are_and_numbers_as_they_were_typed(
    served, person, answers
):
    running = served(mode="classic", items=2, frame="third_person")
    somebody = person(running.url).start()
    assert "100 other people" in somebody.page.locator("legend").first.inner_text()
    fill(somebody.page, "cat", " 080.50", "cat", "10", ["cat", "dog"])
    somebody.answer("Control+Enter").saved()
    assert answers(running) == [
        {"top": "cat", "p1": " 080.50", "second": "cat", "p2": "10", "impossible": ["cat", "dog"]}
    ]


ODD = {
    "8p": "“8p” is not a number from 0 to 100",
    "12,5": "“12,5” is not a number",
    "250": "A percentage is above 100. Press Next again",
    "0": "The most probable label has 0 %. Press Next again",
}


def test_odd_numbers_are_asked_about(served, person, answers):
    running = served(mode="classic", items=3, more="# odd")
    somebody = person(running.url).start()
    for p1, said in ODD.items():
        fill(somebody.page, "cat", p1, "No alternative", "")
        somebody.press("Control+Enter")
        assert somebody.problem.startswith(said)
        if "again" in said:  # a warning, not a wall
            somebody.page.wait_for_selector("#task[data-ready]")
            somebody.answer("Control+Enter")
    somebody.saved()
    assert [answer["p1"] for answer in answers(running)] == ["250", "0"]


def test_a_likelier_second_label_is_asked_about_once(served, person, answers):
    running = served(mode="classic", items=3, more="# swap")
    somebody = person(running.url).start()
    for place in (0, 1):  # swap them; leave it so
        fill(somebody.page, "cat", "20", "dog", "70")
        somebody.page.wait_for_selector("#task[data-ready]")
        somebody.press("Control+Enter")
        somebody.page.locator(".ask button").nth(place).click()
        somebody.answer("Control+Enter")
    somebody.saved()
    said = [(answer["top"], answer["p1"], answer["p2"]) for answer in answers(running)]
    assert said == [("dog", "70", "20"), ("cat", "20", "70")]


def test_strict_makes_contradictions_impossible_to_enter(served, person, answers):
    running = served(mode="classic:strict=true", items=2)
    somebody = person(running.url).start()
    page = somebody.page
    fill(page, "cat", "250", "dog", "10")
    somebody.press("Control+Enter")
    assert somebody.problem == "A percentage here is above 0 and at most 100."
    page.locator("[data-field=p1]").fill("90")
    blocks = page.locator("fieldset")
    assert blocks.nth(1).get_by_label("cat", exact=True).is_disabled()
    assert blocks.nth(0).get_by_label("dog", exact=True).is_disabled()
    for label in ("cat", "dog"):
        assert blocks.nth(2).get_by_label(label, exact=True).is_disabled()
    blocks.nth(2).get_by_text("fox", exact=True).click()
    assert blocks.nth(0).get_by_label("fox", exact=True).is_disabled()
    blocks.nth(1).get_by_text("No alternative").click()
    assert page.locator("[data-field=p2]").is_disabled()
    somebody.answer("Control+Enter").saved()
    assert answers(running)[0] == {
        "top": "cat",
        "p1": "90",
        "second": None,
        "p2": None,
        "impossible": ["fox"],
    }
