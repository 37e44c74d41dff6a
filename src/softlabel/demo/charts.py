"""The demo's pictures and charts."""

from __future__ import annotations

import numpy as np

from softlabel.demo.findings import RICH, VOTES, Findings, Pooled
from softlabel.metrics import entropy
from softlabel.report import Frame, Html, el, number, picture, svg
from softlabel.study import png, shapes
from softlabel.tables import Floats

ERROR = "total variation from the truth"


def strip(found: Findings, items: list[int]) -> Html:
    """A row of pictures to look at; what they show is said elsewhere."""
    images = [picture(png.data_uri(found.study.pictures[item]), "", 64) for item in items]
    return el("div", *images, class_="strip")


def icon(label: int) -> Html:
    """A shape in the colour of its class."""
    corners = shapes.OUTLINES[shapes.LABELS[label]] * [9, -9] + 9
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    shape = el("polygon", points=points, fill=svg.FILLS[label])
    return el("svg", shape, viewBox="0 0 18 18", width=20, height=20, aria_hidden="true")


def example(found: Findings, item: int) -> Html:
    """A picture with three labels, and how far two of them are off."""
    truth = found.study.truth[item]
    rows = {
        "truth": truth,
        "rich": found.pooled[RICH].labels.probs[item],
        "votes": found.pooled[VOTES].labels.probs[item],
    }
    off = {who: abs(rows[who] - truth).sum() / 2 for who in ("rich", "votes")}
    note = "off by: " + ", ".join(f"{who} {100 * share:.0f} %" for who, share in off.items())
    return card(str(found.study.index.items[item]), found.study.pictures[item], rows, note)


def card(name: str, pixels: shapes.Pixels, rows: dict[str, Floats], note: str = "") -> Html:
    """A picture beside distributions, one bar each; shapes in order of their share in the first
    row, which is the truth, so that bars line up."""
    order = np.argsort(-rows["truth"], kind="stable")
    said = "; ".join(f"{who}: {_shares(row)}" for who, row in rows.items())

    def labels(width: float) -> Html:
        frame = Frame(f"Labels of {name}", said, width=width)
        parts = [shapes.LABELS[i] for i in order]
        cut = {who: row[order] for who, row in rows.items()}
        return svg.stacked(cut, parts, frame, [svg.FILLS[i] for i in order])

    alt = f"{name}, drawn mostly as {shapes.LABELS[int(order[0])]}"
    image = picture(png.data_uri(pixels), alt, 96)
    bars = [el("div", labels(348), class_="desk"), el("div", labels(236), class_="phone")]
    under = [el("p", note)] if note else []
    return el("div", image, el("div", *bars, *under), class_="card")


def _shares(row: Floats) -> str:
    order = np.argsort(-row, kind="stable")
    return ", ".join(f"{shapes.LABELS[i]} {100 * row[i]:.0f} %" for i in order if row[i] >= 0.05)


def entropies(found: Findings) -> list[Html]:
    """Two panels: is a label as doubtful as the truth, for rich answers and for votes?"""
    true = entropy(found.study.truth)
    doubts = {place: found.pooled[place].labels.entropy() for place in (RICH, VOTES)}
    top = 1.04 * max(float(values.max()) for values in (true, *doubts.values()))
    panels = []
    for place, name, mark in ((RICH, "Rich answers", 0), (VOTES, "Votes", 1)):
        r = found.pooled[place].entropy_r
        title = f"{name}: entropy of the label against entropy of the truth"
        frame = Frame(title, f"correlation {r}", "true entropy", "entropy of the label", 320, 300)
        chart = svg.scatter(
            {name: (true, doubts[place])},
            frame,
            diagonal=True,
            limits=(0, top, 0, top),
            first=mark,
            hover=found.study.index.items.tolist(),
        )
        ends = el("small", f" ({number(r.low)} to {number(r.high)})")
        panels.append(el("div", el("h3", f"{name}: r = {number(r.value)}", ends), chart))
    return panels


def recipes(order: list[Pooled], width: float) -> Html:
    """Error of each recipe with its interval."""
    dots = [
        svg.Dot(one.recipe.name, one.tv.value, one.tv.low, one.tv.high, one.recipe.arm == "votes")
        for one in order
    ]
    said = "; ".join(f"{dot.name} {number(dot.value, 3)}" for dot in dots)
    frame = Frame(f"Error of {len(dots)} ways to make labels, best first", said, ERROR, width=width)
    return svg.whiskers(dots, frame, ("from rich answers", "from votes"))


def curves(found: Findings, width: float) -> Html:
    """Error against people per picture, and how many votes match one rich answer."""
    series = []
    for name, curve in (("rich answers", found.rich), ("votes", found.votes)):
        scores = curve.scores()
        ends = [s.low for s in scores], [s.high for s in scores]
        series.append(svg.Line(name, curve.people.tolist(), [s.value for s in scores], *ends))
    said = "; ".join(
        f"{line.name}: {number(line.y[0], 3)} with one, {number(line.y[-1], 3)} with {len(line.x)}"
        for line in series
    )
    frame = Frame("Error against people per picture", said, "people per picture", ERROR, width, 340)
    guides = []
    if np.isfinite(found.worth.value):
        text = f"1 rich answer ≈ {number(found.worth.value, 0)} votes"
        guides.append(svg.Guide(text, 1, found.worth.value, float(series[0].y[0])))
    return svg.lines(series, frame, guides)


def agreement(found: Findings, width: float) -> Html:
    """How observed agreement is spread over pictures."""
    observed = found.agreement["rich"].observed
    x = "chance that two people mean the same shape"
    frame = Frame("Observed agreement per picture", f"mean {observed}", x, "pictures", width, 200)
    return svg.histogram([] if observed.by_item is None else observed.by_item, frame, limits=(0, 1))


def careless(found: Findings, width: float) -> Html:
    """What was put into people against what was found in their answers."""
    put_in = np.array([person.carelessness for person in found.study.persons])
    agreement = np.array([card.agreement for card in found.crowd.cards])
    groups = {"not marked": ~found.crowd.suspect, "marked": found.crowd.suspect}
    frame = Frame(
        "Carelessness that was put in against agreement that was found",
        "; ".join(f"{name}: {int(mask.sum())} people" for name, mask in groups.items()),
        "share of answers given without looking (put in)",
        "agreement with the others (found)",
        width,
        300,
    )
    series = {name: (put_in[mask], agreement[mask]) for name, mask in groups.items()}
    return svg.scatter(series, frame, limits=(0, 1, 0.3, 1))


def spark(value: float, low: float, high: float, what: str, middle: float | None = None) -> Html:
    """A number and its place on a line, for a table."""
    line = svg.spark(value, low, high, f"{what} {number(value)}", middle=middle)
    return el("span", number(value), line, class_="spark")
