"""What a model learns from labels of each side, bought for the same seconds.

A head on frozen features (the recipe ``features``) learns from the images of CIFAR-10S that the
paper's split teaches, 900 of the 1,000, and is judged by all votes on the 3,000 test images of
CIFAR-10H.  ``alone`` teaches nothing but these 900 images; ``paper`` adds the other 6,000 images of
the split with their given classes.  Each run draws its own answers and starts from its own weights;
runs of the same number share both, so that differences are paired.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from buying import pools
from buying.answers import Answers, Budget, Draw, draw
from softlabel.deliver import Aggregate, Draws, TrainingLabels
from softlabel.metrics import accuracy, cross_entropy
from softlabel.tables import Floats, Ints
from softlabel.train import encode, encoders, fit, recipes, splits
from softlabel.train.predict import predict_probs

ALL_VOTES = 51  # the mean number on an image; this budget takes all there are
BUDGETS = (
    *(Budget(votes=votes) for votes in (2, 5, 17, 35, ALL_VOTES)),
    *(Budget(rich=rich) for rich in (1, 2, 3, 6)),
    *(Budget(17, 1), Budget(35, 1), Budget(17, 2)),
)
PLAIN = {"votes": "shares", "rich": "mean, clamp 0.1", "both": "mean of all"}
POOLED = {"votes": "dirichlet-mixture", "rich": "extremised", "both": "stack"}
SETTINGS = ("alone", "paper")
Tell = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class School:
    """Features of the images taught and tested, the classes given with the former, which of them
    have bought labels and their rows among all items, and the people who judge."""

    taught: npt.NDArray[np.float32]
    gold: Ints
    bought: Ints
    rows: Ints
    tested: npt.NDArray[np.float32]
    people: Floats

    def teach(self, labels: Floats, setting: str, seed: int) -> Floats:
        """Return cross-entropy and accuracy (2, t) of a model that learned from labels (m, k)."""
        soft = np.eye(labels.shape[1])[self.gold]
        soft[self.bought] = labels[self.rows]
        features, gold = self.taught, self.gold
        if setting == "alone":
            features, gold, soft = (x[self.bought] for x in (features, gold, soft))
        lesson = Aggregate()(TrainingLabels(gold, soft), Draws(seed))
        trained = fit(recipes.read_recipe("features").config, features, lesson, seed=seed)
        predicted = predict_probs(trained.net, self.tested)
        right = accuracy(self.people, predicted)
        return np.stack([cross_entropy(self.people, predicted, 1e-12), right])


def open_school(answers: Answers) -> School:
    """Load images, their features and the paper's split."""
    known = splits.load_cifar10s()
    features = encode(known.images, encoders.EfficientNetLite0())
    row = {item: place for place, item in enumerate(known.items.tolist())}
    bought = np.flatnonzero(np.isin(known.learn, answers.index.items))
    place = {item: code for code, item in enumerate(answers.index.items.tolist())}
    learn, tested = known.learn.tolist(), known.people.index.items.tolist()
    return School(
        taught=features[[row[item] for item in learn]],
        gold=known.gold,
        bought=bought,
        rows=np.array([place[learn[code]] for code in bought]),
        tested=features[[row[item] for item in tested]],
        people=known.people.probs,
    )


def label(bought: Draw, budget: Budget) -> dict[str, Floats]:
    """Make the plain and the pooled label (m, k) of a budget."""
    if budget.votes == ALL_VOTES:
        made = pools.pool_votes(bought, bought.answers.counts.astype(np.float64))
    else:
        made = pools.pool_alone(bought, budget)
    return {name: made[name] for name in (PLAIN[budget.side], POOLED[budget.side])}


def run(answers: Answers, school: School, setting: str, seed: int, kept: Path, tell: Tell) -> None:
    """Train a model on every label of one draw; what is done already is not done again."""
    kept.mkdir(parents=True, exist_ok=True)
    bought = draw(answers, "votes", seed)
    for budget in BUDGETS:
        paths = {
            name: kept / f"{setting}-{seed}-{budget.votes}-{budget.rich}-{name}.npy"
            for name in (PLAIN[budget.side], POOLED[budget.side])
        }
        if all(path.exists() for path in paths.values()):
            continue
        for name, labels in label(bought, budget).items():
            scores = school.teach(labels, setting, seed).astype(np.float32)
            np.save(paths[name], scores)
            tell(f"{setting}, run {seed}, {budget.words}, {name}: {scores[0].mean():.4f}")


def gather(setting: str, seeds: int, kept: Path) -> dict[Budget, dict[str, Floats]]:
    """Read cross-entropy and accuracy (seeds, 2, t), by budget and pool."""
    return {
        budget: {
            name: np.stack([
                np.load(kept / f"{setting}-{seed}-{budget.votes}-{budget.rich}-{name}.npy")
                for seed in range(seeds)
            ]).astype(np.float64)
            for name in (PLAIN[budget.side], POOLED[budget.side])
        }
        for budget in BUDGETS
    }  # fmt: skip
