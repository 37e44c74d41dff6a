"""Pictures from outside: how well six scores tell them from what a network was taught about."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache

import numpy as np

from softlabel import metrics
from softlabel.datasets import MissingData, cifar100, shifted, svhn
from softlabel.errors import MissingExtra
from softlabel.papers.gheibi2026.look import Look, Pictures
from softlabel.tables import Floats
from softlabel.train import Inputs, Lesson, odin, predicting

ASIDE = 500  # pictures from inside, and from each place outside
KNOWN, NEIGHBOURS = 2000, 50  # training features for the k-th nearest neighbour
MEASURES = {"auroc": metrics.auroc, "fpr95": metrics.fpr95, "aupr": metrics.aupr}


def outside(look: Look) -> dict[str, float]:
    """``ood/patches/energy/auroc``: items held out against each set of pictures from outside.

    A head on features has no pixels to step in: there ODIN is left out.
    """
    inside = look.lesson.held[:ASIDE]
    bank = _features(look, look.lesson.inputs[:KNOWN])
    ours = _scores(look, inside, bank)
    found = {}
    for name, pictures in aliens(look.pictures).items():
        theirs = _scores(look, look.seen(pictures), bank)
        for score in ours:
            for measure, of in MEASURES.items():
                found[f"ood/{name}/{score}/{measure}"] = of(ours[score], theirs[score])
    return found


def _scores(look: Look, inputs: Inputs, bank: Floats) -> dict[str, Floats]:
    logits = predicting.logits(look.net, inputs).astype(np.float64)
    found = {name: score(logits) for name, score in metrics.LOGIT_SCORES.items()}
    found["knn"] = metrics.knn(_features(look, inputs), bank, min(NEIGHBOURS, len(bank)))
    if not look.encoded:
        found["odin"] = odin.odin(look.net, inputs)
    return found


def _features(look: Look, inputs: Inputs) -> Floats:
    return predicting.features(look.net, inputs).astype(np.float64)


@cache
def aliens(lesson: Lesson) -> Mapping[str, Pictures]:
    """Sets from outside that are on this machine, 500 of each: the first two are always there."""
    held = lesson.held[:ASIDE]
    side = held.shape[1]
    sets = {
        "patches": shifted.permuted_patches(held),
        "noise": shifted.gaussian_noise(len(held), side),
    }
    with suppress(MissingExtra):
        sets["digits"] = shifted.digits(side)[0][:ASIDE]
    for name, load in (("svhn", svhn.load), ("cifar100", cifar100.load)):
        with suppress(MissingData):
            sets[name] = load("test").arrays["images"][:ASIDE]
    return sets
