"""A claim of a paper, and the verdict of our runs on it.

A claim is data: where the paper makes it, what it states, the published number, and how ours is
computed.  A verdict compares two intervals, and pages always show both.

``ordering``     a difference with a sign.  *Holds* if ours has the sign, its interval excludes 0,
                 and it is not smaller than the published one beyond both intervals; *smaller* if
                 only that is wrong; *undecided* if our interval includes 0; *contradicted* if ours
                 has the other sign and its interval excludes 0.  A trend (a rank correlation along
                 a curve) is an ordering, too.
``equivalence``  two things are as good as each other to a ``margin``.  *Holds* if two one-sided
                 tests at 5 % exclude a difference of the margin to either side, or to one side
                 where only a loss is limited; *contradicted* if our interval lies beyond the
                 margin; else *undecided*.
``value``        *holds* if the two intervals overlap (``tolerance`` widens the published one), else
                 it *differs*.
``exact``        a fact of the released data; *holds* within the tolerance, else it *differs*.
``measurement``  what the paper leaves open: it is *measured*, and no claim.

A claim is *untested*, with a reason, if nothing was run for it, if fewer than two runs finished, or
if its score is not defined on our runs.

The claims of one family, by default those of one table, are many tests at once: beside every
verdict is its p-value after Holm's correction for them.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from softlabel.metrics import intervals
from softlabel.papers.claims.items import RunScore
from softlabel.papers.claims.results import Results
from softlabel.tables import Score

Kind = Literal["ordering", "equivalence", "value", "exact", "measurement"]
Verdict = Literal[
    "holds", "smaller", "undecided", "contradicted", "differs", "measured", "untested"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
TESTED: tuple[Kind, ...] = ("ordering", "equivalence")
LEVEL = 0.05  # of each of two one-sided tests
FEW = "fewer than two finished runs"
REHEARSAL = "generated pictures and simulated people"
UNDEFINED = "the score is not defined on our runs"


@dataclass(frozen=True)
class Published:
    """A printed number with half the width of its printed interval (None: printed without one).

    ``secondhand`` numbers are known from notes of other people and were never checked.
    ``recounted`` numbers are in no paper: other code counted them in the released files before.
    ``derived`` numbers are arithmetic on printed ones, which no data can contradict.
    """

    value: float
    half: float | None = None
    spread: Literal["ci95", "sd", "none"] = "none"
    secondhand: bool = False
    recounted: bool = False
    derived: bool = False

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
    sign.  ``equivalence``: a difference that is at most ``margin``, on the side of ``direction`` or
    on both.  ``exact``: a number of the released data, to ``tolerance``.  ``ours`` returns None if
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
    margin: float = 0.0

    def __post_init__(self) -> None:
        if self.kind == "ordering" and self.sign == 0:
            raise ValueError(f"{self.id}: an ordering needs a direction or a published difference")
        if self.kind not in TESTED and self.direction is not None:
            raise ValueError(f"{self.id}: only a difference has a direction")
        if (self.kind == "equivalence") != (self.margin > 0):
            raise ValueError(f"{self.id}: an equivalence, and nothing else, needs a margin")

    @property
    def sign(self) -> float:
        """1 if the first is claimed to be above the second, -1 if below, 0 if neither."""
        if self.direction is not None:
            return 1.0 if self.direction == "above" else -1.0
        difference = 0.0 if self.published is None else self.published.value
        return math.copysign(1.0, difference) if difference else 0.0

    @property
    def established(self) -> bool:
        """False for an ordering whose published 95 % interval includes 0: the paper's own runs do
        not decide it."""
        printed = self.published
        if self.kind != "ordering" or printed is None or printed.spread != "ci95":
            return True
        return not printed.low <= 0 <= printed.high


def verdict(claim: Claim, ours: Score | None) -> Verdict:
    """Return the verdict of our number on the claim."""
    if ours is None or not math.isfinite(ours.value):
        return "untested"
    if claim.kind == "measurement":
        return "measured"
    if claim.kind != "exact" and not (math.isfinite(ours.low) and math.isfinite(ours.high)):
        return "untested"
    published, tolerance = claim.published, claim.tolerance
    if claim.kind == "ordering":
        return _judge_ordering(claim, ours)
    if claim.kind == "equivalence":
        return _judge_equivalence(claim, ours)
    if published is None:
        raise ValueError(f"{claim.id}: nothing was published to compare with")
    if claim.kind == "exact":
        return "holds" if abs(ours.value - published.value) <= tolerance else "differs"
    overlap = ours.low <= published.high + tolerance and published.low - tolerance <= ours.high
    return "holds" if overlap else "differs"


def _judge_ordering(claim: Claim, ours: Score) -> Verdict:
    # everything times the claimed sign: the claim is "above 0"
    low, high = sorted((ours.low * claim.sign, ours.high * claim.sign))
    if low <= 0 <= high:
        return "undecided"
    if high < 0:
        return "contradicted"
    least = -math.inf
    if claim.published is not None:
        least = min(claim.published.low * claim.sign, claim.published.high * claim.sign)
    return "holds" if high >= least - claim.tolerance else "smaller"


def _judge_equivalence(claim: Claim, ours: Score) -> Verdict:
    """Judge by two one-sided tests; with a direction only a difference to that side counts."""
    if equivalence_p(claim, ours) < LEVEL:
        return "holds"
    above = ours.low > claim.margin and claim.direction != "below"
    below = ours.high < -claim.margin and claim.direction != "above"
    return "contradicted" if above or below else "undecided"


def equivalence_p(claim: Claim, ours: Score) -> float:
    """Return the larger p-value of the one-sided tests that the difference reaches the margin."""
    sides = {"above": [1.0], "below": [-1.0], None: [1.0, -1.0]}[claim.direction]
    largest = 0.0
    for side in sides:
        inside = (ours.value - side * claim.margin) * side < 0
        p = _p_value(ours, side * claim.margin)
        largest = max(largest, p / 2 if inside else 1 - p / 2)
    return largest


def _p_value(ours: Score, at: float) -> float:
    """Return the two-sided p-value; an interval of unknown freedom is taken for a normal one."""
    known = isinstance(ours, RunScore) and not math.isnan(ours.freedom)
    score = ours if known else RunScore(ours.value, ours.low, ours.high, ours.n, freedom=math.inf)
    assert isinstance(score, RunScore), "it is one, or was made one"
    return score.p_value(at)


@dataclass(frozen=True, eq=False)
class Judged:
    """A claim with our number and its verdict; ``reason`` explains why it is untested.

    ``p`` is the p-value of its test, and ``holm`` the same corrected for its family.
    """

    claim: Claim
    ours: Score | None
    verdict: Verdict
    reason: str = ""
    p: float = math.nan
    holm: float = math.nan


def judge(claim: Claim, results: Results) -> Judged:
    """Compute our number and judge the claim by it."""
    ours = claim.ours(results)
    outcome = verdict(claim, ours)
    if outcome != "untested":
        p = math.nan
        if ours is not None and claim.kind == "ordering":
            p = _p_value(ours, 0.0)
        elif ours is not None and claim.kind == "equivalence":
            p = equivalence_p(claim, ours)
        return Judged(claim, ours, outcome, p=p)
    if ours is None:
        return Judged(claim, ours, outcome, claim.reason or FEW)
    one_run = ours.n == 1 and math.isfinite(ours.value)
    return Judged(claim, ours, outcome, FEW if one_run else UNDEFINED)


def judge_all(claims: Iterable[Claim], results: Results) -> list[Judged]:
    """Judge claims, and correct the p-values of each family, the claims of one place."""
    judged = [judge(claim, results) for claim in claims]
    families: dict[str, list[int]] = {}
    for number, one in enumerate(judged):
        if not math.isnan(one.p):
            families.setdefault(one.claim.where, []).append(number)
    for rows in families.values():
        for number, p in zip(rows, _holm([judged[one].p for one in rows]), strict=True):
            judged[number] = replace(judged[number], holm=p)
    return judged


def _holm(p_values: Sequence[float]) -> list[float]:
    return [float(p) for p in intervals.holm(p_values)]  # type: ignore[arg-type]


def rehearse(claim: Claim, results: Results) -> Judged:
    """Compute our number on generated data: that shows that it can be computed, and no more."""
    return Judged(claim, claim.ours(results), "untested", REHEARSAL)


def count(judgements: Iterable[Judged]) -> dict[Verdict, int]:
    """Count how many claims have each verdict."""
    counter = Counter(one.verdict for one in judgements)
    return {verdict: counter[verdict] for verdict in VERDICTS}
