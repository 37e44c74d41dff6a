"""Quiz and debrief: the questions that stand in the file."""

from __future__ import annotations

from softlabel.errors import nearest
from softlabel.study.defaults import SCALE
from softlabel.study.findings import Findings
from softlabel.study.model import Question
from softlabel.study.schema import DebriefQuestion, QuizQuestion
from softlabel.study.settings import FILE, Settings


def read_quiz(settings: Settings, findings: Findings) -> tuple[Question, ...]:
    """The questions of the quiz that the file holds."""
    section = settings.file.quiz
    _check_asked("quiz", section.ask, bool(section.question), findings)
    return tuple(_quiz_question(n, one, findings) for n, one in enumerate(section.question))


def _quiz_question(number: int, given: QuizQuestion, findings: Findings) -> Question:
    key = f"quiz.question[{number}]"
    _check_options(f"{key}.options", given.options, findings)
    if given.right in given.options:
        return Question(given.text, tuple(given.options), given.options.index(given.right))
    reason = f"is none of the options{nearest(given.right, given.options)}"
    findings.wrong(FILE, f"{key}.right", given.right, reason)
    return Question(given.text, tuple(given.options))


def read_debrief(settings: Settings, findings: Findings) -> tuple[Question, ...]:
    """The questions of the debrief that the file holds."""
    section = settings.file.debrief
    _check_asked("debrief", section.ask, bool(section.question), findings)
    return tuple(_debrief_question(n, one, findings) for n, one in enumerate(section.question))


def _check_asked(table: str, ask: bool, given: bool, findings: Findings) -> None:
    if given and not ask:
        reason = "there are questions, which nobody would see"
        findings.wrong(FILE, f"{table}.ask", ask, reason)


def _debrief_question(number: int, given: DebriefQuestion, findings: Findings) -> Question:
    key = f"debrief.question[{number}]"
    kind = given.kind or ("choice" if given.options else "text")
    options = tuple(given.options)
    if kind == "scale" and not options:
        options = SCALE
    if kind == "text" and options:
        findings.wrong(FILE, f"{key}.kind", kind, "a free text has no options")
    if kind != "text":
        _check_options(f"{key}.options", options, findings)
    return Question(given.text, options, kind=kind)


def _check_options(key: str, options: list[str] | tuple[str, ...], findings: Findings) -> None:
    if len(options) < 2:
        findings.wrong(FILE, key, list(options), "there must be two options at least")
    for option in dict.fromkeys(options):
        if options.count(option) > 1:
            findings.wrong(FILE, key, option, "stands there more than once")
