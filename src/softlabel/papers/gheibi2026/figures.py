"""Tables and figures of Gheibi & Ghazizadeh 2026, with published numbers beside ours in the tables:
all votes, fewer votes, distances, tests, flatness, detection, and the loss along lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import product

import numpy as np

from softlabel.papers.claims import Figure, Result, Results, Table, Words, show_score
from softlabel.papers.claims import figures as draw
from softlabel.papers.gheibi2026.cells import (
    ABLATIONS,
    BINS,
    LONG,
    MAIN,
    POLICIES,
    SINGLE,
    VOTES,
    Condition,
    condition_of,
)
from softlabel.papers.gheibi2026.claims import (
    CURVATURE,
    FULL,
    LOSS,
    P_VALUES,
    SPARSE,
    compare_with_soft,
)
from softlabel.report import Line
from softlabel.tables import Score

VOTE_NAMES = draw.evenly([*VOTES, "all"])  # by the place on an x axis
BY_VOTES = dict(zip(VOTE_NAMES, (*VOTES, None), strict=True))

# ── tables ───────────────────────────────────────────────────────────────────────────────────

SECONDHAND = "In brackets: the paper's ResNet-18 according to unchecked reading notes."
METRICS = {
    "10h/cross-entropy": "soft NLL",
    "10h/kl": "KL",
    "10h/accuracy": "accuracy",
    "10h/entropy-pearson": "entropy r",
    "10h/entropy-spearman": "entropy rank r",
    "10h/ece-mass": "ECE",
}
FLATNESS = {
    "flat/lambda-max": "largest eigenvalue",
    "flat/trace": "trace",
    "flat/trace-error": "its standard error in a run",
    "flat/sam": "SAM sharpness",
    "flat/loss": "loss there",
    "flat/accuracy": "accuracy there",
    "10h/accuracy": "accuracy, held out",
}
OUTSIDE = ("patches", "noise", "digits", "svhn", "cifar100")
DETECTORS = ("max-softmax", "max-logit", "energy", "negative-entropy", "knn", "odin")
MEASURES = ("auroc", "fpr95", "aupr")


def tables(results: Results) -> list[Table]:
    """Return the tables that have a number of ours."""
    policies = (*POLICIES, *ABLATIONS)
    full = {(policy, f"10h/{m}"): x for policy, row in FULL.items() for m, x in row.items()}
    all_votes = {policy: Condition(policy) for policy in policies}
    long = {policy: Condition(policy, epochs=LONG) for policy in policies}
    long_note = "After 64 epochs every one of an image's 47 to 63 votes has had its turn."
    conditions = [Condition(policy, k) for k in (None, 5) for policy in (*POLICIES, "shuffled")]
    curvature = {
        (Condition(policy).name, score): value
        for policy, both in CURVATURE.items()
        for score, value in zip(FLATNESS, both, strict=False)
    }
    flat = {one.name: one for one in conditions}
    flat_note = (
        "On 250 training pictures, soft cross-entropy to all votes for every network, evaluation "
        f"mode. Curvature means little without the accuracy beside it. {SECONDHAND}"
    )
    candidates = (
        _score_table("All votes", results, all_votes, METRICS, full, SECONDHAND),
        *_vote_tables(results, policies),
        _score_table("All votes, 64 epochs", results, long, METRICS, {}, long_note),
        _score_table("Flatness", results, flat, FLATNESS, curvature, flat_note),
        _detection(results),
    )
    return [table for table in candidates if table.rows]


def _table(title: str, heads: Iterable[str], rows: Iterable[tuple[str, ...]], note: str) -> Table:
    """Keep the rows that have a number of ours."""
    kept = [row for row in rows if not all(cell.startswith("–") for cell in row[1:])]
    return Table(title, tuple(heads), kept, note)


def _score_table(
    title: str,
    results: Results,
    rows: Mapping[str, Condition],
    scores: Mapping[str, str],
    published: Mapping[tuple[str, str], float],
    note: str,
) -> Table:
    """Show a row for each condition and a column for each score; ``published`` is by both."""
    lines = []
    for row, condition in rows.items():
        pairs = ((results.mean(condition.name, one), published.get((row, one))) for one in scores)
        lines.append((row, *(_number(*pair) for pair in pairs)))
    return _table(title, ("", *scores.values()), lines, note)


def _vote_tables(results: Results, policies: Iterable[str]) -> Iterator[Table]:
    """Show the loss by votes kept, its tests, and the distance of the labels."""
    heads = ("", *VOTE_NAMES.values())
    rows: list[tuple[str, ...]] = []
    for policy in POLICIES:
        losses = {v: results.mean(condition_of(policy, v).name, LOSS) for v in BY_VOTES.values()}
        printed = SPARSE.get(policy, {})
        numbers = (_number(loss, printed.get(v) if v else None) for v, loss in losses.items())
        rows.append((policy, *numbers))
    yield _table("Soft NLL by votes kept per image", heads, rows, SECONDHAND)

    tests: list[tuple[str, ...]] = []
    for one in compare_with_soft(results):
        single, soft = Condition(one.policy, one.votes), Condition("soft", one.votes)
        gain = _number(results.difference(single.name, soft.name, LOSS))
        p = (f"{one.p:.4f}", f"{one.adjusted:.3f}", f"{P_VALUES[one.policy][one.votes]:.3f}")
        tests.append((one.policy, str(one.votes), str(one.seeds), gain, *p))
    columns = ("", "votes", "seeds", "soft NLL minus soft's", "p", "p, Holm", "p, printed")
    note = (
        "One-sided Wilcoxon tests over paired seeds, with Holm's correction for their number. The "
        "smallest possible p with five seeds is 1/32: whatever the runs show, none of twelve can "
        "stay below .05. With ten seeds it is 1/1024."
    )
    yield _table("Single votes against soft labels", columns, tests, note)

    def distance(policy: str, votes: int | None) -> str:
        name = Condition(policy, votes).name
        both = (results.mean(name, f"{what}/total-variation") for what in ("target", "taught"))
        return " / ".join(f"{one.value:.3f}" for one in both if one is not None) or "–"

    rows = [(policy, *(distance(policy, v) for v in BY_VOTES.values())) for policy in policies]
    note = (
        "Mean total variation from the shares of all votes: of the target, which the policy "
        "delivers in the long run, and of the mean label over the epochs that were run."
    )
    yield _table("Distance of the labels from all votes", heads, rows, note)


def _detection(results: Results) -> Table:
    """Show every detector on every set, soft beside single votes."""
    pair = Condition("sls").name, Condition("soft").name
    rows = []
    for place, detector in product(OUTSIDE, DETECTORS):
        score = f"ood/{place}/{detector}"
        cells = [results.mean(Condition(policy).name, f"{score}/auroc") for policy in MAIN]
        cells += [results.difference(*pair, f"{score}/{measure}") for measure in MEASURES]
        rows.append((f"{place}, {detector}", *map(_number, cells)))
    heads = ("AUROC", *MAIN, *(f"sls minus soft, {measure}" for measure in MEASURES))
    note = "500 held-out pictures against 500 from outside; AUROC and AUPR high, FPR95 low."
    return _table("Out-of-distribution detection", heads, rows, note)


def _number(score: Score | None, published: float | None = None) -> str:
    """Return ``0.512 ±0.010 (0.5096)``.  Curvatures are in the hundreds and gains in the
    thousandths, so the number of digits follows from the interval: two of its own."""
    width = math.nan if score is None else score.half
    digits = 4 if not width > 0 else max(0, min(5, 1 - math.floor(math.log10(width))))
    ours = show_score(score, f".{digits}f", f".{digits}f")
    return ours if published is None else f"{ours} ({published:g})".replace("-", "−")


# ── figures ──────────────────────────────────────────────────────────────────────────────────

CURVES = {
    "10h/cross-entropy": "soft NLL",
    "10h/kl": "KL to people",
    "10h/accuracy": "accuracy",
    "10h/entropy-spearman": "entropy correlation (ranks)",
}
Places = dict[float, tuple[int | None, str]]  # votes kept and score, by the place on the x axis


def figures(results: Results) -> list[Figure]:
    """Return the figures that have a point."""
    by_votes = {}
    for score, called in CURVES.items():
        lines = []
        for policy in ("soft", "majority", "sls", "multipass"):
            cells = {x: condition_of(policy, votes).name for x, votes in BY_VOTES.items()}
            lines.append(draw.over(results, cells, score, policy))
        title = f"{called} by votes per image"
        words = Words("by-votes", title, "", "votes kept per image", called)
        by_votes[called] = _curve(words, lines, named=VOTE_NAMES)
    candidates = (
        _panels(
            "by-votes",
            "By votes per image",
            "Mean over seeds and 95 % interval, on the 2,000 images held out and the shares of all "
            "their votes. With one vote all policies are the same.",
            by_votes,
        ),
        *_draw_gains(results),
        _around(results),
        _between(results),
    )
    return [figure for figure in candidates if figure is not None]


def _curve(
    words: Words, lines: list[Line], zero: bool = False, named: Mapping[float, str] | None = None
) -> Figure | None:
    """Draw the lines, if they have a point."""
    if not any(np.isfinite(line.y).any() for line in lines):
        return None
    return draw.curve(words, lines, zero=zero, named=named)


def _panels(name: str, title: str, caption: str, charts: dict[str, Figure | None]) -> Figure | None:
    panels = {heading: figure for heading, figure in charts.items() if figure is not None}
    return draw.panels(name, title, caption, panels) if panels else None


def _gains(results: Results, places: Places, policies: Iterable[str] = SINGLE) -> list[Line]:
    """Return, for each policy of single votes, soft minus single votes, seed by seed."""
    lines = []
    for policy in policies:
        gains = []
        for x, (votes, score) in places.items():
            pair = (Condition(one, votes).name for one in ("soft", policy))
            soft, single = (results.by_seed(name, score) for name in pair)
            for seed in sorted(soft.keys() & single.keys()):
                gains.append(Result(str(x), seed, {"gain": soft[seed] - single[seed]}))
        lines.append(draw.over(Results(gains), {x: str(x) for x in places}, "gain", policy))
    return lines


def _draw_gains(results: Results) -> Iterator[Figure | None]:
    """Draw gains by votes kept, by their distance from all votes, and by that of each item's."""
    places: Places = {x: (votes, LOSS) for x, votes in BY_VOTES.items() if votes != 1}
    words = Words(
        "gain-by-votes",
        "Gain of single votes over soft labels",
        "Soft NLL of soft training minus that of single votes, seed by seed; above 0 single votes "
        "are better. Both keep the same votes.",
        "votes kept per image",
        "gain in soft NLL",
    )
    yield _curve(words, _gains(results, places), zero=True, named=VOTE_NAMES)

    places = {}
    for votes in (None, *reversed(VOTES[1:])):
        distance = results.values(Condition("soft", votes).name, "target/total-variation")
        if len(distance):
            places[round(float(distance.mean()), 4)] = votes, LOSS
    words = Words(
        "gain-by-distance",
        "Gain by distance of the kept votes",
        "Gain of single votes over soft labels by the distance of the kept votes from all votes: "
        "mean total variation over images, a point for every number of votes.",
        "total variation between the kept and all votes",
        "gain in soft NLL",
    )
    yield _curve(words, _gains(results, places), zero=True)

    charts = {}
    for kept in (2, 5, 10):
        places = {float(x): (kept, f"learned/{name}") for x, name in enumerate(BINS)}
        title = f"Gain by distance, {kept} votes kept"
        words = Words(
            "items", title, "", "total variation of the image's kept votes", "gain in nats"
        )
        lines = _gains(results, places, ("sls", "multipass"))
        charts[f"{kept} votes kept"] = _curve(words, lines, zero=True, named=draw.evenly(BINS))
    caption = (
        "Training images by the total variation between their kept and all votes: cross-entropy to "
        "all people's shares after soft training minus that after training on single votes."
    )
    yield _panels("items", "Gain by distance of an image's votes", caption, charts)


def _around(results: Results) -> Figure | None:
    """Draw the loss along a random direction, minus that at 0, where the network is."""
    lines = []
    for policy in ("soft", "majority", "sls", "shuffled"):
        line = draw.along(results, Condition(policy).name, "slice/", policy)
        at_network = dict(zip(line.x, line.y, strict=True)).get(0.0, 0.0)
        y, low, high = (np.asarray(part) - at_network for part in (line.y, line.low, line.high))
        lines.append(Line(line.name, line.x, y, low, high))
    words = Words(
        "slices",
        "Loss around the networks",
        "Soft cross-entropy on 250 training images along one random direction, scaled filter by "
        "filter to the network's own norms, minus that of the network itself.",
        "distance, in norms of the filters",
        "rise in loss",
    )
    return _curve(words, lines)


def _between(results: Results) -> Figure | None:
    """Draw the loss between the runs of a pair, of which either may store it."""
    lines = []
    for single, label in (
        (Condition("sls"), "soft to sls"),
        (Condition("multipass"), "soft to multipass"),
        (Condition("sls", 5), "soft to sls, 5 votes"),
    ):
        pair = Condition("soft", single.votes).name, single.name
        by_seed: dict[int, dict[str, float]] = {}
        for one in results.all:
            if one.cell in pair:
                by_seed.setdefault(one.seed, {}).update(one.scores)
        both = Results([Result("both", seed, scores) for seed, scores in by_seed.items()])
        lines.append(draw.along(both, "both", f"between/{single.policy}/", label))
    words = Words(
        "between",
        "Loss between two networks of one seed",
        "On the straight line from the network trained on soft labels (0) to that trained on "
        "single votes (1); batch statistics are re-estimated at every point.",
        "share of the second network",
        "loss",
    )
    return _curve(words, lines)
