"""The page about a model scored against people, and its reliability diagram."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from softlabel import __version__
from softlabel.metrics import entropy, reliability
from softlabel.report import charts
from softlabel.report.charts import Dot, Line
from softlabel.report.drawing import Frame, Html
from softlabel.report.page import Section, figure, format_interval, format_number, page, table
from softlabel.tables import Floats, Score

if TYPE_CHECKING:  # a server that draws charts reads no files
    from softlabel.scoring import Measured, Scores

BINS = 10
SQUARE = (0.0, 1.0, 0.0, 1.0)


def scores_page(scores: Scores) -> str:
    """Return the page: all metrics, the differences, the ceiling, and three charts."""
    name, people, other = scores.names
    lead = [
        f"""{name} against {people}: {scores.n:,} items, {len(scores.labels)} classes
        ({_list(scores)}). Intervals are 95 %, by bootstrap over items."""
    ]
    sections = [Section("Scores", _scores(scores))]
    if scores.other is not None:
        sections.append(Section(f"Compared with {other}", _differences(scores)))
    sections.append(Section("Confidence and disagreement", _charts(scores)))
    foot = f"Made by softlabel {__version__}."
    return page(f"{name} against people", lead, sections, foot)


def reliability_diagram(scores: Scores, width: float = 660) -> Html:
    """Draw the share of people who agree with the predicted class, by its probability."""
    series = {
        name: (bins.confidence, bins.right)
        for name, guess in _models(scores).items()
        for bins in [reliability(scores.true, guess, BINS, "mass", "share")]
    }
    said = "; ".join(f"{name}: {len(x)} bins" for name, (x, _) in series.items())
    axes = "probability of the predicted class", "share of people who chose it"
    frame = Frame("Reliability", said, *axes, width, 340)
    return charts.scatter(series, frame, diagonal=True, limits=SQUARE)


def _models(scores: Scores) -> dict[str, Floats]:
    models = {scores.names[0]: scores.predicted}
    return models if scores.other is None else models | {scores.names[2]: scores.other}


def _list(scores: Scores) -> str:
    shown = (" < " if scores.ordered else ", ").join(scores.labels[:12])
    return f"{shown}, …" if len(scores.labels) > 12 else shown


def _scores(scores: Scores) -> list[str]:
    rows = [
        (one.name, one.better, format_interval(one.score), _cell(one.ceiling))
        for one in _all(scores)
    ]
    parts: list[str] = [table("All metrics", ("metric", "better", "score", "noise ceiling"), rows)]
    if scores.no_ceiling:
        parts.append(f"The noise ceiling is not known: {scores.no_ceiling}.")
    else:
        parts.append(
            """The noise ceiling is what a model that knew the true distribution of every item would
            score on average against as many votes."""
        )
    return parts + [f"{note[:1].upper()}{note[1:]}." for note in scores.notes]


def _differences(scores: Scores) -> list[str]:
    name, _, other = scores.names
    better = {"predictions": name, "other": other, "": "–"}
    rows = [
        (
            *(one.name, one.better),
            *map(_cell, (one.score, one.other, one.difference)),
            better[one.winner],
        )
        for one in _all(scores)
    ]
    heads = ("metric", "better", name, other, "difference", "better model")
    caption = f"{name} minus {other}, item by item"
    known = [one for one in _all(scores) if one.difference and np.isfinite(one.difference.value)]
    dots = [
        Dot(one.name, gap.value, gap.low, gap.high)
        for one in known
        if (gap := one.difference) is not None
    ]
    said = "; ".join(f"{dot.name} {dot.value:.3f}" for dot in dots)

    def draw(width: float) -> Html:
        return charts.whiskers(dots, Frame("Differences", said, "difference", "", width))

    words = "Differences with their intervals; a line that crosses 0 shows no clear difference."
    return [table(caption, heads, rows), figure(draw, words)]


def _charts(scores: Scores) -> list[str]:
    """Draw reliability and entropies."""
    first = """Share of people who chose the predicted class, by its predicted probability, in bins
        of equally many items. Below the dotted line the model is over-confident."""
    second = """Mean entropy of predictions for items on which people disagree little (left) to much
        (right), in groups of equal size."""
    return [
        figure(partial(reliability_diagram, scores), first),
        figure(partial(_entropies, scores), second),
    ]


def _entropies(scores: Scores, width: float) -> Html:
    theirs = entropy(scores.true)
    rows = np.array_split(np.argsort(theirs, kind="stable"), min(BINS, scores.n))
    x = [float(theirs[row].mean()) for row in rows]
    lines = [
        Line(name, x, [float(ours[row].mean()) for row in rows])
        for name, guess in _models(scores).items()
        for ours in [entropy(guess)]
    ]
    said = "; ".join(f"{line.name}: {line.y[0]:.2f} to {line.y[-1]:.2f}" for line in lines)
    words = "entropy of people (nats)", "entropy of predictions (nats)"
    return charts.lines(lines, Frame("Entropies", said, *words, width, 340))


def _all(scores: Scores) -> list[Measured]:
    return [scores[name] for name in scores]


def _cell(score: Score | None) -> Html | str:
    if score is None:
        return "–"
    if not np.isfinite(score.low):
        return format_number(score.value, 3)
    return format_interval(score)
