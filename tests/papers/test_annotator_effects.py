"""Annotators' offsets: known ones are found again, and the mean over annotators is a mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import softmax

from softlabel.deliver import TrainingLabels
from softlabel.papers.singh2025 import annotators
from softlabel.tables import Annotations, Index, SoftLabels, names
from softlabel.train import RECIPES, Split

ITEMS, PEOPLE, CLASSES, HELD = 400, 6, 3, 40


def test_offsets_of_known_people_are_found(tmp_path):
    rng = np.random.default_rng(3)
    features = rng.normal(size=(ITEMS + HELD, 5)).astype(np.float32)
    scores = features[:, :CLASSES] * 2.0
    true = rng.normal(scale=1.5, size=(PEOPLE, CLASSES))
    probs = softmax(scores[:, None] + true[None], axis=2)
    votes = np.array(
        [[rng.choice(CLASSES, p=probs[i, a]) for a in range(PEOPLE)] for i in range(ITEMS)]
    )
    labels = names(["a", "b", "c"])
    index = Index(
        names([str(i) for i in range(ITEMS)]), names([str(a) for a in range(PEOPLE)]), labels
    )
    item, who = (grid.ravel() for grid in np.indices(votes.shape))
    each = Annotations(index, item, who, label=votes.ravel())
    pooled = SoftLabels(
        Index(index.items, names([]), labels), each.counts() / PEOPLE, np.full(ITEMS, PEOPLE)
    )
    held = Index(names([f"held {i}" for i in range(HELD)]), names([]), labels)
    people = SoftLabels(held, probs[ITEMS:].mean(axis=1), np.full(HELD, PEOPLE))
    teaching = TrainingLabels.of(pooled, each)
    split = Split.of(features[:ITEMS], teaching, features[ITEMS:], people)
    annotators.register_recipe()
    recipe = RECIPES[annotators.RECIPE]
    config = replace(recipe.config, net="linear", epochs=40, batch=40, lr=0.03)
    run = recipe.complete_run(config, split, None, seed=0, out=tmp_path)
    found = np.load(run.path / annotators.OFFSETS)
    # offsets are known up to a shift of all classes, and of all annotators
    both = [one - one.mean(axis=1, keepdims=True) - one.mean(axis=0) for one in (true, found)]
    assert np.corrcoef(both[0].ravel(), both[1].ravel())[0, 1] > 0.95
    logits = np.load(run.path / "scores.npy").astype(np.float64)
    each_one = softmax(logits[:, None] + found[None], axis=2)
    np.testing.assert_allclose(run.predictions.probs, each_one.mean(axis=1), atol=1e-5)
    # the mean over annotators is nearer to the people than one annotator without an offset
    far = np.abs(softmax(logits, axis=1) - people.probs).mean()
    assert np.abs(run.predictions.probs - people.probs).mean() < far
