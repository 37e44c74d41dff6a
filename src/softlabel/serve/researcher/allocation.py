"""Live allocation in numbers and words: how good labels are, what it cost, what more would buy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from softlabel.report import Frame, Html, Line, charts
from softlabel.serve.researcher.charts import WIDTH
from softlabel.serve.researcher.overview import Counts
from softlabel.serve.researcher.wording import LATER, NONE, count, duration, money, number
from softlabel.study import Study

HOUR = 3600.0
NEXT = 100  # answers that the report looks ahead
TOO_EVEN = (
    "Items differ too little in how uncertain their labels are for choosing to pay: for now all "
    "are asked equally often."
)


@dataclass(frozen=True)
class Progress:
    """How far a live study is: ``left`` answers at most are still to come, of ``seconds`` each.

    ``kl`` and ``gain`` are a value with its interval, None before the first ranking; ``equal`` is
    how many votes for every item would do as well (None: beyond what was looked at).
    """

    items: int
    done: int
    answers: int
    given: int
    left: int
    seconds: float
    price: float | None  # of an answer
    currency: str
    kl: Sequence[float] | None
    gain: Sequence[float] | None
    equal: float | None
    even: bool
    judges: str
    history: Sequence[tuple[int, float]]
    curve: Sequence[tuple[int, float]]

    @property
    def equal_answers(self) -> float:
        """How many answers equal votes would take."""
        return math.nan if self.equal is None else self.equal * self.items

    @property
    def saving(self) -> float | None:
        """The share of answers saved against equal votes; below 0 if equal votes need fewer."""
        if self.equal is None or not self.answers:
            return None
        return 1 - self.answers / self.equal_answers


def read_progress(study: Study, counts: Counts) -> Progress | None:
    """Return how far a live study is; None if the study is not live."""
    if study.allocate is None or counts.ranking is None:
        return None
    from softlabel.allocate import cost_of_answer  # most studies do without what it loads

    report: Any = counts.ranking.report
    seconds = float(report.get("seconds", math.nan))
    price = None
    if study.pay is not None and math.isfinite(seconds):
        price = cost_of_answer(study, seconds)
    return Progress(
        items=counts.items,
        done=counts.done,
        answers=report.get("answers", 0),
        given=report.get("given", 0),
        left=counts.missing,
        seconds=seconds,
        price=price,
        currency="" if study.pay is None else study.pay.currency,
        kl=report.get("kl"),
        gain=report.get("gain"),
        equal=report.get("equal"),
        even=bool(report.get("even", True)),
        judges=str(report.get("judges", "")),
        history=[(int(n), float(lost)) for n, lost in report.get("history", ())],
        curve=[(int(n), float(lost)) for n, lost in report.get("curve", ())],
    )


def list_facts(progress: Progress) -> list[tuple[str, str]]:
    """Return names and values for the card and for ``softlabel status``."""
    facts = [
        ("Items done", f"{count(progress.done)} of {count(progress.items)}"),
        ("Expected error of a label", _interval(progress.kl)),
        (f"The next {NEXT} answers lower it by", _word_gain(progress)),
        ("Equal votes for this error", _word_equal(progress)),
        ("Time spent answering", _word_time(progress.given * progress.seconds)),
        ("Time to go, at most", _word_time(progress.left * progress.seconds)),
    ]
    if progress.price is not None:
        spent = money(progress.given * progress.price, progress.currency)
        to_go = money(progress.left * progress.price, progress.currency)
        facts += [("Spent on answers", spent), ("To go, at most", to_go)]
    return facts


def describe(progress: Progress) -> str:
    """Return what the numbers mean, in words."""
    said = [
        "The error is KL, in nats per item, from how people split to the label, as far as the "
        "answers tell; 90 % intervals are in brackets."
    ]
    if (saving := progress.saving) is not None:
        fewer = "fewer" if saving >= 0 else "more"
        said.append(
            f"{count(progress.answers)} answers do what {count(progress.equal_answers)} equal "
            f"votes would: {abs(100 * saving):.0f} % {fewer}."
        )
    if progress.kl is not None and progress.even:
        said.append(TOO_EVEN)
    if progress.judges:
        said.append(f"Models: {progress.judges}.")
    return " ".join(said)


def draw(progress: Progress) -> Html:
    """Draw the expected error against the number of answers, beside that of equal votes."""
    now = progress.history[-1][0] if progress.history else 0
    lines = []
    if len(progress.history) > 1:
        lines.append(Line("this study", *_columns(progress.history)))
    equal = [(votes * progress.items, lost) for votes, lost in progress.curve]
    shown = [point for point in equal if point[0] <= 1.5 * max(now, progress.items)]
    if len(shown) > 1:
        lines.append(Line("equal votes", *_columns(shown)))
    said = "; ".join(f"{line.name}: {line.y[0]:.3f} to {line.y[-1]:.3f}" for line in lines)
    frame = Frame("Expected error", said, "answers", "KL (nats)", WIDTH, 220)
    return charts.lines(lines, frame)


def _columns(points: Sequence[tuple[int, float]]) -> tuple[list[float], list[float]]:
    return [float(x) for x, _ in points], [y for _, y in points]


def _interval(values: Sequence[float] | None) -> str:
    if values is None:
        return LATER
    value, low, high = (number(one, 3) for one in values)
    return f"{value} ({low} to {high})"


def _word_gain(progress: Progress) -> str:
    if not progress.left:
        return "nothing: no more are wanted"
    return _interval(progress.gain)


def _word_equal(progress: Progress) -> str:
    if progress.kl is None:
        return LATER
    if progress.equal is None:
        return f"more than {progress.curve[-1][0] if progress.curve else NONE} per item"
    each = progress.answers / max(progress.items, 1)
    return f"{number(progress.equal, 1)} per item; {number(each, 1)} were given"


def _word_time(seconds: float) -> str:
    return "none" if seconds == 0 else duration(seconds / HOUR)
