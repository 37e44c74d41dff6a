"""Tables and figures of Gheibi & Ghazizadeh 2026, with published numbers beside ours in the tables:
all votes, fewer votes, distances, tests, flatness, detection, and the loss along lines."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product

import numpy as np

from softlabel.papers.claims import Figure, Result, Results, Table, Words, show_score
from softlabel.papers.claims import figures as draw
from softlabel.papers.gheibi2026 import conditions, numbers
from softlabel.papers.gheibi2026.conditions import POLICIES, SINGLE, VOTES, Condition, condition_of
from softlabel.papers.gheibi2026.numbers import CURVATURE, FULL, LOSS, P_VALUES, SPARSE
from softlabel.report import Line
from softlabel.tables import Score

VOTE_NAMES = draw.evenly([*VOTES, "all"])  # by the place on an x axis
BY_VOTES = dict(zip(VOTE_NAMES, (*VOTES, None), strict=True))

# ── tables ───────────────────────────────────────────────────────────────────────────────────

WORDS, NOTES = draw.read_words(__file__)
METRICS, FLATNESS, CURVES = (numbers.PUBLISHED[name] for name in ("scores", "flatness", "curves"))
OUTSIDE = ("patches", "noise", "digits", "svhn", "cifar100")
DETECTORS = ("max-softmax", "max-logit", "energy", "negative-entropy", "knn", "odin")
MEASURES = ("auroc", "fpr95", "aupr")


def tables(results: Results) -> list[Table]:
    """Return the tables that have a number of ours."""
    policies = (*POLICIES, *conditions.ABLATIONS)
    full = {(policy, f"10h/{m}"): x for policy, row in FULL.items() for m, x in row.items()}
    all_votes = {policy: Condition(policy) for policy in policies}
    long = {policy: Condition(policy, epochs=conditions.LONG) for policy in policies}
    measured = [Condition(policy, k) for k in (None, 5) for policy in (*POLICIES, "shuffled")]
    curvature = {
        (Condition(policy).name, score): value
        for policy, both in CURVATURE.items()
        for score, value in zip(FLATNESS, both, strict=False)
    }
    flat = {one.name: one for one in measured}
    candidates = (
        _score_table("All votes", results, all_votes, METRICS, full, NOTES["secondhand"]),
        *_vote_tables(results, policies),
        _score_table("All votes, 64 epochs", results, long, METRICS, {}, NOTES["long"]),
        _score_table("Flatness", results, flat, FLATNESS, curvature, NOTES["flatness"]),
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
        cells = (_number(loss, printed.get(v) if v else None) for v, loss in losses.items())
        rows.append((policy, *cells))
    yield _table("Soft NLL by votes kept per image", heads, rows, NOTES["secondhand"])

    tests: list[tuple[str, ...]] = []
    for one in numbers.compare_with_soft(results):
        single, soft = Condition(one.policy, one.votes), Condition("soft", one.votes)
        gain = _number(results.difference(single.name, soft.name, LOSS))
        p = (f"{one.p:.4f}", f"{one.adjusted:.3f}", f"{P_VALUES[one.policy][one.votes]:.3f}")
        tests.append((one.policy, str(one.votes), str(one.seeds), gain, *p))
    columns = ("", "votes", "seeds", "soft NLL minus soft's", "p", "p, Holm", "p, printed")
    yield _table("Single votes against soft labels", columns, tests, NOTES["tests"])

    def distance(policy: str, votes: int | None) -> str:
        name = Condition(policy, votes).name
        both = (results.mean(name, f"{what}/total-variation") for what in ("target", "taught"))
        return " / ".join(f"{one.value:.3f}" for one in both if one is not None) or "–"

    rows = [(policy, *(distance(policy, v) for v in BY_VOTES.values())) for policy in policies]
    yield _table("Distance of the labels from all votes", heads, rows, NOTES["distance"])


def _detection(results: Results) -> Table:
    """Show every detector on every set, soft beside single votes."""
    pair = Condition("sls").name, Condition("soft").name
    rows = []
    for place, detector in product(OUTSIDE, DETECTORS):
        score = f"ood/{place}/{detector}"
        cells = [results.mean(Condition(one), f"{score}/auroc") for one in conditions.MAIN]
        cells += [results.difference(*pair, f"{score}/{measure}") for measure in MEASURES]
        rows.append((f"{place}, {detector}", *map(_number, cells)))
    heads = ("AUROC", *conditions.MAIN, *(f"sls minus soft, {measure}" for measure in MEASURES))
    return _table("Out-of-distribution detection", heads, rows, NOTES["detection"])


def _number(score: Score | None, published: float | None = None) -> str:
    """Return ``0.512 ±0.010 (0.5096)``.  Curvatures are in the hundreds and gains in the
    thousandths, so the number of digits follows from the interval: two of its own."""
    width = math.nan if score is None else score.half
    digits = 4 if not width > 0 else max(0, min(5, 1 - math.floor(math.log10(width))))
    ours = show_score(score, f".{digits}f", f".{digits}f")
    return ours if published is None else f"{ours} ({published:g})".replace("-", "−")


# ── figures ──────────────────────────────────────────────────────────────────────────────────

Places = dict[float, tuple[int | None, str]]  # votes kept and score, by the place on the x axis


def figures(results: Results) -> list[Figure]:
    """Return the figures that have a point."""
    by_votes = {}
    for score, called in CURVES.items():
        lines = []
        for policy in ("soft", "majority", "sls", "multipass"):
            cells = {x: condition_of(policy, votes).name for x, votes in BY_VOTES.items()}
            lines.append(draw.over(results, cells, score, policy))
        words = replace(WORDS["by-votes"], title=f"{called} by votes per image", y=called)
        by_votes[called] = _curve(words, lines, named=VOTE_NAMES)
    candidates = (
        _panels("by-votes", by_votes),
        *_draw_gains(results),
        _curve(WORDS["slices"], _around(results)),
        _curve(WORDS["between"], _between(results)),
    )
    return [figure for figure in candidates if figure is not None]


def _curve(
    words: Words, lines: list[Line], zero: bool = False, named: Mapping[float, str] | None = None
) -> Figure | None:
    """Draw the lines, if they have a point."""
    if not any(np.isfinite(line.y).any() for line in lines):
        return None
    return draw.curve(words, lines, zero=zero, named=named)


def _panels(name: str, charts: dict[str, Figure | None]) -> Figure | None:
    panels = {heading: figure for heading, figure in charts.items() if figure is not None}
    return draw.panels(WORDS[name], panels) if panels else None


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
    lines = _gains(results, places)
    yield _curve(WORDS["gain-by-votes"], lines, zero=True, named=VOTE_NAMES)

    places = {}
    for votes in (None, *reversed(VOTES[1:])):
        distance = results.values(Condition("soft", votes).name, "target/total-variation")
        if len(distance):
            places[round(float(distance.mean()), 4)] = votes, LOSS
    yield _curve(WORDS["gain-by-distance"], _gains(results, places), zero=True)

    charts, bins = {}, draw.evenly(conditions.BINS)
    for kept in (2, 5, 10):
        places = {x: (kept, f"learned/{name}") for x, name in bins.items()}
        words = replace(WORDS["items"], title=f"Gain by distance, {kept} votes kept")
        lines = _gains(results, places, ("sls", "multipass"))
        charts[f"{kept} votes kept"] = _curve(words, lines, zero=True, named=bins)
    yield _panels("items", charts)


def _around(results: Results) -> list[Line]:
    """Return the loss along a random direction, minus that at 0, where the network is."""
    lines = []
    for policy in ("soft", "majority", "sls", "shuffled"):
        line = draw.along(results, Condition(policy).name, "slice/", policy)
        at_network = dict(zip(line.x, line.y, strict=True)).get(0.0, 0.0)
        y, low, high = (np.asarray(part) - at_network for part in (line.y, line.low, line.high))
        lines.append(Line(line.name, line.x, y, low, high))
    return lines


def _between(results: Results) -> list[Line]:
    """Return the loss between the runs of a pair, of which either may store it."""
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
    return lines
