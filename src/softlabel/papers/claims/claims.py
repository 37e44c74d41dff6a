"""A claim of a paper, and the verdict of our runs on it.

A claim is data: where the paper makes it, what it states, the published number, and how ours is
computed.  A verdict compares two intervals, and pages always show both.

``value``     *holds* if the two intervals overlap (``tolerance`` widens the published one), else
              *fails*.
``ordering``  *fails* if our difference has the other sign.  *Holds* if our interval excludes 0 and
              our difference is not smaller than the published one (the intervals overlap, or ours
              lies beyond).  Else it is *weaker*: only the direction is the same.
``exact``     *holds* within the tolerance, else *fails*.

A claim is *untested*, with a reason, if nothing was run for it, if fewer than two runs finished, or
if its score is not defined on our runs.
"""

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
FEW = "fewer than two finished runs"
REHEARSAL = "generated pictures and simulated people"
UNDEFINED = "the score is not defined on our runs"


@dataclass(frozen=True)
class Published:
    """A printed number with half the width of its printed interval (None: printed without one).

    ``secondhand`` numbers are known from notes of other people and were never checked.
    ``recounted`` numbers are in no paper: other code counted them in the released files before.
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
    """One sentence of a paper that can be compared with our runs.

    ``value``: the number itself.  ``ordering``: a difference, first minus second, whose sign is the
    claim; ``published`` is the printed difference or, if none was printed, ``direction`` is the
    sign.  ``exact``: a number of the released data, to ``tolerance``.  ``ours`` returns None if
    nothing was run; ``reason`` then explains why.
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
            raise ValueError(f"{self.id}: an ordering needs a direction or a published difference")
        if self.kind != "ordering" and self.direction is not None:
            raise ValueError(f"{self.id}: only an ordering has a direction")

    @property
    def sign(self) -> float:
        """1 if the first is claimed to be above the second, -1 if below, 0 if neither."""
        if self.direction is not None:
            return 1.0 if self.direction == "above" else -1.0
        difference = 0.0 if self.published is None else self.published.value
        return math.copysign(1.0, difference) if difference else 0.0


def verdict(claim: Claim, ours: Score | None) -> Verdict:
    """Return the verdict of our number on the claim."""
    if ours is None or not math.isfinite(ours.value):
        return "untested"
    if claim.kind != "exact" and not (math.isfinite(ours.low) and math.isfinite(ours.high)):
        return "untested"
    published, tolerance = claim.published, claim.tolerance
    if claim.kind == "ordering":  # everything times the claimed sign: the claim is "above 0"
        low, high = sorted((ours.low * claim.sign, ours.high * claim.sign))
        if ours.value * claim.sign <= 0:
            return "fails"
        least = -math.inf
        if published is not None:
            least = min(published.low * claim.sign, published.high * claim.sign)
        return "holds" if low > 0 and high >= least - tolerance else "weaker"
    if published is None:
        raise ValueError(f"{claim.id}: nothing was published to compare with")
    if claim.kind == "exact":
        return "holds" if abs(ours.value - published.value) <= tolerance else "fails"
    overlap = ours.low <= published.high + tolerance and published.low - tolerance <= ours.high
    return "holds" if overlap else "fails"


@dataclass(frozen=True, eq=False)
class Judged:
    """A claim with our number and its verdict; ``reason`` explains why it is untested."""

    claim: Claim
    ours: Score | None
    verdict: Verdict
    reason: str = ""


def judge(claim: Claim, results: Results) -> Judged:
    """Compute our number and judge the claim by it."""
    ours = claim.ours(results)
    outcome = verdict(claim, ours)
    if outcome != "untested":
        return Judged(claim, ours, outcome)
    if ours is None:
        return Judged(claim, ours, outcome, claim.reason or FEW)
    one_run = ours.n == 1 and math.isfinite(ours.value)
    return Judged(claim, ours, outcome, FEW if one_run else UNDEFINED)


def rehearse(claim: Claim, results: Results) -> Judged:
    """Compute our number on generated data: that shows that it can be computed, and no more."""
    return Judged(claim, claim.ours(results), "untested", REHEARSAL)


def count(judgements: Iterable[Judged]) -> dict[Verdict, int]:
    """Count how many hold, are weaker, fail and are untested."""
    counter = Counter(one.verdict for one in judgements)
    return {verdict: counter[verdict] for verdict in VERDICTS}
