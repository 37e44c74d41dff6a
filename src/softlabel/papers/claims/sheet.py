"""Findings as tables of text: each claim with its verdict, how many hold, what was scored."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from softlabel.metrics import evaluate
from softlabel.papers.claims.claims import VERDICTS, Claim, Judged, Kind, Recipe, count
from softlabel.papers.claims.findings import Findings
from softlabel.papers.claims.results import Results
from softlabel.papers.claims.scoring import Table
from softlabel.tables import Score

CALLED: dict[Recipe, str] = {
    "data": "released data",
    "cpu": "small network",
    "features": "frozen features",
    "paper": "the paper's network",
}
OTHERS: tuple[Recipe, ...] = ("cpu", "features")  # that train another network than the paper's


# ── saying numbers ───────────────────────────────────────────────────────────────────────────


def number(value: float, digits: int | None = None) -> str:
    """With as many decimals as its size deserves, or as told.

    >>> number(0.12345), number(12.345), number(6723.0), number(-2e-5), number(float("nan"))
    ('0.123', '12.3', '6723', '−0.00002', '–')
    """
    if not math.isfinite(value):
        return "–"
    return f"{value:.{decimals(value) if digits is None else digits}f}".replace("-", "−")


def decimals(value: float) -> int:
    """Three of a number below ten, more of a very small one, none of a whole one."""
    if abs(value) >= 10:
        return 0 if value == round(value) else 1
    return 5 if 0 < abs(value) < 0.001 else 3


def bare(value: float) -> str:
    """A number without an interval: a whole one is a count."""
    return number(value, 0 if float(value).is_integer() else None)


def printed(claim: Claim) -> str:
    """What was published: 1.11 ± 0.02."""
    there = claim.published
    if there is None:
        return "–" if claim.direction is None else f"{claim.direction} 0"
    mark = " (second-hand)" if there.secondhand else ""
    if there.half is None:
        return f"{bare(there.value)}{mark}"
    digits = max(decimals(there.value), 1)
    kind = " sd" if there.spread == "sd" else ""
    return f"{number(there.value, digits)} ± {number(there.half, digits)}{kind}{mark}"


def ours(score: Score | None) -> str:
    """Our number with its interval and n."""
    if score is None or not math.isfinite(score.value):
        return "–"
    if score.low == score.high or not math.isfinite(score.low):
        return f"{bare(score.value)} n={score.n}"
    digits = max(decimals(score.value), 1)
    ends = (number(x, digits) for x in (score.value, score.low, score.high))
    return "{} [{}, {}] n={}".format(*ends, score.n)


# ── tables ───────────────────────────────────────────────────────────────────────────────────


def claim_table(title: str, judgements: Sequence[Judged]) -> Table:
    """One recipe, for a terminal: what is long stands last."""
    rows: list[tuple[str, ...]] = [
        (one.verdict, printed(one.claim), ours(one.ours), one.claim.where, one.claim.says)
        for one in judgements
    ]
    return Table(title, ("verdict", "published", "ours", "where", "what it says"), rows)


PLAIN: dict[Kind, str] = {"exact": "facts", "ordering": "orderings", "value": "numbers"}
RECOUNTS = "counts that are in no paper"
KINDS = (*PLAIN.values(), RECOUNTS)


def kind_of(claim: Claim) -> str:
    """Which table a claim stands in."""
    if claim.published is not None and claim.published.recounted:
        return RECOUNTS
    return PLAIN[claim.kind]


def of_kind(claims: Mapping[Recipe, Sequence[Judged]], kind: str) -> dict[Recipe, list[Judged]]:
    """The claims of one kind, of every recipe that has any."""
    some = {
        key: [one for one in every if kind_of(one.claim) == kind] for key, every in claims.items()
    }
    return {recipe: judgements for recipe, judgements in some.items() if judgements}


def columns_of(kind: str, recipes: Iterable[Recipe]) -> tuple[str, ...]:
    """What stands above a table of claims."""
    before = "counted before" if kind == RECOUNTS else "published"
    return ("where", "what it says", before, *(CALLED[recipe] for recipe in recipes))


def rows_of(
    claims: Mapping[Recipe, Sequence[Judged]],
) -> list[tuple[Claim, list[Judged | None]]]:
    """A row per claim, with what each recipe says of it, or None."""
    rows: dict[str, Claim] = {}
    cells: dict[tuple[str, Recipe], Judged] = {}
    for recipe, judgements in claims.items():
        for one in judgements:
            rows.setdefault(one.claim.id, one.claim)
            cells[one.claim.id, recipe] = one
    return [(claim, [cells.get((key, each)) for each in claims]) for key, claim in rows.items()]


def side_by_side(kind: str, claims: Mapping[Recipe, Sequence[Judged]]) -> Table:
    """All recipes: a claim per row, the verdict and ours of each recipe in its column."""
    table: list[tuple[str, ...]] = [
        (*_said(claim), *map(_cell, judgements)) for claim, judgements in rows_of(claims)
    ]
    return Table(kind.capitalize(), columns_of(kind, claims), table)


def _cell(one: Judged | None) -> str:
    if one is None:
        return "–"
    said = ours(one.ours)
    return one.verdict if said == "–" else f"{one.verdict}: {said}"


def _said(claim: Claim) -> tuple[str, str, str]:
    return claim.where, claim.says, printed(claim)


def summary(found: Findings) -> Table:
    """How many claims of each kind hold, by what they were judged by."""
    rows: list[tuple[str, ...]] = []
    for recipe, every in found.judged.items():
        runs = {one.run for one in found.results[recipe].all} if recipe in found.results else ()
        for kind in KINDS:
            if some := [one for one in every if kind_of(one.claim) == kind]:
                counted = [str(count(some)[one]) for one in VERDICTS]
                rows.append((CALLED[recipe], kind, str(len(runs) or "–"), *counted))
    return Table(found.paper.TITLE, ("judged by", "claims", "runs", *VERDICTS), rows)


def in_words(judgements: Sequence[Judged]) -> str:
    """``5 hold, 1 weaker, 2 fail, 3 untested of 11``."""
    counted = count(judgements)
    names = {"holds": "hold", "fails": "fail"}
    parts = [f"{counted[one]} {names.get(one, one)}" for one in VERDICTS]
    return f"{', '.join(parts)}, of {len(judgements)}"


def failing(found: Findings) -> list[str]:
    """What did not hold, plainly: facts and orderings one by one.

    Counted are numbers of another network than the paper's, which depend on it, and orderings that
    what was published does not show either.
    """
    told = []
    for recipe, judgements in found.judged.items():
        wrong = [one for one in judgements if one.verdict == "fails"]
        numbers = [one for one in wrong if one.claim.kind == "value" and recipe in OTHERS]
        unsure = [one for one in wrong if _may_be_0(one.claim)]
        told += [_failed(one, recipe) for one in wrong if one not in (*numbers, *unsure)]
        if unsure:
            are = "ordering is" if len(unsure) == 1 else "orderings are"
            told.append(
                f"{len(unsure)} {are} the other way round of which the published "
                f"difference is within its own interval ({CALLED[recipe]}): {_at(unsure)}."
            )
        if numbers:
            tested = [one for one in judgements if one.claim.kind == "value"]
            tested = [one for one in tested if one.verdict != "untested"]
            lie = "lies" if len(numbers) == 1 else "lie"
            told.append(
                f"{len(numbers)} of {len(tested)} numbers {lie} outside the published intervals "
                f"({CALLED[recipe]}, which is not the paper's network): {_at(numbers)}."
            )
    return told


def _failed(one: Judged, recipe: Recipe) -> str:
    said = one.claim.says.rstrip(".")
    return (
        f"{one.claim.where}: {said}. Published {printed(one.claim)}; ours {ours(one.ours)} "
        f"({CALLED[recipe]})."
    )


def _may_be_0(claim: Claim) -> bool:
    """An ordering of which the published 95 % interval does not exclude 0."""
    there = claim.published
    if claim.kind != "ordering" or there is None or there.spread != "ci95":
        return False
    return there.low <= 0 <= there.high


def _at(judgements: Sequence[Judged]) -> str:
    return _some([one.claim.where for one in judgements])


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


def tables_of(found: Findings) -> list[tuple[Recipe, Table]]:
    """As the paper lays them out; else what was scored, recipe by recipe."""
    return found.tables() or [
        (recipe, score_table("What was scored", results))
        for recipe, results in found.results.items()
    ]


def score_table(title: str, results: Results, names: Sequence[str] = evaluate.DEFAULT) -> Table:
    """Every cell: how many runs, and its scores over seeds."""
    kept = [name for name in names if any(name in one.scores for one in results.all)]
    rows: list[tuple[str, ...]] = []
    for cell in results.cells:
        runs = sum(one.cell == cell for one in results.all)
        rows.append((cell, str(runs), *(_over_seeds(results, cell, name) for name in kept)))
    return Table(title, ("cell", "runs", *kept), rows)


def _over_seeds(results: Results, cell: str, name: str) -> str:
    return ours(results.mean(cell, name)).partition(" n=")[0]
