"""The part of the demo's page that is about training."""

from __future__ import annotations

import numpy as np

from softlabel.demo import charts
from softlabel.demo.learning import BINS, MAIN, MEASURES, Learning, Taught, asked, bins
from softlabel.demo.study import ITEMS, PER_ITEM
from softlabel.demo.teaching import ARMS, SEEDS, SIDE, UNSEEN
from softlabel.metrics import entropy, total_variation
from softlabel.report import (
    Frame,
    Html,
    Section,
    captioned,
    command,
    el,
    figure,
    interval,
    number,
    reliability,
    svg,
    table,
)
from softlabel.study import shapes
from softlabel.tables import Score

HEADING = "What does a network learn from them?"
EXAMPLES = 6  # predictions that are shown
PANEL = (228, 244)  # px: four stand side by side
DOTS = 120  # pictures in a scatter plot
PLACE = {arm.name: place for place, arm in enumerate(ARMS)}  # its colour and mark everywhere
INSTALL = "pip install 'softlabel[train]'"


def untrained() -> Section:
    """In the place of the results where there is nothing to train with."""
    return Section(
        HEADING,
        [
            """No network was trained: this part needs torch, which is not installed. With it the
            demo takes longer, but less than a minute.""",
            command(INSTALL),
        ],
    )


def section(learning: Learning, seed: int) -> Section:
    rows = [
        (
            one.arm.name,
            *(interval(one.scores[name], 3) for name in MEASURES),
            el("span", one.arm.words, class_="words"),
        )
        for one in learning.arms
    ]
    return Section(
        HEADING,
        [
            f"""A small network was trained on the {ITEMS} pictures and the rich answers to them,
            {SEEDS} times for each of {len(ARMS)} ways to deliver the same answers; the pooled
            label is that of clamp → mean. Then it was shown {UNSEEN} new pictures of the same
            kind, and what it believes was held against what is true of them.""",
            verdict(learning),
            second_opinion(learning),
            figure(
                lambda width: distances(learning, width),
                f"""Dots are means over {SEEDS} runs, lines 95 % intervals over runs (Student’s t):
                what training once more from other random weights might give.""",
            ),
            f"""KL, which training on soft labels makes small, decides the order. The table adds
            the total variation, the correlation r of entropies, the calibration error (how far
            the network’s confidence lies from the chance that is right, in {BINS} bins) and how
            often the most likely shape is found.""",
            table(
                "What was learned, closest to the truth first; small numbers are 95 % intervals "
                "over runs",
                ["delivered", *MEASURES.values(), "in every epoch the network sees"],
                rows,
            ),
            el("h3", "Is it as sure as it may be?", class_="part"),
            captioned(
                el("div", *(calibration(learning, one) for one in learning.arms), class_="panels"),
                f"""The chance a network gives to its first choice, against the chance that choice
                truly has; all {SEEDS} runs together. The larger a mark, the more pictures it
                stands for. Below the dashed line networks are too sure, above it they doubt too
                much.""",
            ),
            el("h3", "Does it doubt where there is doubt?", class_="part"),
            captioned(
                el("div", *(doubts(learning, one) for one in learning.arms), class_="panels"),
                f"""One mark is one of {DOTS} new pictures, by the first run: the entropy of what
                the network believes against the entropy of the truth. r is the mean over runs.""",
            ),
            el("h3", "What it says of pictures it has not seen", class_="part"),
            f"""Each picture has the median error, over the networks of all arms, of its part of
            the new pictures; the clearest comes first. Beside the networks’ beliefs (first run)
            stands what {PER_ITEM} of the simulated people say when asked about that picture;
            no network has learned from these answers.""",
            el("div", *examples(learning, seed), class_="grid"),
        ],
    )


def making(learning: Learning) -> str:
    """How the networks were trained, for whoever wants to do it again."""
    return f"""Each network (74 thousand parameters) saw the pictures at {SIDE} × {SIDE} points for
        {learning.epochs} epochs, moved and mirrored anew in each, with the recipe that softlabel
        uses for small pictures. Its settings were chosen on studies of other seeds, not on this
        one. A run’s seed decides its starting weights, the order of the pictures and whatever is
        drawn; all arms use the same {SEEDS} seeds."""


# ── words ────────────────────────────────────────────────────────────────────────────────────


def verdict(learning: Learning) -> Html:
    """Who came closest, and by how much."""
    best = learning.arms[0]
    others = [f"{one.arm.name} by {difference(score)}" for one, score in learning.behind()]
    parts = [
        "Closest to the truth came ",
        el("strong", best.arm.name),
        f", with a KL of {number(best.scores[MAIN].value, 3)} nats. Farther from it: ",
        "; ".join(others),
        ".",
    ]
    return el("p", *parts, class_="result")


def difference(score: Score) -> str:
    """0.12 (0.10 to 0.14), or that it cannot be told from none."""
    ends = f"({number(score.low, 3)} to {number(score.high, 3)})"
    if score.low <= 0 <= score.high:
        return f"{number(score.value, 3)} {ends}, which cannot be told from none"
    return f"{number(score.value, 3)} {ends}"


def second_opinion(learning: Learning) -> str:
    """The same question by total variation: the measures need not agree."""
    measure = "total-variation"
    best, near = learning.by(measure)[0], learning.behind(measure)
    equal = [one.arm.name for one, score in near if score.low <= 0]
    tied = f", not to be told from {' and '.join(equal)}" if equal else ""
    share = f"{number(100 * best.scores[measure].value, 1)} % of the probability on wrong shapes"
    if best is learning.arms[0]:
        return f"By total variation {best.arm.name} is the closest too ({share}{tied})."
    return f"By total variation {best.arm.name} is closer ({share}{tied}): the measures disagree."


# ── charts ───────────────────────────────────────────────────────────────────────────────────


def distances(learning: Learning, width: float) -> Html:
    """KL of every arm with its interval."""
    dots = []
    for one in learning.arms:
        score = one.scores[MAIN]
        place = PLACE[one.arm.name]
        dots.append(svg.Dot(one.arm.name, score.value, score.low, score.high, place))
    said = "; ".join(f"{dot.name} {number(dot.value, 3)}" for dot in dots)
    x = "KL from the truth, in nats"
    return svg.whiskers(dots, Frame("Distance from the truth, closest first", said, x, width=width))


def calibration(learning: Learning, one: Taught) -> Html:
    """The reliability diagram of one arm."""
    error = number(one.scores["soft-ece"].value)
    title = f"{one.arm.name}: confidence against the chance to be right"
    said = f"calibration error {error}"
    frame = Frame(title, said, "confidence", "chance to be right", *PANEL)
    chart = reliability(bins(learning, one), frame, PLACE[one.arm.name])
    return el("div", el("h4", one.arm.name, el("small", f" off by {error}")), chart)


def doubts(learning: Learning, one: Taught) -> Html:
    """Entropies of one arm's first run."""
    true = learning.lessons.people
    found = entropy(one.runs[0].predictions.probs)[:DOTS]
    wanted = entropy(true.probs)[:DOTS]
    top = float(np.log(len(shapes.LABELS)))
    r = number(one.scores["entropy-pearson"].value)
    title = f"{one.arm.name}: entropy believed against entropy of the truth"
    frame = Frame(title, f"correlation {r}", "true entropy", "entropy believed", *PANEL)
    chart = svg.scatter(
        {one.arm.name: (wanted, found)},
        frame,
        diagonal=True,
        limits=(0, top, 0, top),
        first=PLACE[one.arm.name],
        hover=true.index.items.tolist(),
    )
    return el("div", el("h4", one.arm.name, el("small", f" r = {r}")), chart)


def examples(learning: Learning, seed: int) -> list[Html]:
    """Pictures with the truth, people's answers and every arm's belief, one under another."""
    items = chosen(learning)
    said = asked(learning.lessons, items, seed)
    cards = []
    for place, item in enumerate(items):
        rows = {"truth": learning.lessons.people.probs[item], "people": said[place]}
        ordered = sorted(learning.arms, key=lambda one: PLACE[one.arm.name])
        rows |= {one.arm.name: one.runs[0].predictions.probs[item] for one in ordered}
        name = str(learning.lessons.people.index.items[item])
        cards.append(charts.card(name, learning.lessons.pictures[item], rows))
    return cards


def chosen(learning: Learning) -> list[int]:
    """One new picture from each of six equal parts, from clear to ambiguous: that whose error,
    averaged over arms, is the median of its part."""
    truth = learning.lessons.people.probs
    errors = [total_variation(truth, one.runs[0].predictions.probs) for one in learning.arms]
    error = np.mean(errors, axis=0)
    items = []
    for part in np.array_split(np.argsort(entropy(truth), kind="stable"), EXAMPLES):
        order = part[np.argsort(error[part], kind="stable")]
        items.append(int(order[len(order) // 2]))
    return items
