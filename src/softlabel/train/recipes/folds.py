"""Few items, all with votes, to learn from and to be tested on: a network for every fold.

Each fold is predicted by a network that learned the other folds, and items that are only tested by
one that learned them all.  The configuration is that of Uma et al. 2020 on LabelMe, whose
photographs come as features of VGG16; ten such networks take about ten seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from softlabel.deliver import Deliver, Draws
from softlabel.errors import DataError
from softlabel.io import Tell, silent
from softlabel.tables import Bools, Ints
from softlabel.train import Config, checkpoints, fit, predicting, runs
from softlabel.train.recipes.base import Recipe
from softlabel.train.recipes.lesson import Lesson
from softlabel.train.recipes.own import Own, Singles

CONFIG = Config(
    net="mlp:hidden=128,dropout=0.2",  # in the code; .5 in Rodrigues & Pereira 2018
    epochs=50,  # in the code; the paper says 20
    batch=64,  # Rodrigues & Pereira's; the paper does not say
    optimiser="adam",
    lr=1e-3,
    schedule="constant",
    weight_decay=0.0,
    augment="none",
    channels_last=False,
)


@dataclass(frozen=True, eq=False)
class Folded(Lesson):
    """A lesson whose first held-out items are the ones to learn from, in the same order;
    ``fold`` (m,) says in which fold each of these is."""

    fold: Ints = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        count = len(self.fold)
        if count != len(self.inputs) or not np.array_equal(self.inputs, self.held[:count]):
            raise DataError(
                f"{count} folds for {len(self.inputs)} items: there must be as many, and the items "
                "to learn from must be the first of those held out"
            )

    @cached_property
    def hashes(self) -> dict[str, str]:
        """What was seen, what was predicted, and by which networks."""
        return {**super().hashes, "fold_sha": runs.digest({"fold": self.fold})}


def learn(
    config: Config,
    lesson: Folded,
    deliver: Deliver | None,
    *,
    seed: int,
    folder: Path,
    tell: Tell = silent,
) -> Singles:
    """(m, k) logits of all items held out."""
    count = len(lesson.fold)
    parts = np.unique(lesson.fold).tolist()
    log = []
    logits = np.empty(lesson.held.shape[:1] + lesson.teaching.pooled.shape[1:], dtype=np.float32)
    for number, part in enumerate([*parts, None]):
        tell("training", number, len(parts) + 1)
        learned: Bools = lesson.fold != part  # all, where part is None
        rows = np.flatnonzero(learned)
        known = lesson.teaching.only(rows)
        taught = known if deliver is None else deliver(known, Draws(seed))
        trained = fit(config, lesson.inputs[rows], taught, seed=seed)
        log.append({"fold": part, "items": len(rows), "last": trained.log[-1]["loss"]})
        held = slice(count, None) if part is None else np.flatnonzero(~learned)
        if len(lesson.held[held]):
            logits[held] = predicting.logits(trained.net, lesson.held[held])
    checkpoints.write_log(folder, log)
    return logits


LABELME = Own(Recipe("u20-labelme", "features", CONFIG, __file__), learn)
