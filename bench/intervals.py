"""Do 90 % intervals cover, and does ``auto`` choose well?

    python bench/intervals.py [--write] [--quick]

*Simulated truth*: splits of items are drawn from five kinds of crowds, votes from the splits, and
an interval is right if it contains the split.  *Held-out people*: a few votes of each item of a
real data set are pooled; the others are counted.  A share of few votes has sampling noise of its
own, so the count is held against the predictive distribution: a number drawn evenly between
P(fewer) and P(at most) must lie in .05 to .95 (randomised PIT).  *Choice*: the thresholds of
``auto`` are chosen on all data sets but one and judged on that one, by the log loss of the votes
held out.  Data are read from ``$SOFTLABEL_DATA``; a set that is not there is left out and named.
``--write`` puts the tables into docs/pools/beliefs.md and docs/pools/auto.md.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from results import table, write_block

from softlabel import Index, datasets
from softlabel.aggregate import Atoms, Auto, Belief, Dirichlet, DirichletMixture
from softlabel.aggregate.split.auto import FEW_VOTES
from softlabel.datasets import MissingData
from softlabel.sampling import one_per_annotator, votes_from_counts
from softlabel.tables import Floats, Ints

PAGES = Path(__file__).parent.parent / "docs" / "pools"
POOLS = (Dirichlet(), DirichletMixture(), Atoms(), Auto())
LEVEL, TAIL = 0.9, 0.05
VOTES = (1, 2, 3, 5, 10)
SEED = 20


# ── simulated crowds: (rng, items, classes) -> (items, classes) splits ───────────────────────


def one_dirichlet(rng: np.random.Generator, n: int, k: int) -> Floats:
    """What ``dirichlet`` assumes: mass 2, classes from common to rare."""
    share = np.arange(k, 0, -1.0)
    return _drawn(rng, np.tile(2 * share / share.sum(), (n, 1)))


def kinds(rng: np.random.Generator, n: int, k: int) -> Floats:
    """What ``dirichlet-mixture`` assumes: each class has confusions and a mass of its own."""
    away = rng.dirichlet(np.full(k, 0.5), k)
    alpha = (0.75 * np.eye(k) + 0.25 * away) * rng.choice([20.0, 6.0, 3.0], k)[:, None]
    return _drawn(rng, alpha[rng.integers(0, k, n)] + 1e-3)


def peaked(rng: np.random.Generator, n: int, k: int) -> Floats:
    """Four in five items nearly unanimous, the others anything."""
    alpha = np.full((n, k), 0.05 / k)
    alpha[np.arange(n), rng.integers(0, k, n)] += 8
    alpha[rng.random(n) < 0.2] = 1 / np.sqrt(k)
    return _drawn(rng, alpha)


def pairs(rng: np.random.Generator, n: int, k: int) -> Floats:
    """Each class is taken for one other class; a few per cent go to all of them."""
    first = rng.integers(0, k, n)
    other = (first ^ 1) % k
    part, rest = rng.beta(3, 1, n), rng.beta(1, 20, n)
    split = rest[:, None] * rng.dirichlet(np.ones(k), n)
    np.add.at(split, (np.arange(n), first), (1 - rest) * part)
    np.add.at(split, (np.arange(n), other), (1 - rest) * (1 - part))
    return split


def scores(rng: np.random.Generator, n: int, k: int) -> Floats:
    """Outside every model here: a softmax of normal scores."""
    each = np.exp(rng.normal(0, 1.8, (n, k)) + np.linspace(0.5, -0.5, k))
    return np.asarray(each / each.sum(axis=1, keepdims=True))


def _drawn(rng: np.random.Generator, alpha: Floats) -> Floats:
    split = rng.standard_gamma(alpha) + 1e-300
    return np.asarray(split / split.sum(axis=1, keepdims=True))


CROWDS: tuple[Callable[[np.random.Generator, int, int], Floats], ...] = (
    *(one_dirichlet, kinds, peaked, pairs, scores),
)


@dataclass(eq=False)
class Shares:
    """Shares of intervals that were right, by pool and setting."""

    kept: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def add(self, pool: str, settings: tuple[str, ...], value: float) -> None:
        for setting in ("all", *settings):
            self.kept.setdefault((pool, setting), []).append(value)

    def table(self, first: str) -> str:
        """One row per pool, the mean over everything first."""
        columns = list(dict.fromkeys(setting for _, setting in self.kept))
        ends = ["all", "vote", "votes", "classes", "items"]  # then the crowds
        columns.sort(key=lambda name: (*ends, name.split()[-1]).index(name.split()[-1]))
        rows = [[first, *columns]]
        for pool in dict.fromkeys(pool for pool, _ in self.kept):
            cells = (np.mean(self.kept.get((pool, column), [np.nan])) for column in columns)
            rows.append([f"`{pool}`", *(f"{value:.3f}" for value in cells)])
        return table(rows)


def simulated(quick: bool) -> Shares:
    """How often an interval contains the split, over all items and classes."""
    found = Shares()
    sizes = (50, 300) if quick else (50, 300, 3000)
    for crowd, k, n, m in itertools.product(CROWDS, (2, 3, 10), sizes, VOTES):
        for again in range(max(1, 200 // n)):
            rng = np.random.default_rng([SEED, CROWDS.index(crowd), k, n, m, again])
            split = crowd(rng, n, k)
            said = votes_from_counts(_index(n, k), rng.multinomial(m, split))
            made: dict[str, float] = {}
            for pool in POOLS:
                labels = pool(said)
                if labels.chosen not in made:
                    low, high = labels.belief.interval(LEVEL)
                    made[pool.name] = float(((low <= split) & (split <= high)).mean())
                share = made[labels.chosen or pool.name]
                setting = (_votes(m), f"{k} classes", f"{n:,} items", crowd.__name__)
                found.add(pool.name, tuple(name.replace("_", " ") for name in setting), share)
        print(crowd.__name__, k, n, m, {name: round(x, 3) for name, x in made.items()}, flush=True)
    return found


# ── real people ──────────────────────────────────────────────────────────────────────────────

SETS = (
    *(f"chaosnli/{part}" for part in ("snli", "mnli", "alphanli")),
    *("cifar10h", "cifar10n", "popquorn/offensiveness", "popquorn/politeness"),
    *("rte", "labelme", "pos"),
    *(f"crowd/{part}" for part in ("dog", "cf", "cf_amt", "ms", "sp", "sp_amt", "trec")),
    *(f"crowd/{part}" for part in ("zencrowd_all", "product", "relevance", "adult", "fact_eval")),
)
DICES = Path("dices") / "dices_350_crowdsourced.json.gz"
MORE = 2  # votes held out, at least


def counted() -> Iterator[tuple[str, Ints]]:
    """(items, classes) votes of every set that is here."""
    for name in SETS:
        try:
            data = datasets.load(name)
        except MissingData as error:
            print(f"left out: {str(error).splitlines()[0]}")
            continue
        if "counts" in data.arrays:
            yield name, data.arrays["counts"]
        else:
            assert data.annotations is not None, "these sets hold votes"
            yield name, one_per_annotator(data.annotations).counts().astype(np.int64)
    path = Path(os.environ.get("SOFTLABEL_DATA", ".")) / DICES
    if path.is_file():
        with gzip.open(path, "rt", encoding="utf-8") as file:
            said = [one["annotations"]["safety"] for one in json.load(file)["instances"]]
        answers = [Counter(map(str, _values(one["individual_human_scores"]))) for one in said]
        labels = sorted({label for one in answers for label in one})
        yield "dices", np.array([[one[label] for label in labels] for one in answers])


def _values(said: dict[str, object] | list[object]) -> list[object]:
    return list(said.values()) if isinstance(said, dict) else said


@dataclass(frozen=True)
class Cell:
    """One data set, cut to ``items`` with ``votes`` each: log loss of the votes held out."""

    name: str
    items: int
    classes: int
    votes: int
    loss: dict[str, float]
    inside: dict[str, list[float]]


def measured(quick: bool) -> list[Cell]:
    """All pools on all sets, at all sizes."""
    found = []
    sizes = (300,) if quick else (100, 300, 1000, 3000)
    for name, counts in counted():
        for m in VOTES:
            enough = counts[counts.sum(axis=1) >= m + MORE]
            done: set[int] = set()
            for size in sizes:
                rng = np.random.default_rng([SEED, len(name), m, size])
                some = enough[rng.permutation(len(enough))[:size]]
                if len(some) >= 100 and len(some) not in done:
                    done.add(len(some))
                    found.append(_cell(name, some, m, rng))
                    print(found[-1], flush=True)
    return found


def _cell(name: str, counts: Ints, m: int, rng: np.random.Generator) -> Cell:
    few = np.array([rng.multivariate_hypergeometric(row, m) for row in counts])
    held = counts - few
    said = votes_from_counts(_index(*few.shape), few)
    loss: dict[str, float] = {}
    inside: dict[str, list[float]] = {}
    for pool in POOLS:
        made = pool(said)
        loss[pool.name] = -float((held * np.log(np.maximum(made.probs, 1e-12))).sum() / held.sum())
        assert made.belief is not None, "these pools have a belief"
        same = inside.get(made.chosen)
        inside[pool.name] = same or _inside(made.belief, made.probs, held)
    return Cell(name, *few.shape, m, loss, inside)


def _inside(belief: Belief, label: Floats, held: Ints) -> list[float]:
    """Of the leading and of the second class: the share of items whose count is where it should
    be."""
    rng = np.random.default_rng(SEED)
    order = np.argsort(-label, axis=1, kind="stable")
    shares = []
    for place in range(2):
        count = held[np.arange(len(held)), order[:, place]]
        below, at_most = belief.predictive_cdf(order[:, place], count, held.sum(axis=1))
        drawn = below + rng.random(len(held)) * (at_most - below)
        shares.append(float(((drawn > TAIL) & (drawn < 1 - TAIL)).mean()))
    return shares


def held_out(cells: list[Cell]) -> str:
    """Coverage by number of votes, each data set counting once."""
    found = Shares()
    for pool in POOLS:
        for name, m in dict.fromkeys((cell.name, cell.votes) for cell in cells):
            these = [c.inside[pool.name] for c in cells if (c.name, c.votes) == (name, m)]
            found.add(pool.name, (_votes(m),), float(np.mean(these)))
    for pool in POOLS:
        for name in dict.fromkeys(cell.name for cell in cells if cell.name.startswith("chaos")):
            five = [c.inside[pool.name] for c in cells if (c.name, c.votes) == (name, 5)]
            found.kept[pool.name, f"{name.split('/')[1]}, 5 votes"] = [float(np.mean(five))]
    return found.table("held-out people")


# ── the rule of auto ─────────────────────────────────────────────────────────────────────────

# Least items, least items per class, and in how many ways votes must be able to fall on the classes
# for atoms in place of the mixture.  At least 200 items: with fewer the intervals of one Dirichlet
# are nearer to 90 %.
Rule = tuple[int, int, float]
RULES: tuple[Rule, ...] = tuple(
    itertools.product((200, 300, 500, 1000), (0, 10, 25, 50, 100), (0, 12, 30, 60, 300, math.inf))
)


def applied(rule: Rule, cell: Cell) -> float:
    """The loss of the pool that the rule takes."""
    least, per_class, rows = rule
    if cell.items < max(least, per_class * cell.classes) or cell.votes < FEW_VOTES:
        return cell.loss["dirichlet"]
    few = math.comb(cell.votes + cell.classes - 1, cell.votes) < rows
    return cell.loss["dirichlet-mixture" if few else "atoms"]


def best(cells: list[Cell]) -> Rule:
    """The rule with the smallest mean loss, each set counting once; of equals the one that keeps
    to the simpler pool for longer."""

    def order(rule: Rule) -> tuple[float, ...]:
        loss = round(_mean(cells, lambda cell: applied(rule, cell)), 5)
        return loss, -rule[0], -rule[1], -rule[2]

    return min(RULES, key=order)


def _mean(cells: list[Cell], loss: Callable[[Cell], float]) -> float:
    names = dict.fromkeys(cell.name for cell in cells)
    return float(np.mean([np.mean([loss(c) for c in cells if c.name == name]) for name in names]))


def left_out(cells: list[Cell]) -> str:
    """Each set under the rule that the other sets choose."""
    several = [cell for cell in cells if cell.votes >= FEW_VOTES]
    names = list(dict.fromkeys(cell.name for cell in several))
    singles = [pool.name for pool in POOLS]
    rows = [["left out", *(f"`{name}`" for name in singles), "rule of the other sets", "its loss"]]
    chosen: list[Cell] = []
    by_rule: list[float] = []
    for name in names:
        rule = best([cell for cell in several if cell.name != name])
        mine = [cell for cell in several if cell.name == name]
        by_rule.append(_mean(mine, lambda cell, rule=rule: applied(rule, cell)))  # type: ignore[misc]
        losses = (_mean(mine, lambda cell, one=one: cell.loss[one]) for one in singles)  # type: ignore[misc]
        rows.append([name, *(f"{x:.4f}" for x in losses), _told(rule), f"{by_rule[-1]:.4f}"])
        chosen += mine
    means = (_mean(chosen, lambda cell, one=one: cell.loss[one]) for one in singles)  # type: ignore[misc]
    told = f"all sets: {_told(best(several))}"
    rows.append(["mean", *(f"{x:.4f}" for x in means), told, f"{np.mean(by_rule):.4f}"])
    return table(rows)


def _told(rule: Rule) -> str:
    atoms = "no atoms" if rule[2] == math.inf else f"atoms from {rule[2]} rows"
    return f"{rule[0]} items, {rule[1]} per class, {atoms}"


# ── showing ──────────────────────────────────────────────────────────────────────────────────


def _index(items: int, classes: int) -> Index:
    return Index([f"i{i}" for i in range(items)], [], [f"c{j}" for j in range(classes)])


def _votes(m: int) -> str:
    return f"{m} vote" + "s" * (m > 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="into the pages of docs/pools")
    parser.add_argument("--quick", action="store_true", help="fewer items")
    options = parser.parse_args()
    cells = measured(options.quick)
    blocks = (
        ("auto.md", "choice", left_out(cells)),
        ("beliefs.md", "held out", held_out(cells)),
        ("beliefs.md", "simulated", simulated(options.quick).table("simulated truth")),
    )
    for page, name, text in blocks:
        print(f"\n{text}")
        if options.write:
            write_block(PAGES / page, "intervals", name, text)


if __name__ == "__main__":
    main()
