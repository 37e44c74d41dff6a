"""Do the intervals hold what they promise?  Votes held out, by randomised PIT."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from softlabel.aggregate import Atoms, Auto, Belief, Dirichlet, DirichletMixture
from softlabel.papers.claims import Table
from softlabel.papers.pools.hard import BUILD, Population
from softlabel.papers.pools.replaying import Replay, folds, part_of, replay
from softlabel.sampling import votes_from_counts
from softlabel.tables import Bools

PLACES = ("top", "second", "third")
TAIL = 0.05
VOTES = (2, 5, 10, 20)
# every pool that offers intervals
POOLS: dict[str, Dirichlet | DirichletMixture | Atoms | Auto] = {
    "one Dirichlet": Dirichlet(),
    "mixture": DirichletMixture(),
    "atoms": Atoms(),
    "auto": Auto(),
}
OTHER = "mixture, other images"
Inside = dict[tuple[str, str, int], list[float]]  # model, place, votes -> share inside, by split


def coverage(population: Population, tell: Callable[[str], None]) -> Inside:
    """How often the number of held-out votes for a class lies inside its 90 % predictive interval.

    A number drawn evenly between P(fewer) and P(at most) must lie in .05 to .95.  Classes are
    taken by their place in the label: which one leads is not known beforehand.
    """
    found: Inside = {}
    for seed in population.seeds:
        made = replay(population.index, population.counts, BUILD, seed)
        for votes in VOTES:
            tell(f"coverage on {population.name}, split {seed}: {votes} votes per image")
            for model, beliefs in _models(made, votes, population.folds, seed).items():
                inside = [_inside(made, test, belief, seed) for test, belief in beliefs]
                share = np.concatenate(inside, axis=1).mean(axis=1)
                for place, value in zip(PLACES, share.tolist(), strict=True):
                    found.setdefault((model, place, votes), []).append(value)
    return found


def mean(found: Inside, model: str) -> float:
    """Over places, numbers of votes and splits."""
    return float(np.mean([found[model, place, votes] for place in PLACES for votes in VOTES]))


def table(found: Inside, title: str) -> Table:
    """One row per model, the numbers of votes side by side, and the mean of them all."""
    models = dict.fromkeys(model for model, _, _ in found)
    rows = []
    for model in models:
        cells = [[np.mean(found[model, place, v]) for v in VOTES] for place in PLACES]
        shown = (" ".join(f"{value:.3f}" for value in cell) for cell in cells)
        rows.append((model, f"{mean(found, model):.3f}", *shown))
    heads = (f"{place}, {' '.join(map(str, VOTES))} votes" for place in PLACES)
    return Table(title, ("", "all", *heads), rows)


def _models(
    made: Replay, votes: int, number: int, seed: int
) -> dict[str, list[tuple[Bools, Belief]]]:
    """Each model's beliefs about parts of the images."""
    n, evidence = made.votes(votes), made.votes(BUILD)
    everything = np.ones(len(n), dtype=np.bool_)
    other = []
    for rest, test in folds(len(n), number, seed):
        prior = DirichletMixture().fit(part_of(made.index, rest), evidence[rest])
        other.append((test, Belief(part_of(made.index, test), n[test], prior)))
    said = votes_from_counts(made.index, n.astype(np.int64))
    found = {OTHER: other}
    for name, pool in POOLS.items():
        belief = pool(said).belief
        assert belief is not None, "these pools have a belief"
        found[f"{name}, same images"] = [(everything, belief)]
    return found


def _inside(made: Replay, test: Bools, belief: Belief, seed: int) -> Bools:
    """(places, items) whether the votes held out are where they should be."""
    held = made.held[test].astype(np.int64)
    order = np.argsort(-belief.mean(), axis=1, kind="stable")
    rng = np.random.default_rng([seed, 3])
    inside = []
    for place in range(len(PLACES)):
        label = order[:, place]
        count = held[np.arange(len(held)), label]
        below, at_most = belief.predictive_cdf(label, count, held.sum(axis=1))
        drawn = below + rng.random(len(held)) * (at_most - below)
        inside.append((drawn > TAIL) & (drawn < 1 - TAIL))
    return np.array(inside)
