"""Items as they are: several texts, Markdown, videos, pictures in the whole window."""

from __future__ import annotations

import base64
import json
import time

import numpy as np
import pytest

from softlabel.study import shapes

TWO = 'headings = { premise = "Premise", hypothesis = "Hypothesis" }'
PAIR = {"premise": "A man plays a guitar.", "hypothesis": "Somebody makes music."}
WIDE, TABLET, PHONE = ({"width": width, "height": 800} for width in (1280, 800, 360))
SCREENS = {"wide": WIDE, "tablet": TABLET, "phone": PHONE}


def rows(*items):
    return [{"id": f"item-{n}"} | item for n, item in enumerate(items)]


def boxes(page, selector):
    return [one.bounding_box() for one in page.locator(selector).all()]


def beside(page, selector):
    """Whether the first two stand beside each other."""
    one, two = boxes(page, selector)[:2]
    left, right = sorted((one, two), key=lambda box: box["x"])
    apart = left["x"] + left["width"] <= right["x"]
    return apart and one["y"] < two["y"] + two["height"] and two["y"] < one["y"] + one["height"]


def wait_until(page, condition):
    """Ask from outside: the policy of the page forbids to evaluate strings in it."""
    end = time.monotonic() + 60
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(20)


def fits(page):
    wide = page.evaluate("document.documentElement.scrollWidth")
    return wide <= page.viewport_size["width"]


# ── texts ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("layout", "columns"),
    [("auto", {"wide"}), ("rows", set()), ("columns", {"wide", "tablet"})],
)
def test_several_texts_stand_under_their_headings(served, person, check, layout, columns):
    look = f'{TWO}\nlayout = "{layout}"'
    page = person(served(rows=rows(PAIR, PAIR), look=look).url).start().page
    assert page.locator(".named h2").all_inner_texts() == ["Premise", "Hypothesis"]
    assert page.locator(".named .words").all_inner_texts() == list(PAIR.values())
    assert page.get_by_role("group", name="Hypothesis").inner_text() == PAIR["hypothesis"]
    found = set()
    for name, size in SCREENS.items():
        page.set_viewport_size(size)
        found |= {name} if beside(page, ".named") else set()
        assert fits(page)
        assert page.locator(".named .words").nth(1).is_visible()
    assert found == columns
    check(page)


def test_in_right_to_left_the_first_text_is_on_the_right(served, person, check):
    texts = {"premise": "رجل يعزف على الغيتار.", "hypothesis": "Somebody makes music."}
    running = served(rows=rows(texts, texts), look=TWO, language="ar")
    page = person(running.url).start().page
    first, second = boxes(page, ".named")
    assert first["x"] > second["x"]
    check(page)


def test_long_texts_scroll_and_the_answer_stays_in_reach(served, person):
    long = {"premise": "Words and more words. " * 300, "hypothesis": "Short."}
    page = person(served(rows=rows(long, long), look=TWO).url).start().page
    for size in SCREENS.values():
        page.set_viewport_size(size)
        assert page.locator(".item").bounding_box()["height"] < size["height"]
    page.set_viewport_size(PHONE)
    assert page.locator(".label").first.is_visible()


SHORT = {"viewport": {"width": 375, "height": 667}, "is_mobile": True, "has_touch": True}
HEARING = "The committee met in the old town hall to discuss the plan for the new bridge. " * 5
# the words at one end of each text of the item: whether they can be seen
IN_SIGHT = """(which) => [...document.querySelectorAll(".words > p")].map((text) => {
  const range = document.createRange();
  const place = which === "end" ? text.firstChild.length - 1 : 0;
  range.setStart(text.firstChild, place);
  range.setEnd(text.firstChild, place + 1);
  const letter = range.getBoundingClientRect();
  return [...document.querySelectorAll(".media, .words")].every((box) => {
    const { top, bottom } = box.getBoundingClientRect();
    return !box.contains(text) || (top <= letter.top + 2 && letter.bottom <= bottom + 2);
  });
})"""


@pytest.mark.parametrize(
    ("mode", "language"), [("quick", "ar"), ("chips", "en"), ("classic", "de")]
)
def test_a_text_that_does_not_fit_says_so_until_its_end_was_seen(
    served, person, check, mode, language
):
    pair = {"premise": HEARING, "hypothesis": "It will be built."}
    running = served(mode=mode, rows=rows(pair, pair), look=TWO, language=language)
    page = person(running.url, **SHORT).start().page
    name = running.study.words["task"]["scroll_on"]
    more = page.get_by_role("button", name=name, exact=True)
    more.wait_for()
    assert page.evaluate(IN_SIGHT, "beginning") == [True, True]
    assert page.evaluate(IN_SIGHT, "end") == [False, True]
    check(page)
    presses = 0
    while more.is_visible():
        before = page.evaluate("document.querySelector('.words').scrollTop")
        more.tap()
        presses += 1
        wait_until(page, f"document.querySelector('.words').scrollTop > {before} + 20")
        page.wait_for_timeout(400)  # it scrolls smoothly
    assert presses > 1
    assert page.evaluate(IN_SIGHT, "end") == [True, True]
    page.locator(".words").first.evaluate("(one) => one.scrollTo(0, 0)")
    more.wait_for()
    page.set_viewport_size({"width": 1280, "height": 800})
    more.wait_for(state="hidden")


def test_what_fits_has_no_such_button(served, person):
    page = person(served(rows=rows(PAIR, PAIR), look=TWO).url, **SHORT).start().page
    wait_until(page, "document.querySelector('.words .end') !== null")
    page.wait_for_timeout(100)
    assert page.locator(".below:visible").count() == 0
    assert page.evaluate(IN_SIGHT, "end") == [True, True]


def test_pictures_that_do_not_fit_say_so(served, person):
    running = served(rows=rows(BOTH, BOTH, BOTH), files=FILES, look='layout = "rows"')
    one = person(running.url, reduced_motion="reduce", **SHORT).start()
    more = one.page.get_by_role("button", name="More", exact=True)
    more.focus()
    one.press("Enter")
    more.wait_for(state="hidden")
    box = one.page.get_by_role("group", name="Item")
    assert box.evaluate("(one) => one === document.activeElement"), "keys go on scrolling"
    assert one.page.locator(".label[aria-pressed=true]").count() == 0


def test_whether_the_end_was_seen_is_recorded_and_keys_scroll(served, person):
    item = {"text": HEARING * 3}
    running = served(mode="chips", rows=rows(item, item), look="# seen")
    one = person(running.url, reduced_motion="reduce", **SHORT).start()
    one.page.get_by_role("button", name="More", exact=True).wait_for()
    one.page.locator(".words").focus()
    one.press("ArrowDown", "PageDown", "End")
    one.page.locator(".below").first.wait_for(state="hidden")
    assert one.page.locator(".chips-left").inner_text().startswith("20"), "no chip was laid"
    for _ in range(2):
        one.answer("1", "a", "x")
    one.saved()
    sent = [json.loads(row.payload)["events"] for row in running.store.responses("animals")]
    scrolls = [[event[1:] for event in events if event[1] == "scroll"] for events in sent]
    more = ["scroll", "text", "more"]
    assert scrolls == [[more, ["scroll", "text", "end"]], [more]]


MARKDOWN = """\
# Which one?

A *small* **bird**, see [the list](https://example.org/birds), not [this](javascript:alert(1)).

- one
- two

| a | b |
|---|--:|
| 1 | 2 |

<img src=x onerror="window.ran = true"> <script>window.ran = true</script>
"""


def test_markdown_becomes_elements_and_nothing_else(served, person, check):
    item = {"text": MARKDOWN, "note": "Seen in *May*."}
    page = person(served(rows=rows(item, item), look="markdown = true").url).start().page
    words = page.locator(".words")
    assert words.locator("h2").inner_text() == "Which one?"
    assert words.locator("em").inner_text() == "small"
    assert words.locator("li").all_inner_texts() == ["one", "two"]
    assert words.locator("td").all_inner_texts() == ["1", "2"]
    links = words.locator("a").evaluate_all("all => all.map((a) => [a.href, a.target, a.rel])")
    assert links == [["https://example.org/birds", "_blank", "noopener noreferrer"]]
    assert words.locator("img, script").count() == 0
    assert "<script>window.ran = true</script>" in words.inner_text()
    assert page.evaluate("() => window.ran === undefined")
    assert page.locator(".item-note em").inner_text() == "May"
    check(page)
    page.set_viewport_size(PHONE)
    assert fits(page)


def test_headings_of_a_text_stand_below_its_own(served, person):
    item = {"premise": "# Inner", "hypothesis": "Plain"}
    look = f"{TWO}\nmarkdown = true"
    page = person(served(rows=rows(item, item), look=look).url).start().page
    assert page.locator(".named .words h3").inner_text() == "Inner"


def test_without_markdown_a_text_is_as_it_was_written(served, person):
    item = {"text": "*two*\n<b>lines</b>", "note": "a *note*"}
    page = person(served(rows=rows(item, item)).url).start().page
    assert page.locator(".words").inner_text() == "*two*\n<b>lines</b>"
    assert page.get_by_role("note").inner_text() == "a *note*"


# ── pictures ─────────────────────────────────────────────────────────────────────────────────


def draw(width, height):
    """A picture, as the text that a study of these tests takes."""
    pixels = np.zeros((height, width, 3), dtype=np.uint8)
    pixels[: height // 2] = 200
    return base64.b64encode(shapes.encode_png(pixels)).decode()


FILES = {"large.png": draw(800, 600), "tall.png": draw(300, 900), "tiny.png": draw(32, 32)}
BOTH = {"image": ["large.png", "tall.png"], "alt": ["a field", "a tower"]}
SCALE = "img => new DOMMatrix(getComputedStyle(img).transform).a"
PLACE = """img => {
  const { e, f } = new DOMMatrix(getComputedStyle(img).transform);
  return [Math.round(e), Math.round(f)];
}"""


@pytest.fixture
def two_pictures(served, person):
    """Somebody before two pictures, which come one after the other."""
    somebody = person(served(rows=rows(BOTH, BOTH, BOTH), files=FILES).url).start()
    somebody.page.locator(".picture img").nth(1).wait_for()
    return somebody


def test_two_pictures_side_by_side(two_pictures, check):
    page = two_pictures.page
    pictures = page.locator(".picture img")
    alts = pictures.evaluate_all("all => all.map((img) => img.alt)")
    assert alts == ["a field", "a tower"]
    for size in SCREENS.values():
        page.set_viewport_size(size)
        assert beside(page, ".picture")
        assert fits(page)
        assert page.locator(".item").bounding_box()["height"] < size["height"]
    check(page)


def test_two_pictures_below_each_other(served, person):
    running = served(rows=rows(BOTH, BOTH), files=FILES, look='layout = "rows"')
    page = person(running.url).start().page
    page.locator(".picture img").nth(1).wait_for()
    assert not beside(page, ".picture")
    assert page.locator(".item").bounding_box()["height"] < 800


def test_the_same_picture_twice(served, person):
    same = {"image": "tiny.png", "image_2": "tiny.png"}
    page = person(served(rows=rows(same, same), files=FILES).url).start().page
    page.locator(".picture img").nth(1).wait_for()
    assert page.locator(".picture img").count() == 2


def test_a_picture_in_the_whole_window_by_keyboard(two_pictures, check, served):
    somebody, page = two_pictures, two_pictures.page
    somebody.press("1")  # half an answer
    before = page.locator("#answer").inner_text()
    somebody.press("f")
    viewer = page.get_by_role("dialog", name="a field")
    viewer.wait_for()
    stage, window = viewer.locator(".viewer-stage").bounding_box(), page.viewport_size
    assert stage["width"] == window["width"]
    assert stage["height"] > 0.85 * window["height"]
    image = viewer.locator("img")
    box = image.bounding_box()
    assert box["height"] == pytest.approx(stage["height"], abs=2), "it fills the window"
    check(page)
    somebody.press("+", "=")
    assert image.evaluate(SCALE) == pytest.approx(2.25)
    assert viewer.locator("output").inner_text() == "225 %"
    somebody.press("ArrowLeft", "ArrowUp")
    assert image.evaluate(PLACE) == [80, 80]
    somebody.press("-")
    assert image.evaluate(SCALE) == pytest.approx(1.5)
    somebody.press("0")
    assert image.evaluate(SCALE) == 1
    assert image.evaluate(PLACE) == [0, 0]
    somebody.press("n")
    page.get_by_role("dialog", name="a tower").wait_for()
    somebody.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    assert page.locator("#answer").inner_text() == before
    somebody.answer("t").saved()
    running = served(rows=rows(BOTH, BOTH, BOTH), files=FILES)
    row = list(running.store.responses("animals"))[-1]
    events = [event[1:] for event in json.loads(row.payload)["events"]]
    assert events.count(["zoom", "", "open"]) == events.count(["zoom", "", "close"]) == 1


def test_a_picture_in_the_whole_window_by_mouse(two_pictures):
    page = two_pictures.page
    page.locator(".picture img").nth(1).click()
    image = page.get_by_role("dialog", name="a tower").locator("img")
    image.wait_for()  # the window is loaded when it is first opened
    page.mouse.move(640, 300)
    page.mouse.wheel(0, -500)
    wait_until(page, "document.querySelector('.zoom-level').textContent !== '100 %'")
    assert image.evaluate(SCALE) > 2
    before = image.evaluate(PLACE)
    page.mouse.down()
    page.mouse.move(640, 400, steps=4)
    page.mouse.up()
    x, y = image.evaluate(PLACE)
    assert (x, y) == (before[0], before[1] + 100)
    page.mouse.dblclick(640, 300)
    assert image.evaluate(SCALE) == 1
    page.get_by_role("button", name="Close").click()
    page.locator("dialog").wait_for(state="detached")
    two_pictures.answer("1", "t")


def test_enter_on_the_button_opens_it_and_the_focus_comes_back(two_pictures):
    page = two_pictures.page
    opener = page.get_by_role("button", name="Show the picture in the whole window").nth(1)
    opener.focus()
    two_pictures.press("Enter")
    page.get_by_role("dialog", name="a tower").wait_for()
    two_pictures.press("Enter")  # the button that closes has the focus
    page.locator("dialog").wait_for(state="detached")
    assert opener.evaluate("button => button === document.activeElement")


def test_two_fingers_zoom(served, person):
    running = served(rows=rows(BOTH, BOTH, BOTH), files=FILES)
    phone = {"width": 360, "height": 740}
    somebody = person(running.url, viewport=phone, is_mobile=True, has_touch=True).start()
    page = somebody.page
    page.locator(".picture img").first.tap()
    viewer = page.get_by_role("dialog", name="a field")
    viewer.wait_for()
    tools = somebody.context.new_cdp_session(page)

    def touch(kind, *points):
        told = [{"x": x, "y": y, "id": n} for n, (x, y) in enumerate(points)]
        tools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": told})

    touch("touchStart", (160, 300), (200, 300))
    touch("touchMove", (140, 300), (220, 300))
    touch("touchMove", (120, 300), (240, 300))
    touch("touchEnd")
    assert viewer.locator("img").evaluate(SCALE) == pytest.approx(3, rel=0.02)
    sizes = viewer.locator("button").evaluate_all(
        "all => all.map((one) => Math.min(one.offsetWidth, one.offsetHeight))"
    )
    assert min(sizes) >= 36
    assert fits(page)
    # a click: the browser may take a tap right after a pinch for a part of it
    viewer.get_by_role("button", name="Close").click()
    viewer.wait_for(state="detached")


def test_the_window_closes_with_its_item(two_pictures):
    somebody = two_pictures
    somebody.press("f")
    somebody.page.get_by_role("dialog").wait_for()
    first, here = somebody.page, somebody.position
    somebody.page = somebody.open()
    somebody.page.goto(somebody.url)
    somebody.ready().answer("1", "t")
    first.wait_for_selector(f'#task:not([data-position="{here}"])', state="attached")
    first.locator("dialog").wait_for(state="detached")


@pytest.mark.parametrize(
    ("smoothing", "tiny", "large"),
    [
        ("auto", "pixelated", "auto"),
        ("smooth", "auto", "auto"),
        ("pixelated", "pixelated", "pixelated"),
    ],
)
def test_smoothing(served, person, smoothing, tiny, large):
    item = {"image": "tiny.png", "image_2": "large.png"}
    look = f'smoothing = "{smoothing}"'
    page = person(served(rows=rows(item, item), files=FILES, look=look).url).start().page
    page.locator(".picture img").nth(1).wait_for()
    found = page.locator(".picture img").evaluate_all(
        "all => all.map((img) => getComputedStyle(img).imageRendering)"
    )
    assert found == [tiny, large]


# ── videos ───────────────────────────────────────────────────────────────────────────────────

RECORD = """async () => {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: 64, height: 48 });
  document.body.append(canvas);
  const pen = canvas.getContext("2d");
  const recorder = new MediaRecorder(canvas.captureStream(30), { mimeType: "video/webm" });
  const parts = [];
  recorder.ondataavailable = ({ data }) => parts.push(data);
  const stopped = new Promise((resolve) => { recorder.onstop = resolve; });
  recorder.start();
  for (let n = 0; n < 12; n += 1) {
    pen.fillStyle = `hsl(${30 * n} 80% 50%)`;
    pen.fillRect(0, 0, 64, 48);
    await new Promise((resolve) => { setTimeout(resolve, 40); });
  }
  recorder.stop();
  await stopped;
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
  return btoa(String.fromCharCode(...bytes));
}"""


@pytest.fixture(scope="module")
def clip(chromium):
    """A short WebM, recorded by the browser itself."""
    page = chromium.new_page()
    recorded = page.evaluate(RECORD)
    page.close()
    return recorded


@pytest.fixture
def videos(clip):
    """Three videos, each its own file."""
    content = base64.b64decode(clip)
    files = {f"{n}.webm": base64.b64encode(content + bytes([n])).decode() for n in range(3)}
    items = rows(*({"video": name, "alt": f"clip {name}"} for name in files))
    return {"rows": items, "files": files}


PLAYED = "document.querySelector('.player video').currentTime > 0"


def test_a_video_plays_by_key(served, person, check, videos):
    somebody = person(served(**videos).url).start()
    page = somebody.page
    video = page.locator(".player video")
    wait_until(page, "document.querySelector('video').readyState >= 3")
    assert video.get_attribute("aria-label").startswith("clip ")
    somebody.press("p")
    wait_until(page, PLAYED)
    check(page)
    somebody.press("?")
    assert "play or pause" in page.locator("dialog").inner_text()
    somebody.press("Escape")
    for size in SCREENS.values():
        page.set_viewport_size(size)
        assert fits(page)
    somebody.answer("1", "t")


def test_the_next_videos_play_without_a_network(served, person, videos):
    running = served(**videos)
    somebody = person(running.url, alone=True)
    whole: list[str] = []
    somebody.page.on("requestfinished", lambda request: whole.append(request.url))
    somebody.start()
    addresses = {f"{running.url}/media/{item.video.sha256}" for item in running.study.items}
    end = time.monotonic() + 60
    while not addresses <= set(whole):
        assert time.monotonic() < end, "the videos were not fetched"
        somebody.page.wait_for_timeout(20)
    somebody.context.set_offline(True)
    for _ in range(2):
        somebody.answer("1", "t").press("p")
        wait_until(somebody.page, PLAYED)
    somebody.context.set_offline(False)


def test_a_video_that_cannot_be_loaded_says_so(served, person, videos):
    somebody = person(served(**videos).url)
    page, missing = somebody.page, [True]
    page.route("**/media/*", lambda route: route.abort() if missing[0] else route.continue_())
    somebody.start()
    alert = page.get_by_role("alert").filter(has_text="The video could not be loaded.")
    alert.wait_for()
    missing.clear()
    missing.append(False)
    alert.get_by_role("button", name="Try again").click()
    wait_until(page, "document.querySelector('video')?.readyState >= 3")
