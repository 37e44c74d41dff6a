"""The charts of the dashboard: small, and drawn at the size at which a phone shows them too."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np

from softlabel.elicit import Answer
from softlabel.report import Frame, Html, Line, charts, drawing, el
from softlabel.serve.researcher.overview import Seconds, Speed
from softlabel.tables import Floats

WIDTH = 345.0  # px of a chart in its card; a phone shows it a little smaller
MOST_BARS = 40
FIRST = "first input"


def columns(counts: Sequence[tuple[str, float]], frame: Frame, mark: str | None = None) -> Html:
    """Draw upright bars, each with its name; the one called ``mark`` is the aim."""
    most = max((count for _, count in counts), default=0)
    if not most:
        return drawing.empty_chart(frame, 80)
    left, right, bottom = 44.0, frame.width - 6, frame.height - 40
    y = drawing.Scale(0, most, bottom, 24.0)
    parts = [
        drawing.text_at(0.0, 10.0, frame.y, fill=drawing.INK),
        drawing.rule(left, bottom, right, bottom, drawing.QUIET),
    ]
    for value in drawing.ticks(0, most, 4):
        if value == int(value):
            parts.append(drawing.rule(left, y(value), right, y(value)))
            parts.append(drawing.text_at(left - 7, y(value) + 4, drawing.format_tick(value), "end"))
    wide = (right - left) / len(counts)
    every = math.ceil(drawing.LETTER * (1.5 + max(len(name) for name, _ in counts)) / wide)
    for i, (name, count) in enumerate(counts):
        x, colour = left + i * wide, drawing.SERIES[2] if name == mark else drawing.SERIES[0]
        shape = {"x": x + wide * 0.1, "y": y(count), "width": wide * 0.8}
        hover = el("title", f"{name}: {count:g}")
        parts.append(el("rect", hover, height=bottom - y(count), fill=colour, **shape))
        if i % every == 0:
            parts.append(drawing.text_at(x + wide / 2, bottom + 16, name, "middle"))
    parts.append(drawing.text_at(right, bottom + 35, frame.x, "end", fill=drawing.INK))
    return drawing.svg_document(frame, frame.height, *parts)


def answers_per_item(histogram: Sequence[int], wanted: int) -> Html:
    """Draw how many items have 0, 1, 2, … answers; the number wanted in another colour."""
    shown = [(str(n), float(items)) for n, items in enumerate(histogram[:MOST_BARS])]
    text = ", ".join(f"{items:g} with {n}" for n, items in shown if items)
    frame = Frame("Items by number of answers", text, "answers", "items", WIDTH, 180)
    return columns(shown, frame, str(wanted))


def answers_over_time(speed: Speed) -> Html:
    """Draw the number of answers in each of the latest stretches of time."""
    shape = "%d %b" if speed.unit in ("6 hours", "day") else "%H:%M"
    times = [(datetime.fromtimestamp(at, UTC), float(n)) for at, n in speed.stretches]
    shown = [(at.strftime(shape), n) for at, n in times]
    text = f"{sum(n for _, n in shown):g} answers in the time shown"
    frame = Frame(f"Answers per {speed.unit}", text, "", "answers", WIDTH, 180)
    return columns(shown, frame)


def time_taken(modes: Sequence[Seconds]) -> Html:
    """Draw median and middle four fifths of the whole answer and of the wait for first input."""
    rows = []
    for mode in modes:
        parts = ((mode.mode, mode.answer), (f"{mode.mode}, {FIRST}", mode.first))
        for series, (name, spread) in enumerate(parts):
            rows.append(charts.Dot(name, spread.median, spread.p10, spread.p90, series))
    text = "; ".join(f"{row.name}: median {row.value:.1f} s" for row in rows)
    frame = Frame("Seconds per answer", text, "seconds", width=WIDTH)
    return charts.whiskers(rows, frame, ["whole answer", FIRST], row=24)


def progress_bar(done: float, of: float, title: str) -> Html:
    """Draw how much of the whole is there."""
    share = min(done / of, 1.0) if of else 0.0
    frame = Frame(title, f"{100 * share:.0f} %", width=WIDTH)
    shape = {"y": 0.0, "height": 8.0, "rx": 4.0}
    return drawing.svg_document(
        frame,
        8,
        el("rect", x=0.0, width=WIDTH, fill=drawing.GRID, **shape),
        el("rect", x=0.0, width=max(WIDTH * share, 0.01), fill=drawing.SERIES[2], **shape),
    )


def beliefs(rows: Mapping[str, Floats], labels: Sequence[str], title: str) -> Html:
    """Draw one bar of full width per row, cut into the shares of the classes.

    If there are more classes than colours, the least likely ones share one.
    """
    text = "; ".join(f"{name}: {in_words(shares, labels)}" for name, shares in rows.items())
    if len(labels) > len(charts.FILLS) and rows:
        mean = np.mean(list(rows.values()), axis=0)
        top = np.argsort(-mean, kind="stable")[: len(charts.FILLS) - 1]
        cut = {name: shares[top] for name, shares in rows.items()}
        rows = {name: np.append(shares, 1 - shares.sum()) for name, shares in cut.items()}
        labels = [*(labels[i] for i in top), "other"]
    return charts.stacked(rows, labels, Frame(title, text, width=360), row=23)


def in_words(shares: Floats, labels: Sequence[str], most: int = 3) -> str:
    """Return the likeliest classes with their shares, in words.

    >>> in_words(np.array([0.1, 0.6, 0.3]), ["cat", "dog", "fox"], 2)
    'dog 60 %, fox 30 %'
    """
    order = np.argsort(-np.asarray(shares), kind="stable")[:most]
    return ", ".join(f"{labels[i]} {100 * shares[i]:.0f} %" for i in order if shares[i] >= 0.005)


def answer_in_words(answer: Answer, shares: Floats, labels: Sequence[str]) -> str:
    """Return one answer in words; a branch is named as such, not by the classes that share it.

    >>> from softlabel.elicit import Branch
    >>> pet = Branch("pet", 60.0, np.array([0, 1]))
    >>> said = Answer((2, 0, 1), (40.0, 30.0, 30.0), np.ones(3, bool), (), (pet,))
    >>> answer_in_words(said, np.array([0.3, 0.3, 0.4]), ["pet/cat", "pet/dog", "fox"])
    'somewhere in pet 60 %, fox 40 %'
    """
    own: Floats = np.array(shares)
    for branch in answer.branches:
        own[branch.classes] -= branch.percent / 100 / len(branch.classes)
    parts = [f"somewhere in {branch.name} {branch.percent:.0f} %" for branch in answer.branches]
    return ", ".join(filter(None, (*parts, in_words(own, labels))))


def one_by_one(seconds: Sequence[float], median: float) -> Html:
    """Draw the time of each answer in its order, and the median of everybody."""
    frame = Frame("Seconds, answer by answer", "", "answer", "seconds", WIDTH, 200)
    usual = []
    if seconds and math.isfinite(median):
        usual.append(charts.Guide("everybody", 1, len(seconds) * 0.8, median))
    line = Line("this annotator", list(range(1, len(seconds) + 1)), list(seconds))
    return charts.lines([line], frame, usual)
