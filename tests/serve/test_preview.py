"""``softlabel preview``: every page of a study over a database that nobody keeps."""

from __future__ import annotations

import re
import select
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from softlabel import study as studies
from softlabel.serve import preview, sights

PROLIFIC = 'kind = "prolific"\ncompletion_code = "DONE1"\nscreenout_code = "OUT1"'
LINK = re.compile(r'href="(/preview/show/([a-z0-9-]+))"')
HEADING = re.compile(r"<h1[^>]*>(.*?)</h1>", re.DOTALL)


class Previewed:
    """A preview in a process of its own."""

    def __init__(self, start: Callable[..., Any], folder: Path) -> None:
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed at the end
        self.process = start(["preview", str(folder), "--no-open"], self.errors)
        ready, _, _ = select.select([self.process.stdout], [], [], 60)
        line = self.process.stdout.readline() if ready else ""
        found = re.fullmatch(r"softlabel previews \S+ at (http://127.0.0.1:\d+)/preview\n", line)
        assert found, (line, self.errors.seek(0), self.errors.read())
        self.url = found[1]

    def browse(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, follow_redirects=True, timeout=60)

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = int(self.process.wait(60))
        self.process.stdout.close()
        self.errors.close()
        return code


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("preview") / "shapes"
    studies.write_new(place)
    return place


@pytest.fixture(scope="module")
def running(folder: Path, start_softlabel: Callable[..., Any]) -> Iterator[Previewed]:
    made = Previewed(start_softlabel, folder)
    yield made
    made.end()


def test_every_page_of_the_list_shows_what_it_says(running):
    with running.browse() as browser:
        listed = browser.get("/preview")
        assert "Nothing is stored" in listed.text
        links = dict((name, path) for path, name in LINK.findall(listed.text))
        heads = {}
        for name, path in links.items():
            page = browser.get(path)
            assert page.status_code in (200, 422) or name.startswith("error-"), name
            heads[name] = HEADING.search(page.text)[1].strip()
    for stage in ("consent", "instructions-4", "quiz", "debrief", "done", "full", "closed"):
        assert stage in links
    assert heads["consent"] == heads["consent-missing"] == "Before you begin"
    assert heads["quiz"] == heads["quiz-missing"] == "Are the instructions clear?"
    assert heads["screened-out"] == heads["screened-out-skips"]
    assert heads["practice"] == heads["task"] == heads["mode-chips"] == "The task"
    assert heads["no-consent"] == "You are not taking part"
    assert heads["withdrawn"] == heads["left"] == "You have left the study"
    assert heads["error-503"] == "This did not work"


def test_the_person_has_come_as_far_as_the_page_says(running):
    with running.browse() as browser:
        assert "did not fit the instructions" in browser.get("/preview/show/quiz-failed").text
        assert "tick all three boxes" in browser.get("/preview/show/consent-missing").text
        assert "skipped more items" in browser.get("/preview/show/screened-out-skips").text
        assert "Page 3 of 4" in browser.get("/preview/show/instructions-3").text
        browser.get("/preview/show/practice")
        assert browser.get("/api/plan").json()["showings"][0]["phase"] == "practice"
        browser.get("/preview/show/mode-hard")
        plan = browser.get("/api/plan").json()
        assert plan["mode"]["name"] == "hard"
        opened = [one for one in plan["showings"] if not one["answered"]]
        assert opened[0]["phase"] == "main"


def test_the_feedback_is_on_a_simulated_answer(running):
    with running.browse() as browser:
        browser.get("/preview/show/feedback")
        shown = browser.get("/api/plan").json()["showings"][0]
        uuid = "00000000-0000-4000-8000-000000000000"
        body = {"response_uuid": uuid, "position": shown["position"], "skip": "cannot_judge"}
        said = browser.post("/api/answers", json=body, headers={"x-softlabel": "1"}).json()
    assert said["feedback"]["yours"] == said["feedback"]["reference"] == {"star": 1.0}


def test_only_the_preview_may_frame_the_pages(running):
    with running.browse() as browser:
        page, listed = browser.get("/preview/show/quiz"), browser.get("/preview")
    assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
    assert page.headers["x-frame-options"] == "SAMEORIGIN"
    assert "frame-ancestors 'none'" in listed.headers["content-security-policy"]
    assert listed.headers["x-frame-options"] == "DENY"


def test_a_study_on_this_machine_keeps_its_own_cookie(running):
    with running.browse() as browser:
        browser.cookies.set("softlabel", "another", domain="127.0.0.1")
        browser.get("/preview/show/quiz")
        assert browser.cookies["softlabel"] == "another"
        assert "preview-softlabel" in browser.cookies


def test_nobody_else_reaches_it(running):
    with running.browse() as browser:
        assert browser.get("/preview", headers={"host": "evil.example"}).status_code == 421
        assert browser.get("/preview/show/nothing").status_code == 404
        assert browser.get("/preview/show/quiz?language=xx").status_code == 404


def test_nothing_is_left_of_it(folder, start_softlabel, tmp_path):
    before = sorted(folder.rglob("*"))
    places = Path(tempfile.gettempdir())
    own = Previewed(start_softlabel, folder)
    opened = {path.name for path in places.glob("softlabel-preview-*")}
    with own.browse() as browser:
        browser.get("/preview/show/task")
    assert opened
    assert own.end() == 0
    left = {path.name for path in places.glob("softlabel-preview-*")}
    assert len(opened - left) == 1
    assert sorted(folder.rglob("*")) == before


def test_a_recruited_study_has_its_ways_in_and_out(folder, tmp_path, start_softlabel):
    place = shutil.copytree(folder, tmp_path / "shapes")
    text = (place / "study.toml").read_text(encoding="utf-8")
    text = text.replace("[recruit]\n", f"[recruit]\n{PROLIFIC}\n")
    text = text.replace("per_item = 6", "per_item = 1")  # two people have all places
    (place / "study.toml").write_text(text)
    own = Previewed(start_softlabel, place)
    try:
        with own.browse() as browser:
            assert browser.get("/preview/show/consent").status_code == 200
            assert browser.get("/preview/show/entry").status_code == 400
            assert "PROLIFIC_PID" in browser.get("/preview/show/entry-wrong").text
            assert "DONE1" in browser.get("/preview/show/done").text
            assert "OUT1" in browser.get("/preview/show/full").text
            back = browser.get("/leave")
            totals = set()
            for _ in range(4):  # who was there before has left their places
                browser.get("/preview/show/task")
                totals.add(browser.get("/api/plan").json()["total"])
            (place / "study.toml").write_text(text.replace("Which shape", "What form"))
            again = browser.get("/preview").text
            changed = browser.get("/preview/show/consent").text
            (place / "study.toml").write_text(text.replace('mode = "quick"', 'mode = "quik"'))
            wrong = browser.get("/preview").text
    finally:
        own.end()
    assert "What form is it?" in again
    assert "What form is it?" in changed
    assert "What form is it?" in wrong
    assert "did you mean &#39;quick&#39;?" in wrong
    assert back.url.path == "/preview/left"
    assert "https://app.prolific.com/submissions/complete?cc=OUT1" in back.text
    assert totals == {19}


def test_new_stages_are_listed_without_further_ado(folder, monkeypatch):
    study = studies.read(folder)
    stages = ("consent", "survey", *sights.stages.list_stages(study)[1:])
    monkeypatch.setattr(sights.stages, "list_stages", lambda _: stages)
    listed = {sight.name: sight for sight in sights.list_sights(study)}
    assert listed["survey"] == sights.Sight("survey", "Survey", sights.WAY, "survey")


def test_an_address_elsewhere_stays_in_the_preview():
    headers = [(b"location", b"https://app.prolific.com/x?cc=1"), (b"set-cookie", b"softlabel=a")]
    assert preview.frame(headers, "/leave") == [
        (b"location", b"/preview/left?to=https%3A%2F%2Fapp.prolific.com%2Fx%3Fcc%3D1"),
        (b"set-cookie", b"preview-softlabel=a"),
    ]
