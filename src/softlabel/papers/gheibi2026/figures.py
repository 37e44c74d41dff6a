"""Curves over the number of votes, who wins at what distance, and the loss along lines."""

from __future__ import annotations

import numpy as np

from softlabel.papers.claims import Figure, Result, Results, Words
from softlabel.papers.claims import figures as draw
from softlabel.papers.gheibi2026.cells import KS
from softlabel.papers.gheibi2026.comparing import LOSS
from softlabel.papers.gheibi2026.targets import EDGES, bin_name
from softlabel.report import Line

DRAWN = ("soft", "majority", "sls", "multipass")
SINGLE = ("sls", "multipass", "control")
PLACES = (*(f"k{k}" for k in KS), "all")
NAMED = draw.evenly([*KS, "all"])
METRICS = {
    "cross-entropy": "soft NLL",
    "kl": "KL to people",
    "accuracy": "accuracy",
    "entropy-spearman": "entropy correlation (ranks)",
}


def figures(results: Results) -> list[Figure]:
    """All that have a point."""
    made = [
        _panels(
            "by-votes",
            "By votes per image",
            "Mean over seeds and 95 % interval, on the 2,000 images held out and the shares of all "
            "their votes. With one vote all policies are one.",
            {called: _by_votes(results, metric) for metric, called in METRICS.items()},
        ),
        _gain_by_votes(results),
        _gain_by_target(results),
        _panels(
            "items",
            "Which images gain",
            "Training images by the total variation between their kept and all votes: "
            "cross-entropy to all people's shares after soft training minus that after single "
            "votes.",
            {f"{k} votes kept": _gain_by_item(results, f"k{k}") for k in (2, 5, 10)},
        ),
        _slices(results),
        _between(results),
    ]
    return [figure for figure, lines in made if _drawn(lines)]


Made = tuple[Figure, list[Line]]


def _drawn(lines: list[Line]) -> bool:
    return any(np.isfinite(line.y).any() for line in lines)


def _panels(name: str, title: str, caption: str, made: dict[str, Made]) -> Made:
    there = {heading: figure for heading, (figure, lines) in made.items() if _drawn(lines)}
    every = [line for _, lines in made.values() for line in lines]
    return draw.panels(name, title, caption, there), every


def _by_votes(results: Results, metric: str) -> Made:
    lines = [
        draw.over(
            results,
            {float(x): _cell(group, policy) for x, group in enumerate(PLACES)},
            f"10h/{metric}",
            policy,
        )
        for policy in DRAWN
    ]
    called = METRICS[metric]
    words = Words("by-votes", f"{called} by votes per image", "", "votes kept per image", called)
    return draw.curve(words, lines, named=NAMED), lines


def _gain_by_votes(results: Results) -> Made:
    lines = [
        _gains(results, policy, {float(x): group for x, group in enumerate(PLACES) if x})
        for policy in SINGLE
    ]
    words = Words(
        "gain-by-votes",
        "What single votes gain over soft labels",
        "Soft NLL of soft training minus that of single votes, seed by seed; above 0 single votes "
        "win. Both keep the same votes.",
        "votes kept per image",
        "gain in soft NLL",
    )
    return draw.curve(words, lines, zero=True, named=NAMED), lines


def _gain_by_target(results: Results) -> Made:
    """The same along the distance between the kept and all votes."""
    places: dict[float, str] = {}
    for group in reversed(PLACES[1:]):
        far = results.values(f"{group}/soft", "target/total-variation")
        if len(far):
            places[round(float(far.mean()), 4)] = group
    lines = [_gains(results, policy, places) for policy in SINGLE]
    words = Words(
        "gain-by-distance",
        "Who wins at what distance",
        "Gain of single votes over soft labels where the kept votes lie so far from all of them: "
        "mean total variation over images, a point for every number of votes.",
        "total variation between the kept and all votes",
        "gain in soft NLL",
    )
    return draw.curve(words, lines, zero=True), lines


def _gain_by_item(results: Results, group: str) -> Made:
    """Training items by the distance of their own kept votes."""
    lines = []
    for policy in ("sls", "multipass"):
        pairs = {
            float(number): results_of_gain(results, group, policy, f"learned/{bin_name(number)}")
            for number in range(len(EDGES) - 1)
        }
        lines.append(draw.over(*_as_results(pairs), policy))
    named = draw.evenly([bin_name(number) for number in range(len(EDGES) - 1)])
    title = f"Which images gain, {group[1:]} votes kept"
    words = Words("items", title, "", "total variation of the image's kept votes", "gain in nats")
    return draw.curve(words, lines, zero=True, named=named), lines


def _slices(results: Results) -> Made:
    lines = [
        _above_itself(draw.along(results, f"all/{one}", "slice/", one))
        for one in (*DRAWN[:3], "shuffled")
    ]
    words = Words(
        "slices",
        "Loss around the networks",
        "Soft cross-entropy on 250 training images along one random direction, every filter as "
        "long as the network's own, less that of the network itself.",
        "distance, in lengths of the filters",
        "rise in loss",
    )
    return draw.slices(words, lines), lines


def _above_itself(line: Line) -> Line:
    """Minus the mean loss at 0, where the network is."""
    here = dict(zip(line.x, line.y, strict=True)).get(0.0, 0.0)
    y, low, high = (np.asarray(part) - here for part in (line.y, line.low, line.high))
    return Line(line.name, line.x, y, low, high)


def _between(results: Results) -> Made:
    lines = [
        draw.along(merged(results, f"{group}/soft", f"{group}/{one}"), "both", prefix, label)
        for group, one, label in (
            ("all", "sls", "soft to sls"),
            ("all", "multipass", "soft to multipass"),
            ("k5", "sls", "soft to sls, 5 votes"),
        )
        for prefix in (f"between/{one}/",)
    ]
    words = Words(
        "between",
        "Loss between two networks of one seed",
        "On the straight line from the network taught softly (0) to that taught by single votes "
        "(1); batch statistics are taken anew at every point.",
        "share of the second network",
        "loss",
    )
    return draw.slices(words, lines), lines


def _cell(group: str, policy: str) -> str:
    return "k1/soft" if group == "k1" else f"{group}/{policy}"


def _gains(results: Results, policy: str, places: dict[float, str]) -> Line:
    pairs = {x: results_of_gain(results, group, policy, LOSS) for x, group in places.items()}
    return draw.over(*_as_results(pairs), policy)


def results_of_gain(results: Results, group: str, policy: str, score: str) -> dict[int, float]:
    """Soft minus single votes, by seed."""
    soft, single = (results.by_seed(f"{group}/{one}", score) for one in ("soft", policy))
    return {seed: soft[seed] - single[seed] for seed in sorted(soft.keys() & single.keys())}


def _as_results(pairs: dict[float, dict[int, float]]) -> tuple[Results, dict[float, str], str]:
    """Numbers by place and seed as results, which figures are made of."""
    made = [
        Result(str(x), seed, {"gain": value})
        for x, by_seed in pairs.items()
        for seed, value in by_seed.items()
    ]
    return Results(made), {x: str(x) for x in pairs}, "gain"


def merged(results: Results, first: str, second: str) -> Results:
    """Scores of pairs, which either of two cells keeps, as those of one cell."""
    kept: dict[int, dict[str, float]] = {}
    for one in results.all:
        if one.cell in (first, second):
            kept.setdefault(one.seed, {}).update(one.scores)
    return Results([Result("both", seed, scores) for seed, scores in kept.items()])
