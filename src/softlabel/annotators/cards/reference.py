"""What people are held against: gold, a truth posterior, or what the others said."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softlabel.errors import DataError
from softlabel.tables import ESTIMATES, Bools, Floats, Ints, SoftLabels

CONSENSUS = "the mean of the other people's labels (leave-one-out consensus)"


@dataclass(frozen=True, eq=False)
class Reference:
    """``words`` say what it is; ``probs`` (m, k) hold it, NaN where it is not known.  Without
    ``probs`` it is the consensus of the others, which is another one for every person."""

    words: str = CONSENSUS
    probs: Floats | None = None

    def rows(self, item: Ints, others: Floats) -> tuple[Floats, Bools]:
        """(r, k) the reference of answers to these items, and (r,) where it is known."""
        found = others if self.probs is None else self.probs[item]
        known: Bools = ~np.isnan(found[:, 0]) & (found.sum(axis=1) > 0)
        return found, known


def reference_of(classes: int, gold: Ints | None, pooled: SoftLabels | None) -> Reference:
    """The truth posterior if there is one, else gold, else the consensus."""
    if pooled is not None:
        if pooled.estimand != "truth":
            raise DataError(
                f"people cannot be held against {pooled.made_by}: it estimates "
                f"{ESTIMATES[pooled.estimand]}, and their own answers are in it; without it they "
                "are held against what the others said"
            )
        with_gold = "" if gold is None else f", {_known(gold)} fixed"
        words = f"the truth posterior of {pooled.made_by}, own answers included{with_gold}"
        return Reference(words, pooled.probs)
    if gold is None:
        return Reference()
    known = np.flatnonzero(gold >= 0)
    probs = np.full((len(gold), classes), np.nan)
    probs[known] = 0
    probs[known, gold[known]] = 1
    return Reference(f"gold ({_known(gold)})", probs)


def _known(gold: Ints) -> str:
    n = int((gold >= 0).sum())
    return f"{n:,} item{'' if n == 1 else 's'}"
