"""Figures and tables from our runs: tables 1 to 6 of the paper beside ours, its figures 6 and 10
(the three measures over the number of annotators and over their time), reliability diagrams, the
settings that validation images choose, and the traps of the released code.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

from softlabel.metrics import Cost
from softlabel.papers.claims import Figure, Results, Table, show_score
from softlabel.papers.claims import figures as draw
from softlabel.papers.collins2022 import conditions, numbers
from softlabel.papers.collins2022.conditions import (
    CLAMP_EACH,
    HARD,
    M_CURVES,
    VOTES_EACH,
    Condition,
)
from softlabel.papers.collins2022.numbers import EXAMS, LABELS, MEASURES, difference, mean
from softlabel.report import Line
from softlabel.tables import Score

WORDS, NOTES = draw.read_words(__file__)
TICKS = (1, 2, 3, 4, 6, 8, 16, 32, 51)
MAIN = (HARD, VOTES_EACH, CLAMP_EACH)
FORMS = (numbers.T1_UNIF, numbers.T1_CLAMP, numbers.T2_UNIF, CLAMP_EACH)


def figures(results: Results) -> list[Figure]:
    """Return the figures of which there is something to draw."""
    by_number = {
        numbers.SERIES[labels]: {math.log2(m): one for m, one in curve.items()}
        for labels, curve in M_CURVES.items()
    }
    cost = Cost()
    by_time = {
        numbers.SERIES[labels]: {cost.item(form, m): one for m, one in M_CURVES[labels].items()}
        for labels, form in (("10h", "hard"), ("t2-clamp", "t2-clamp"))
    }
    people = conditions.PEOPLE
    shorter = {cost.item(one.labels, people): one for one in FORMS}
    by_time[f"shorter forms, {people} annotators"] = shorter
    ticks = {math.log2(m): str(m) for m in TICKS}
    charts = {
        "tables": dict(_draw_printed(results)),
        "m-curve": dict(_draw_curves(results, "m-curve", by_number, ticks)),
        "cost-curve": dict(_draw_curves(results, "cost-curve", by_time)),
        "reliability": dict(_draw_reliability(results)),
    }
    return [draw.panels(WORDS[name], some) for name, some in charts.items() if some]


def _draw_printed(results: Results) -> Iterator[tuple[str, Figure]]:
    for (exam, where), (measure, words) in product(EXAMS.items(), MEASURES.items()):
        every = {one: mean(results, one, numbers.score_as_printed(exam, measure)) for one in LABELS}
        known = {one: ours for one, ours in every.items() if ours is not None}
        if len(known) < 2 or HARD not in known:  # hard labels alone are 1
            continue
        hard, printed_hard = known[HARD].value, numbers.PRINTED[HARD, exam, measure].value
        rows = {}
        for one, ours in known.items():
            score = Score(ours.value / hard, ours.low / hard, ours.high / hard, ours.n)
            printed = numbers.PRINTED[one, exam, measure]
            value, half = printed.value / printed_hard, (printed.half or 0.0) / printed_hard
            rows[LABELS[one]] = score, replace(printed, value=value, half=half)
        frame = replace(WORDS["tables"], title=f"{words.capitalize()}, {where}")
        yield f"{words}, {where}", draw.beside(frame, rows)


def _draw_curves(
    results: Results,
    figure: str,
    curves: Mapping[str, Mapping[float, Condition]],
    ticks: Mapping[float, str] | None = None,
) -> Iterator[tuple[str, Figure]]:
    """Draw each measure on each test set; a curve needs more than one point."""
    for (exam, where), (measure, words) in product(EXAMS.items(), MEASURES.items()):
        lines = []
        for name, curve in curves.items():
            score = numbers.score_as_printed(exam, measure)
            means = {x: mean(results, one, score) for x, one in curve.items()}
            points = [(x, one.value, one.low, one.high) for x, one in means.items() if one]
            if len(points) > 1:
                lines.append(Line(name, *zip(*points, strict=True)))
        if lines:
            frame = WORDS[figure]
            title = f"{words.capitalize()} {frame.title.lower()}, {where}"
            own = replace(frame, title=title, y=words)
            yield f"{words}, {where}", draw.curve(own, lines, named=ticks)


def _draw_reliability(results: Results) -> Iterator[tuple[str, Figure]]:
    for exam, where in EXAMS.items():
        series: dict[str, tuple[list[float], list[float]]] = {}
        for one in MAIN:
            sides = [
                [mean(results, one, f"{exam}/bin{i}-{side}") for i in range(10)]
                for side in ("said", "right")
            ]
            pairs = [(a.value, b.value) for a, b in zip(*sides, strict=True) if a and b]
            if pairs:
                confidence, accuracy = zip(*pairs, strict=True)
                series[LABELS[one]] = list(confidence), list(accuracy)
        if series:
            frame = WORDS["reliability"]
            yield where, draw.reliability(replace(frame, title=f"{frame.title}, {where}"), series)


# ── tables ───────────────────────────────────────────────────────────────────────────────────

TITLES = (
    *("aggregated labels", "de-aggregated labels", "one and two annotators"),
    *("varieties of the label", "numbers or only names", "label smoothing"),
)
CHOOSING = {
    "val/ce": "cross-entropy to the class, validation",
    "val/accuracy": "accuracy, validation",
    "10h/ce": f"soft cross-entropy, {EXAMS['10h']}",
    "10s/ce": f"soft cross-entropy, {EXAMS['10s']}",
}


def tables(results: Results) -> list[Table]:
    """Return the tables of which anything was run: the paper's with our numbers beside its own,
    the grids, the traps and the gains."""
    heads: tuple[str, ...] = ("labels", "tested on")
    for words in MEASURES.values():
        heads += (f"{words}: paper", "ours")
    every = []
    for number, title in enumerate(TITLES, start=1):
        rows = []
        for row in numbers.ROWS:
            scores = (numbers.score_as_printed(row.exam, measure) for measure in MEASURES)
            ours = [mean(results, row.condition, score) for score in scores]
            if number not in row.tables or not any(ours):
                continue
            texts: tuple[str, ...] = ()
            for (value, half), score in zip(row.numbers.values(), ours, strict=True):
                texts += (f"{value:g} ±{half:g}", show_score(score))
            count = max(one.n for one in ours if one is not None)
            rows.append((LABELS[row.condition], EXAMS[row.exam], *texts, str(count)))
        every.append(Table(f"Table {number}: {title}", (*heads, "runs"), rows))
    for title, grid in (
        ("Spread of T2-clamp", conditions.SPREADS),
        ("Beta of label smoothing", conditions.BETAS),
    ):
        every.append(_tabulate_grid(results, f"{title}, by validation images", grid))
    every += [tabulate_traps(results), tabulate_gains(results)]
    return [table for table in every if table.rows]


def _tabulate_grid(results: Results, title: str, grid: Mapping[float, Condition]) -> Table:
    rows = []
    for value, one in grid.items():
        ours = [mean(results, one, score) for score in CHOOSING]
        if all(ours):
            rows.append((f"{value:g}", *map(show_score, ours)))
    return Table(title, ("", *CHOOSING.values()), rows if len(rows) > 1 else [], NOTES["grid"])


# ── traps of the released code ───────────────────────────────────────────────────────────────
# Two are trained (crops frozen when the data set is built; labels whose redistribution is never
# applied), two are ways to score the same runs (the most confident bin dropped; FGSM against given
# classes).  The fifth are the labels as released, which count repeats and repair contradictions
# badly.


class Trap(NamedTuple):
    """The same number with the trap and without: a condition and a score each."""

    name: str
    what: str
    trapped: tuple[Condition, str]
    clean: tuple[Condition, str]


SHOWN = {"ce": "cross-entropy", "accuracy": "accuracy", "rms": "RMS calibration"}
T1_NONE, T2_NONE, RELEASED = (
    Condition(labels, "each") for labels in ("t1-none", "t2-none", "released")
)


def list_traps() -> Iterator[Trap]:
    """List all pairs that are compared."""
    for one in MAIN:
        for score, words in SHOWN.items():
            sides = (one, f"10h/{score}"), (replace(one, fresh=True), f"10h/{score}")
            yield Trap("frozen crops", f"{one.name}, {words}", *sides)
    unspread = zip((T1_NONE, T1_NONE, T2_NONE, T2_NONE), FORMS, strict=True)
    for (trapped, clean), exam in product(unspread, EXAMS):
        sides = (trapped, f"{exam}/ce"), (clean, f"{exam}/ce")
        yield Trap("no redistribution", f"{clean.name}, CE on {exam}", *sides)
    for name, words, bad, good in (
        ("last bin dropped", "RMS", "rms-dropped", "rms"),
        ("FGSM by given class", "FGSM", "fgsm-hard", "fgsm"),
    ):
        for one, exam in product(MAIN, EXAMS):
            sides = (one, f"{exam}/{bad}"), (one, f"{exam}/{good}")
            yield Trap(name, f"{one.name}, {words} on {exam}", *sides)
    for exam in EXAMS:
        sides = (RELEASED, f"{exam}/ce"), (CLAMP_EACH, f"{exam}/ce")
        yield Trap("labels as released", f"{CLAMP_EACH.name}, CE on {exam}", *sides)


def tabulate_traps(results: Results) -> Table:
    """Show each number with the trap and without, and their difference, run by run."""
    rows = []
    for one in list_traps():
        apart = difference(results, one.trapped, one.clean)
        if apart is not None:
            sides = (mean(results, *side) for side in (one.trapped, one.clean))
            means = (f"{side.value:.3f}" for side in sides if side is not None)
            rows.append((one.name, one.what, *means, show_score(apart, "+.3f"), str(apart.n)))
    heads = ("trap", "what", "with it", "without", "difference", "runs")
    return Table("Effects of the traps of the released code", heads, rows)


def tabulate_gains(results: Results) -> Table:
    """Show what soft labels gain over hard ones, with frozen crops and with fresh ones."""
    scores = {
        f"{exam}/{score}": f"{words}, {where}"
        for exam, where in EXAMS.items()
        for score, words in (*SHOWN.items(), ("fgsm", "loss under FGSM"))
    }
    long = conditions.LONG
    ways: dict[str, dict[str, Any]] = {"frozen crops": {}, "fresh crops": {"fresh": True}}
    ways[f"fresh, {long} epochs"] = {"fresh": True, "epochs": long}
    ways[f"frozen, {long} epochs"] = {"epochs": long}
    rows = []
    for score, words in scores.items():
        for soft in MAIN[1:]:
            apart = [
                difference(results, (replace(soft, **way), score), (replace(HARD, **way), score))
                for way in ways.values()
            ]
            if all(apart[:2]):
                texts = (show_score(one, "+.3f") for one in apart)
                rows.append((LABELS[soft], words, *texts, str(min(one.n for one in apart if one))))
    heads = ("labels", "what", *ways, "runs")
    return Table("Soft labels against hard ones, by crops", heads, rows, NOTES["gains"])
