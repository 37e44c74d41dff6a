"""Complete recipes, by name: pictures and texts learned from scratch, and heads on features.

A recipe is a configuration, in ``recipes.toml`` with a reason for every value, and a way to learn.
``small`` is the default: 20 epochs of 7,000 CIFAR-10 images in about a minute on two cores.  It
keeps the papers' setting (augmentation frozen, little weight decay), in which the effect of labels
shows: soft labels gain about 0.4 nats of cross-entropy against people over hard ones, at the same
accuracy of about 65 %.  Fresh crops in every epoch gain five points of accuracy and hide the
effect.  Published numbers on the same split (Uma et al. 2020, ResNet-34A): hard 65.2 % and 2.61
nats, soft 66.6 % and 1.11 nats.

``features`` trains a head on frozen features: five seconds a run, for sweeps too wide for whole
networks.  EfficientNet-Lite0 has seen ImageNet, so this is not the papers' setting: heads reach
80 % where networks from scratch reach 65 %, and soft labels gain less (MLP: hard 0.995 and soft
0.694 nats of cross-entropy; linear: 0.713 and 0.668).  Such runs have ``kind: features`` and are
always reported apart.
"""

import inspect
import time
import tomllib
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
from softlabel.train.config import VALIDATED, Config, change_settings
from softlabel.train.identity import NAMED
from softlabel.train.loop import VALIDATION, fit, write_log
from softlabel.train.predict import Singles, predict_logits, predict_probs, save_network
from softlabel.train.runs import Run
from softlabel.train.splits import FoldedSplit, Split

Kind = Literal["scratch", "features", "tuned"]
VOTES = "votes"  # in place of a delivery, where a crowd layer takes every vote itself
DRAWS = 200  # of the bootstrap in scores.json; `softlabel evaluate` draws more
HELD = "held "  # before the names of scores on held-out items in the log

# ── ways to learn ────────────────────────────────────────────────────────────────────────────


# from (config, split, deliver) and, by name, seed, the run's folder and tell, to the logits (m, k)
# of the held-out items
Learn = Callable[..., Singles]


def learn_split(
    config: Config, split: Split, deliver: Deliver | None, seed: int, folder: Path, tell: Progress
) -> Singles:
    """Train one network, from its checkpoint if there is one, and keep it in the folder."""
    taught = split.teaching if deliver is None else deliver(split.teaching, Draws(seed))
    check = partial(score_epoch, split)
    trained = fit(config, split.inputs, taught, seed=seed, folder=folder, tell=tell, check=check)
    logits = predict_logits(trained.net, split.held)
    save_network(folder, trained.net, logits.shape[1], split.inputs.shape[-1])
    return logits


def score_epoch(split: Split, net: nn.Module, epoch: int) -> Mapping[str, float]:
    """Score validation items after an epoch, if there are any, and the items held out, if they are
    watched: for learning curves, by which no epoch is chosen."""
    scores: dict[str, float] = {}
    if split.validation is not None:
        labels, ours = split.validation.labels, predict_probs(net, split.validation.inputs)
        values = {"cross-entropy": cross_entropy(labels, ours), "accuracy": accuracy(labels, ours)}
        scores |= {f"{VALIDATION}{name}": float(values[name].mean()) for name in VALIDATED}
    return scores | (score_held_out(split, net) if split.watched else {})


def score_held_out(split: Split, net: nn.Module) -> dict[str, float]:
    """Score the items held out: cross-entropy and KL to people, cross-entropy to their most
    frequent class, and accuracy."""
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
    seed: int,
    folder: Path,
    tell: Progress,
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
        check = partial(score_epoch, replace(split, watched=False))
        trained = fit(config, split.inputs[rows], taught, seed=seed, check=check)
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


TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def read_recipe(name: str, learn: Learn = learn_split) -> Recipe:
    """Return a recipe of ``recipes.toml``: what it does not say is as in the one it is like."""
    settings = dict(TABLES[name])
    like = read_recipe(settings.pop("like")) if "like" in settings else None
    kind = settings.pop("kind", like and like.kind)
    config = change_settings(like.config if like else Config(), settings, name)
    return Recipe(name, kind, config, learn)


LABELME, LABELME_CODE = (read_recipe(f"u20-labelme{end}", learn_folds) for end in ("", "-code"))
# these two and tagging.POS are used from Python only
RECIPES = {name: read_recipe(name) for name in TABLES if not name.startswith("u20-")}
