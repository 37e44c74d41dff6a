"""The section of a page about runs: scores, differences, reliability and entropies."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from softlabel.metrics import entropy, evaluate, intervals, reliability
from softlabel.report import charts
from softlabel.report.charts import Line
from softlabel.report.drawing import Frame, Html
from softlabel.report.page import Section, figure, format_interval, format_number, table
from softlabel.tables import Floats, Score, SoftLabels
from softlabel.train import Run

BINS = 10
DRAWN = 4  # groups in a chart: more cannot be told apart
Groups = Mapping[str, Sequence[Run]]


def runs_section(heading: str, groups: Groups, people: SoftLabels, base: str) -> Section:
    """Compare groups of runs that differ only in their seeds with the same people."""
    names = evaluate.DEFAULT
    means = {name: evaluate.over_runs(some, people, names) for name, some in groups.items()}
    rows = [
        (name, str(len(groups[name])), *map(_cell, one.values())) for name, one in means.items()
    ]
    items = len(evaluate.matched(next(iter(groups.values()))[0].predictions, people).true)
    parts: list[str] = [
        f"""Finished runs: {sum(map(len, groups.values()))}, compared with people on {items:,}
        items. Intervals are 95 % over seeds; a single run has none.""",
        table("Mean over seeds", ("runs of", "seeds", *names), rows),
    ]
    parts += _differences(groups, people, base)
    some = dict(list(groups.items())[:DRAWN])
    said = """How often the predicted class is the one most people chose, by the confidence of the
        prediction; on the dotted line both are equal."""
    parts.append(figure(partial(_reliability, some, people), said))
    said = """Mean entropy of predictions for items on which people disagree little (left) to much
        (right), in ten groups of equal size."""
    parts.append(figure(partial(_entropies, some, people), said))
    return Section(heading, parts)


def _differences(groups: Groups, people: SoftLabels, base: str) -> list[str]:
    others = [name for name in groups if name != base]
    if not others:
        return []
    rows: dict[str, list[object]] = {name: [name] for name in others}
    for metric in evaluate.DEFAULT:
        known = {name: evaluate.measured(some, people, metric) for name, some in groups.items()}
        for name in others:
            if set(known[name].seeds) == set(known[base].seeds):
                rows[name].append(_cell(evaluate.difference(known[name], known[base])))
            else:
                rows[name].append("–")
    caption = f"Difference from {base}, seed by seed; intervals over items and seeds"
    return [table(caption, ("runs of", *evaluate.DEFAULT), list(rows.values()))]


def _cell(score: Score) -> Html | str:
    return format_interval(score) if np.isfinite(score.low) else format_number(score.value, 3)


def _reliability(groups: Groups, people: SoftLabels, width: float) -> Html:
    series = {}
    for name, some in groups.items():
        pairs = [evaluate.matched(run.predictions, people) for run in some]
        true, predicted = (np.concatenate(one) for one in list(zip(*pairs, strict=True))[:2])
        bins = reliability(true, predicted, BINS, "mass")
        series[name] = (bins.confidence, bins.right)
    said = "; ".join(f"{name}: {len(x)} bins" for name, (x, _) in series.items())
    frame = Frame("Reliability", said, "confidence", "share right", width, 340)
    return charts.scatter(series, frame, diagonal=True, limits=(0.0, 1.0, 0.0, 1.0))


def _entropies(groups: Groups, people: SoftLabels, width: float) -> Html:
    """Draw the means of both entropies in groups of items, sorted by that of people."""
    lines = []
    for name, some in groups.items():
        values: list[list[Floats]] = []
        for run in some:
            true, predicted, _ = evaluate.matched(run.predictions, people)
            theirs, ours = entropy(true), entropy(predicted)
            order = np.argsort(theirs, kind="stable")
            rows = np.array_split(order, min(BINS, len(order)))
            both = (theirs, ours)
            values.append([np.array([side[row].mean() for row in rows]) for side in both])
        x = values[0][0]
        ends = [_over([y[i] for _, y in values]) for i in range(len(x))]
        mean, low, high = (list(part) for part in zip(*ends, strict=True))
        lines.append(Line(name, x, mean, low, high))
    said = "; ".join(f"{line.name}: {line.y[0]:.2f} to {line.y[-1]:.2f}" for line in lines)
    words = "entropy of people (nats)", "entropy of predictions (nats)"
    return charts.lines(lines, Frame("Entropies", said, *words, width, 340))


def _over(values: Sequence[float]) -> tuple[float, float, float]:
    if len(values) < 2:
        return values[0], float("nan"), float("nan")
    score = intervals.over_seeds(np.array(values), bounds=(0, np.inf))  # entropies
    return score.value, score.low, score.high
