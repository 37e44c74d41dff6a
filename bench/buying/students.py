"""What a model learns from labels of each side, bought for the same seconds.

A head on frozen features (the recipe ``features``) learns from the images of CIFAR-10S that the
paper's split teaches, 900 of the 1,000, and is judged by all votes on the 3,000 test images of
CIFAR-10H.  Each run draws its own answers and starts from its own weights; runs of the same number
share both, so that differences are paired.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from buying import choice, pools
from buying.answers import Answers, Budget, Draw, draw
from buying.measuring import name_budget, show
from buying.pools import FOLDS

from softlabel.deliver import Aggregate, Draws, TrainingLabels
from softlabel.metrics import accuracy, cross_entropy, intervals
from softlabel.tables import Floats, Ints
from softlabel.train import encode, encoders, fit, recipes, splits
from softlabel.train.predict import predict_probs

ALL_VOTES = 51  # the mean number on an image; this budget takes all there are
BUDGETS = (
    *(Budget(votes=votes) for votes in (2, 5, 17, 35, ALL_VOTES)),
    *(Budget(rich=rich) for rich in (1, 2, 3, 6)),
    *(Budget(17, 1), Budget(35, 1), Budget(17, 2)),
)
PAIRS = (
    (Budget(rich=1), Budget(votes=17)),
    (Budget(rich=2), Budget(votes=35)),
    (Budget(rich=3), Budget(votes=ALL_VOTES)),
    (Budget(rich=6), Budget(votes=ALL_VOTES)),
    (Budget(rich=6), Budget(votes=5)),
    (Budget(17, 1), Budget(votes=35)),
    (Budget(35, 1), Budget(votes=ALL_VOTES)),
    (Budget(17, 1), Budget(rich=2)),
)
PLAIN = {"votes": "shares", "rich": "mean, clamp 0.1", "both": "mean of all"}
POOLED = {"votes": "dirichlet-mixture", "rich": "extremised", "both": "stack"}
Tell = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class School:
    """Features of the images taught, with their rows among all items; features of the images
    tested, and the people who judge."""

    taught: npt.NDArray[np.float32]
    rows: Ints
    tested: npt.NDArray[np.float32]
    people: Floats

    def teach(self, labels: Floats, seed: int) -> Floats:
        """Return cross-entropy and accuracy (2, t) of a model that learned from labels (m, k)."""
        soft = labels[self.rows]
        lesson = Aggregate()(TrainingLabels(soft.argmax(axis=1), soft), Draws(seed))
        trained = fit(recipes.read_recipe("features").config, self.taught, lesson, seed=seed)
        predicted = predict_probs(trained.net, self.tested)
        right = accuracy(self.people, predicted)
        return np.stack([cross_entropy(self.people, predicted, 1e-12), right])


def open_school(answers: Answers) -> School:
    """Load images, their features and the paper's split."""
    known = splits.load_cifar10s()
    features = encode(known.images, encoders.EfficientNetLite0())
    row = {item: place for place, item in enumerate(known.items.tolist())}
    place = {item: code for code, item in enumerate(answers.index.items.tolist())}
    learn = [item for item in known.learn.tolist() if item in place]
    return School(
        taught=features[[row[item] for item in learn]],
        rows=np.array([place[item] for item in learn]),
        tested=features[[row[item] for item in known.people.index.items.tolist()]],
        people=known.people.probs,
    )


def label(bought: Draw, budget: Budget) -> dict[str, Floats]:
    """Make the plain and the pooled label (m, k) of a budget."""
    if budget.votes == ALL_VOTES:
        made = pools.pool_votes(bought, bought.answers.counts.astype(np.float64))
    else:
        made = pools.pool_alone(bought, budget)
    return {name: made[name] for name in (PLAIN[budget.side], POOLED[budget.side])}


def run(answers: Answers, school: School, seed: int, kept: Path, tell: Tell) -> None:
    """Train a model on every label of one draw; what is done already is not done again."""
    kept.mkdir(parents=True, exist_ok=True)
    bought = draw(answers, "votes", seed)
    for budget in BUDGETS:
        paths = {
            name: kept / f"{seed}-{budget.votes}-{budget.rich}-{name}.npy"
            for name in (PLAIN[budget.side], POOLED[budget.side])
        }
        if all(path.exists() for path in paths.values()):
            continue
        for name, labels in label(bought, budget).items():
            scores = school.teach(labels, seed).astype(np.float32)
            np.save(paths[name], scores)
            tell(f"run {seed}, {budget.words}, {name}: {scores[0].mean():.4f}")


def gather(seeds: int, kept: Path) -> dict[Budget, dict[str, Floats]]:
    """Read cross-entropy and accuracy (seeds, 2, t), by budget and pool."""
    return {
        budget: {
            name: np.stack([
                np.load(kept / f"{seed}-{budget.votes}-{budget.rich}-{name}.npy")
                for seed in range(seeds)
            ]).astype(np.float64)
            for name in (PLAIN[budget.side], POOLED[budget.side])
        }
        for budget in BUDGETS
    }  # fmt: skip


def describe(seeds: int, kept: Path) -> dict[str, Any]:
    """Describe the runs: the better of two pools, chosen on other test images."""
    chosen, rows = {}, []
    for budget, runs in gather(seeds, kept).items():
        chosen[budget], names = choose_pool(runs)
        loss, right = (intervals.over_seeds_and_items(chosen[budget][:, what]) for what in (0, 1))
        said = {name: names.count(name) for name in dict.fromkeys(names)}
        scores = {"cross_entropy": show(loss), "accuracy": show(right), "pools": said}
        each = {name: show(intervals.over_seeds_and_items(x[:, 0])) for name, x in runs.items()}
        rows.append(name_budget(budget) | scores | {"each": each})
    pairs = []
    for first, second in PAIRS:
        score = intervals.over_seeds_and_items(chosen[first][:, 0] - chosen[second][:, 0])
        both = {"first": name_budget(first), "second": name_budget(second)}
        pairs.append(both | {"difference": show(score)})
    return {"runs": seeds, "rows": rows, "differences": pairs}


def choose_pool(runs: dict[str, Floats]) -> tuple[Floats, tuple[str, ...]]:
    """Compose the scores (seeds, 2, t) of the pool that taught best, judged on other images."""
    shape = next(iter(runs.values())).shape
    fold = np.random.default_rng([0, 1]).permutation(shape[2]) % FOLDS
    losses = {name: scores[:, 0].mean(axis=0) for name, scores in runs.items()}
    _, names = choice.choose_simply(losses, fold)
    chosen = np.empty(shape)
    for one, name in enumerate(names):
        chosen[:, :, fold == one] = runs[name][:, :, fold == one]
    return chosen, names
