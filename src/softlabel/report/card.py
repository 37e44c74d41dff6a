"""One annotator's card on the page: figures, flags, a calibration curve and a confusion matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from softlabel.annotators import Card
from softlabel.report import svg
from softlabel.report.axes import Frame
from softlabel.report.heat import heat
from softlabel.report.markup import Html, el, join
from softlabel.report.page import captioned
from softlabel.report.tables import number, table
from softlabel.tables import Floats

CLASSES = 20  # above this a matrix cannot be read, and the commonest confusions are listed
COMMONEST = 8
WIDTH = 330  # px of the charts


def card(person: Card, labels: Sequence[str], key: str) -> Html:
    """Everything about one person; ``key`` is what a link to it is called."""
    charts = [part for part in (_curve(person), _confusion(person, labels)) if part]
    return el(
        "article",
        el("h3", person.annotator),
        el("p", _in_words(person), class_="figures"),
        el("p", marks(person), class_="marks") if person.flags or person.remarks else "",
        el("div", *charts, class_="charts") if charts else "",
        class_="person",
        id=key,
    )


def marks(person: Card) -> Html:
    """Flags, and remarks after them."""
    return join(
        *(el("span", flag, class_="flag words") for flag in person.flags),
        *(el("span", remark, class_="remark words") for remark in person.remarks),
    )


def _in_words(person: Card) -> str:
    right, steady, times = person.reliability, person.repeats, person.seconds
    said = [
        f"{person.answers:,} answers to {person.items:,} items",
        f"agreement {number(person.agreement)}",
        f"reliability {number(right.value)} ({number(right.low)} to {number(right.high)})",
        f"sharpness {number(person.sharpness)} nats",
    ]
    if person.skips:
        why = (f"{n:,} {reason.replace('_', ' ')}" for reason, n in sorted(person.skips.items()))
        said.insert(1, f"{person.skipped:,} items skipped ({', '.join(why)})")
    if math.isfinite(person.temperature):
        said.append(f"temperature {number(person.temperature)}")
    if math.isfinite(person.skill):
        said.append(f"skill {number(person.skill)} as the pool sees it")
    if steady.pairs:
        moved = f"the label moved by {number(steady.variation)}"
        said.append(f"{steady.changed} of {steady.pairs} repeats changed the top class, {moved}")
    if times.n:
        ends = f"{number(times.p10, 1)} to {number(times.p90, 1)}"
        said.append(f"{number(times.median, 1)} s an answer (four of five: {ends})")
    return "; ".join(said) + "."


def _curve(person: Card) -> Html | None:
    if not person.curve:
        return None
    said = "; ".join(
        f"{number(100 * b.stated, 0)} % said, {number(100 * b.others, 0)} % of the others"
        for b in person.curve
    )
    title = f"Calibration of {person.annotator}"
    frame = Frame(title, said, "chance stated", "share of the others", WIDTH, 300)
    points = ([b.stated for b in person.curve], [b.others for b in person.curve])
    hover = [f"{b.n} chances" for b in person.curve]
    square = (0.0, 1.0, 0.0, 1.0)
    chart = svg.scatter({title: points}, frame, diagonal=True, limits=square, hover=hover)
    return captioned(chart, "Below the line this person says too much, above it too little.")


def _confusion(person: Card, labels: Sequence[str]) -> Html | None:
    if person.confusion is None:
        return None
    if len(labels) > CLASSES:
        return _commonest(person.confusion, labels)
    said = f"{number(100 * person.reliability.value, 0)} % on the diagonal"
    frame = Frame(f"Confusion of {person.annotator}", said, "said", "reference", WIDTH)
    chart = heat(person.confusion, labels, frame)
    return captioned(chart, "What was said (columns) where the reference says what (rows), in %.")


def _commonest(confusion: Floats, labels: Sequence[str]) -> Html:
    """The pairs of classes that were confused most, where a matrix would be too large to read."""
    wrong = np.where(np.eye(len(labels), dtype=np.bool_), 0, confusion)
    order = np.argsort(-wrong, axis=None, kind="stable")[:COMMONEST]
    pairs = [divmod(int(place), len(labels)) for place in order]
    rows = [(f"{labels[a]} → {labels[b]}", float(wrong[a, b])) for a, b in pairs if wrong[a, b] > 0]
    return table("Commonest confusions (reference → said), and how often", ["pair", "times"], rows)
