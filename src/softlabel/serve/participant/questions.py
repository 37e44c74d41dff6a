"""Questions beside the items, before the first one and after the last: the answers, and the page.

What a form sends is read by the same rules whether or not the page's script ran: a question that
does not apply is left out, one that is required must be answered, and a number must lie in its
range.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from softlabel.serve.texts import Catalogue
from softlabel.study import LONGEST, ONE_LINE, Question, has_control, name_questions

BEFORE, AFTER = "b", "d"  # the first letter of the fields of each form

Answer = str | float | list[str] | None


# ── answers ──────────────────────────────────────────────────────────────────────────────────


class Fault(NamedTuple):
    """What is wrong with an answer: the key of a sentence of the pages, and its blanks."""

    text: str
    values: Mapping[str, str]


class Answers(NamedTuple):
    """The answers of one form by the names of the questions, None where nothing was said; questions
    that did not apply are absent.  ``faults`` are by name as well."""

    given: dict[str, Answer]
    faults: dict[str, Fault]


def read_answers(questions: Sequence[Question], fields: Mapping[str, str], prefix: str) -> Answers:
    """Read what a form sent: the field of the n-th question is called by the prefix and n, and the
    boxes of ``choices`` by that, a point and their place."""
    given: dict[str, Answer] = {}
    faults: dict[str, Fault] = {}
    for place, (name, question) in enumerate(
        zip(name_questions(questions), questions, strict=True)
    ):
        if not applies(question, given):
            continue
        field = f"{prefix}{place}"
        answer, fault = _read_answer(question, fields, field)
        given[name] = answer
        if answer is None and fault is None and question.required:
            fault = Fault("question_missing", {})
        if fault is not None:
            faults[name] = fault
    return Answers(given, faults)


def applies(question: Question, given: Mapping[str, Answer]) -> bool:
    """Return whether a question is to be answered after these answers."""
    if question.show_if is None:
        return True
    answer = given.get(question.show_if.question)
    said = answer if isinstance(answer, list) else [answer]
    return any(one in question.show_if.among for one in said)


def _read_answer(
    question: Question, fields: Mapping[str, str], field: str
) -> tuple[Answer, Fault | None]:
    options, text = question.options, fields.get(field, "").strip()
    if question.kind == "choices":
        picked = [option for n, option in enumerate(options) if f"{field}.{n}" in fields]
        return picked or None, None
    if question.options:
        known = text.isascii() and text.isdigit() and len(text) <= 4 and int(text) < len(options)
        return options[int(text)] if known else None, None
    if not text:
        return None, None
    if question.kind == "number":
        return _read_number(question, text)
    most = int(question.high or LONGEST)
    # a line break is one character on the page and two in the form
    text = text.replace("\r\n", "\n")
    if len(text) > most:
        return text, Fault("question_long", {"most": str(most)})
    if has_control(text, allowed="\n\t"):
        return text, Fault("question_control", {})
    return text, None


def _read_number(question: Question, text: str) -> tuple[Answer, Fault | None]:
    """Read a number as people write it: with a comma or a point, in the digits of any script."""
    low, high, step = question.low, question.high, question.step
    plain = text.replace("\N{ARABIC DECIMAL SEPARATOR}", ".").replace(",", ".")
    plain = plain.replace("\N{MINUS SIGN}", "-")
    try:
        number = float(plain) if "_" not in plain and len(plain) <= 40 else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        return None, Fault("question_number", {})
    if low is not None and high is not None and not low <= number <= high:
        return None, Fault("question_range", {"low": f"{low:.12g}", "high": f"{high:.12g}"})
    if low is not None and number < low:
        return None, Fault("question_least", {"low": f"{low:.12g}"})
    if high is not None and number > high:
        return None, Fault("question_most", {"high": f"{high:.12g}"})
    if step is not None:
        steps = (number - (low or 0)) / step
        if abs(steps - round(steps)) > 1e-6:
            whole = step == 1 and (low or 0) == int(low or 0)
            values = {} if whole else {"step": f"{step:.12g}", "low": f"{low or 0:.12g}"}
            return None, Fault("question_whole" if whole else "question_step", values)
    return int(number) if number == int(number) else number, None


# ── the page ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Asked:
    """One question on a page: the name of its field, its number, and what is said around it.

    ``only_if`` says when a follow-up is to be answered, for people without script; ``depends`` and
    ``places`` say it to the script: the field, and the options, one of which must be picked.
    """

    question: Question
    field: str
    number: int | None  # follow-ups have none
    hint: str = ""
    fault: str = ""
    only_if: str = ""
    depends: str = ""
    places: tuple[int, ...] = ()
    most: int = LONGEST  # characters

    @property
    def one_line(self) -> bool:
        return self.question.kind == "number" or self.most <= ONE_LINE


def describe_questions(
    questions: Sequence[Question], prefix: str, texts: Catalogue, answers: Answers | None = None
) -> list[Asked]:
    """Describe the questions of a form; ``answers`` are those that could not be accepted."""
    names = name_questions(questions)
    faults = {} if answers is None else answers.faults
    asked: list[Asked] = []
    number = 0
    for place, (name, question) in enumerate(zip(names, questions, strict=True)):
        number += question.show_if is None
        wrong, condition = faults.get(name), question.show_if
        only_if, depends = "", ""
        places: tuple[int, ...] = ()
        if condition is not None:
            other = names.index(condition.question)
            options = questions[other].options
            depends, places = f"{prefix}{other}", tuple(map(options.index, condition.among))
            said = " / ".join(condition.among)
            only_if = texts.say("question_only_if", question=questions[other].text, answers=said)
        is_text = question.kind == "text" and question.high is not None
        asked.append(
            Asked(
                question,
                f"{prefix}{place}",
                number if condition is None else None,
                hint=_hint(question, texts),
                fault="" if wrong is None else texts.say(wrong.text, **wrong.values),
                only_if=only_if,
                depends=depends,
                places=places,
                most=int(question.high or 0) if is_text else LONGEST,
            )
        )
    return asked


def _hint(question: Question, texts: Catalogue) -> str:
    """Say which numbers are asked for."""
    if question.kind != "number":
        return ""
    low, high = question.low, question.high
    values: Mapping[str, str] = {"low": f"{low or 0:.12g}", "high": f"{high or 0:.12g}"}
    if low is not None and high is not None:
        return texts.say("question_range", **values)
    if low is not None:
        return texts.say("question_least", **values)
    return texts.say("question_number" if high is None else "question_most", **values)
