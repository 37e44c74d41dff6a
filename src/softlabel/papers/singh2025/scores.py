"""What is measured on a finished run: accuracy, KL to people, entropies, curves.  All are means
over the items held out, so that nothing can be told of a single one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from softlabel.metrics import (
    accuracy,
    cross_entropy,
    entropy_pearson,
    entropy_spearman,
    evaluate,
    jsd,
    kl,
    mode,
    normalised_entropy,
)
from softlabel.tables import Floats
from softlabel.train import Run

HIGH = 0.1  # the share of items, those with the highest entropy, that figure 5 is about
BINS = 10  # of normalised entropy, for figure 3
GROUPS = 10  # of items, by what people's entropy is
HELD = "held "  # as ``softlabel.train.recipes.watching`` has it


def scores(run: Run) -> dict[str, float]:
    """All of them by name; ``@`` stands before a rank, a bin or an epoch."""
    people, ours, _ = evaluate.matched(run.predictions, run.people)
    measured = (plain, high, spread, groups)
    return {name: x for one in measured for name, x in one(people, ours).items()} | curves(run)


def plain(people: Floats, ours: Floats) -> dict[str, float]:
    """Means over all items, and over those whose most probable class is the people's."""
    right = (mode(people, "first") * mode(ours, "first")).sum(axis=1) > 0
    apart = kl(people, ours)
    return {
        "accuracy": float(accuracy(people, ours).mean()),
        "kl": float(apart.mean()),
        "cross-entropy": float(cross_entropy(people, ours).mean()),
        "jsd": float(jsd(people, ours).mean()),
        "entropy-pearson": entropy_pearson(people, ours),
        "entropy-spearman": entropy_spearman(people, ours),
        "right/kl": float(apart[right].mean()) if right.any() else float("nan"),
    }


def high(people: Floats, ours: Floats) -> dict[str, float]:
    """Of the tenth of items that people disagree on most: KL, and the mean mass of the class that
    most people gave, of the second, and so on, theirs (``people@1``) and ours (``model@1``)."""
    uncertain = normalised_entropy(people)
    number = max(1, round(HIGH * len(uncertain)))
    rows = np.argsort(-uncertain, kind="stable")[:number]
    p, q = people[rows], ours[rows]
    order = np.argsort(-p, axis=1, kind="stable")
    found = {"high/kl": float(kl(p, q).mean()), "high/items": float(number)}
    for whose, probs in (("people", p), ("model", q)):
        mass = np.take_along_axis(probs, order, axis=1).mean(axis=0)
        found |= {f"high/{whose}@{rank}": float(x) for rank, x in enumerate(mass, 1)}
    return found


def spread(people: Floats, ours: Floats) -> dict[str, float]:
    """Mean and distribution of normalised entropies: the share of items in each of ten bins."""
    found = {}
    for whose, probs in (("people", people), ("model", ours)):
        values = normalised_entropy(probs)
        share = np.histogram(np.clip(values, 0, 1), bins=BINS, range=(0, 1))[0] / len(values)
        found[f"entropy/{whose}"] = float(values.mean())
        found |= {f"entropy/{whose}@{number}": float(x) for number, x in enumerate(share)}
    return found


def groups(people: Floats, ours: Floats) -> dict[str, float]:
    """Items in ten groups of one size, from those that people agree on to those that they do not:
    the mean normalised entropy of each group, theirs and ours."""
    theirs, mine = normalised_entropy(people), normalised_entropy(ours)
    order = np.argsort(theirs, kind="stable")
    found = {}
    for number, rows in enumerate(np.array_split(order, GROUPS)):
        if len(rows):
            found[f"group/people@{number}"] = float(theirs[rows].mean())
            found[f"group/model@{number}"] = float(mine[rows].mean())
    return found


def curves(run: Run) -> dict[str, float]:
    """What the log tells of every epoch, if the run was watched."""
    found = {}
    for line in run.log:
        epoch = int(line["epoch"]) + 1
        for key, value in line.items():
            if key.startswith(HELD):
                found[f"{key}@{epoch}"] = float(value)
    return found


def constant(taught: Floats, people: Floats) -> Mapping[str, float]:
    """The same for a model that says of every item what is true of the training items on average:
    what there is to be had without reading."""
    same = np.tile(taught.mean(axis=0), (len(people), 1))
    return {
        "constant/kl": float(kl(people, same).mean()),
        "constant/accuracy": float(accuracy(people, same).mean()),
    }
