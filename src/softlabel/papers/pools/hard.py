"""Pools of votes, judged by votes held out: CIFAR-10H."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from softlabel.aggregate import (
    Atoms,
    Dirichlet,
    DirichletMixture,
    Prior,
    Softmax,
    posterior_mean,
    search,
    shares,
)
from softlabel.metrics import cross_entropy, entropy_pearson, kl, total_variation
from softlabel.papers.claims import Ledger, grassberger, kl_star
from softlabel.papers.pools.replaying import Replay, crossed, folds, part_of, replay
from softlabel.tables import Bools, Floats, Index, Ints

BUILD = 26  # votes that may be used
CLIP, FLOOR = 1e-12, 1e-3
FITS: dict[str, Callable[[Index, Floats], Prior]] = {
    "one Dirichlet": Dirichlet().fit,
    "mixture, 1 level": DirichletMixture(levels=1).fit,
    "mixture, 3 levels": DirichletMixture(levels=3).fit,
    "atoms": Atoms().fit,
}


@dataclass(frozen=True, eq=False)
class Population:
    """Images whose votes are replayed: ``folds`` for priors of other images, ``seeds`` of splits,
    ``votes`` per image that are tried."""

    name: str
    index: Index
    counts: Ints
    folds: int
    seeds: tuple[int, ...]
    votes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class HardScores:
    """KL, KL* and total variation by method and number of votes; entropy correlation too."""

    kl: Ledger
    kl_star: Ledger
    tv: Ledger
    entropy_r: dict[str, dict[str, list[float]]]


def score(population: Population, tell: Callable[[str], None]) -> HardScores:
    """All methods, all numbers of votes, all splits."""
    columns = tuple(map(str, population.votes))
    scores = HardScores(Ledger(columns), Ledger(columns), Ledger(columns), {})
    entropies = grassberger(population.counts)
    for seed in population.seeds:
        made = replay(population.index, population.counts, BUILD, seed)
        priors = other_priors(made, population.folds, seed, tell)
        for votes in population.votes:
            tell(f"{population.name}, split {seed}: {votes} votes per image")
            for name, label in _labels(made, votes, population, seed, priors).items():
                scores.kl.add(name, votes, kl(made.share, label))
                scores.kl_star.add(name, votes, kl_star(made.share, label, entropies))
                scores.tv.add(name, votes, total_variation(made.share, label))
                by_votes = scores.entropy_r.setdefault(name, {}).setdefault(str(votes), [])
                by_votes.append(entropy_pearson(made.share, label))
    return scores


def other_priors(
    made: Replay, number: int, seed: int, tell: Callable[[str], None]
) -> dict[str, list[Prior]]:
    """Each prior fitted to the votes of the images outside each fold."""
    evidence = made.votes(BUILD)
    found: dict[str, list[Prior]] = {}
    for name, fit in FITS.items():
        tell(f"split {seed}: {name}, fitted to other images")
        found[name] = [
            fit(part_of(made.index, rest), evidence[rest])
            for rest, _ in folds(len(evidence), number, seed)
        ]
    return found


def _labels(
    made: Replay, votes: int, population: Population, seed: int, priors: dict[str, list[Prior]]
) -> dict[str, Floats]:
    """Each method's labels."""
    n = made.votes(votes)
    items, k = n.shape
    found = {
        "share, floor 1e-12": floored(shares(n), CLIP),
        "share, floor 1e-3": floored(shares(n), FLOOR),
        "softmax, tau = 1": Softmax().rows(n),
        "softmax, tau fitted": crossed(
            items, population.folds, seed, lambda r, t: _softmax(made, n, r, t)
        ),
    }
    found["Jeffreys, + 1/2"] = shares(n + 0.5)
    found["Perks, + 1/k"] = shares(n + 1 / k)
    for name, fit in FITS.items():
        found[f"{name}, other images"] = with_priors(n, population.folds, seed, priors[name])
        if votes > 1:  # one vote per item cannot tell how far items differ
            found[f"{name}, same images"] = posterior_mean(fit(made.index, n), n)
    return found


def floored(label: Floats, floor: float) -> Floats:
    """(m, k) labels in which no chance is below the floor, scaled to sum to 1."""
    return shares(np.maximum(label, floor))


def with_priors(n: Floats, number: int, seed: int, priors: list[Prior]) -> Floats:
    """(m, k) labels of votes, each fold under the prior of the other images."""
    label = np.zeros_like(n)
    for (_, test), prior in zip(folds(len(n), number, seed), priors, strict=True):
        label[test] = posterior_mean(prior, n[test])
    return label


def _softmax(made: Replay, n: Floats, rest: Bools, test: Bools) -> Floats:
    """With the tau that foretells the held-out votes of the other images best."""

    def loss(tau: float) -> float:
        label = Softmax(tau).rows(n[rest])
        return float(cross_entropy(made.share[rest], label, CLIP).mean())

    return Softmax(search(loss, [1.0], [(1e-3, 1e3)])[0]).rows(n[test])
