"""Does the ordinal pool predict held-out ratings better than pools that ignore the order?

    python bench/ordinal.py [--write] [--quick]

A few votes of each item of a real set of ratings are pooled; the others are predicted, and the loss
is the mean over items of -log q of a vote held out.  What the pool takes for usual (how common
widths and strengths are) is chosen on all sets but one and judged on that one.  ``covered`` is the
share of 90 % predictive intervals that hold the count held out (randomised PIT, one random class
per item).  Data are read from ``$SOFTLABEL_DATA``; a set that is not there is left out and named.
``--write`` puts the table into docs/pools/ordinal.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from results import table, write_block

from softlabel import Annotations, Index, datasets
from softlabel.aggregate import Auto, DirichletMixture, Ordinal
from softlabel.aggregate.split import mixtures, ordinal
from softlabel.sampling import votes_from_counts
from softlabel.tables import Floats, Ints

PAGE = Path(__file__).parent.parent / "docs" / "pools" / "ordinal.md"
SETS = (
    *("offensiveness", "politeness", "paraphrase", "safety"),
    *("summeval", "10k_prompts", "cebab_stars"),
)
VOTES = (1, 2, 3, 5)
FEW_ITEMS = (100, 30)  # the same with so many items only
SEEDS = (2, 20)  # random divisions; more of very few items


def counts_of(name: str) -> Ints:
    """(m, k) votes per item and class, in the order of the scale."""
    data = Path(os.environ["SOFTLABEL_DATA"])
    if name in ("offensiveness", "politeness"):
        votes = datasets.load(f"popquorn/{name}").annotations
        assert isinstance(votes, Annotations)
        return votes.counts().astype(np.int64)
    if name == "paraphrase":
        rows = []
        for part in ("train", "dev", "test"):
            items = read(data / "lewidi2025" / f"Paraphrase_{part}.json.gz")
            rows += [
                (f"{part}/{i}", int(a)) for i in items for a in items[i]["annotations"].values()
            ]
        return tally(rows, list(range(-5, 6)))
    if name == "safety":
        whole = read(data / "dices" / "dices_350_crowdsourced.json.gz")["instances"]
        said = [one["annotations"]["safety"]["individual_human_scores"] for one in whole]
        return tally([(i, a) for i, own in enumerate(said) for a in own], ["No", "Unsure", "Yes"])
    people = read(data / "alttest" / f"{name}.human.json.gz").values()
    rows = [(item, value) for own in people for item, value in own.items() if value is not None]
    return tally(rows, sorted({value for _, value in rows}, key=float))


def read(path: Path):
    with gzip.open(path) as file:
        return json.load(file)


def tally(rows: Iterable[tuple], steps: list) -> Ints:
    rows = list(rows)
    items = {item: place for place, item in enumerate(dict.fromkeys(item for item, _ in rows))}
    counts = np.zeros((len(items), len(steps)), dtype=np.int64)
    for item, value in rows:
        counts[items[item], steps.index(value)] += 1
    return counts


def divide(counts: Ints, votes: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """``votes`` of each item with more than that, drawn without replacement, and its others."""
    counts = counts[counts.sum(axis=1) > votes]
    drawn = np.stack([rng.multivariate_hypergeometric(row, votes) for row in counts])
    return drawn, counts - drawn


def learn_usual(sets: dict[str, Ints]) -> tuple[dict[float, float], dict[float, float]]:
    """How common widths and strengths are in these sets, nearly 0 at least."""
    found = []
    for counts in sets.values():
        rows, _ = mixtures.distinct(counts[counts.sum(axis=1) > 1].astype(np.float64))
        share = rows.times @ rows.n + 0.5
        share /= share.sum()
        alpha = ordinal._make_kinds(ordinal.logit(np.cumsum(share)[:-1]), share)
        even = np.full(len(alpha), 1 / len(alpha))
        weight = ordinal._fit_weights(rows, alpha, even)
        found.append(weight.reshape(len(ordinal.PLACES), len(ordinal.WIDTHS), -1))
    mean = np.mean(found, axis=0)
    widths, strengths = mean.sum(axis=(0, 2)) + 0.02, mean.sum(axis=(0, 1)) + 0.02
    return (
        dict(zip(ordinal.WIDTHS, (widths / widths.sum()).tolist(), strict=True)),
        dict(zip(ordinal.STRENGTHS, (strengths / strengths.sum()).tolist(), strict=True)),
    )


def losses(pool, drawn: Ints, held: Ints, rng: np.random.Generator) -> tuple[Floats, float]:
    """(m,) the loss of each item, and the share of intervals that hold what was held out."""
    m, k = drawn.shape
    told = isinstance(pool, Ordinal)  # the others, auto too, are not told of the order
    index = Index([str(i) for i in range(m)], [], [str(j) for j in range(k)], ordered=told)
    labels = pool(votes_from_counts(index, drawn))
    loss = -(held * np.log(labels.probs)).sum(axis=1) / held.sum(axis=1)
    label = rng.integers(0, k, m)
    count = held[np.arange(m), label]
    low, high = labels.belief.predictive_cdf(label, count, held.sum(axis=1))
    place = low + (high - low) * rng.random(m)
    return loss, float(((place > 0.05) & (place < 0.95)).mean())


def compare(name: str, counts: Ints, votes: int, items: int | None, seeds: int) -> list[str] | None:
    """One row of the table; None if too few items have more votes than that."""
    pools = {"auto": Auto(), "mixture": DirichletMixture(), "ordinal": Ordinal()}
    found: dict[str, list[Floats]] = {pool: [] for pool in pools}
    covered = []
    if (counts.sum(axis=1) > votes).sum() < FEW_ITEMS[0]:
        return None
    for seed in range(seeds):
        rng = np.random.default_rng([seed, votes])
        drawn, held = divide(counts, votes, rng)
        some = rng.permutation(len(drawn))[:items]
        for kind, pool in pools.items():
            loss, share = losses(pool, drawn[some], held[some], rng)
            found[kind].append(loss)
            covered += [share] if kind == "ordinal" else []
    mean = {kind: np.concatenate(values) for kind, values in found.items()}
    cells = [f"{mean[kind].mean():.4f}" for kind in pools]
    for kind in ("auto", "mixture"):
        gap = mean["ordinal"] - mean[kind]
        error = 1.96 * gap.std() / np.sqrt(min(len(gap), len(drawn)))  # of different items
        cells.append(f"{gap.mean():+.4f} ± {error:.4f}")
    size = str(min(items or len(drawn), len(drawn)))
    return [name, size, str(votes), *cells, f"{np.mean(covered):.2f}"]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--write", action="store_true")
    options.add_argument("--quick", action="store_true")
    asked = options.parse_args()
    sets: dict[str, Ints] = {}
    for name in SETS:
        try:
            sets[name] = counts_of(name)
        except OSError as error:
            print(f"left out: {name} ({error})")
    rows = []
    for name, counts in sets.items():
        others = {key: value for key, value in sets.items() if key != name}
        ordinal.WIDTHS, ordinal.STRENGTHS = learn_usual(others)
        for items in (None, *FEW_ITEMS):
            seeds = SEEDS[items is not None and items < FEW_ITEMS[0]]
            for votes in VOTES:
                row = compare(name, counts, votes, items, 1 if asked.quick else seeds)
                if row is not None:
                    rows.append(row)
                    print("  ".join(row), flush=True)
    print(learn_usual(sets))
    head = ["set", "items", "votes", "`auto`", "`dirichlet-mixture`", "`ordinal`"]
    head += ["beside `auto`", "beside `dirichlet-mixture`", "covered"]
    text = table([head, *rows])
    if asked.write:
        write_block(PAGE, "ordinal", "replay", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
