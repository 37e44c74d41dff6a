"""What the demo's study shows, as numbers with intervals over pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softlabel import sampling
from softlabel.aggregate import Mean
from softlabel.annotators import (
    Card,
    alpha_score,
    compare_with_others,
    find_repeats,
    get_rules,
    judge,
    lower_limit,
    observed_agreement,
    repeat_distance,
)
from softlabel.construct import Clamp, Hard
from softlabel.demo.study import PER_ITEM, RECIPES, Recipe, Study
from softlabel.metrics import correlation, entropy, intervals, kl, total_variation
from softlabel.tables import Annotations, Bools, Floats, Ints, Score, SoftLabels

# places in RECIPES of the two that are compared throughout
RICH, VOTES = (
    [recipe.name for recipe in RECIPES].index(name)
    for name in ("rich: clamp → mean", "votes: hard → share")
)
KL_FLOOR = 1e-3  # a smaller chance counts as this; else one confident miss would be infinite
REDRAWS = 20  # random choices of M people that are averaged for one point of the curve


@dataclass(frozen=True, eq=False)
class Pooled:
    """One recipe's labels and how far they are from the truth."""

    recipe: Recipe
    labels: SoftLabels
    tv: Score
    kl: Score
    entropy_r: Score


def pool(study: Study, recipe: Recipe) -> Pooled:
    """Build and pool labels by this recipe, and hold them against the truth."""
    labels = recipe.aggregate(recipe.construct(study.first(recipe.arm)))
    true, found = entropy(study.truth), labels.entropy(labels.estimand)
    return Pooled(
        recipe,
        labels,
        intervals.mean(total_variation(study.truth, labels.probs)),
        intervals.mean(kl(study.truth, labels.probs, floor=KL_FLOOR)),
        intervals.bootstrap(lambda rows: correlation(true[rows], found[rows]), len(true)),
    )


@dataclass(frozen=True, eq=False)
class Curve:
    """Error against the number of people asked: ``errors[M - 1, item]``."""

    errors: Floats

    @property
    def people(self) -> Ints:
        return np.arange(1, len(self.errors) + 1)

    def scores(self) -> list[Score]:
        return [intervals.mean(row) for row in self.errors]


def curves(study: Study, seed: int) -> tuple[Curve, Curve]:
    """Rich answers and votes, from one person per picture to all who were asked."""
    rng = np.random.default_rng([seed, 1])  # its own stream: drawing the study does not move it
    rich = Clamp()(study.first("rich"))
    votes = Hard()(study.votes)
    people = len(study.persons)
    return _curve(rich, PER_ITEM, study.truth, rng), _curve(votes, people, study.truth, rng)


def _curve(said: Annotations, most: int, truth: Floats, rng: np.random.Generator) -> Curve:
    errors = np.zeros((most, len(truth)))
    for m in range(1, most + 1):
        for _ in range(REDRAWS):
            labels = Mean()(sampling.subsample(said, m, rng))
            errors[m - 1] += total_variation(truth, labels.probs) / REDRAWS
    return Curve(errors)


def worth(rich: Curve, votes: Curve) -> Score:
    """How many votes come as close as one rich answer, between whole numbers by straight lines;
    infinite if all votes together do not."""

    def of(rows: Ints) -> float:
        target = rich.errors[0, rows].mean()
        error = votes.errors[:, rows].mean(axis=1)
        if error.min() > target:
            return float("inf")
        last = int((error <= target).argmax())
        if last == 0:
            return 1.0
        return float(last + (error[last - 1] - target) / (error[last - 1] - error[last]))

    return intervals.bootstrap(of, rich.errors.shape[1])


@dataclass(frozen=True, eq=False)
class Crowd:
    """The report cards: what the answers alone say about each person."""

    cards: list[Card]
    repeat_distance: Floats  # (a,) mean total variation between first and second answer
    remarks: list[tuple[str, ...]]
    suspect: Bools  # (a,) agreement far below everybody else's
    cleaned: Score  # error without the suspects minus error with them


def crowd(study: Study) -> Crowd:
    """Judge people by their answers; the truth is used only to see what leaving them out buys."""
    each = Clamp()(study.first("rich"))
    cards = compare_with_others(each)
    close = np.array([card.agreement for card in cards])
    suspect = close < lower_limit(close)
    again = Clamp()(study.rich)
    person, distance = again.annotator[find_repeats(again)[1]], repeat_distance(again)
    everybody = Mean()(each).probs
    kept = Mean()(each.take(~suspect[each.annotator])).probs
    return Crowd(
        cards,
        np.array([distance[person == a].mean() for a in range(len(cards))]),
        [verdict.remarks for verdict in judge(study.rich, get_rules("paper"))],
        suspect,
        intervals.paired(
            total_variation(study.truth, kept), total_variation(study.truth, everybody)
        ),
    )


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far people agree, by one way of asking."""

    observed: Score
    alpha: Score


def agreement(study: Study) -> dict[str, Agreement]:
    """For rich answers and for the votes of the same people."""
    said = {"rich": Clamp()(study.first("rich")), "votes": Hard()(study.first("votes"))}
    return {
        arm: Agreement(intervals.mean(observed_agreement(each)), alpha_score(each))
        for arm, each in said.items()
    }


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything the page needs."""

    seed: int
    study: Study
    pooled: list[Pooled]  # in the order of RECIPES
    difference: Score  # error of votes minus error of rich answers
    rich: Curve
    votes: Curve
    worth: Score
    agreement: dict[str, Agreement]
    crowd: Crowd


def find(seed: int, study: Study) -> Findings:
    """Measure it all."""
    pooled = [pool(study, recipe) for recipe in RECIPES]
    errors = [total_variation(study.truth, pooled[p].labels.probs) for p in (VOTES, RICH)]
    rich, votes = curves(study, seed)
    return Findings(
        seed,
        study,
        pooled,
        intervals.paired(*errors),
        rich,
        votes,
        worth(rich, votes),
        agreement(study),
        crowd(study),
    )
