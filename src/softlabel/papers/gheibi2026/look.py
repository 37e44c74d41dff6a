"""A finished run and what it is compared by: scores against people, what was taught, what learned.

All networks are compared on the same functions: the same training pictures, soft cross-entropy to
the shares of *all* votes, evaluation mode, whatever the network was taught.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from softlabel import registry
from softlabel.metrics import evaluate
from softlabel.papers.claims import Cell
from softlabel.papers.gheibi2026 import targets
from softlabel.tables import Floats
from softlabel.train import (
    ENCODERS,
    Config,
    Encoder,
    Inputs,
    Lesson,
    Net,
    Run,
    device_of,
    encoded,
    features,
    predicting,
    weights,
)

PEOPLE = {  # names of ours for scores of the room ``metrics``
    "accuracy": "accuracy",
    "cross-entropy": "cross-entropy",
    "kl": "kl",
    "entropy-pearson": "entropy-pearson",
    "entropy-spearman": "entropy-spearman",
    "ece-mass": "ece:binning=mass",
    "brier": "brier",
}
SEEN = 2000  # training pictures whose learned distributions are compared with all people's
Pictures = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Look:
    """A finished run with the network and the lesson that it was taught."""

    run: Run
    cell: Cell

    @cached_property
    def net(self) -> Net:
        """On a GPU, if there is one."""
        return weights.network(self.run).to(device_of(Config()))

    @cached_property
    def pictures(self) -> Lesson:
        """The lesson as pictures."""
        return self.cell.lesson()

    @cached_property
    def lesson(self) -> Lesson:
        """The lesson as the network saw it."""
        return _features(self.pictures) if self.encoded else self.pictures

    @property
    def encoded(self) -> bool:
        """True where the network is a head on features."""
        return bool(self.run.config["kind"] == "features")

    @property
    def full(self) -> Floats:
        """(m, k) the shares of all votes for the training items."""
        return self.lesson.teaching.pooled

    def seen(self, pictures: Pictures) -> Inputs:
        """Other pictures as this network sees pictures."""
        return encoded(pictures, _encoder()) if self.encoded else pictures


@cache
def _features(lesson: Lesson) -> Lesson:
    return features.featured(lesson, _encoder())


@cache
def _encoder() -> Encoder:
    return ENCODERS["lite0"]()


# ── against people ───────────────────────────────────────────────────────────────────────────


def against_people(run: Run) -> dict[str, float]:
    """``10h/cross-entropy`` and the others, on the items held out."""
    true, predicted, _ = evaluate.matched(run.predictions, run.people)
    found = {}
    for name, words in PEOPLE.items():
        value = registry.parse("metric", words)(true, predicted)
        found[f"10h/{name}"] = float(np.mean(value))
    return found


def taught_and_learned(look: Look) -> dict[str, float]:
    """How far the labels were from all people's, and how well those were learned nevertheless."""
    known, name = look.lesson.teaching, look.cell.name
    assert look.cell.deliver is not None, "every cell of this paper has a delivery"
    epochs = int(look.run.config["epochs"])
    found = targets.distances(look.cell.deliver, known, look.run.seed, epochs)
    kept = targets.sparse(name, known, look.run.seed)[:SEEN]
    predicted = predicting.probs(look.net, look.lesson.inputs[:SEEN])
    return found | targets.by_distance(look.full[:SEEN], kept, predicted)
