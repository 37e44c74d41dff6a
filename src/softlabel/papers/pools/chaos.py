"""The outside check: ChaosNLI, three classes, almost everything ambiguous."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from softlabel import datasets
from softlabel.aggregate import Dirichlet, DirichletMixture, Softmax, posterior_mean, shares
from softlabel.papers.claims import Ledger, grassberger, kl_star
from softlabel.papers.pools.hard import FLOOR, floored, with_priors
from softlabel.papers.pools.replaying import folds, part_of, replay
from softlabel.tables import Index, Ints, names

BUILD = 60  # of 100 votes; 40 are held out
VOTES = (1, 2, 3, 5, 10, 20, 40)
FOLDS = 2
ONE, MIXTURE = "one Dirichlet, same items", "mixture, same items"


def load() -> tuple[Index, Ints]:
    """SNLI and MNLI together: 3,113 items."""
    parts = [datasets.load(f"chaosnli/{part}") for part in ("snli", "mnli")]
    items = [item for part in parts for item in part.index.items.tolist()]
    index = Index(names(items), names([]), parts[0].index.labels)
    return index, np.concatenate([part.arrays["counts"] for part in parts])


def score(
    index: Index, counts: Ints, seeds: tuple[int, ...], tell: Callable[[str], None]
) -> Ledger:
    """KL* by method and number of votes."""
    ledger = Ledger(tuple(map(str, VOTES)))
    entropies = grassberger(counts)
    for seed in seeds:
        made = replay(index, counts, BUILD, seed)
        evidence = made.votes(BUILD)
        priors = [
            DirichletMixture().fit(part_of(index, rest), evidence[rest])
            for rest, _ in folds(len(evidence), FOLDS, seed)
        ]
        for votes in VOTES:
            tell(f"ChaosNLI, split {seed}: {votes} votes per item")
            n = made.votes(votes)
            found = {
                "share, floor 1e-3": floored(shares(n), FLOOR),
                "softmax, tau = 1": Softmax().rows(n),
                "Jeffreys, + 1/2": shares(n + 0.5),
                ONE: posterior_mean(Dirichlet().fit(index, n), n),
                MIXTURE: posterior_mean(DirichletMixture().fit(index, n), n),
                "mixture, other items": with_priors(n, FOLDS, seed, priors),
            }
            for name, label in found.items():
                ledger.add(name, votes, kl_star(made.share, label, entropies))
    return ledger
