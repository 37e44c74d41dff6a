"""The same people in a real browser: slow, and exactly what participants see."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from softlabel.errors import SoftlabelError
from softlabel.simulate.crowd.entrance import entrances
from softlabel.simulate.crowd.fill import knock
from softlabel.simulate.crowd.hands import HANDS
from softlabel.simulate.crowd.line import Refused
from softlabel.simulate.crowd.log import Outcome, Progress, Report
from softlabel.simulate.crowd.people import Habits, Somebody, crowd
from softlabel.simulate.crowd.truth import known
from softlabel.simulate.crowd.walk import PAGES, Site
from softlabel.study import Question, Study

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Response

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
NEW = '#task[data-ready="yes"]:not([data-position="{last}"]), #go-on, body:not(.task-page)'


def fill(
    url: str,
    study: Study,
    *,
    annotators: int,
    seed: int,
    progress: Progress | None = None,
    db: str | None = None,
) -> Report:
    """Send people through a study one after the other, each with a browser of their own."""
    if study.mode.name not in HANDS:
        raise SoftlabelError(f"nobody here knows how to answer by hand in mode {study.mode.name!r}")
    knock(url)
    people = crowd(annotators, seed)
    site = Site(url, study, known(study, seed), Habits())
    begin, errors = time.perf_counter(), Counter[str]()
    outcomes: list[Outcome] = []
    with _chromium() as browser:
        for somebody, path in zip(people, entrances(study, people, db), strict=True):
            visit = Visit(site, somebody, browser, errors)
            outcomes.append(visit.run(path))
            if progress is not None:
                done = sum(len(one.acknowledged) for one in outcomes)
                progress(done, round(done * annotators / len(outcomes)))
    return Report(tuple(outcomes), time.perf_counter() - begin, errors, 0, {})


@contextmanager
def _chromium() -> Iterator[Browser]:
    try:
        from playwright.sync_api import Error, sync_playwright
    except ModuleNotFoundError as missing:
        raise SoftlabelError("a real browser needs Playwright: pip install playwright") from missing
    found = next((path for path in map(shutil.which, CHROMIUM) if path), None)
    args = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found, args=args)
        except Error as error:
            reason = str(error).splitlines()[0]
            raise SoftlabelError(
                f"Chromium does not start ({reason}); install it: playwright install chromium"
            ) from error
        yield browser
        browser.close()


class Visit:
    """One person's way through the pages."""

    def __init__(
        self, site: Site, somebody: Somebody, browser: Browser, errors: Counter[str]
    ) -> None:
        self.site, self.somebody, self.errors = site, somebody, errors
        self.context = browser.new_context()
        self.page = self.context.new_page()
        self.page.on("response", self._hear)
        self.page.on("pageerror", lambda error: self._note(f"script: {error}"))
        self.acknowledged: list[str] = []
        self._looks: Counter[str] = Counter()
        self._plan: dict[str, Any] = {"showings": []}

    def run(self, path: str) -> Outcome:
        from playwright.sync_api import Error

        try:
            self.page.goto(self.site.url + path)
            end = self._walk()
        except (Error, SoftlabelError) as error:
            self._note(f"gave up: {str(error).splitlines()[0]}")
            return Outcome("failed", tuple(self.acknowledged))
        finally:
            self.context.close()
        return Outcome("finished" if end else "turned away", tuple(self.acknowledged))

    def _note(self, what: str) -> None:
        self.errors[what] += 1

    def _hear(self, response: Response) -> None:
        path = response.url.removeprefix(self.site.url)
        if response.status >= 400:
            self._note(f"{response.request.method} {path}: {response.status}")
        elif path == "/api/answers":
            sent: Any = response.request.post_data_json
            self.acknowledged.append(sent["response_uuid"])

    # ── pages ────────────────────────────────────────────────────────────────────────────────

    def _walk(self) -> bool:
        """From form to form; True if there was something to answer and it was answered."""
        worked = False
        for _ in range(PAGES):
            if self.page.locator("#task").count():
                self._work()
                worked = True
            elif not self._fill_form():
                return worked
        raise Refused("the pages of the study go in circles")

    def _fill_form(self) -> bool:
        """Fill in the form on the page, if there is one."""
        study, page = self.site.study, self.page
        if page.locator('form[action="/consent"]').count():
            for box in ("adult", "read", "agree"):
                page.check(f'[name="{box}"]')
        elif page.locator('form[action="/quiz"]').count() and study.quiz is not None:
            for n, question in enumerate(study.quiz.questions):
                page.check(f'[name="q{n}"][value="{question.right}"]')
        elif page.locator('form[action="/debrief"]').count():
            for n, question in enumerate(study.debrief):
                self._remark(n, question)
        elif not page.locator('form[action="/instructions"]').count():
            return False
        with page.expect_navigation():
            page.locator("form .button.primary").click()
        return True

    def _remark(self, number: int, question: Question) -> None:
        if question.options:
            self.page.check(f'[name="d{number}"][value="0"]')
        else:
            self.page.fill(f'[name="d{number}"]', "(a simulated person)")

    # ── items ────────────────────────────────────────────────────────────────────────────────

    def _work(self) -> None:
        """Answer whatever comes up, until the page leads elsewhere."""
        last = ""
        while True:
            self.page.locator(NEW.format(last=last)).first.wait_for(state="attached")
            if self.page.locator("#go-on").count():
                self.page.locator("#go-on").click()
            elif self.page.locator("body.task-page").count():
                last = self.page.locator("#task").get_attribute("data-position") or ""
                self._answer(int(last))
            else:
                return

    def _answer(self, position: int) -> None:
        study, truth = self.site.study, self.site.truth
        showing = self._showing(position)
        item = truth.item(showing)
        self._looks[item] += 1
        occasion = f"{showing['phase']} {self._looks[item]}"
        said = self.somebody.says(item, truth.of[item], occasion, study.mode, study.labels)
        HANDS[study.mode.name](self.page, said, self._plan["labels"])

    def _showing(self, position: int) -> dict[str, Any]:
        """What the server said is at this place; the page knows, but does not say."""
        for fresh in (False, True):
            if fresh:
                self._plan = self.context.request.get(f"{self.site.url}/api/plan").json()
            for showing in self._plan["showings"]:
                if showing["position"] == position:
                    return dict(showing)
        raise Refused(f"the page shows place {position}, which is not in the plan")
