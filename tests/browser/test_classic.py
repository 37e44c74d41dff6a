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


def test_the_paper_asks_in_its_own_words(served, person):
    """As figure 7 of Collins et al. 2022 shows them."""
    running = served(mode="classic:wording=c22", items=2, frame="third_person")
    page = person(running.url).start().page
    asked = [
        *page.locator("#answer h1").all_inner_texts(),
        *page.locator("legend").all_inner_texts(),
        *page.locator(".field.percent > span:first-child").all_inner_texts(),
    ]
    category = "the category you selected being the true category"
    assert asked == [
        "Imagine 100 crowdsourced workers are asked to identify what category the image below "
        "belongs to.",
        "What category do you think they would select as most probably being the true category of "
        "the image?",
        "What alternate category, if any, do you think they would select as being the second most "
        "probable of being the true category of the image?",
        "Are there one or more categories you think the crowdsourced annotators would say are "
        "definitely not the true category of the image? Please click ALL categories you think the "
        "annotators would say have zero probability of being the true category.",
        "What percent probability (between 0 and 100) do you think they would assign to "
        f"{category} of the image?",
        "If you selected an alternate category for the image, what percent probability (between 0 "
        f"and 100) do you think they would assign to {category} represented in the image?",
    ]
    assert page.locator("legend strong").first.inner_text() == "most probably"
    assert page.locator("fieldset").nth(1).get_by_text("No Alternative", exact=True).count() == 1


# words of texts that are broken: parts of one word that stand in several lines
BROKEN = """(selector) => {
  const broken = [];
  for (const node of document.querySelectorAll(selector)) {
    for (const text of [...node.childNodes].filter((one) => one.nodeType === Node.TEXT_NODE)) {
      for (const { 0: word, index } of text.data.matchAll(/\\S+/g)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        if (range.getClientRects().length > 1) broken.push(word);
      }
    }
  }
  return broken;
}"""


def test_no_word_of_an_option_is_broken(served, person):
    labels = ["automobile", "airplane", "bird", "cat", "deer", "dog"]
    running = served(mode="classic", items=2, labels=labels, more="# words")
    page = person(running.url).start().page
    assert "No alternative" in page.locator(".option bdi").all_inner_texts()
    assert page.evaluate(BROKEN, ".option bdi") == []


def test_labels_of_a_narrow_window_stand_alike(served, person):
    """With a mouse, too: a key beside short names and above long ones would not."""
    labels = ["automobile", "airplane", "bird", "cat", "deer", "dog"]
    running = served(mode="quick", items=2, labels=labels, more="# narrow")
    page = person(running.url, viewport={"width": 360, "height": 740}).start().page
    assert page.evaluate(BROKEN, ".labels bdi") == []
    rows = page.locator(".label-row")
    assert len({rows.nth(place).bounding_box()["height"] for place in range(6)}) == 1


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
