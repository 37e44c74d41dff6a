"""A claim is data: where it stands, what it says, what was published, how ours is computed.

A verdict compares two intervals, and both are always shown with it.

``value``     *holds* where the two intervals overlap (``tolerance`` widens the published one),
              else *fails*.
``ordering``  *fails* where the sign of the difference is another; *holds* where our interval
              excludes 0 and our difference is not smaller than the published one (the intervals
              overlap, or ours is beyond it); else it is *weaker*: the same direction only.
``exact``     *holds* within the tolerance, else *fails*.

*Untested*, with a reason, is what nothing was run for, or fewer than two runs, or a number that is
not defined on our runs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from softlabel.papers.claims.results import Results
from softlabel.tables import Score

Kind = Literal["value", "ordering", "exact"]
Verdict = Literal["holds", "weaker", "fails", "untested"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
Recipe = Literal["paper", "cpu", "features", "data"]  # "data": nothing is trained
RECIPES: tuple[Recipe, ...] = ("cpu", "features", "paper")  # those that train
FEW = "fewer than two finished runs"
REHEARSAL = "made-up pictures and people"
UNDEFINED = "the score is not defined on our runs"


@dataclass(frozen=True)
class Published:
    """A printed number with half the width of its printed interval (None: printed without).

    ``secondhand`` numbers are known from other people's notes and were never checked.  Those
    ``recounted`` are in no paper: they were counted in the released files before, by other code.
    """

    value: float
    half: float | None = None
    spread: Literal["ci95", "sd", "none"] = "none"
    secondhand: bool = False
    recounted: bool = False

    @property
    def low(self) -> float:
        return self.value - (self.half or 0.0)

    @property
    def high(self) -> float:
        return self.value + (self.half or 0.0)


@dataclass(frozen=True, eq=False)
class Claim:
    """One sentence of a paper that can be held against our runs.

    ``value``: the number itself.  ``ordering``: a difference first minus second, of which the sign
    is the claim; ``published`` is the printed difference or, where none was printed, ``direction``
    says which sign.  ``exact``: a number of the released data, to ``tolerance``.  ``ours`` returns
    None where nothing was run, and ``reason`` says why.
    """

    id: str
    where: str
    says: str
    kind: Kind
    ours: Callable[[Results], Score | None]
    published: Published | None = None
    tolerance: float = 0.0
    reason: str = ""
    direction: Literal["below", "above"] | None = None

    def __post_init__(self) -> None:
        if self.kind == "ordering" and self.sign == 0:
            raise ValueError(f"{self.id}: an ordering needs a direction, or a difference that has")
        if self.kind != "ordering" and self.direction is not None:
            raise ValueError(f"{self.id}: only an ordering has a direction")

    @property
    def sign(self) -> float:
        """1 where the first is above the second, -1 below, 0 where nothing says so."""
        if self.direction is not None:
            return 1.0 if self.direction == "above" else -1.0
        there = 0.0 if self.published is None else self.published.value
        return math.copysign(1.0, there) if there else 0.0


def verdict(claim: Claim, ours: Score | None) -> Verdict:
    """What our number says of the claim."""
    if ours is None or not math.isfinite(ours.value):
        return "untested"
    if claim.kind != "exact" and not (math.isfinite(ours.low) and math.isfinite(ours.high)):
        return "untested"
    if claim.kind == "ordering":
        return _ordered(claim, ours)
    if claim.published is None:
        raise ValueError(f"{claim.id}: nothing was published to compare with")
    there, room = claim.published, claim.tolerance
    if claim.kind == "exact":
        return "holds" if abs(ours.value - there.value) <= room else "fails"
    overlap = ours.low <= there.high + room and there.low - room <= ours.high
    return "holds" if overlap else "fails"


def _ordered(claim: Claim, ours: Score) -> Verdict:
    """All turned so that the claim says "above 0"."""
    sign = claim.sign
    if ours.value * sign <= 0:
        return "fails"
    low, high = sorted((ours.low * sign, ours.high * sign))
    enough = True
    if claim.published is not None:
        least = min(claim.published.low * sign, claim.published.high * sign)
        enough = high >= least - claim.tolerance
    return "holds" if low > 0 and enough else "weaker"


@dataclass(frozen=True, eq=False)
class Judged:
    """A claim held against the runs of one recipe; ``reason`` is why it is untested."""

    claim: Claim
    ours: Score | None
    verdict: Verdict
    reason: str = ""


def judged(claim: Claim, results: Results) -> Judged:
    """Our number and what it says."""
    ours = claim.ours(results)
    said = verdict(claim, ours)
    reason = ""
    if said == "untested":
        reason = _why(claim, ours)
    return Judged(claim, ours, said, reason)


def _why(claim: Claim, ours: Score | None) -> str:
    """Nothing to say it with, one run, which has no interval, or a number that is none."""
    if ours is None:
        return claim.reason or FEW
    return FEW if ours.n == 1 and math.isfinite(ours.value) else UNDEFINED


def rehearsed(claim: Claim, results: Results) -> Judged:
    """Our number on made-up data: it shows that the claim can be computed, and says nothing."""
    return Judged(claim, claim.ours(results), "untested", REHEARSAL)


def count(judgements: Iterable[Judged]) -> dict[Verdict, int]:
    """How many hold, are weaker, fail, are untested."""
    found = Counter(one.verdict for one in judgements)
    return {verdict: found[verdict] for verdict in VERDICTS}
