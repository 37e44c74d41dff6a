"""A claim is data: where it stands, what it says, what was published, how ours is computed.

A verdict compares two intervals and states both: it *holds* where they overlap (and, of an
ordering, the direction is the same), is *weaker* where only the direction is the same, *fails*
otherwise, and is *untested*, with a reason, where nothing was run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from softlabel.reproduce.results import Results
from softlabel.tables import Score

Kind = Literal["value", "ordering", "exact"]
Verdict = Literal["holds", "weaker", "fails", "untested"]
Recipe = Literal["paper", "cpu", "features", "data"]  # "data": nothing is trained


@dataclass(frozen=True)
class Published:
    """A printed number with half the width of its printed interval (None: printed without).

    ``secondhand`` numbers are known from other people's notes and were never checked.
    """

    value: float
    half: float | None = None
    spread: Literal["ci95", "sd", "none"] = "none"
    secondhand: bool = False

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
    is the claim; ``published`` is the printed difference.  ``exact``: a number of the released data,
    to ``tolerance``.  ``ours`` returns None where nothing was run, and ``reason`` says why.
    """

    id: str
    where: str
    says: str
    kind: Kind
    ours: Callable[[Results], Score | None]
    published: Published | None = None
    tolerance: float = 0.0
    reason: str = ""


def verdict(claim: Claim, ours: Score | None) -> Verdict:
    """What our number says of the claim."""
    if ours is None:
        return "untested"
    if claim.published is None:
        raise ValueError(f"{claim.id}: nothing was published to compare with")
    there = claim.published
    if claim.kind == "exact":
        return "holds" if abs(ours.value - there.value) <= claim.tolerance else "fails"
    overlap = ours.low <= there.high + claim.tolerance and there.low - claim.tolerance <= ours.high
    if claim.kind == "value":
        return "holds" if overlap else "fails"
    if ours.value * there.value <= 0:
        return "fails"
    return "holds" if overlap else "weaker"
