"""POPQUORN with annotator effects: a model of the text and of who rates it.

Ratings of one text differ because people differ, and because the text is ambiguous.  Here every
annotator has an offset for each class (a crowd layer, ``vb``), learned together with the head on
the features of the text.  The distribution of an item is the mean over all annotators of what each
would answer: whoever rates the item next is one of them, and it is not known who.

``rating/nll`` is the loss of single ratings of held-out texts, by annotators with ratings to learn
from: with their own offset, with the mean over all annotators (``rating/nll-anybody``), and with
the constant of the training ratings (``rating/nll-constant``).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.special import log_softmax, logsumexp

from softlabel import datasets
from softlabel.deliver import Deliver
from softlabel.io import Progress
from softlabel.papers.singh2025 import data
from softlabel.tables import Annotations, Floats, names
from softlabel.train import RECIPES, Config, Recipe, Run, Split, fit, predict, recipes, splits

RECIPE = "annotators"
OFFSETS = "offsets.npy"  # in the folder of a run: (annotators, classes)


def register_recipe() -> None:
    """Make the recipe known to this process: the head on features, with annotators' offsets."""
    base = RECIPES["features"]
    config = replace(base.config, objective="vb")
    RECIPES.setdefault(RECIPE, Recipe(RECIPE, base.kind, config, learn_offsets))


def read_lesson(name: str, encoder: str, validated: bool) -> Split:
    """Return the lesson of a set with all ratings of its training items."""
    lesson = data.read_lesson(name, "features", False, encoder, validated)
    items = data.texts(name).pooled.index.items
    learn = items[~np.isin(items, lesson.index.items)]
    if validated:  # as ``text.split_texts`` sets them aside
        learn = learn[~splits.choose_held_out(names([f"validation {one}" for one in learn]))]
    each = splits.select_items(_ratings(name), learn)
    assert len(learn) == len(lesson.inputs), "these are the items to learn from"
    return replace(lesson, teaching=replace(lesson.teaching, each=each))


def _ratings(name: str) -> Annotations:
    ratings = datasets.load(name).annotations
    assert ratings is not None, f"{name} is votes"
    return ratings


def learn_offsets(
    config: Config, split: Split, deliver: Deliver | None, seed: int, folder: Path, tell: Progress
) -> predict.Singles:
    """Train the head and the offsets, and return the logarithm of the mean over annotators."""
    check = partial(recipes.score_epoch, split)
    taught = split.teaching
    trained = fit(config, split.inputs, taught, seed=seed, folder=folder, tell=tell, check=check)
    assert trained.layer is not None, "it has a crowd layer"
    offsets = trained.layer.get_parameter("bias").detach().cpu().numpy()
    np.save(folder / OFFSETS, offsets)
    logits = predict.predict_logits(trained.net, split.held)
    np.save(folder / "scores.npy", logits)
    return np.asarray(average_annotators(logits, offsets), dtype=np.float32)


def average_annotators(
    logits: Floats | predict.Singles, offsets: Floats | predict.Singles
) -> Floats:
    """Return (m, k) the logarithm of the mean over annotators of their distributions.

    >>> average_annotators(np.zeros((1, 2)), np.array([[1.0, 0.0], [0.0, 1.0]])).round(4)
    array([[-0.6931, -0.6931]])
    """
    each = log_softmax(logits[:, None].astype(np.float64) + offsets[None], axis=2)
    return np.asarray(logsumexp(each, axis=1) - np.log(len(offsets)))


def score_ratings(run: Run, name: str, constant: Floats) -> dict[str, float]:
    """Return the loss of held-out ratings; ``constant`` are the training items' mean shares."""
    ratings = splits.select_items(_ratings(name), run.predictions.index.items)
    assert ratings.label is not None, "a rating is a class"
    offsets, logits = np.load(run.path / OFFSETS), np.load(run.path / "scores.npy")
    known = np.abs(offsets[ratings.annotator]).sum(axis=1) > 0  # with ratings to learn from
    item, who, label = ratings.item[known], ratings.annotator[known], ratings.label[known]
    each = log_softmax(logits[item] + offsets[who], axis=1)
    anybody = average_annotators(logits, offsets)[item]
    rows = np.arange(len(item))
    return {
        "rating/nll": float(-each[rows, label].mean()),
        "rating/nll-anybody": float(-anybody[rows, label].mean()),
        "rating/nll-constant": float(-np.log(constant[label]).mean()),
    }
