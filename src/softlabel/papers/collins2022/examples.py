"""The paper's figures 2 to 5, 8 and 9, drawn from the released files; no network is trained.

The paper does not say which images most of them show.  Each is chosen here by a rule, which its
caption states.  A label is the mean of all released answers to an image; no picture is shown.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from softlabel import metrics
from softlabel.construct import Select
from softlabel.papers.claims import Figure
from softlabel.papers.claims import figures as draw
from softlabel.papers.collins2022.facts import BY_HAND, CONSTRUCTIONS, HIGH, Released, released
from softlabel.report import Line
from softlabel.tables import Bools, Floats

WORDS, _ = draw.read_words(__file__)
BINS = 10  # of the largest chance
SPLIT = {"ambiguous images": True, "easy images": False}


def draw_released() -> list[Figure]:
    """Draw all figures that need no training; they need the data."""
    d = released()
    return [
        draw_varieties(d),
        _compare(d, "figure-3", {"automobile": find_confused_car(d)}),
        _compare(d, "figure-4", find_pairs(d)),
        draw_spread(d),
        _compare(d, "figure-8", find_farthest(d)),
        _compare(d, "figure-9", find_softened(d)),
    ]


# ── one answer ───────────────────────────────────────────────────────────────────────────────


def draw_varieties(d: Released) -> Figure:
    """Figure 2: every label that one answer to image 405 gives."""
    wanted = np.array([BY_HAND.get(name, 0.0) for name in d.classes])
    rows = abs(d.each.soft() - wanted).max(axis=1) < 1e-9
    image = d.said.item == int(np.flatnonzero(d.images == 405)[0])
    one = d.said.take(np.flatnonzero(rows & image)[:1])
    makes = {name: CONSTRUCTIONS[name] for name in ("T1-unif", "T1-clamp", "T2-unif", "T2-clamp")}
    labels = {name: make(one).soft()[0] for name, make in makes.items()}
    labels["select"] = Select(mode="reference")(one).soft()[0]
    labels["class"] = np.eye(len(d.classes))[one.named[0, 0]]
    return draw.shares(WORDS["figure-2"], labels, d.classes, legend=True)


# ── one image: votes beside beliefs ──────────────────────────────────────────────────────────


def find_confused_car(d: Released) -> int:
    """Return the automobile with the most votes for its class of those that are a quarter truck in
    CIFAR-10S."""
    cars = _are(d, "automobile") & (d.label[:, d.classes.index("truck")] >= 0.25)
    return _find_largest(d.people[:, d.classes.index("automobile")], cars)


def find_pairs(d: Released) -> dict[str, int]:
    """Return the frog and the airplane whose labels are farthest apart, and the ambiguous frog
    whose labels are nearest to each other."""
    return {
        "frog": _find_largest(d.apart, _are(d, "frog")),
        "airplane": _find_largest(d.apart, _are(d, "airplane")),
        "alike: frog": _find_largest(-d.apart, _are(d, "frog") & (d.unsure >= HIGH)),
    }


def find_farthest(d: Released) -> dict[str, int]:
    """Return the three images whose labels are farthest apart."""
    return {d.classes[d.gold[row]]: int(row) for row in d.order[:3]}


def find_softened(d: Released) -> dict[str, int]:
    """Return, of each class in figure 9, the near-hard image whose label here is softest."""
    soft = metrics.entropy(d.label)
    return {
        name: _find_largest(soft, d.near_hard & _are(d, name))
        for name in ("truck", "dog", "airplane")
    }


def _are(d: Released, name: str) -> Bools:
    return np.asarray(d.gold == d.classes.index(name))


def _find_largest(values: Floats, among: Bools) -> int:
    return int(np.where(among, values, -np.inf).argmax())


def _compare(d: Released, name: str, rows: Mapping[str, int]) -> Figure:
    """Draw the votes of images above what people of CIFAR-10S believe about them."""
    labels = {}
    for what, row in rows.items():
        labels[f"{what} {d.images[row]}: votes"] = d.people[row]
        labels[f"distance {d.apart[row]:.3f}: beliefs"] = d.label[row]
    return draw.shares(WORDS[name], labels, d.classes, legend=True)


# ── all answers ──────────────────────────────────────────────────────────────────────────────


def draw_spread(d: Released) -> Figure:
    """Figure 5: the largest chance of a label, and its number of possible classes."""
    words = WORDS["figure-5"]
    top, possible = [], []
    for name, ambiguous in SPLIT.items():
        rows = d.ambiguous == ambiguous
        share = np.histogram(d.top[rows], bins=BINS, range=(0, 1))[0] / rows.sum()
        top.append(Line(name, (np.arange(BINS) + 0.5) / BINS, share))
        classes = len(d.classes)
        share = np.bincount(d.possible[rows].astype(np.int64), minlength=classes + 1)[1:]
        possible.append(Line(name, np.arange(1.0, classes + 1), share / rows.sum()))
    panels = {}
    for heading, lines in (("largest chance", top), ("possible classes", possible)):
        own = replace(words, title=f"{words.title}: {heading}", x=heading)
        panels[heading] = draw.curve(own, lines, zero=True)
    return draw.panels(words, panels)
