"""The replay of the pools: how well they foretell votes that were held out, beside the targets.

CIFAR-10H (10,000 images, the 1,000 of CIFAR-10S among them), the rich answers of CIFAR-10S, and
ChaosNLI.  Policies for whom to ask next are not part of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from softlabel import datasets
from softlabel.construct import Clamp
from softlabel.papers.claims import Ledger, Table
from softlabel.papers.pools import answers, chaos, coverage, hard, recalibration
from softlabel.tables import Annotations, Index, Ints, names

SEED = 500
MIXTURE = "mixture, 3 levels, other images"
INSIDE = "Share of held-out votes inside 90 % predictive intervals"
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Target:
    """One promise, what we measured, and whether it holds."""

    what: str
    target: str
    ours: str
    met: bool


@dataclass(frozen=True)
class Outcome:
    """Everything that was measured; ``quick`` says that it was a part of the replay."""

    quick: bool
    targets: list[Target]
    tables: list[Table]


@dataclass(frozen=True, eq=False)
class Data:
    """What is replayed."""

    all_images: hard.Population
    thousand: hard.Population
    rich: Annotations
    nli: tuple[Index, Ints]


def run(quick: bool = False, tell: Tell = lambda step: None) -> Outcome:
    """The whole replay, or with ``quick`` one split and a fifth of the images."""
    tell("reading CIFAR-10H, CIFAR-10S and ChaosNLI")
    data = load(quick)
    seeds = data.thousand.seeds
    natural, chosen = (hard.score(part, tell) for part in (data.all_images, data.thousand))
    number = (1, 6) if quick else (1, 2, 3, 4, 5, 6)
    alone, both = answers.score(data.rich, data.thousand.counts, seeds, number, tell)
    inside = coverage.coverage(data.thousand, tell)
    outside = coverage.coverage(hard.Population("ChaosNLI", *data.nli, 2, seeds[:2], ()), tell)
    nli = chaos.score(*data.nli, seeds[:2], tell)
    linear, sharp = recalibration.score(data.rich, data.thousand.counts, seeds, number, tell)
    tables = [
        natural.kl.table(f"KL, votes of {data.all_images.name}"),
        natural.tv.table(f"Total variation, votes of {data.all_images.name}"),
        _entropy_r(natural, data.all_images),
        chosen.kl.table(f"KL, votes of {data.thousand.name}"),
        chosen.tv.table(f"Total variation, votes of {data.thousand.name}"),
        alone.table("KL, rich answers without votes, by their number"),
        both.table("KL, votes + rich answers"),
        coverage.table(inside, f"{INSIDE}, {data.thousand.name}"),
        coverage.table(outside, f"{INSIDE}, ChaosNLI"),
        nli.table("KL*, ChaosNLI, by votes per item"),
        recalibration.table(linear, sharp),
    ]
    promises = targets(natural.kl, alone, inside, nli)
    for name, found in (("CIFAR-10H", inside), ("ChaosNLI", outside)):
        promises += [_covered(f"{name}, {model}", found, model) for model in coverage.POOLS]
    return Outcome(quick, promises, tables)


def load(quick: bool) -> Data:
    """The data sets, cut down if it is to be quick."""
    votes, said = datasets.cifar10h.load("counts"), datasets.cifar10s.load("first")
    assert said.statements is not None, "CIFAR-10S holds statements"
    rich = Clamp()(said.statements)
    counts = votes.arrays["counts"]
    few = np.arange(0, len(counts), 5 if quick else 1)
    seeds = tuple(range(SEED, SEED + (1 if quick else 4)))
    tried = (2, 5, 20) if quick else (1, 2, 3, 5, 10, 20)
    thousand = np.array([int(item) for item in rich.index.items.tolist()])
    return Data(
        hard.Population(
            f"{len(few):,} images",
            Index(votes.index.items[few], names([]), votes.index.labels),
            counts[few],
            2,
            seeds[:2],
            tried,
        ),
        hard.Population(
            f"the {len(thousand):,} images of CIFAR-10S",
            Index(rich.index.items, names([]), votes.index.labels),
            counts[thousand],
            5,
            seeds,
            tried,
        ),
        rich,
        chaos.load(),
    )


def targets(kl: Ledger, alone: Ledger, inside: coverage.Inside, nli: Ledger) -> list[Target]:
    """Ours beside what was promised."""
    found = [
        _at_most("5 votes per image, mixture: KL", 0.090, kl.value(MIXTURE, 5)),
        _at_most("6 rich answers, stack: KL", 0.200, alone.value("stack", 6)),
        _at_most("1 rich answer, stack: KL", 0.43, alone.value("stack", 1)),
    ]
    for place in ("top", "second"):
        for votes in coverage.VOTES:
            share = float(np.mean(inside[coverage.OTHER, place, votes]))
            what = f"90 % interval of the {place} class, {votes} votes: held-out votes inside"
            met = 0.87 <= share <= 0.93
            found.append(Target(what, "0.87 to 0.93", f"{share:.3f}", met))
    for votes in chaos.VOTES[1:]:
        one, mixture = nli.value(chaos.ONE, votes), nli.value(chaos.MIXTURE, votes)
        what = f"ChaosNLI, {votes} votes, mixture: KL* no more than one Dirichlet"
        found.append(Target(what, f"<= {one:.4f}", f"{mixture:.4f}", mixture <= one))
    return found


def _covered(what: str, found: coverage.Inside, pool: str) -> Target:
    share = coverage.mean(found, f"{pool}, same images")
    met = 0.87 <= share <= 0.93
    what = f"{what}: held-out votes inside 90 % intervals"
    return Target(what, "0.87 to 0.93", f"{share:.3f}", met)


def _at_most(what: str, limit: float, ours: float) -> Target:
    return Target(what, f"<= {limit:.3f}", f"{ours:.4f}", ours <= limit)


def _entropy_r(scores: hard.HardScores, population: hard.Population) -> Table:
    rows = [
        (name, *(_mean(cells.get(str(votes))) for votes in population.votes))
        for name, cells in scores.entropy_r.items()
    ]
    title = f"Correlation with the entropy of held-out votes, {population.name}"
    return Table(title, ("", *map(str, population.votes)), rows)


def _mean(values: list[float] | None) -> str:
    return "–" if values is None or np.isnan(values).any() else f"{np.mean(values):.3f}"
