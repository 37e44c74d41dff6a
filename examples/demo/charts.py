"""The charts of the demo's page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softlabel.metrics import entropy, intervals
from softlabel.report import Frame, Html, charts, el, format_number, picture, reliability_chart
from softlabel.study import shapes
from softlabel.tables import Floats, Score

from .findings import DELIVERIES, MAIN, RICH, VOTES, Delivered, Findings, Pooled, Training

ERROR = "total variation from the truth"
PANEL = (228, 244)  # px: four side by side
Size = tuple[int, int]
DOTS = 120  # pictures in a scatter plot of predictions
COLOUR = {name: place for place, name in enumerate(DELIVERIES)}  # and mark, in every chart

# ── pictures with labels ─────────────────────────────────────────────────────────────────────


def picture_strip(findings: Findings, items: list[int]) -> Html:
    """A row of pictures; decoration, since the page describes them elsewhere."""
    images = [picture(shapes.png_data_uri(findings.study.pictures[item]), "", 64) for item in items]
    return el("div", *images, class_="strip")


def shape_icon(label: int) -> Html:
    """A shape in the colour of its class."""
    corners = shapes.OUTLINES[shapes.LABELS[label]] * [9, -9] + 9
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    shape = el("polygon", points=points, fill=charts.FILLS[label])
    return el("svg", shape, viewBox="0 0 18 18", width=20, height=20, aria_hidden="true")


def label_card(name: str, pixels: shapes.Pixels, rows: dict[str, Floats], note: str = "") -> Html:
    """A picture beside distributions, one bar each.

    All bars have the shapes in the same order: that of their true probabilities.
    """
    order = np.argsort(-rows["truth"], kind="stable")
    description = "; ".join(f"{who}: {_describe(row)}" for who, row in rows.items())

    def draw(width: float) -> Html:
        frame = Frame(f"Labels of {name}", description, width=width)
        parts = [shapes.LABELS[i] for i in order]
        bars = {who: row[order] for who, row in rows.items()}
        return charts.stacked(bars, parts, frame, [charts.FILLS[i] for i in order])

    alt = f"{name}, drawn mostly as {shapes.LABELS[int(order[0])]}"
    bars = [el("div", draw(348), class_="desk"), el("div", draw(236), class_="phone")]
    below = [el("p", note)] if note else []
    image = picture(shapes.png_data_uri(pixels), alt, 96)
    return el("div", image, el("div", *bars, *below), class_="card")


def _describe(row: Floats) -> str:
    order = np.argsort(-row, kind="stable")
    return ", ".join(f"{shapes.LABELS[i]} {100 * row[i]:.0f} %" for i in order if row[i] >= 0.05)


def example_card(findings: Findings, item: int) -> Html:
    """A picture with the truth and two labels, and the error of both."""
    study, truth = findings.study, findings.study.truth[item]
    rows = {
        "truth": truth,
        "rich": findings.pooled[RICH].labels.probs[item],
        "votes": findings.pooled[VOTES].labels.probs[item],
    }
    errors = {who: abs(rows[who] - truth).sum() / 2 for who in ("rich", "votes")}
    note = "error: " + ", ".join(f"{who} {100 * error:.0f} %" for who, error in errors.items())
    return label_card(str(study.index.items[item]), study.pictures[item], rows, note)


def prediction_card(training: Training, item: int, people: Floats) -> Html:
    """An unseen picture with the truth, the annotators' label and a prediction per delivery."""
    rows = {"truth": training.truth.probs[item], "people": people}
    ordered = sorted(training.deliveries, key=lambda one: COLOUR[one.name])
    rows |= {one.name: training.predictions(one)[item] for one in ordered}
    return label_card(str(training.truth.index.items[item]), training.pictures[item], rows)


# ── labels ───────────────────────────────────────────────────────────────────────────────────


def entropy_panels(findings: Findings) -> list[Html]:
    """Entropy of the labels against entropy of the truth, for rich answers and for votes."""
    items, truth = findings.study.index.items.tolist(), findings.study.truth
    panels = []
    for place, name, mark in ((RICH, "Rich answers", 0), (VOTES, "Votes", 1)):
        one = findings.pooled[place]
        r = one.entropy_r
        chart = entropy_chart(name, items, truth, one.labels.probs, r, mark, (320, 300))
        ends = el("small", f" ({format_number(r.low)} to {format_number(r.high)})")
        panels.append(el("div", el("h3", f"{name}: r = {format_number(r.value)}", ends), chart))
    return panels


def entropy_chart(
    name: str, items: list[str], truth: Floats, probs: Floats, r: Score, mark: int, size: Size
) -> Html:
    """A scatter plot of two entropies, one mark per picture; ``r`` is their correlation."""
    top = float(np.log(len(shapes.LABELS)))
    title = f"{name}: entropy against entropy of the truth"
    frame = Frame(title, f"correlation {r}", "true entropy", "entropy", *size)
    series = {name: (entropy(truth), entropy(probs))}
    limits = (0, top, 0, top)
    return charts.scatter(series, frame, diagonal=True, limits=limits, first=mark, hover=items)


def recipe_chart(order: list[Pooled], width: float) -> Html:
    """Error of each recipe with its interval."""
    title = f"Error of {len(order)} recipes, smallest first"
    rows = [(one.recipe.name, one.tv, int(one.recipe.source == "votes")) for one in order]
    return whisker_chart(title, ERROR, rows, width, ("from rich answers", "from votes"))


def distance_chart(training: Training, width: float) -> Html:
    """KL of every delivery with its interval."""
    title, x = "Distance from the truth, smallest first", "KL divergence from the truth, in nats"
    rows = [(one.name, one.scores[MAIN], COLOUR[one.name]) for one in training.deliveries]
    return whisker_chart(title, x, rows, width)


def whisker_chart(
    title: str, x: str, rows: list[tuple[str, Score, int]], width: float, legend: Sequence[str] = ()
) -> Html:
    """Scores with their intervals; a row has a name, a score and the number of its colour."""
    dots = [charts.Dot(name, score.value, score.low, score.high, c) for name, score, c in rows]
    description = "; ".join(f"{dot.name} {format_number(dot.value, 3)}" for dot in dots)
    return charts.whiskers(dots, Frame(title, description, x, width=width), legend)


def annotator_curves(findings: Findings, width: float) -> Html:
    """Error against annotators per picture, and how many votes match one rich answer."""
    series = []
    for name, errors in (("rich answers", findings.rich), ("votes", findings.votes)):
        scores = [intervals.mean(row) for row in errors]
        y, low, high = zip(*((s.value, s.low, s.high) for s in scores), strict=True)
        series.append(charts.Line(name, range(1, len(errors) + 1), y, low, high))
    ends = [f"{one.name}: {one.y[0]:.3f} with one, {one.y[-1]:.3f} with all" for one in series]
    x = "annotators per picture"
    frame = Frame(f"Error against {x}", "; ".join(ends), x, ERROR, width, 340)
    guides = []
    if np.isfinite(findings.worth.value):
        text = f"1 rich answer ≈ {format_number(findings.worth.value, 0)} votes"
        guides.append(charts.Guide(text, 1, findings.worth.value, float(series[0].y[0])))
    return charts.lines(series, frame, guides)


# ── annotators ───────────────────────────────────────────────────────────────────────────────


def agreement_chart(findings: Findings, width: float) -> Html:
    """Distribution of observed agreement over pictures."""
    observed, _ = findings.agreement["rich"]
    x = "probability that two annotators mean the same shape"
    frame = Frame("Observed agreement per picture", f"mean {observed}", x, "pictures", width, 200)
    values = () if observed.by_item is None else observed.by_item
    return charts.histogram(values, frame, limits=(0, 1))


def carelessness_chart(findings: Findings, width: float) -> Html:
    """Simulated carelessness against measured agreement."""
    carelessness = np.array([person.carelessness for person in findings.study.persons])
    screening = findings.screening
    groups = {"not flagged": ~screening.flagged, "flagged": screening.flagged}
    frame = Frame(
        "Simulated carelessness against measured agreement",
        "; ".join(f"{name}: {int(mask.sum())} annotators" for name, mask in groups.items()),
        "share of answers given without looking (simulated)",
        "agreement with the others (measured)",
        width,
        300,
    )
    agreement = screening.agreement
    series = {name: (carelessness[mask], agreement[mask]) for name, mask in groups.items()}
    return charts.scatter(series, frame, limits=(0, 1, 0.3, 1))


def spark(value: float, low: float, high: float, what: str, middle: float | None = None) -> Html:
    """A number and its place on a line, for a table."""
    line = charts.spark(value, low, high, f"{what} {format_number(value)}", middle=middle)
    return el("span", format_number(value), line, class_="spark")


# ── networks ─────────────────────────────────────────────────────────────────────────────────


def calibration_panel(training: Training, one: Delivered) -> Html:
    """The reliability diagram of one delivery."""
    error = format_number(one.scores["soft-ece"].value)
    title = f"{one.name}: true probability against confidence"
    frame = Frame(title, f"error {error}", "confidence", "true probability", *PANEL)
    chart = reliability_chart(training.bins(one), frame, COLOUR[one.name])
    return el("div", el("h4", one.name, el("small", f" error {error}")), chart)


def uncertainty_panel(training: Training, one: Delivered) -> Html:
    """Entropy of the predictions of one delivery's first run against entropy of the truth."""
    items = training.truth.index.items[:DOTS].tolist()
    both = training.truth.probs[:DOTS], training.predictions(one)[:DOTS]
    r = one.scores["entropy-pearson"]
    chart = entropy_chart(one.name, items, *both, r, COLOUR[one.name], PANEL)
    return el("div", el("h4", one.name, el("small", f" r = {format_number(r.value)}")), chart)
