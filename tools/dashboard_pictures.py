"""The pictures of the dashboard in docs/pictures: a new study, simulated people, a real browser.

python tools/dashboard_pictures.py [FOLDER]
"""

from __future__ import annotations

import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import uvicorn
from pictures import save
from playwright.sync_api import Page, sync_playwright

from softlabel import store, study
from softlabel.serve import actions
from softlabel.serve.app import make_app
from softlabel.serve.databases import put_study
from softlabel.serve.secret import open_with_token
from softlabel.simulate import fill_study
from softlabel.simulate import visit as visits
from softlabel.store import Store
from softlabel.study import Study, write_new

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
PAY = '\n[pay]\ncurrency = "GBP"\nminutes = 4\nper_hour = 9.0\n'
WAVES = (1, 1, 8, 1)  # people, a quarter of an hour apart; of eight one is careless
PAGES = {"dashboard": ("", 1290), "dashboard-items": ("/items", 1080)}
PAGES |= {"dashboard-people": ("/people", 760), "dashboard-run": ("/run", 1120)}
PAGES |= {"dashboard-audit": ("/audit", 580), "dashboard-comments": ("/comments", 760)}
REMARKS = {  # by number of the answer among all of them
    14: "The left side looks round, the right side has corners.",
    30: "Could be a star with a broken tip.",
    97: "Too small to be sure.",
    141: "I changed my mind after the second look.",
}
FIRST = 3  # pages that show the study before somebody steers it


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, str, Study, list[float], Store]]:
    """The address, the researcher's token, the study, how far its clock is ahead, its answers."""
    found = study.read(folder)
    secret, token = open_with_token(folder)
    ahead = [-3600.0 * len(WAVES) / 4]
    with store.open(folder / ".softlabel" / "rehearsal.db", rehearsal=True) as answers:
        put_study(found, answers, time.time())
        app = make_app(found, answers, secret, now=lambda: time.time() + ahead[0])
        with socket.create_server(("127.0.0.1", 0)) as door:
            server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
            thread = threading.Thread(target=server.run, args=([door],))
            thread.start()
            try:
                url = f"http://127.0.0.1:{door.getsockname()[1]}"
                yield url, str(token), found, ahead, answers
            finally:
                server.should_exit = True
                thread.join()


def log_in(page: Page, url: str, token: str) -> None:
    page.goto(f"{url}/research")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/research")
    while "being computed" in page.content():
        page.wait_for_timeout(200)
        page.reload()


def take(url: str, token: str, folder: Path, steer: Callable[[], None]) -> None:
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS.split())
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        log_in(page, url, token)
        for number, (name, (place, height)) in enumerate(PAGES.items()):
            if number == FIRST:
                steer()
            page.set_viewport_size({"width": 1280, "height": height})
            page.goto(f"{url}/research{place}", wait_until="networkidle")
            save(page, folder / f"{name}.png")
        browser.close()


@contextmanager
def commenting() -> Iterator[None]:
    """Let simulated people write something about some items."""
    make, numbers = visits.make_record, count()

    def make_record(*about: Any) -> dict[str, Any]:
        remark = REMARKS.get(next(numbers))
        return make(*about) | ({"comment": remark} if remark else {})

    visits.make_record = make_record
    try:
        yield
    finally:
        visits.make_record = make


def run_study(found: Study, answers: Store, now: float) -> None:
    """Do what the audit log then lists."""
    person = answers.sessions(found.name)[5].annotator
    doings: list[actions.Action] = [actions.Pause(), actions.Resume(), actions.SetPerItem(7)]
    doings += [actions.Exclude(person, "the same key throughout"), actions.SetPeopleCap(40)]
    for place, action in enumerate(doings):
        action.do(actions.Desk(found, answers, "Ann", now - 60 * (len(doings) - place)))


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        shapes = Path(place) / "shapes"
        write_new(shapes, mode="quick")
        with (shapes / "study.toml").open("r+") as file:
            text = file.read().replace("#comment = false", "comment = true")
            file.seek(0)
            file.write(text + PAY)
        with served(shapes) as (url, token, found, ahead, answers), commenting():
            for wave, people in enumerate(WAVES):
                fill_study(url, found, annotators=people, seed=wave)
                ahead[0] += 900
            ahead[0] = -600.0
            now = time.time() + ahead[0]
            take(url, token, folder, lambda: run_study(found, answers, now))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)
