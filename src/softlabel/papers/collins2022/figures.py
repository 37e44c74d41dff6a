"""Figures 6 and 10 of Collins, Bhatt & Weller 2022, drawn from our runs: the three measures over
the number of annotators and over their time; and reliability diagrams."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from softlabel.metrics import Cost
from softlabel.papers.claims import Figure, Published, Results, Words
from softlabel.papers.claims import figures as pictures
from softlabel.papers.collins2022 import printed
from softlabel.papers.collins2022.claims import score
from softlabel.papers.collins2022.gathering import mean
from softlabel.papers.collins2022.names import PEOPLE, T2_EACH, m_cells
from softlabel.report import Line
from softlabel.tables import Score

SERIES = {"10h": "CIFAR-10H votes", "t2-clamp": "CIFAR-10S, T2-clamp"}
VARIETIES = ("t1-unif", "t1-clamp", "t2-unif")
TICKS = (1, 2, 3, 4, 6, 8, 16, 32, 51)
RELIABLE = ("hard", "10h/each", T2_EACH)


def figures(results: Results) -> list[Figure]:
    """Those of which there is something to draw."""
    made = (
        (
            "tables",
            "Tables 1 to 6, hard labels = 1",
            "Every kind of labels: mean over runs with a 95 % interval, above the printed mean "
            "with its own, all divided by the mean of hard labels.  Less is better everywhere.",
            dict(_printed(results)),
        ),
        (
            "m-curve",
            "By number of annotators",
            "Figure 6 of the paper, which prints no numbers.  De-aggregated labels; bands are 95 % "
            "intervals over runs.",
            dict(_by_number(results)),
        ),
        (
            "cost-curve",
            "By annotation time",
            "Figure 10 of the paper, which prints no numbers.  1.8 s a vote, 6.4 s an input of the "
            "rich form; bands are 95 % intervals over runs.",
            dict(_by_time(results)),
        ),
        (
            "reliability",
            "Confidence and accuracy",
            "Ten bins of equally many images, means over runs; below the diagonal a network is "
            "surer than it is right.",
            dict(_reliability(results)),
        ),
    )
    return [
        pictures.panels(name, title, caption, some) for name, title, caption, some in made if some
    ]


def _printed(results: Results) -> Iterator[tuple[str, Figure]]:
    for exam, where in printed.EXAMS.items():
        for measure, called in printed.MEASURES.items():
            every = {cell: mean(results, cell, score(exam, measure)) for cell in printed.LABELS}
            found = {cell: ours for cell, ours in every.items() if ours is not None}
            if len(found) < 2 or "hard" not in found:  # hard labels alone are 1
                continue
            hard, there = found["hard"].value, printed.number("hard", exam, measure).value
            rows = {
                printed.LABELS[cell]: (
                    _ours_by(hard, ours),
                    _printed_by(there, printed.number(cell, exam, measure)),
                )
                for cell, ours in found.items()
            }
            title = f"{called.capitalize()}, {where}"
            words = Words("tables", title, "", "hard labels = 1", "")
            yield f"{called}, {where}", pictures.beside(words, rows)


def _ours_by(whole: float, score: Score) -> Score:
    return Score(score.value / whole, score.low / whole, score.high / whole, score.n)


def _printed_by(whole: float, there: Published) -> Published:
    return replace(there, value=there.value / whole, half=(there.half or 0.0) / whole)


def _by_number(results: Results) -> Iterator[tuple[str, Figure]]:
    named = {math.log2(m): str(m) for m in TICKS}
    for exam, where in printed.EXAMS.items():
        for measure, called in printed.MEASURES.items():
            lines = []
            for labels, name in SERIES.items():
                cells = {math.log2(m): cell for m, cell in m_cells(labels).items()}
                lines += _line(results, cells, score(exam, measure), name)
            if lines:
                title = f"{called.capitalize()} by number of annotators, {where}"
                words = Words("m-curve", title, "", "annotators per image (doubling)", called)
                yield f"{called}, {where}", pictures.curve(words, lines, named=named)


def _by_time(results: Results) -> Iterator[tuple[str, Figure]]:
    cost = Cost()
    votes = {cost.item("hard", m): cell for m, cell in m_cells("10h").items()}
    rich = {cost.item("t2-clamp", m): cell for m, cell in m_cells("t2-clamp").items()}
    varieties = {cost.item(name, PEOPLE): f"{name}/each" for name in VARIETIES}
    varieties[cost.item("t2-clamp", PEOPLE)] = T2_EACH
    for exam, where in printed.EXAMS.items():
        for measure, called in printed.MEASURES.items():
            lines = []
            for cells, name in (
                (votes, SERIES["10h"]),
                (rich, SERIES["t2-clamp"]),
                (varieties, f"shorter forms, {PEOPLE} annotators"),
            ):
                lines += _line(results, cells, score(exam, measure), name)
            if lines:
                title = f"{called.capitalize()} by annotation time, {where}"
                words = Words(
                    "cost-curve", title, "", "seconds of all annotators per image", called
                )
                yield f"{called}, {where}", pictures.curve(words, lines)


def _line(results: Results, cells: Mapping[float, str], name: str, called: str) -> list[Line]:
    """None where nothing was run: one point is no curve."""
    found = {place: mean(results, cell, name) for place, cell in cells.items()}
    points = [(place, one.value, one.low, one.high) for place, one in found.items() if one]
    return [Line(called, *zip(*points, strict=True))] if len(points) > 1 else []


def _reliability(results: Results) -> Iterator[tuple[str, Figure]]:
    for exam, where in printed.EXAMS.items():
        series: dict[str, tuple[list[float], list[float]]] = {}
        for cell in RELIABLE:
            sides = [
                [mean(results, cell, f"{exam}/bin{i}-{side}") for i in range(10)]
                for side in ("said", "right")
            ]
            pairs = [(a.value, b.value) for a, b in zip(*sides, strict=True) if a and b]
            if pairs:
                said, right = zip(*pairs, strict=True)
                series[printed.LABELS[cell]] = list(said), list(right)
        if series:
            title = f"Confidence and accuracy, {where}"
            words = Words("reliability", title, "", "confidence", "accuracy")
            yield where, pictures.reliability(words, series)
