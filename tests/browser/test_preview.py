"""The preview in a real browser: the list, the frame, its widths, and dialogs that open by keys."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import uvicorn
from playwright.sync_api import Frame, Page, expect

from softlabel.serve.preview import Preview

from .conftest import write_study


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The preview of a small study, served from a thread."""
    place = tmp_path_factory.mktemp("preview")
    folder = write_study(place / "animals", practice=True, quiz=True, debrief="true")
    with ExitStack() as stack, socket.create_server(("127.0.0.1", 0)) as door:
        app = Preview(folder, place, stack)
        config = uvicorn.Config(app, log_level="critical", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([door],))
        thread.start()
        while not server.started:
            time.sleep(0.005)
        yield f"http://127.0.0.1:{door.getsockname()[1]}"
        server.force_exit = server.should_exit = True
        thread.join()


def open_page(page: Page, title: str) -> Frame:
    """Click in the list; return the frame."""
    page.get_by_role("link", name=title, exact=True).click()
    frame = page.frame("view")
    assert frame is not None
    return frame


def test_one_click_shows_a_page_and_marks_it(url, person, check):
    page = person(url).page
    page.goto(f"{url}/preview")
    shown = page.frame_locator("iframe")
    expect(shown.get_by_role("heading", name="Before you begin")).to_be_visible()
    open_page(page, "Quiz")
    expect(shown.get_by_role("heading", name="Are the instructions clear?")).to_be_visible()
    expect(page.locator(".sights [aria-current]")).to_have_text("Quiz")
    assert page.locator("#alone").get_attribute("href").endswith("/preview/show/quiz")
    check(page)


def test_dialogs_and_feedback_open_by_themselves(url, person):
    page = person(url).page
    page.goto(f"{url}/preview")
    shown = page.frame_locator("iframe")
    open_page(page, "Skip: the reasons")
    expect(shown.get_by_role("dialog")).to_contain_text("Skip this item")
    open_page(page, "Help: the keys")
    expect(shown.get_by_role("dialog")).to_contain_text("skip this item, with a reason")
    open_page(page, "Feedback on practice")
    expect(shown.get_by_role("heading", name="Compare")).to_be_visible()
    expect(shown.locator(".compare tbody tr").first).to_contain_text("75 %")


def test_the_way_goes_on_from_any_page(url, person):
    page = person(url).page
    page.goto(f"{url}/preview")
    shown = page.frame_locator("iframe")
    open_page(page, "Instructions, page 2")
    shown.get_by_role("button", name="Continue to the questions").click()
    expect(shown.get_by_role("heading", name="Are the instructions clear?")).to_be_visible()


@pytest.mark.parametrize(("name", "width"), [("Phone", 360), ("Tablet", 768), ("Desktop", 1280)])
def test_widths_are_switched_by_keyboard(url, person, name, width):
    page = person(url).page
    page.goto(f"{url}/preview")
    page.get_by_role("radio", name="This window").focus()
    while not page.get_by_role("radio", name=name).is_checked():
        page.keyboard.press("ArrowRight")
    frame = page.frame("view")
    assert frame is not None
    assert frame.evaluate("window.innerWidth") == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_list_fits_a_phone(url, person, check, scheme):
    page = person(url, viewport={"width": 360, "height": 740}, color_scheme=scheme).page
    page.goto(f"{url}/preview")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    check(page)
