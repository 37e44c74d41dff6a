"""Findings as tables of text: each claim with its verdict, how many hold, what was scored."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from softlabel.evaluate import DEFAULT
from softlabel.reproduce.claims import VERDICTS, Claim, Judged, Recipe, count
from softlabel.reproduce.findings import Findings
from softlabel.reproduce.results import Results
from softlabel.reproduce.scoring import Table
from softlabel.tables import Score

CALLED: dict[Recipe, str] = {
    "data": "released data",
    "cpu": "small network",
    "features": "frozen features",
    "paper": "the paper's network",
}


# ── saying numbers ───────────────────────────────────────────────────────────────────────────


def number(value: float) -> str:
    """Short, and with as many decimals as its size deserves.

    >>> number(0.12345), number(12.345), number(6723.0), number(-1e-5), number(float("nan"))
    ('0.123', '12.3', '6723', '−1e-05', '–')
    """
    if not math.isfinite(value):
        return "–"
    if value == round(value) and abs(value) >= 10:
        return f"{value:.0f}".replace("-", "−")
    if 0 < abs(value) < 0.001:
        return f"{value:.2g}".replace("-", "−", 1)
    digits = 3 if abs(value) < 10 else 1
    return f"{value:.{digits}f}".replace("-", "−")


def printed(claim: Claim) -> str:
    """What was published: 1.11 ± 0.02."""
    there = claim.published
    if there is None:
        return "–" if claim.direction is None else f"{claim.direction} 0"
    half = "" if there.half is None else f" ± {number(there.half)}"
    kind = " sd" if there.spread == "sd" and half else ""
    return f"{number(there.value)}{half}{kind}{' (second-hand)' if there.secondhand else ''}"


def ours(score: Score | None) -> str:
    """Our number with its interval and n."""
    if score is None or not math.isfinite(score.value):
        return "–"
    exact = score.low == score.high or not math.isfinite(score.low)
    ends = "" if exact else f" [{number(score.low)}, {number(score.high)}]"
    return f"{number(score.value)}{ends} n={score.n}"


# ── tables ───────────────────────────────────────────────────────────────────────────────────


def claim_table(title: str, judgements: Sequence[Judged]) -> Table:
    """One recipe: where, what it says, published, ours, verdict."""
    rows: list[tuple[str, ...]] = [
        (*_said(one.claim), ours(one.ours), one.verdict) for one in judgements
    ]
    return Table(title, ("where", "what it says", "published", "ours", "verdict"), rows)


def side_by_side(title: str, claims: Mapping[Recipe, Sequence[Judged]]) -> Table:
    """All recipes: a claim per row, ours and the verdict of each recipe in its column."""
    rows: dict[str, Claim] = {}
    cells: dict[tuple[str, Recipe], str] = {}
    for recipe, judgements in claims.items():
        for one in judgements:
            rows.setdefault(one.claim.id, one.claim)
            shown = "" if one.verdict == "untested" else f": {ours(one.ours)}"
            cells[one.claim.id, recipe] = f"{one.verdict}{shown}"
    table: list[tuple[str, ...]] = [
        (*_said(claim), *(cells.get((key, recipe), "–") for recipe in claims))
        for key, claim in rows.items()
    ]
    columns = ("where", "what it says", "published", *(CALLED[recipe] for recipe in claims))
    return Table(title, columns, table)


def _said(claim: Claim) -> tuple[str, str, str]:
    return claim.where, claim.says, printed(claim)


def summary(found: Findings) -> Table:
    """How many claims hold, by what they were judged by."""
    rows: list[tuple[str, ...]] = []
    for recipe, judgements in found.judged.items():
        counted = count(judgements)
        runs = len(found.results[recipe].all) if recipe in found.results else None
        shown = "–" if runs is None else str(runs)
        rows.append((CALLED[recipe], shown, *(str(counted[one]) for one in VERDICTS)))
    return Table(found.paper.TITLE, ("judged by", "runs", *VERDICTS), rows)


def in_words(judgements: Sequence[Judged]) -> str:
    """``5 hold, 1 weaker, 2 fail, 3 untested of 11``."""
    counted = count(judgements)
    names = {"holds": "hold", "fails": "fail"}
    parts = [f"{counted[one]} {names.get(one, one)}" for one in VERDICTS]
    return f"{', '.join(parts)}, of {len(judgements)}"


def failing(found: Findings) -> list[str]:
    """What did not hold, plainly, a sentence each."""
    told = []
    for recipe, judgements in found.judged.items():
        for one in judgements:
            if one.verdict == "fails":
                there = printed(one.claim)
                told.append(
                    f"{one.claim.where}: {one.claim.says.rstrip('.')}. Published {there}; ours "
                    f"{ours(one.ours)} ({CALLED[recipe]})."
                )
    return told


def reasons(found: Findings) -> list[str]:
    """Why claims are untested: each reason once, with what it is said of."""
    by: dict[tuple[Recipe, str], list[str]] = {}
    for recipe, judgements in found.judged.items():
        for one in judgements:
            if one.verdict == "untested":
                by.setdefault((recipe, one.reason), []).append(one.claim.where)
    return [
        f"{reason} ({CALLED[recipe]}; {len(where)}: {_some(where)})"
        for (recipe, reason), where in by.items()
    ]


def _some(where: Sequence[str], most: int = 4) -> str:
    different = list(dict.fromkeys(where))
    return "; ".join(different[:most]) + ("; …" if len(different) > most else "")


def score_table(title: str, results: Results, names: Sequence[str] = DEFAULT) -> Table:
    """Every cell: how many runs, and its scores over seeds."""
    kept = [name for name in names if any(name in one.scores for one in results.all)]
    rows: list[tuple[str, ...]] = []
    for cell in results.cells:
        runs = sum(one.cell == cell for one in results.all)
        rows.append((cell, str(runs), *(_over_seeds(results, cell, name) for name in kept)))
    return Table(title, ("cell", "runs", *kept), rows)


def _over_seeds(results: Results, cell: str, name: str) -> str:
    score = results.mean(cell, name)
    if score is not None:
        return ours(score).rpartition(" n=")[0] or "–"
    values = results.values(cell, name)
    return number(float(values[0])) if len(values) else "–"
