"""What Gheibi & Ghazizadeh 2026 says that needs no training.

The identity behind the paper on the votes themselves, and what its p-values can say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from softlabel.metrics import intervals
from softlabel.papers.claims import Claim, Kind
from softlabel.papers.gheibi2026 import comparing as ours
from softlabel.papers.gheibi2026 import data, identity, published
from softlabel.papers.gheibi2026.claims import SPARSE
from softlabel.papers.gheibi2026.published import heard
from softlabel.tables import Score


def facts() -> Sequence[Claim]:
    """The identity behind the paper, on the votes themselves, and what its p-values can say."""
    where = "proposition 1"
    return [
        _fact(
            "round-loss",
            where,
            "over a round of multipass the mean loss is the soft loss, item by item (largest gap)",
            lambda: identity.round_loss(data.known()),
            exact=1e-9,
        ),
        _fact(
            "round-gradient",
            where,
            "over a round of multipass the mean gradient is the soft one (largest gap)",
            lambda: identity.round_gradient(data.known()),
            exact=1e-12,
        ),
        _fact(
            "drawn-loss",
            where,
            "the mean loss of SLS minus the soft loss, 300 epochs drawn",
            lambda: identity.drawn_loss(data.known()),
        ),
        _fact(
            "drawn-variance",
            where,
            "the mean square of SLS's gradient noise minus 1 - |p|^2, 300 epochs drawn",
            lambda: identity.drawn_variance(data.known()),
        ),
        Claim(
            "variance-entropy",
            "gradient variance",
            "the gradient's variance goes with people's entropy (Spearman over items); ours is "
            "that at the logits, 1 - |p|^2, theirs was measured on a network, and how is not known",
            "value",
            lambda results: identity.variance_and_entropy(data.known().pooled),
            heard(published.VARIANCE_ENTROPY),
        ),
        Claim(
            "smallest-p",
            SPARSE,
            "the smallest one-sided p of Wilcoxon's test with five pairs; printed in 9 of 12 cells",
            "exact",
            lambda results: _plain(_smallest_p(5), 5),
            heard(0.031),
            0.0005,
        ),
        Claim(
            "holm",
            SPARSE,
            "of the 12 printed p-values 9 are below .05; after Holm's correction there are none",
            "exact",
            lambda results: _plain(ours.surviving(published.p_values()), 12),
            heard(0),
        ),
    ]


def _fact(
    id: str, where: str, says: str, of: Callable[[], Score], exact: float | None = None
) -> Claim:
    """Something that must be 0: exactly, or within its interval."""
    kind: Kind = "value" if exact is None else "exact"
    return Claim(id, where, says, kind, lambda results: of(), heard(0), exact or 0.0)


def _smallest_p(pairs: int) -> float:
    """All differences on one side."""
    gains = np.arange(1.0, pairs + 1)
    return intervals.paired_wilcoxon(-gains, 0 * gains, "less")


def _plain(value: float, n: int) -> Score:
    return Score(float(value), float(value), float(value), n)
