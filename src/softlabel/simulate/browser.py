"""Simulated people in a real browser: slow, and exactly what participants see."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from softlabel.errors import SoftlabelError
from softlabel.simulate import visit
from softlabel.simulate.client import ANSWERS, Progress, Refused
from softlabel.simulate.crowd import Report, check_rehearsal
from softlabel.simulate.people import Habits, Participant, draw_participants, read_truth
from softlabel.simulate.visit import End, Looks, Outcome, Site
from softlabel.study import Study

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Response

CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
NEW = '#task[data-ready="yes"]:not([data-position="{last}"]), #go-on, body:not(.task-page)'


def fill_in_browser(
    url: str,
    study: Study,
    *,
    annotators: int,
    seed: int,
    progress: Progress | None = None,
    db: str | None = None,
) -> Report:
    """Send people through a study one after the other, each with a browser of their own."""
    for mode in (one for one in study.modes if not hasattr(one, "operate")):
        raise SoftlabelError(
            f"the mode {mode.name!r} has no operate(page, answer, labels), so that simulated "
            "people cannot answer in a browser; let them answer without --browser"
        )
    check_rehearsal(url)
    people = draw_participants(annotators, seed)
    site = Site(url, study, read_truth(study, seed), Habits())
    begin, errors = time.perf_counter(), Counter[str]()
    outcomes: list[Outcome] = []
    with launch_chromium() as browser:
        for participant, link in zip(people, visit.make_links(study, people, db), strict=True):
            outcomes.append(BrowserVisit(site, participant, browser, errors).run(link))
            if progress is not None:
                done = sum(len(outcome.acknowledged) for outcome in outcomes)
                progress(done, round(done * annotators / len(outcomes)))
    return Report(tuple(outcomes), time.perf_counter() - begin, errors, 0, {})


@contextmanager
def launch_chromium() -> Iterator[Browser]:
    try:
        from playwright.sync_api import Error, sync_playwright
    except ModuleNotFoundError as missing:
        raise SoftlabelError("a real browser needs Playwright: pip install playwright") from missing
    program = next((path for path in map(shutil.which, CHROMIUM) if path), None)
    args = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=program, args=args)
        except Error as error:
            reason = str(error).splitlines()[0]
            raise SoftlabelError(
                f"Chromium does not start ({reason}); install it: playwright install chromium"
            ) from error
        yield browser
        browser.close()


class BrowserVisit:
    """One person's visit in a browser context of their own."""

    def __init__(
        self, site: Site, participant: Participant, browser: Browser, errors: Counter[str]
    ) -> None:
        self.site, self.errors = site, errors
        self.context = browser.new_context()
        self.page = self.context.new_page()
        self.page.on("response", self._note_response)
        self.page.on("pageerror", lambda error: self.errors.update([f"script: {error}"]))
        self.acknowledged: list[str] = []
        self._looks = Looks(site, participant)
        self._plan: dict[str, Any] = {"showings": []}

    def run(self, link: str) -> Outcome:
        """Go from form to form, and answer the items in between."""
        from playwright.sync_api import Error

        end: End = "turned away"  # unless there is something to answer
        try:
            self.page.goto(self.site.url + link)
            for _ in range(visit.MOST_PAGES):
                if self.page.locator("#task").count():
                    self._work()
                    end = "finished"
                elif not self._fill_form():
                    break
            else:
                raise Refused("the pages of the study go in circles")
        except (Error, SoftlabelError) as error:
            self.errors[f"gave up: {str(error).splitlines()[0]}"] += 1
            end = "failed"
        finally:
            self.context.close()
        return Outcome(end, tuple(self.acknowledged))

    def _note_response(self, response: Response) -> None:
        path = response.url.removeprefix(self.site.url)
        if response.status >= 400:
            self.errors[f"{response.request.method} {path}: {response.status}"] += 1
        elif path == ANSWERS:
            sent: Any = response.request.post_data_json
            self.acknowledged.append(sent["response_uuid"])

    def _fill_form(self) -> bool:
        """Fill in the form on the page, if there is one."""
        page = self.page
        form = visit.FORM.search(page.content())
        if form is None:
            return False
        for name, text in visit.fill_form(self.site.study, form[1]).items():
            option = page.locator(f'[name="{name}"][value="{text}"]')
            if option.count():
                option.check()
            else:
                page.fill(f'[name="{name}"]', text)
        with page.expect_navigation():
            page.locator("form .button.primary").click()
        return True

    def _work(self) -> None:
        """Answer whatever comes up, until the page leads elsewhere."""
        last = ""
        while True:
            self.page.locator(NEW.format(last=last)).first.wait_for(state="attached")
            if self.page.locator("#go-on").count():
                self.page.locator("#go-on").click()
            elif self.page.locator("body.task-page").count():
                last = self.page.locator("#task").get_attribute("data-position") or ""
                item, occasion = self._looks.look(self._find_showing(int(last)))
                answer = self._looks.answer(item, occasion)
                self._looks.mode.operate(self.page, answer, self._plan["labels"])
            else:
                return

    def _find_showing(self, position: int) -> dict[str, Any]:
        """Return what the server's plan has at this position; the page does not say."""
        for _ in range(2):
            for showing in self._plan["showings"]:
                if showing["position"] == position:
                    return dict(showing)
            self._plan = self.context.request.get(f"{self.site.url}/api/plan").json()
            self._looks.follow(self._plan)
        raise Refused(f"the page shows position {position}, which is not in the plan")
