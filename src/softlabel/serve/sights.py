"""The pages of the participant's way, as the preview lists them.

A stage that a study has is listed without further ado; what else there is to see of it is a line
in one of the tables below.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softlabel import registry
from softlabel.errors import SoftlabelError
from softlabel.serve import texts
from softlabel.serve.participant import sessions as stages
from softlabel.serve.recruit import make_recruiter
from softlabel.study import Study

TEMPLATES = Path(__file__).parent / "templates"
WAY, TASK, OUT, WRONG = "The way", "The task", "Ways out", "When something is wrong"
TITLES = {  # of stages; another one is called by its name
    "consent": "Consent",
    "questions": "Questions before",
    "instructions": "Instructions",
    "quiz": "Quiz",
    "debrief": "Questions after",
    "done": "Thank you",
}
ENDS = {  # stages or states beside the way, if they have a page
    "full": "Full: every item has its answers",
    "paused": "Paused",
    "closed": "Closed",
    "no-consent": "No consent",
    "withdrawn": "Withdrawn, answers kept",
}
ERRORS = {
    400: "Wrong request",
    403: "From another site",
    404: "No such page",
    405: "Wrong method",
    413: "Too large",
    421: "Wrong host",
    429: "Too many requests",
    500: "A mistake of ours",
    503: "The database is not available",
}


@dataclass(frozen=True)
class Sight:
    """One page of the list, and what brings somebody there."""

    name: str
    title: str
    group: str
    stage: str | None = None  # of the person who sees it; None: somebody who has not come in
    path: str = "/"
    form: dict[str, str] | None = None  # is sent to the path
    tries: int = 0  # at the quiz, without success
    works: bool = False  # has answered the practice
    ends: bool = False  # has skipped too many items
    mode: str = ""  # another mode than the study's
    keys: str = ""  # are pressed on the page of the task, one after the other
    pretends: bool = False  # a skip counts as a simulated answer


def list_sights(study: Study) -> tuple[Sight, ...]:
    """Return every page of this study, in the order of the way."""
    return (*_list_way(study), *_list_task(study), *_list_ends(study), *_list_errors(study))


def list_reasons(study: Study) -> tuple[str, ...]:
    """Return the reasons for which an item may be skipped; none if the study forbids it."""
    return tuple(getattr(study, "skip_reasons", ("cannot_judge",)))


def _list_way(study: Study) -> Iterator[Sight]:
    walk_in = make_recruiter(study.recruit).walk_in
    for stage in stages.list_stages(study):
        title = TITLES.get(stage, stage.capitalize())
        if stage == stages.CONSENT:
            come = None if walk_in else stage
            yield Sight(stage, title, WAY, come)
            yield Sight("consent-missing", "Consent, boxes missing", WAY, come, "/consent", {})
        elif stage == stages.INSTRUCTIONS:
            for number in range(1, len(study.instructions) + 1):
                name, path = f"instructions-{number}", f"/?page={number}"
                yield Sight(name, f"Instructions, page {number}", WAY, stage, path)
        elif stage == stages.QUIZ and study.quiz is not None:
            yield Sight(stage, title, WAY, stage)
            yield Sight("quiz-missing", "Quiz, incomplete", WAY, stage, "/quiz", {"try": "0"})
            if study.quiz.tries > 1:
                name, title = "quiz-failed", "Quiz failed: read again"
                yield Sight(name, title, WAY, stages.INSTRUCTIONS, tries=1)
        elif stage != stages.TASK:
            yield Sight(stage, title, WAY, stage)
    if (TEMPLATES / "language.html").exists() and len(getattr(study, "languages", ())) > 1:
        yield Sight("language", "Choice of language", WAY, stages.TASK, "/language")


def _list_task(study: Study) -> Iterator[Sight]:
    known: dict[str, Any] = {"group": TASK, "stage": stages.TASK}
    if study.practice:
        yield Sight("practice", "Practice item", **known)
        told = study.practice[0].gold or study.practice[0].feedback
        if told and list_reasons(study):
            title = "Feedback on practice"
            yield Sight("feedback", title, **known, keys="s1", pretends=True)
    yield Sight("task", f"Item, mode {study.mode_text}", **known, works=True)
    if list_reasons(study):
        yield Sight("skip", "Skip: the reasons", **known, works=True, keys="s")
    yield Sight("keys", "Help: the keys", **known, works=True, keys="?")
    for mode in sorted(registry.members("mode")):
        if mode != study.mode.name and _suits(mode, study):
            title = f"Item, if the mode were {mode}"
            yield Sight(f"mode-{mode}", title, **known, works=True, mode=mode)


def _suits(mode: str, study: Study) -> bool:
    """Return whether people can answer about the study's labels in a mode."""
    belief = np.full(len(study.labels), 1 / len(study.labels))
    try:
        made = registry.parse("mode", mode)
        made.read(made.simulate(belief, study.labels, np.random.default_rng(0)), study.labels)
    except SoftlabelError:
        return False
    return True


def _list_ends(study: Study) -> Iterator[Sight]:
    out = stages.SCREENED_OUT
    if study.quiz is not None:
        tries = study.quiz.tries
        yield Sight("screened-out", "Screened out by the quiz", OUT, out, tries=tries)
    if list_reasons(study):
        title = "Screened out by skips"
        yield Sight("screened-out-skips", title, OUT, out, works=True, ends=True)
    for stage, title in ENDS.items():
        if not (TEMPLATES / f"{stage}.html").exists():
            continue
        if stage == stages.NO_CONSENT and make_recruiter(study.recruit).walk_in:
            yield Sight(stage, title, OUT, None, "/consent", {"decline": "1"})
        else:
            yield Sight(stage, title, OUT, stage)
    yield Sight("withdraw", "Withdraw: the question", OUT, stages.TASK, "/withdraw")
    yield Sight("left", "Withdrawn, answers deleted", OUT, None, "/left")


def _list_errors(study: Study) -> Iterator[Sight]:
    recruiter, recruit = make_recruiter(study.recruit), study.recruit
    if not recruiter.walk_in:
        yield Sight("entry", "A link without an id", WRONG)
        wrong = {"prolific": "PROLIFIC_PID", "url": recruit.id_param}.get(recruit.kind)
        if wrong:
            yield Sight("entry-wrong", "A link with a wrong id", WRONG, path=f"/?{wrong}=%7B%7D")
        if recruit.kind == "invitation":
            yield Sight("entry-revoked", "A revoked invitation", WRONG, path="/i/none")
    words = texts.load(study.language)
    for key in words.page:
        if found := re.fullmatch(r"error_(\d{3})", key):
            status = int(found[1])
            title = f"{ERRORS.get(status, 'Error')} ({status})"
            yield Sight(key.replace("_", "-"), title, WRONG, path=f"/preview/error/{status}")
