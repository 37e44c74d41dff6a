"""Takes the pictures of pages and modes in docs/pictures again, from studies it serves itself."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from softlabel.simulate import run_server
from softlabel.study import read, write_new

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
ARGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
SIZE = {"width": 1280, "height": 800}


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
    press(page, "PageUp", "+", "+", "+")


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
    whole = name.startswith("page-")
    page.screenshot(path=PICTURES / f"{name}.png", animations="disabled", full_page=whole)
    print(f"took {name}", file=sys.stderr)


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


def main() -> None:
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as place:
        browser = playwright.chromium.launch(executable_path=found, args=ARGS)
        for mode in MODES:
            of_mode(browser, mode, Path(place) / mode)
        browser.close()


if __name__ == "__main__":
    main()
