"""Questions beside the items, of five kinds, before the first and after the last; and the reasons
that people may give instead of an answer."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from softlabel.errors import nearest
from softlabel.study.model import SKIP_LIMIT, SKIPS, Condition, Question, QuestionKind
from softlabel.study.settings import Reader

SCALE = tuple(str(step) for step in range(1, 11))
PICKED = ("choice", "choices", "scale")  # kinds with options
MOST_STEPS = 100  # of a scale
MOST_FIELDS = 150  # of one page; a form with far more than these is refused
LONGEST = 5000  # characters of a text
MOST_REASONS = 9  # for skipping: one digit each
ONE_LINE = 100  # a text of at most so many characters is asked for on one line
MEANT_FOR = {"min": ("number", "scale"), "max": ("number", "scale", "text")}
MEANT_FOR |= {"step": ("number", "scale"), "options": PICKED}


def read_questions(
    reader: Reader, table: str, asked: Sequence[Any], taken: Sequence[str] = ()
) -> tuple[Question, ...]:
    """Return the questions of a table; ``taken`` ids belong to questions that are added to it."""
    questions: list[Question] = []
    for number, one in enumerate(asked):
        key = f"{table}.question[{number}]"
        if one.id is not None and one.id in (*taken, *(question.id for question in questions)):
            whose = "the demographics" if one.id in taken else "another question"
            reader.refuse(f"{key}.id", one.id, f"is the id of {whose}; give each its own")
        questions.append(_read_question(reader, key, one, questions))
    fields = sum(1 + len(q.options) * (q.kind == "choices") for q in questions)
    if fields > MOST_FIELDS:
        reason = f"there may be {MOST_FIELDS} questions and boxes to tick on one page, not {fields}"
        reader.refuse(f"{table}.question", None, reason)
    return tuple(questions)


def check_options(reader: Reader, key: str, options: Sequence[str]) -> None:
    """Refuse options among which nobody could choose."""
    if len(options) < 2:
        reader.refuse(key, list(options), "there must be at least two options")
    for option, times in Counter(options).items():
        if times > 1:
            reader.refuse(key, option, "is given more than once")


def _read_question(reader: Reader, key: str, one: Any, before: Sequence[Question]) -> Question:
    kind: QuestionKind = one.kind or ("choice" if one.options else "text")
    if kind == "text" and one.options:
        reader.refuse(f"{key}.kind", kind, "a free text has no options")
    else:
        for name, kinds in MEANT_FOR.items():
            if getattr(one, name) not in (None, []) and kind not in kinds:
                reason = f"has no meaning with kind = {kind!r}; it belongs to {' or '.join(kinds)}"
                reader.refuse(f"{key}.{name}", getattr(one, name), reason)
    options, low, high, step = tuple(one.options), one.min, one.max, one.step
    if kind == "scale":
        if not options:
            options = _list_steps(reader, key, low, high, step)
        elif not (low is None and high is None and step is None):
            reader.refuse(f"{key}.options", list(options), "give either options or min and max")
        low = high = step = None
    elif None not in (low, high) and low >= high:
        reader.refuse(f"{key}.max", high, f"must be more than min = {low:g}")
    if kind == "text" and high is not None and not (1 <= high <= LONGEST and high == int(high)):
        reader.refuse(f"{key}.max", high, f"must be a whole number of characters up to {LONGEST}")
    if kind in PICKED:
        check_options(reader, f"{key}.options", options)
    condition = None if one.show_if is None else _read_condition(reader, key, one.show_if, before)
    return Question(
        one.text,
        options,
        kind=kind,
        id=one.id or "",
        required=one.required,
        low=low,
        high=high,
        step=step,
        show_if=condition,
    )


def _list_steps(
    reader: Reader, key: str, low: float | None, high: float | None, step: float | None
) -> tuple[str, ...]:
    """Return the steps of a scale that is given by its ends."""
    low, high, step = 1 if low is None else low, 10 if high is None else high, step or 1
    count = math.floor((high - low) / step + 1e-9) + 1
    if not 2 <= count <= MOST_STEPS:
        reason = f"from {low:g} to {high:g} by {step:g} there must be 2 to {MOST_STEPS} steps"
        reader.refuse(f"{key}.max", high, reason)
        return SCALE
    return tuple(f"{low + place * step:g}" for place in range(count))


def _read_condition(
    reader: Reader, key: str, given: Any, before: Sequence[Question]
) -> Condition | None:
    """Return the condition of a question, which must be about an earlier one with options."""
    wanted = next((one for one in before if one.id and one.id == given.question), None)
    known = [one.id for one in before if one.id and one.kind in PICKED]
    if wanted is None or wanted.kind not in PICKED:
        reason = "is no earlier question of this page with an id and options"
        reason += nearest(given.question, known)
        reader.refuse(f"{key}.show_if.question", given.question, reason)
        return None
    among = tuple(getattr(given, "is"))
    for answer in among:
        if answer not in wanted.options:
            reason = f"is no option of {wanted.id}{nearest(answer, wanted.options)}"
            reader.refuse(f"{key}.show_if.is", answer, reason)
    return Condition(wanted.id, among)


def read_skip_reasons(reader: Reader) -> dict[str, str]:
    """Return the reasons for skipping an item, each with words of its own or an empty text; none if
    nobody may skip."""
    given, key = reader.file.items.skip_reasons, "items.skip_reasons"
    reasons = dict.fromkeys(SKIPS, "")
    if given is False:
        if reader.file.items.skip_limit != SKIP_LIMIT:
            reason = "has no meaning with skip_reasons = false: nobody may skip"
            reader.note("items.skip_limit", reader.file.items.skip_limit, reason)
        return {}
    for name, words in ({} if given is True else given).items():
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
            reader.refuse(
                f"{key}.{name}",
                words,
                "the name must begin with a lower-case letter and "
                "contain only these, digits and underscores, 40 at most",
            )
        elif words is True or (words is False and name not in SKIPS):
            reason = "must be the words that people read" + (
                ""
                if name in SKIPS
                else f"; only {', '.join(SKIPS)} can be left out{nearest(name, SKIPS)}"
            )
            reader.refuse(f"{key}.{name}", words, reason)
        elif words is False:
            del reasons[name]
        else:
            reasons[name] = words
    if not reasons:
        reader.refuse(key, None, "leaves no reason; write skip_reasons = false if nobody may skip")
    if len(reasons) > MOST_REASONS:
        reason = f"there are {len(reasons)} reasons, and at most {MOST_REASONS} have a key"
        reader.refuse(key, None, reason)
    return reasons


def name_questions(questions: Sequence[Question]) -> tuple[str, ...]:
    """Return the name of each question in the store and in exports.

    >>> name_questions((Question("Age?", id="age"), Question("Remarks?", kind="text")))
    ('age', 'Q1')
    """
    return tuple(question.id or f"Q{place}" for place, question in enumerate(questions))
