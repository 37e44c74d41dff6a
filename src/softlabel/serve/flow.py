"""Which page belongs to which stage: a function of the study and the session, nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from softlabel.store import Session, Showing
from softlabel.study import Study

CONSENT, INSTRUCTIONS, QUIZ, TASK = "consent", "instructions", "quiz", "task"
DEBRIEF, DONE = "debrief", "done"
SCREENED_OUT, NO_CONSENT = "screened-out", "no-consent"
WITHDRAWN, FULL, CLOSED = "withdrawn", "full", "closed"

PAGES = {
    CONSENT: "consent.html",
    INSTRUCTIONS: "instructions.html",
    QUIZ: "quiz.html",
    TASK: "task.html",
    DEBRIEF: "debrief.html",
    DONE: "done.html",
    SCREENED_OUT: "screened-out.html",
    NO_CONSENT: "no-consent.html",
    WITHDRAWN: "withdrawn.html",
    FULL: "full.html",
    CLOSED: "closed.html",
}
BEFORE_TASK = frozenset({CONSENT, INSTRUCTIONS, QUIZ})
UNDER_WAY = BEFORE_TASK | {TASK, DEBRIEF}


def steps(study: Study) -> tuple[str, ...]:
    """The stages of somebody who goes all the way."""
    quiz = (QUIZ,) if study.quiz is not None else ()
    debrief = (DEBRIEF,) if study.debrief else ()
    return (CONSENT, INSTRUCTIONS, *quiz, TASK, *debrief, DONE)


def after(study: Study, stage: str) -> str:
    """The stage that follows."""
    way = steps(study)
    return way[way.index(stage) + 1]


def after_task(study: Study, session: Session, showings: Sequence[Showing]) -> str:
    """Where the task leads: on, or out for somebody who skipped too much.

    Sessions are sent away when they pass the limit, so what is looked for here is somebody who got
    fewer items than others, answered none of them, and skipped more than so few allow.
    """
    targets = [one for one in showings if one.kind == "target" and one.response is not None]
    nothing = all(one.state == "skipped" for one in targets)
    most = study.skips_among(len(targets)) if nothing else study.most_skips
    return SCREENED_OUT if session.skipped > most else after(study, TASK)


def after_quiz(study: Study, passed: bool, tries: int) -> str:
    """Where the quiz leads: on, to the instructions once more, or out when all tries are used."""
    assert study.quiz is not None, "only a study with a quiz gets here"
    if passed:
        return after(study, QUIZ)
    return INSTRUCTIONS if tries < study.quiz.tries else SCREENED_OUT
