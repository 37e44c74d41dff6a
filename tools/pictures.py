"""Takes the pictures of pages and modes in docs/pictures again, from studies it serves itself.

python tools/pictures.py [NAME ...]    the names are modes, or texts, phone, tree, preview
"""

from __future__ import annotations

import base64
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from softlabel.simulate import run_server
from softlabel.study import read, write_new

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
ARGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
SIZE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 780}
COLOURS = 256  # of a picture: it is then a third as large, and looks the same
READ = """async (data) => {
  const picture = await createImageBitmap(await (await fetch(data)).blob());
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  const { data: pixels } = context.getImageData(0, 0, picture.width, picture.height);
  let text = "";
  for (let at = 0; at < pixels.length; at += 32768)
    text += String.fromCharCode(...pixels.subarray(at, at + 32768));
  return [picture.width, picture.height, btoa(text)];
}"""


# ── small files ──────────────────────────────────────────────────────────────────────────────


def save(page: Page, path: Path, *, whole: bool = False) -> None:
    """Take a picture of a page, and keep it with few colours."""
    shrink(page, page.screenshot(animations="disabled", full_page=whole), path)
    print(f"took {path.name}, {path.stat().st_size / 1024:.0f} KB", file=sys.stderr)


def shrink(page: Page, png: bytes, path: Path) -> None:
    """Write a PNG file again with a palette; a blank page of the browser reads its pixels."""
    reader = page.context.browser.new_page()  # type: ignore[union-attr]
    url = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    width, height, text = reader.evaluate(READ, url)
    reader.close()
    data = np.frombuffer(base64.b64decode(text), np.uint8).reshape(height * width, 4)[:, :3]
    palette, places = reduce_colours(data)
    rows = np.zeros((height, width + 1), np.uint8)  # each row begins with its filter, none
    rows[:, 1:] = places.reshape(height, width)
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))]
    parts += [(b"PLTE", palette.tobytes()), (b"IDAT", zlib.compress(rows.tobytes(), 9))]
    chunks = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in [*parts, (b"IEND", b"")]
    )
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


def reduce_colours(data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The palette of the most frequent colours, and the nearest of them for each pixel."""
    codes = (data.astype(np.uint32) << np.array([16, 8, 0], np.uint32)).sum(axis=1)
    known, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    colours = np.stack([known >> 16, known >> 8 & 255, known & 255], axis=1).astype(int)
    kept: list[int] = []
    for limit in (24, 12, 6, 0):  # squared distances: first far apart, then the rest
        for place in np.argsort(-counts, kind="stable")[:4096]:
            if len(kept) == COLOURS:
                break
            near = ((colours[kept] - colours[place]) ** 2).sum(axis=1).min() if kept else 999
            if near > limit * limit / 4:
                kept.append(int(place))
    palette = colours[kept]
    nearest = np.concatenate(
        [
            ((part[:, None] - palette[None]) ** 2).sum(axis=2).argmin(axis=1)
            for part in np.array_split(colours, max(1, len(colours) // 4096))
        ]
    )
    return palette.astype(np.uint8), nearest.astype(np.uint8)[inverse]


# ── answers ──────────────────────────────────────────────────────────────────────────────────


# The second picture of a new study is between a square and a circle, and so are these answers.


def key_of(page: Page, label: str) -> str:
    """The key of a label: its place in this person's order."""
    names = page.locator("#answer .label .name").all_inner_texts()
    return str(names.index(label) + 1)


def half_quick(page: Page) -> None:
    square, circle, cross = (key_of(page, name) for name in ("square", "circle", "cross"))
    press(page, square, circle, "w", f"Shift+Digit{cross}")


def half_chips(page: Page) -> None:
    square, circle, cross = (key_of(page, name) for name in ("square", "circle", "cross"))
    press(page, *[square] * 12, f"Alt+Digit{cross}", *[circle] * 8)


def half_classic(page: Page) -> None:
    blocks = page.locator("fieldset")
    blocks.nth(0).get_by_text("square", exact=True).click()
    page.fill("[data-field=p1]", "60")
    blocks.nth(1).get_by_text("circle", exact=True).click()
    page.fill("[data-field=p2]", "35")
    press(page, "Shift+X")
    page.locator("[data-field=p2]").blur()
    page.mouse.move(0, 0)
    page.evaluate("() => window.scrollTo(0, 0)")


def half_search(page: Page) -> None:
    for name in ("square", "circle"):
        page.keyboard.type(name)
        page.locator("#found [aria-selected=true]").get_by_text(name).wait_for()
        press(page, "Enter")
    press(page, "Control+1", "+", "+")


def nothing(page: Page) -> None:
    """Here one press would be the whole answer."""


MODES: dict[str, Callable[[Page], None]] = {
    "quick": half_quick,
    "chips": half_chips,
    "classic": half_classic,
    "search": half_search,
    "hard": nothing,
}


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def shoot(page: Page, name: str) -> None:
    """Take a picture, of the whole page where it is a page to read."""
    save(page, PICTURES / f"{name}.png", whole=name.startswith("page-"))


def walk_in(page: Page, url: str, right: list[int | None], pictures: bool) -> None:
    """From consent to the first item of practice."""
    take: Callable[[str], None] = (
        (lambda name: shoot(page, name)) if pictures else lambda name: None
    )
    page.goto(url)
    for box in ("adult", "read", "agree"):
        page.check(f"[name={box}]")
    take("page-consent")
    send(page)
    take("page-instructions")
    while page.locator("form a.button.primary").count():
        with page.expect_navigation():
            page.locator("form a.button.primary").click()
    send(page)
    for number, place in enumerate(right):
        page.check(f'[name=q{number}][value="{place}"]')
    take("page-quiz")
    if right:
        send(page)
    page.wait_for_selector("#task[data-ready]")


def to_the_second(page: Page) -> None:
    """Skip the first picture: it is plainly one thing."""
    press(page, "Tab")  # out of a box to write in
    page.get_by_role("button", name="Skip").click()
    press(page, "3")
    page.wait_for_selector("#go-on, #task[data-ready][data-position='1']")
    if page.locator("#go-on").count():
        page.locator("#go-on").click()
    page.wait_for_selector("#task[data-ready][data-position='1']")
    page.mouse.move(0, 0)


def send(page: Page) -> None:
    with page.expect_navigation():
        page.locator("form button.primary").click()


def to_the_end(page: Page) -> None:
    """Vote until there is nothing left, then say good-bye."""
    while True:
        page.wait_for_selector("#task[data-ready], form[action='/debrief']")
        if page.locator("form[action='/debrief']").count():
            break
        where = page.locator("#task").get_attribute("data-position")
        on = page.locator("#go-on")
        on.click() if on.count() else page.keyboard.press("1")
        page.wait_for_selector(
            f"#task[data-ready]:not([data-position='{where}']), #go-on, body:not(.task-page)",
            state="attached",
        )
    shoot(page, "page-debrief")
    send(page)
    shoot(page, "page-done")


def feedback(page: Page) -> None:
    """Practise on the first item, and look at what comes back."""
    label = key_of(page, "square")
    press(page, label, label)
    page.wait_for_selector("#go-on")
    shoot(page, "page-feedback")


def leaving(page: Page, url: str) -> None:
    page.goto(f"{url}/withdraw")
    shoot(page, "page-withdraw")


def fail(page: Page, url: str, right: list[int | None]) -> None:
    """Answer the quiz wrongly until it is over."""
    page.goto(url)
    for box in ("adult", "read", "agree"):
        page.check(f"[name={box}]")
    send(page)
    while page.locator("form[action='/instructions']").count():
        while page.locator("form a.button.primary").count():
            with page.expect_navigation():
                page.locator("form a.button.primary").click()
        send(page)
        for number, place in enumerate(right):
            page.check(f'[name=q{number}][value="{int(place == 0)}"]')
        send(page)
    shoot(page, "page-screened-out")


def of_mode(browser: Browser, mode: str, folder: Path) -> None:
    """The pictures of one mode, and of the pages around it in the plainest one."""
    write_new(folder, mode=mode)
    quiz = read(folder).quiz
    page = browser.new_context(viewport=SIZE, reduced_motion="reduce").new_page()
    right = [question.right for question in quiz.questions] if quiz else []
    with run_server(folder) as server:
        walk_in(page, server.url, right, pictures=mode == "hard")
        if mode == "quick":
            feedback(page)
            leaving(page, server.url)
            page.goto(server.url)
            page.wait_for_selector("#task[data-ready][data-position='1']")
        else:
            to_the_second(page)
        MODES[mode](page)
        shoot(page, f"mode-{mode}")
        if mode == "hard":
            to_the_end(page)
            stranger = browser.new_context(viewport=SIZE, reduced_motion="reduce").new_page()
            fail(stranger, server.url, right)


# ── studies of one's own ─────────────────────────────────────────────────────────────────────

PAIRS = """[study]
title = "Does it follow?"
question = "Does the hypothesis follow from the premise?"
labels = ["it follows", "it may be", "it contradicts"]

[labels."it follows"]
describe = "If the premise is true, the hypothesis is true as well."
colour = "#2a7a3f"

[labels."it may be"]
describe = "The premise leaves open whether the hypothesis is true."
colour = "#b8860b"

[labels."it contradicts"]
describe = "If the premise is true, the hypothesis is false."
colour = "#a33a3a"

[items]
source = "items.csv"
headings = { premise = "Premise", hypothesis = "Hypothesis" }
repeats = 0
comment = true

[quiz]
ask = false
"""
ROWS = """id,premise,hypothesis,note
n1,A man in a red jacket plays a guitar on a small stage.,Somebody makes music.,From a caption.
n2,Two dogs run through deep snow.,The dogs are asleep.,
n3,A woman waits at a bus stop and reads a newspaper.,She is on her way to work.,
"""


def write_pairs(folder: Path) -> None:
    folder.mkdir()
    (folder / "study.toml").write_text(PAIRS, encoding="utf-8")
    (folder / "items.csv").write_text(ROWS, encoding="utf-8")


def of_texts(browser: Browser, folder: Path) -> None:
    """Two texts with headings; the panel of the labels, and the instructions beside the task."""
    write_pairs(folder)
    page = browser.new_context(viewport=SIZE, reduced_motion="reduce").new_page()
    with run_server(folder) as server:
        walk_in(page, server.url, [], pictures=False)
        shoot(page, "task-texts")
        page.get_by_role("button", name="About the labels").click()
        page.mouse.move(0, 0)
        shoot(page, "task-labels")
        press(page, "Escape", "i")
        page.mouse.move(0, 0)
        page.locator(".side, aside").first.wait_for()
        shoot(page, "task-instructions")


def of_phone(browser: Browser, folder: Path) -> None:
    """An item on a phone, half answered."""
    write_new(folder, mode="quick")
    quiz = read(folder).quiz
    right = [question.right for question in quiz.questions] if quiz else []
    context = browser.new_context(
        viewport=PHONE, is_mobile=True, has_touch=True, reduced_motion="reduce"
    )
    page = context.new_page()
    with run_server(folder) as server:
        walk_in(page, server.url, right, pictures=False)
        page.get_by_text("star", exact=True).first.tap()
        page.wait_for_timeout(200)
        shoot(page, "task-phone")


def of_tree(browser: Browser, folder: Path) -> None:
    """The tree of mode search, opened."""
    write_new(folder, mode="search")
    quiz = read(folder).quiz
    right = [question.right for question in quiz.questions] if quiz else []
    page = browser.new_context(viewport=SIZE, reduced_motion="reduce").new_page()
    with run_server(folder) as server:
        walk_in(page, server.url, right, pictures=False)
        to_the_second(page)
        page.get_by_text("Browse all labels").click()
        branches = page.get_by_role("treeitem", name="angular")
        branches.first.click()
        page.mouse.move(0, 0)
        shoot(page, "mode-search-tree")


@contextmanager
def previewed(folder: Path) -> Iterator[str]:
    """The address of the preview of a study."""
    words = [sys.executable, "-m", "softlabel", "preview", str(folder), "--no-open"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().rpartition(" ")[2].strip()
    finally:
        process.terminate()
        process.wait()


def of_preview(browser: Browser, folder: Path) -> None:
    """The list of all pages, with one of them as on a phone."""
    write_pairs(folder)
    page = browser.new_context(viewport=SIZE, reduced_motion="reduce").new_page()
    with previewed(folder) as url:
        page.goto(url)
        page.get_by_label("Phone, 360").check()
        page.locator("nav.sights").get_by_role("link", name="Item").first.click()
        page.frame_locator("iframe").locator("#task[data-ready]").wait_for()
        shoot(page, "preview")


OTHERS: dict[str, Callable[[Browser, Path], None]] = {
    "texts": of_texts,
    "phone": of_phone,
    "tree": of_tree,
    "preview": of_preview,
}


def main(names: list[str]) -> None:
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as place:
        browser = playwright.chromium.launch(executable_path=found, args=ARGS)
        for name in names or [*MODES, *OTHERS]:
            if name in MODES:
                of_mode(browser, name, Path(place) / name)
            else:
                OTHERS[name](browser, Path(place) / name)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
