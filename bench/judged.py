"""Do models, calibrated on people, save votes?

    python bench/judged.py [--write] [--quick] [--replay] [--divisions N]
                           [--only NAME ...] [--kept FOLDER]

A few votes of each item of a real set are pooled, alone and with what language models said of the
items; the loss is the cross-entropy in nats to votes of other people that were held out.  All
columns of a set are about the same items.  *Alone* is ``auto``, *models* the calibrated models
without any vote of the item, *shuffled* and *rarest* are pooled with models whose answers were
permuted over items, or that always name the rarest class.  *covered* is the share of 90 %
predictive intervals of the top class that hold the count held out (randomised PIT).  What the pool
takes for usual with one vote (how much each part of the prior counts) is chosen on all other sets
of the same kind, ratings or classes without an order, for the column *left out*: what that adds to
the loss of the first division.  ``--kept`` keeps each finished line and does not compute it again.
Data are read from ``$SOFTLABEL_DATA``.  ``--write`` puts the tables into docs/pools/judged.md.
``--replay`` replays policies instead, with and without models, for docs/allocate.md.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from results import circumstances, table, write_block

from softlabel import Annotations, Index, datasets
from softlabel.aggregate import Auto, Judged
from softlabel.aggregate.split import judged
from softlabel.allocate import Greedy, Recorded, Setting, compare
from softlabel.tables import Floats, Ints, names

PAGE = Path(__file__).parent.parent / "docs" / "pools" / "judged.md"
POLICIES = PAGE.parent.parent / "allocate.md"
ORDERED = {"10k_prompts", "cebab_stars", "summeval", "politeness", "offensiveness"}
# votes that are pooled, and held out
SETS = {
    "10k_prompts": ((1,), 1),
    "cebab_stars": ((1, 2), 1),
    "lgbteen": ((1, 2), 1),
    "wax": ((1, 2, 3), 1),
    "mtbench": ((1,), 1),
    "summeval": ((1, 2), 1),
    "politeness": ((1, 2, 4), 3),
    "offensiveness": ((1, 2, 4), 3),
}
# shares of predictions for other items, and of Dirichlets around the item's own
USUAL = [
    (others, around)
    for others in (0.05, 0.15, 0.3, 0.5, 0.75)
    for around in (0.05, 0.2, 0.35, 0.5, 0.65, 0.75)
    if others + around < 0.95
]
SOME = 1000  # items of a set are enough to choose these two numbers


@dataclass(frozen=True, eq=False)
class Case:
    """Votes to pool, what models said, and counts held out."""

    votes: Annotations
    judges: Annotations
    held: Floats

    def loss(self, probs: Floats) -> Floats:
        share = self.held / self.held.sum(axis=1, keepdims=True)
        return np.asarray(-(share * np.log(np.maximum(probs, 1e-12))).sum(axis=1))


def load(name: str) -> tuple[Annotations, Annotations]:
    """Return people's votes and what models said of the same items."""
    if name not in ("politeness", "offensiveness"):
        data = datasets.load(f"alttest/{name}")
        assert data.annotations is not None
        assert data.machines is not None
        return data.annotations, data.machines
    people = datasets.load(f"popquorn/{name}").annotations
    models = datasets.load(f"popquorn_models/{name}")
    said = models.machines
    assert people is not None
    assert said is not None
    place = {item: code for code, item in enumerate(people.index.items.tolist())}
    code = np.array([place.get(item, -1) for item in said.index.items.tolist()])
    plain = models.arrays["annotator_persona"] == "base"
    said = said.take((code[said.item] >= 0) & plain[said.annotator])
    index = Index(people.index.items, said.index.annotators, people.index.labels)
    return people, Annotations(index, code[said.item], said.annotator, label=said.label)


def divide(name: str, votes: int, seed: int, wrong: str = "") -> Case:
    """Pool ``votes`` random votes of each item with enough for every column; hold out others."""
    people, said = load(name)
    numbers, hold = SETS[name]
    assert people.label is not None
    assert said.label is not None
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(people)), people.item))
    item, label = people.item[order], people.label[order]
    size = people.votes_per_item()
    place = np.arange(len(item)) - (np.cumsum(size) - size)[item]
    kept = np.flatnonzero(size >= max(numbers) + hold + (name == "offensiveness"))
    code = np.full(len(size), -1)
    code[kept] = np.arange(len(kept))
    index = Index(
        names([str(i) for i in range(len(kept))]),
        names(["somebody"]),
        people.index.labels,
        ordered=name in ORDERED,
    )
    used = (code[item] >= 0) & (place < votes)
    last = (code[item] >= 0) & (place >= size[item] - hold)
    held = np.zeros((len(kept), len(index.labels)))
    np.add.at(held, (code[item[last]], label[last]), 1)
    chosen = code[said.item] >= 0
    row, named = code[said.item[chosen]], np.array(said.label[chosen])
    if wrong == "shuffled":
        row = rng.permutation(len(kept))[row]
    if wrong == "rarest":
        named[:] = np.bincount(label, minlength=len(index.labels)).argmin()
    models = Index(index.items, said.index.annotators, index.labels, ordered=index.ordered)
    return Case(
        Annotations(index, code[item[used]], np.zeros(used.sum(), np.int64), label=label[used]),
        Annotations(models, row, said.annotator[chosen], label=named),
        held,
    )


def covered(case: Case, labels, rng: np.random.Generator) -> float:
    """Return how often the held-out count of the top class lies in its interval."""
    top: Ints = labels.belief.mean().argmax(axis=1)
    count = case.held[np.arange(len(top)), top].astype(np.int64)
    total = case.held.sum(axis=1).astype(np.int64)
    below, at_most = labels.belief.predictive_cdf(top, count, total)
    drawn = below + rng.random(len(top)) * (at_most - below)
    return float(((drawn > 0.05) & (drawn < 0.95)).mean())


def measure(name: str, votes: int, seed: int, kept: Path | None) -> dict[str, float]:
    """Return each column of one division."""
    place = kept / f"judged-{name}-{votes}-{seed}.json" if kept else None
    if place is not None and place.exists():
        return dict(json.loads(place.read_text()))
    case = divide(name, votes, seed)
    labels, alone = Judged()(case.votes, judges=case.judges), Auto()(case.votes)
    both, people = case.loss(labels.probs), case.loss(alone.probs)
    found = {"items": float(len(both)), "alone": people.mean(), "both": both.mean()}
    found["half"] = 1.96 * (people - both).std() / len(both) ** 0.5
    found["models"] = case.loss(labels.models.probs).mean() if labels.models else np.nan
    found["covered"] = covered(case, labels, np.random.default_rng([seed, 1]))
    found["people"] = float(labels.more["people"].mean())
    for wrong in ("shuffled", "rarest"):
        bad = divide(name, votes, seed, wrong)
        found[wrong] = bad.loss(Judged()(bad.votes, judges=bad.judges).probs).mean()
    found = {key: float(value) for key, value in found.items()}
    if place is not None:
        place.write_text(json.dumps(found))
    return found


def choose_on_others(kept: Path | None) -> dict[str, float]:
    """Return what is added to the loss of each set with one vote if what is usual is chosen on all
    other sets of its kind."""
    left: dict[str, float] = {}
    for kind in (True, False):
        losses = {name: try_usual(name, kept) for name in SETS if (name in ORDERED) == kind}
        chosen = judged.USUAL_ORDERED if kind else judged.USUAL_NOMINAL
        for name, own in losses.items():
            rest = [loss for other, loss in losses.items() if other != name]
            best = min(USUAL, key=lambda values: sum(loss[values] for loss in rest))
            left[name] = own[best] - own[chosen]
            print("without", name, best, f"{own[best]:.4f}, chosen {own[chosen]:.4f}", flush=True)
    return left


def try_usual(name: str, kept: Path | None) -> dict[tuple[float, ...], float]:
    """Return the loss of a set with one vote, by what is taken for usual."""
    place = kept / f"judged-{name}-usual.json" if kept else None
    if place is not None and place.exists():
        return dict(zip(USUAL, json.loads(place.read_text()), strict=True))
    case = divide(name, 1, 0)
    index = case.votes.index
    belief, models, _ = Judged().believe(index, case.votes.counts().astype(float), case.judges)
    assert models is not None
    some = np.arange(min(SOME, len(index.items)))
    part, losses = belief.take(some), {}
    before = judged.USUAL_ORDERED, judged.USUAL_NOMINAL
    for values in USUAL:
        judged.USUAL_ORDERED = judged.USUAL_NOMINAL = values
        share = judged.usual_shares(models.explained, index.ordered)
        labels = replace(part, share=share).mean()
        losses[values] = float(replace(case, held=case.held[some]).loss(labels).mean())
    judged.USUAL_ORDERED, judged.USUAL_NOMINAL = before
    if place is not None:
        place.write_text(json.dumps(list(losses.values())))
    return losses


def replay() -> list[list[str]]:
    """KL* of equal votes and of greedy, alone and with models, at the same votes per item."""
    rows = [["set", "votes", "equal votes", "greedy", "equal, with models", "greedy, with models"]]
    for name in ("cebab_stars", "lgbteen", "wax", "summeval"):
        people, said = load(name)
        index = replace(people.index, ordered=name in ORDERED)
        recorded = Recorded(name, replace(people, index=index))
        seeds = tuple(range(500, 502))
        ways = [
            compare(recorded, [Greedy()], Setting(10, seeds=seeds, price=1.0, judges=judges))
            for judges in (None, said)
        ]
        for goal in sorted({row.goal for row in ways[0].rows}):
            cells = []
            for found in ways:
                for policy in ("uniform", "greedy"):
                    row = found.row(policy, goal)
                    cells.append("–" if row is None else f"{row.kl.value:.3f} ±{row.kl.half:.3f}")
            rows.append([name, f"{goal:g}", *cells])
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--write", action="store_true")
    options.add_argument("--quick", action="store_true")
    options.add_argument("--replay", action="store_true")
    options.add_argument("--divisions", type=int, default=3)
    options.add_argument("--only", nargs="*", default=[])
    options.add_argument("--kept", type=Path)
    given = options.parse_args()
    if given.replay:
        found = table(replay())
        if given.write:
            about = f"`python bench/judged.py --replay --write`: 2 orders. {circumstances()}"
            write_block(POLICIES, "judged", "models", f"{found}\n\n{about}")
        return
    seeds = range(1 if given.quick else given.divisions)
    left = {} if given.quick or given.only else choose_on_others(given.kept)
    head = ["set, items", "votes", "alone", "models", "with models", "gain", "left out", "shuffled"]
    rows = [[*head, "rarest", "covered", "of people"]]
    for name, (numbers, _) in SETS.items():
        if given.only and name not in given.only:
            continue
        for votes in numbers:
            every = [measure(name, votes, seed, given.kept) for seed in seeds]
            one = {key: float(np.mean([each[key] for each in every])) for key in every[0]}
            gain = f"{one['alone'] - one['both']:+.3f} ±{one['half']:.3f}"
            cells = [f"{name}, {one['items']:,.0f}", str(votes), f"{one['alone']:.3f}"]
            cells += [f"{one['models']:.3f}", f"**{one['both']:.3f}**", gain]
            cells += [f"{left[name]:+.3f}" if left and votes == 1 else "–"]
            cells += [f"{one[key]:.3f}" for key in ("shuffled", "rarest", "covered")]
            rows.append([*cells, f"{one['people']:.0%}"])
            print(rows[-1], flush=True)
    print(table(rows))
    if given.write and not (given.quick or given.only):
        about = f"`python bench/judged.py --divisions {len(seeds)} --write`. {circumstances()}"
        write_block(PAGE, "judged", "models", f"{table(rows)}\n\n{about}")


if __name__ == "__main__":
    main()
