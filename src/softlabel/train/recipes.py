"""Complete recipes, by name: pictures and texts learned from scratch, and heads on features.

A recipe is a configuration with a reason for every value, and a way to learn.  ``small`` is the
default: 20 epochs of 7,000 CIFAR-10 images in about a minute on two cores.  It keeps the papers'
setting (augmentation frozen, little weight decay), in which the effect of labels shows: soft labels
gain about 0.4 nats of cross-entropy against people over hard ones, at the same accuracy of about
65 %.  Fresh crops in every epoch gain five points of accuracy and hide the effect.  Published
numbers on the same split (Uma et al. 2020, ResNet-34A): hard 65.2 % and 2.61 nats, soft 66.6 % and
1.11 nats.

``features`` trains a head on frozen features: five seconds a run, for sweeps too wide for whole
networks.  EfficientNet-Lite0 has seen ImageNet, so this is not the papers' setting: heads reach
80 % where networks from scratch reach 65 %, and soft labels gain less (MLP: hard 0.995 and soft
0.694 nats of cross-entropy; linear: 0.713 and 0.668).  Such runs have ``kind: features`` and are
always reported apart.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.special import softmax
from torch import nn

from softlabel import registry
from softlabel.deliver import Deliver, Draws
from softlabel.errors import SoftlabelError
from softlabel.io import Progress, silent
from softlabel.metrics import accuracy, cross_entropy, evaluate, kl, mode
from softlabel.tables import Predictions
from softlabel.train import runs
from softlabel.train.config import Config
from softlabel.train.identity import NAMED
from softlabel.train.loop import fit, write_log
from softlabel.train.predict import Singles, predict_logits, predict_probs, save_network
from softlabel.train.runs import Run
from softlabel.train.splits import FoldedSplit, Split

Kind = Literal["scratch", "features"]
VOTES = "votes"  # in place of a delivery, where a crowd layer takes every vote itself
DRAWS = 200  # of the bootstrap in scores.json; `softlabel evaluate` draws more
HELD = "held "  # before the names of scores on held-out items in the log

# ── pictures from scratch ────────────────────────────────────────────────────────────────────

SMALL = Config(
    net="small",  # 74 k parameters: a tenth of ResNet-34A's cost
    epochs=20,  # the papers' ordering of labels is there after 20, with 65 it is only wider
    batch=64,  # smaller than 128: more steps in an epoch of 7,000
    lr=0.1,  # the papers' rate
    schedule="one-cycle",  # needs no tuning at 20 epochs
    momentum=0.9,
    nesterov=True,
    weight_decay=1e-4,  # the papers'; 5e-4 regularises away what soft labels gain
    augment="frozen",  # as published: one crop and flip per image for the whole run
)
C22 = Config(  # Collins, Bhatt & Weller 2022, as their code has it
    net="resnet34a",  # really a 44-layer CIFAR ResNet
    epochs=65,
    batch=32,  # in the code; the paper does not say
    lr=0.1,
    schedule="c22",  # x 0.1 after the epochs with index 50 and 55; the text's "1e-4" is a slip
    momentum=0.9,
    nesterov=False,
    weight_decay=1e-4,
    clip=1.0,  # in the code; the paper does not say
    reduction="mean",
    augment="frozen",  # pictures are transformed once, when the data set is built
)
C22_WIDE = replace(C22, net="resnet50", lr=0.4)  # theirs, from a grid of 0.001 to 0.5
U20 = replace(  # Uma et al. 2020
    C22,
    schedule="u20",  # 50 + 5 + 10 epochs, a new optimiser for each
    reduction="sum",  # with clip 1 nearly every step has length lr: normalised-gradient descent
)
G26 = Config(  # Gheibi & Ghazizadeh 2026, from reading notes: unchecked
    net="resnet18",
    epochs=200,
    batch=128,
    lr=0.1,
    schedule="cosine",
    momentum=0.9,
    nesterov=False,
    weight_decay=5e-4,
    augment="per_epoch",
)

# ── features and texts ───────────────────────────────────────────────────────────────────────

MLP = Config(
    net="mlp",  # one hidden layer of 256: can overfit hard labels, as whole networks do
    epochs=20,
    batch=128,
    optimiser="adamw",  # features differ in scale, which SGD would have to be tuned to
    lr=1e-3,
    schedule="linear",  # down to 0
    momentum=0.9,  # Adam's first
    nesterov=False,
    weight_decay=1e-2,
    augment="none",  # features cannot be cropped
    channels_last=False,
)
WORDS = replace(
    MLP,  # as for heads: AdamW, 20 epochs, the rate down to 0
    net="words",  # with two texts: words:texts=2
    batch=64,  # of about 1,200 items: 19 steps an epoch
)
HUB = replace(  # a pre-trained encoder: the usual rates and epochs (Devlin et al. 2019)
    MLP,
    net="hub",  # always changed to the name that ``text_encoders.register_hub`` returns
    epochs=5,
    batch=16,
    lr=2e-5,
    clip=1.0,
)
LABELME_CONFIG = Config(  # Uma et al. 2020 on LabelMe, whose photographs come as features of VGG16
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

# ── ways to learn ────────────────────────────────────────────────────────────────────────────


# from (config, split, deliver) and, by name, seed, the run's folder and tell, to the logits (m, k)
# of the held-out items
Learn = Callable[..., Singles]


def learn_split(
    config: Config,
    split: Split,
    deliver: Deliver | None,
    *,
    seed: int,
    folder: Path,
    tell: Progress = silent,
) -> Singles:
    """Train one network, from its checkpoint if there is one, and keep it in the folder."""
    taught = split.teaching if deliver is None else deliver(split.teaching, Draws(seed))
    check = partial(score_held_out, split) if split.watched else None
    trained = fit(config, split.inputs, taught, seed=seed, folder=folder, tell=tell, check=check)
    logits = predict_logits(trained.net, split.held)
    save_network(Run(folder), trained.net, logits.shape[1], split.inputs.shape[-1])
    return logits


def score_held_out(split: Split, net: nn.Module, epoch: int) -> Mapping[str, float]:
    """Score the items held out after an epoch, for learning curves: cross-entropy and KL to people,
    cross-entropy to their most frequent class, and accuracy.

    No epoch is chosen by it: the network of the last epoch is kept.
    """
    predictions = Predictions(split.index, predict_probs(net, split.held))
    people, ours, _ = evaluate.matched(predictions, split.people)
    scores = {
        "kl": kl(people, ours),
        "cross-entropy": cross_entropy(people, ours),
        "hard cross-entropy": cross_entropy(mode(people, "first"), ours),
        "accuracy": accuracy(people, ours),
    }
    return {f"{HELD}{name}": float(values.mean()) for name, values in scores.items()}


def learn_folds(
    config: Config,
    split: FoldedSplit,
    deliver: Deliver | None,
    *,
    seed: int,
    folder: Path,
    tell: Progress = silent,
) -> Singles:
    """Train a network for every fold of few items that all have votes.

    Each fold is predicted by a network that learned the other folds, and items that are only
    tested by one that learned them all.  Ten networks on features take about ten seconds.
    """
    count = len(split.fold)
    folds = np.unique(split.fold).tolist()
    log: list[dict[str, object]] = []
    logits = np.empty(split.held.shape[:1] + split.teaching.pooled.shape[1:], dtype=np.float32)
    for number, fold in enumerate([*folds, None]):
        tell("training", number, len(folds) + 1)
        learned = split.fold != fold  # all, where fold is None
        rows = np.flatnonzero(learned)
        known = split.teaching.only(rows)
        taught = known if deliver is None else deliver(known, Draws(seed))
        trained = fit(config, split.inputs[rows], taught, seed=seed)
        log.append({"fold": fold, "items": len(rows), "last": trained.log[-1]["loss"]})
        held = slice(count, None) if fold is None else np.flatnonzero(~learned)
        if len(split.held[held]):
            logits[held] = predict_logits(trained.net, split.held[held])
    write_log(folder, log)
    return logits


# ── recipes and their runs ───────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Recipe:
    """A configuration under a name.  ``kind`` keeps what was learned from scratch apart from what
    was learned on another network's features; ``learn`` trains and predicts."""

    name: str
    kind: Kind
    config: Config
    learn: Learn = learn_split

    def start_run(
        self, config: Config, split: Split, deliver: Deliver | None, *, seed: int, out: str | Path
    ) -> Run:
        """Return the run of this recipe with ``config``: new, interrupted or finished."""
        about = {
            "recipe": self.name,
            "kind": self.kind,
            "deliver": VOTES if deliver is None else registry.describe(deliver),
            **config.identity(),
            **split.hashes,
            NAMED: dict(split.named),
        }
        source = Path(inspect.getsourcefile(self.learn) or __file__).read_text("utf-8")
        return runs.start(out, about, split.arrays(), seed, source)

    def complete_run(
        self,
        config: Config,
        split: Split,
        deliver: Deliver | None,
        *,
        seed: int,
        out: str | Path,
        tell: Progress = silent,
    ) -> Run:
        """Return the run, finished: at once if it was, from its checkpoint if it was interrupted
        and ``learn`` keeps any."""
        run = self.start_run(config, split, deliver, seed=seed, out=out)
        if run.finished:
            return run
        with run.claim():
            if run.finished:  # by the process that held it until now
                return run
            started = time.perf_counter()
            try:
                logits = self.learn(config, split, deliver, seed=seed, folder=run.path, tell=tell)
            except SoftlabelError as error:
                run.fail(str(error))
                raise
            predictions = Predictions(split.index, softmax(logits.astype(np.float64), axis=1))
            tell("scoring")
            scores = evaluate.scores(predictions, split.people, draws=DRAWS)
            seconds = time.perf_counter() - started
            facts = {"recipe": self.name, "kind": self.kind, "seconds": seconds}
            run.finish(predictions, scores, split.people, {"logits": logits}, facts)
        return run


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe("small", "scratch", SMALL),
        Recipe("c22-resnet34a", "scratch", C22),
        Recipe("c22-vgg11", "scratch", replace(C22, net="vgg11")),
        Recipe("c22-resnet50", "scratch", C22_WIDE),
        Recipe("u20", "scratch", U20),
        Recipe("g26", "scratch", G26),
        Recipe("features", "features", MLP),
        Recipe("features-linear", "features", replace(MLP, net="linear")),
        Recipe("words", "scratch", WORDS),
        Recipe("hub", "features", HUB),
    )
}
LABELME = Recipe("u20-labelme", "features", LABELME_CONFIG, learn_folds)  # from Python only
