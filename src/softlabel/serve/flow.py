"""Which page belongs to which stage: a function of the study and the session, nothing else."""

from __future__ import annotations

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


def after_quiz(study: Study, passed: bool, tries: int) -> str:
    """Where the quiz leads: on, to the instructions once more, or out when all tries are used."""
    assert study.quiz is not None, "only a study with a quiz gets here"
    if passed:
        return after(study, QUIZ)
    return INSTRUCTIONS if tries < study.quiz.tries else SCREENED_OUT
