"""A phone with ten labels: the picture and what ends the answer stay in sight."""

from __future__ import annotations

import pytest

TEN = [
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
]
TREE = [f"{'animal' if name in TEN[2:8] else 'vehicle'}/{name}" for name in TEN]
TITLE = "Which animal is this, as far as anybody can tell from a picture of this size?"
PHONE = {"viewport": {"width": 360, "height": 640}, "is_mobile": True, "has_touch": True}
DOUBT = {  # so far that only the ending is left
    "quick": ["1", "2", "e"],
    "chips": ["1"] * 12 + ["2"] * 8,
    "search": ["c", "a", "t", "Enter", "d", "o", "g", "Enter", "+"],
    "classic": ["Tab", "Space", "Tab", "8", "0"],
}
# where things are in the window, after scrolling down by so much
BOXES = """(y) => {
  window.scrollTo({ top: y, behavior: "instant" });
  const box = (one) => one.getBoundingClientRect();
  const [picture, ending] = ["img", ".ending"].map((name) => box(document.querySelector(name)));
  const buttons = [...document.querySelectorAll(".ending button")]
    .filter((one) => one.checkVisibility()).map(box);
  const last = Math.max(...buttons.map((one) => one.bottom));
  const first = Math.min(...buttons.map((one) => one.top));
  return { at: scrollY, picture: [picture.top, picture.bottom], ending: [first, last] };
}"""
# what has the focus, and how much of it is behind the item or the ending
COVERED = """() => {
  const one = document.activeElement;
  const box = one.getBoundingClientRect();
  const over = [".item", ".ending", ".chips-left"]
    .map((name) => document.querySelector(name))
    .filter((part) => part !== null && part.checkVisibility() && !part.contains(one))
    .map((part) => part.getBoundingClientRect())
    .map((part) => Math.min(box.bottom, part.bottom) - Math.max(box.top, part.top));
  const beyond = Math.max(-box.top, box.bottom - innerHeight);
  return { name: one.className || one.tagName, hidden: Math.max(0, beyond, ...over) };
}"""

FRAMES = """() => new Promise((go) => {
  requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(go)));
})"""


@pytest.fixture
def somebody(served, person):
    """Makes somebody on a phone, whose picture is of a usual size."""

    def make(mode, **settings):
        labels = TREE if mode == "search" else TEN
        running = served(mode=mode, items=4, labels=labels, side=400, **settings)
        return person(running.url, **PHONE).start()

    return make


def test_the_certainty_comes_into_sight_when_it_is_asked_for(somebody):
    someone = somebody("quick")
    someone.page.locator(".label").first.tap()
    someone.page.wait_for_function(
        """() => {
          const box = (name) => document.querySelector(name).getBoundingClientRect();
          const [levels, item, ending] = [".levels", ".item", ".ending"].map(box);
          return levels.top >= item.bottom - 1 && levels.bottom <= ending.top + 9;
        }"""
    )


def test_the_page_does_not_scroll_away_from_who_moved_on(somebody):
    """The certainty comes into sight two frames after a label is chosen; within them the person
    may have gone to another label."""
    page = somebody("quick").page
    page.locator(".picture img").wait_for()
    page.evaluate(FRAMES)
    page.evaluate("""() => {
      const labels = document.querySelectorAll(".label");
      labels[1].click();
      labels[0].focus({ focusVisible: true });
    }""")
    page.evaluate(FRAMES)
    page.evaluate(FRAMES)
    now = page.evaluate(COVERED)
    assert now["name"] == "label"
    assert now["hidden"] <= 1


@pytest.mark.parametrize("mode", DOUBT)
def test_the_picture_and_the_ending_stay_in_sight(somebody, mode):
    one = somebody(mode)
    one.press(*DOUBT[mode])
    page = one.page
    page.locator(".picture img").wait_for()
    end = page.evaluate("document.documentElement.scrollHeight") - 640
    at = page.evaluate(BOXES, 0)
    assert 0 <= at["ending"][0] < at["ending"][1] <= 640, "without scrolling"
    assert 0 <= at["picture"][0] < at["picture"][1] < at["ending"][0]
    assert at["picture"][1] - at["picture"][0] >= 100, "large enough to judge"
    while at["at"] < end:
        at = page.evaluate(BOXES, at["at"] + 60)
        assert at["picture"][1] - max(0, at["picture"][0]) >= 100, at
        assert at["ending"][1] <= 640, at


@pytest.mark.parametrize("mode", [*DOUBT, "hard"])
def test_what_has_the_focus_is_not_covered(somebody, mode):
    one = somebody(mode)
    one.press(*DOUBT.get(mode, []))
    seen = []
    for key in ["Tab"] * 45 + ["Shift+Tab"] * 45:
        one.press(key)
        now = one.page.evaluate(COVERED)
        if now["name"] == "task-page":  # the body: between the last control and the first
            continue
        if now["hidden"] > 1:  # the page may be about to measure itself, after the next frame
            one.page.evaluate(FRAMES)
            now = one.page.evaluate(COVERED)
        assert now["hidden"] <= 1, now
        seen.append(now["name"])
    assert len(seen) > 60


# the last label gets the focus, little above the ending; how high that is
FOCUS_THE_LAST = """() => {
  const [label, ending] = [".label-row:last-child .label", ".ending"]
    .map((name) => document.querySelector(name));
  label.focus();
  const [below, above] = [label, ending].map((one) => one.getBoundingClientRect());
  window.scrollBy({ top: below.bottom - above.top + 4, behavior: "instant" });
  return above.height;
}"""


def test_what_has_the_focus_comes_into_sight_again_when_the_ending_grows(somebody):
    one = somebody("quick")
    one.press("1", "2")
    one.page.evaluate(FRAMES)  # the certainty has come into sight
    before = one.page.evaluate(FOCUS_THE_LAST)
    assert one.page.evaluate(COVERED) == {"name": "label", "hidden": 0}
    one.press("e")  # now the others are asked about
    assert one.page.locator(".ending").bounding_box()["height"] > before + 60
    one.page.evaluate(FRAMES)
    now = one.page.evaluate(COVERED)
    assert (now["name"], now["hidden"] <= 1) == ("label", True), now


# by more than there is between the focus and the ending, of which it then hides so much
GROW = """() => {
  const ending = document.querySelector(".ending");
  const room = () => {
    const box = document.activeElement.getBoundingClientRect();
    return ending.getBoundingClientRect().top - box.bottom;
  };
  const before = parseFloat(getComputedStyle(ending).paddingBlockEnd);
  ending.style.paddingBlockEnd = `${before + room() + 20}px`;
  return -room();
}"""


def test_what_has_the_focus_is_not_covered_when_the_ending_grows(somebody):
    one = somebody("quick")
    one.press(*DOUBT["quick"])
    one.page.evaluate(FRAMES)
    one.press("Tab", "Tab", "Tab")
    assert one.page.evaluate(COVERED) == {"name": "label", "hidden": 0}
    assert one.page.evaluate(GROW) > 10
    one.page.evaluate(FRAMES)
    assert one.page.evaluate(COVERED)["hidden"] <= 1


def test_keys_of_a_label_out_of_sight_bring_it_into_sight(somebody):
    one = somebody("chips")
    for digit in "10593":
        one.press(digit)
        assert one.page.evaluate(COVERED)["hidden"] <= 1


ORDER = """() => [...document.querySelectorAll("#answer button, .task-tools button")]
  .filter((one) => one.checkVisibility() && one.tabIndex === 0)
  .map((one) => one.className.split(" ")[0])"""


def test_what_sticks_keeps_its_place_in_the_order_of_tabs_and_of_reading(somebody):
    """Labels, certainty, the rest, and last the tools: as they follow one another in the page."""
    one = somebody("quick")
    one.press(*DOUBT["quick"])
    order = one.page.evaluate(ORDER)
    named, others = ["label"] * 2, ["label", "out"] * 8
    assert order == [*named, *others, *["level"] * 5, *["rest-choice"] * 3, *["button"] * 3]
    reached = []
    while len(reached) < len(order):
        one.press("Tab")
        reached.append(one.page.evaluate("document.activeElement.className.split(' ')[0]"))
    assert reached == order


@pytest.mark.parametrize("mode", DOUBT)
@pytest.mark.parametrize("language", ["en", "ar"])
def test_axe_finds_nothing(somebody, check, mode, language):
    one = somebody(mode, language=language)
    one.press(*DOUBT[mode])
    if mode == "classic":  # at its end: axe measures what is behind the ending, too
        one.page.evaluate("() => window.scrollTo(0, document.documentElement.scrollHeight)")
    check(one.page)
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_title_is_there_in_one_line_and_whole_on_a_tap(served, person):
    running = served(mode="quick", items=2, labels=TEN, title=TITLE)
    one = person(running.url, **PHONE)
    one.page.goto(running.url)
    assert one.page.locator(".masthead .study-title").inner_text() == TITLE
    title = one.start().page.locator(".task-bar .study-title")
    fits = "(one) => one.scrollWidth <= one.clientWidth"
    box = title.bounding_box()
    assert (box["height"] < 30, box["width"] > 150) == (True, True)
    assert title.evaluate(fits) is False
    assert (title.get_attribute("title"), title.text_content()) == (TITLE, TITLE)
    title.tap()  # which also hovers
    assert title.evaluate(fits) is True
    assert title.bounding_box()["height"] > 30


NLI = ["entailment", "neutral", "contradiction"]
BROKEN = """() => [...document.querySelectorAll(".labels bdi, .options bdi, .level strong")]
  .flatMap((one) => [...one.textContent.matchAll(/\\S+/g)].map((word) => {
    const range = document.createRange();
    range.setStart(one.firstChild, word.index);
    range.setEnd(one.firstChild, word.index + word[0].length);
    return [word[0], new Set([...range.getClientRects()].map((line) => line.top)).size];
  }))
  .filter(([, lines]) => lines > 1)"""


@pytest.mark.parametrize(("mode", "widths"), [("classic", [375, 390]), ("quick", [320, 375])])
def test_no_label_is_broken_within_a_word(served, person, mode, widths):
    page = person(served(mode=mode, items=2, labels=NLI).url, **PHONE).start().page
    for width in widths:
        page.set_viewport_size({"width": width, "height": 667})
        assert page.evaluate(BROKEN) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_was_said_can_be_read_on_a_phone(somebody):
    one = somebody("quick")
    one.press("1", "2", "e")
    assert one.page.locator(".labels .share:visible").all_inner_texts() == ["80 %", "20 %"]
    other = somebody("search")
    other.press(*DOUBT["search"])
    assert other.page.locator(".pick .count:visible").all_inner_texts() == ["9", "11"]
    assert other.page.locator(".pick .share:visible").all_inner_texts() == ["45 %", "55 %"]


SIDES = {32: "pixelated", 63: "pixelated", 64: "auto", 96: "auto", 400: "auto"}


@pytest.mark.parametrize("side", SIDES)
def test_only_very_small_pictures_show_their_pixels(served, person, side):
    one = person(served(mode="hard", items=2, side=side).url).start()
    picture = one.page.locator(".picture img")
    assert picture.evaluate("(one) => one.naturalWidth") == side
    assert picture.evaluate("(one) => getComputedStyle(one).imageRendering") == SIDES[side]


def test_at_200_percent_the_picture_is_beside_the_labels(served, person):
    running = served(mode="quick", items=4, labels=TEN, side=400)
    one = person(running.url, viewport={"width": 640, "height": 400}).start()
    one.press(*DOUBT["quick"])
    one.page.locator(".picture img").wait_for()
    for y in (0, 100, 300):
        at = one.page.evaluate(BOXES, y)
        assert at["picture"][1] - max(0, at["picture"][0]) >= 100, at
        assert at["ending"][1] <= 400, at
