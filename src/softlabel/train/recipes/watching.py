"""How a network does on the items held out, after every epoch: what learning curves are made of.

No epoch is chosen by it: all recipes keep the network of the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torch import nn

from softlabel.metrics import accuracy, cross_entropy, evaluate, kl, mode
from softlabel.tables import Predictions
from softlabel.train import predicting
from softlabel.train.loop import Check

if TYPE_CHECKING:
    from softlabel.train.recipes.lesson import Lesson

HELD = "held "  # before the names in the log


def held_out(lesson: Lesson) -> Check:
    """Cross-entropy and KL to people, cross-entropy to their most frequent class, and accuracy."""

    def check(net: nn.Module, epoch: int) -> Mapping[str, float]:
        found = Predictions(lesson.index, predicting.probs(net, lesson.held))
        people, ours, _ = evaluate.matched(found, lesson.people)
        scores = {
            "kl": kl(people, ours),
            "cross-entropy": cross_entropy(people, ours),
            "hard cross-entropy": cross_entropy(mode(people, "first"), ours),
            "accuracy": accuracy(people, ours),
        }
        return {f"{HELD}{name}": float(values.mean()) for name, values in scores.items()}

    return check
