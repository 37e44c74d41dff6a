"""What Singh et al. 2025 claim, as far as it is known here: the abstract, figure captions.

"32 % lower KL divergence from human annotations and 61 % stronger correlation between model and
annotation entropy, while matching the accuracy of hard-label training" (abstract).  How these were
averaged is not known: here each set counts the same.  Intervals are Student's t over seeds, each
seed's soft runs beside its hard runs; that other sets might have been taken is not in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from softlabel.datasets import MissingData
from softlabel.metrics import intervals
from softlabel.papers.claims import Claim, Published, Recipe, Results
from softlabel.papers.singh2025 import data
from softlabel.tables import Floats, Score

SOFT, HARD = "soft", "hard"
KL_DROP = Published(0.32)
ENTROPY_GAIN = Published(0.61)
FIGURE_2 = Published(0.08 - 0.01)  # one picture, of which we do not know which it is
POINT = 0.01  # accuracy that may be lost and still be called matched
PEARSON, SPEARMAN = "entropy-pearson", "entropy-spearman"
NO_DATA = "the data set is not on this machine"
NO_TABLE = "the paper's four tables are not available to us, so there is nothing to compare with"
NEAR_ZERO = (
    "the correlation of hard runs, of which a gain would be a share, is not above 0 with its "
    "interval, so that it means nothing (or there are fewer than two runs)"
)
Measure = Callable[[Floats, Floats], Floats]  # of soft and hard scores (n,) of the same seeds


def claims(recipe: Recipe) -> Sequence[Claim]:
    """The same for all recipes: nothing in them depends on the network."""
    return [*_headlines(), *(claim for name in data.SETS for claim in _by_set(name)), *_figures()]


# ── the abstract ─────────────────────────────────────────────────────────────────────────────


def _headlines() -> list[Claim]:
    where = "abstract"
    lower = "soft labels lower the KL divergence to people by 32 %, relative to hard labels"
    stronger = "the correlation of the model's and people's entropies is 61 % stronger"
    return [
        Claim(
            "kl drop",
            where,
            f"{lower} (mean of six sets)",
            "ordering",
            partial(averaged, score="kl", measure=drop, groups=[[name] for name in data.SETS]),
            KL_DROP,
        ),
        Claim(
            "kl drop, by family",
            where,
            f"{lower} (ChaosNLI, POPQUORN and CIFAR-10H count a third each)",
            "ordering",
            partial(averaged, score="kl", measure=drop, groups=list(data.FAMILIES.values())),
            KL_DROP,
        ),
        *(
            Claim(
                f"{score} gain",
                where,
                f"{stronger} ({said}; gain of the mean correlation of six sets)",
                "ordering",
                partial(pooled_gain, score=score),
                ENTROPY_GAIN,
                reason=NEAR_ZERO,
            )
            for score, said in ((PEARSON, "Pearson"), (SPEARMAN, "Spearman"))
        ),
        Claim(
            f"{PEARSON} gain, set by set",
            where,
            f"{stronger} (Pearson; mean of the six sets' own gains)",
            "ordering",
            set_by_set_gain,
            ENTROPY_GAIN,
            reason=NEAR_ZERO,
        ),
        Claim(
            "accuracy matched",
            where,
            "soft labels match the accuracy of hard ones: at most a point is lost (mean of six)",
            "value",
            partial(_lost, sets=data.SETS),
            Published(0.0),
            POINT,
        ),
    ]


def _by_set(name: str) -> list[Claim]:
    where = "abstract, for one set"
    lower = partial(_difference, name=name, score="kl", sign=-1)
    return [
        Claim(
            f"{name} kl",
            where,
            f"{name}: soft labels lower the KL to people (hard minus soft)",
            "ordering",
            lower,
            direction="above",
        ),
        *(
            Claim(
                f"{name} {score}",
                where,
                f"{name}: soft labels raise the entropy correlation, {said} (soft minus hard)",
                "ordering",
                partial(_difference, name=name, score=score, sign=1),
                direction="above",
            )
            for score, said in ((PEARSON, "Pearson"), (SPEARMAN, "Spearman"))
        ),
        Claim(
            f"{name} accuracy",
            where,
            f"{name}: at most a point of accuracy is lost by soft labels",
            "value",
            partial(_lost, sets=(name,)),
            Published(0.0),
            POINT,
        ),
    ]


# ── figures and tables ───────────────────────────────────────────────────────────────────────


def _figures() -> list[Claim]:
    high = partial(averaged, measure=drop, groups=[[name] for name in data.SETS])
    tables = [
        Claim(f"table {n}", f"table {n}", "not known to us", "value", _nothing, reason=NO_TABLE)
        for n in range(1, 5)
    ]
    return [
        Claim(
            "figure 2",
            "figure 2",
            "of a picture that both name rightly, the soft model's KL is 0.01 and the hard one's "
            "0.08 (ours: mean over all pictures of CIFAR-10H that the model names rightly)",
            "ordering",
            partial(_difference, name=data.PICTURES, score="right/kl", sign=-1),
            FIGURE_2,
        ),
        Claim(
            "figure 5",
            "figure 5",
            "on the items that people disagree on most, soft models are nearer to people (relative "
            "drop of KL on the tenth of highest entropy, mean of six sets)",
            "ordering",
            partial(high, score="high/kl"),
            direction="above",
        ),
        *tables,
    ]


def _nothing(results: Results) -> None:
    return None


# ── how ours is computed ─────────────────────────────────────────────────────────────────────


def both(results: Results, name: str, score: str) -> tuple[dict[int, float], dict[int, float]]:
    """Soft and hard scores of a set, by seed."""
    return (
        results.by_seed(f"{name} {SOFT}", score),
        results.by_seed(f"{name} {HARD}", score),
    )


def shared(results: Results, sets: Iterable[str], score: str) -> list[int]:
    """The seeds that every one of these sets has, soft and hard."""
    seeds = [set(each) for name in sets for each in both(results, name, score)]
    return sorted(set.intersection(*seeds)) if seeds else []


def _pairs(results: Results, name: str, score: str, seeds: Sequence[int]) -> tuple[Floats, Floats]:
    soft, hard = both(results, name, score)
    return np.array([soft[seed] for seed in seeds]), np.array([hard[seed] for seed in seeds])


def drop(soft: Floats, hard: Floats) -> Floats:
    """How much lower, relative to hard.

    >>> drop(np.array([0.5]), np.array([2.0]))
    array([0.75])
    """
    return (hard - soft) / hard


def averaged(
    results: Results, score: str, measure: Measure, groups: Sequence[Sequence[str]]
) -> Score | None:
    """The mean over groups of the mean over their sets, seed by seed."""
    names = [name for group in groups for name in group]
    seeds = shared(results, names, score)
    if len(seeds) < 2:
        return None
    each = [
        np.mean([measure(*_pairs(results, name, score, seeds)) for name in group], axis=0)
        for group in groups
    ]
    return intervals.over_seeds(np.mean(each, axis=0))


def pooled_gain(results: Results, score: str) -> Score | None:
    """(mean of soft correlations - mean of hard ones) / mean of hard ones, seed by seed: steady
    where a single set's correlation is near 0."""
    seeds = shared(results, data.SETS, score)
    if len(seeds) < 2:
        return None
    pairs = [_pairs(results, name, score, seeds) for name in data.SETS]
    soft, hard = (np.mean(side, axis=0) for side in zip(*pairs, strict=True))
    gain = _gained(soft, hard)
    return None if gain is None else intervals.over_seeds(gain)


def set_by_set_gain(results: Results) -> Score | None:
    """The mean of the sets' own relative gains; None where one of them has no meaning."""
    seeds = shared(results, data.SETS, PEARSON)
    if len(seeds) < 2:
        return None
    gains = []
    for name in data.SETS:
        gain = _gained(*_pairs(results, name, PEARSON, seeds))
        if gain is None:
            return None
        gains.append(gain)
    return intervals.over_seeds(np.mean(gains, axis=0))


def _gained(soft: Floats, hard: Floats) -> Floats | None:
    """Relative to hard, seed by seed; None where that cannot be told from 0."""
    if not (hard > 0).all() or not intervals.over_seeds(hard).low > 0:
        return None
    return (soft - hard) / hard


def _difference(results: Results, name: str, score: str, sign: int) -> Score | None:
    first, second = (SOFT, HARD) if sign > 0 else (HARD, SOFT)
    return results.difference(f"{name} {first}", f"{name} {second}", score)


def _lost(results: Results, sets: Sequence[str]) -> Score | None:
    """Accuracy of hard minus that of soft labels, never below 0: a gain is no loss."""
    groups = [[name] for name in sets]
    found = averaged(results, "accuracy", lambda soft, hard: hard - soft, groups)
    if found is None:
        return None
    return Score(max(found.value, 0), max(found.low, 0), max(found.high, 0), found.n)


# ── the data alone ───────────────────────────────────────────────────────────────────────────


def facts() -> Sequence[Claim]:
    """How many labels an item has: what is known of the paper's sets second-hand."""
    known = [
        *((name, 100.0, 0.0, "100 labels") for name in data.FAMILIES["ChaosNLI"]),
        (data.PICTURES, 50.0, 2.5, "about 50 labels"),
        ("popquorn/politeness", 6.7, 0.05, "about 6.7 labels (POPQUORN)"),
    ]
    return [
        Claim(
            f"{name} labels",
            "data sets",
            f"{name}: {said} per item",
            "exact",
            partial(_labels, name=name),
            Published(value, secondhand=True),
            tolerance,
            NO_DATA,
        )
        for name, value, tolerance, said in known
    ]


def _labels(results: Results, name: str) -> Score | None:
    try:
        counts = data.votes(name).sum(axis=1)
    except MissingData:
        return None
    return Score(float(counts.mean()), float(counts.min()), float(counts.max()), len(counts))
