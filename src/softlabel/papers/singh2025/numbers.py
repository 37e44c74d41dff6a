"""What Singh et al. 2025 claim, as far as we know it: the abstract and figure captions.

"32 % lower KL divergence from human annotations and 61 % stronger correlation between model and
annotation entropy, while matching the accuracy of hard-label training" (abstract).  How these were
averaged is not known: here each set counts the same.  Intervals are Student's t over seeds, with
soft and hard runs paired by seed; they do not cover the choice of the sets.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from softlabel.datasets import MissingData
from softlabel.metrics import intervals
from softlabel.papers.claims import Claim, Published, Results, Scale, over_runs, subtract
from softlabel.papers.singh2025 import data
from softlabel.papers.singh2025.data import (
    CHAOSNLI,
    FAMILIES,
    LABELS,
    PICTURES,
    POPQUORN,
    SETS,
    Condition,
)
from softlabel.tables import Floats, Score

Ours = Callable[[Results], Score | None]
POINT = 0.01  # accuracy that may be lost and still be called matched
PEARSON, SPEARMAN = "entropy-pearson", "entropy-spearman"
EACH = [[name] for name in SETS]  # every set counts the same
NO_DATA = "the data set is not on this machine"
NO_TABLE = "the paper's four tables are not available to us, so there is nothing to compare with"
NEAR_ZERO = (
    "the correlation of hard runs is not clearly above 0, so that a gain relative to it means "
    "nothing (or there are fewer than two runs)"
)


def claims(recipe: Scale) -> list[Claim]:
    """Return the claims, which are the same for all recipes, and what is measured besides."""
    measured = _annotators() if recipe == "features-tuned" else ()
    each = (claim for name in SETS for claim in _one_set(name))
    return [*_abstract(), *each, *_figures(), *_constants(), *measured]


def _abstract() -> Iterator[Claim]:
    where = "abstract"
    for id, groups, how in (
        ("kl drop", EACH, "mean of six sets"),
        ("kl drop, by family", FAMILIES, "ChaosNLI, POPQUORN and CIFAR-10H count a third each"),
    ):
        says = f"soft labels lower KL to people by 32 %, relative to hard labels ({how})"
        ours: Ours = partial(average, "kl", drop, groups)
        yield Claim(id, where, says, "ordering", ours, Published(0.32))
    whole = "gain of the mean correlation of six sets"
    for score, together, id, how in (
        (PEARSON, True, f"{PEARSON} gain", f"Pearson; {whole}"),
        (SPEARMAN, True, f"{SPEARMAN} gain", f"Spearman; {whole}"),
        (PEARSON, False, f"{PEARSON} gain, set by set", "Pearson; mean of the six sets' own gains"),
    ):
        says = f"the model's entropy correlates 61 % more strongly with people's ({how})"
        ours = partial(entropy_gain, score, together)
        yield Claim(id, where, says, "ordering", ours, Published(0.61), reason=NEAR_ZERO)
    says = "soft labels match the accuracy of hard labels: at most a point is lost (mean of six)"
    lost = partial(average, "accuracy", _subtract, EACH)
    yield Claim(
        "accuracy matched", where, says, "equivalence", lost, direction="below", margin=POINT
    )


def _one_set(name: str) -> Iterator[Claim]:
    where = "abstract, for one set"
    soft, hard = Condition(name, "soft"), Condition(name, "hard")
    for score, says, pair in (
        ("kl", "lower KL to people (hard minus soft)", (hard, soft)),
        (PEARSON, "raise the entropy correlation, Pearson (soft minus hard)", (soft, hard)),
        (SPEARMAN, "raise the entropy correlation, Spearman (soft minus hard)", (soft, hard)),
    ):
        id, says, ours = f"{name} {score}", f"{name}: soft labels {says}", _difference(*pair, score)
        yield Claim(id, where, says, "ordering", ours, direction="above")
    says = f"{name}: soft labels lose at most a point of accuracy"
    id, lost = f"{name} accuracy", _difference(soft, hard, "accuracy")
    yield Claim(id, where, says, "equivalence", lost, direction="below", margin=POINT)


def _figures() -> Iterator[Claim]:
    says = (
        "for a picture that both models classify correctly, KL is 0.01 (soft) and 0.08 (hard) "
        "(ours: mean over all CIFAR-10H pictures that the model classifies correctly)"
    )
    ours = _difference(Condition(PICTURES, "hard"), Condition(PICTURES, "soft"), "right/kl")
    published = Published(0.08 - 0.01)  # of one picture; we do not know which
    yield Claim("figure 2", "figure 2", says, "ordering", ours, published)
    says = (
        "on the items that people disagree on most, soft models are closer to people (relative "
        "drop of KL on the tenth with the highest entropy, mean of six sets)"
    )
    drops = partial(average, "high/kl", drop, EACH)
    yield Claim("figure 5", "figure 5", says, "ordering", drops, direction="above")
    for table in ("table 1", "table 2", "table 3", "table 4"):
        says = "not known to us"
        yield Claim(table, table, says, "value", lambda results: None, reason=NO_TABLE)


def _constants() -> Iterator[Claim]:
    for name in SETS:
        for labels in LABELS:
            cell = Condition(name, labels)
            says = f"{name}: KL to people with {labels} labels minus KL of a constant"
            ours = partial(subtract_constant, cell)
            yield Claim(f"{cell.name} constant", "not in the paper", says, "measurement", ours)


def _annotators() -> Iterator[Claim]:
    for name in POPQUORN:
        says = f"{name}: KL to people with annotators' offsets minus KL with soft labels"
        ours = _difference(Condition(name, "annotators"), Condition(name, "soft"), "kl")
        yield Claim(f"{name} annotators", "not in the paper", says, "measurement", ours)


# ── how ours is computed ─────────────────────────────────────────────────────────────────────


def paired(
    results: Results, sets: Sequence[str], score: str
) -> dict[str, tuple[Floats, Floats]] | None:
    """Return soft and hard scores (n,) of each set, by the seeds that all of them have; None if
    there are fewer than two."""
    by_seed = {
        name: [results.by_seed(Condition(name, labels).name, score) for labels in ("soft", "hard")]
        for name in sets
    }
    seeds = sorted(set.intersection(*(set(one) for pair in by_seed.values() for one in pair)))
    if len(seeds) < 2:
        return None
    return {
        name: (np.array([soft[one] for one in seeds]), np.array([hard[one] for one in seeds]))
        for name, (soft, hard) in by_seed.items()
    }


def drop(soft: Floats, hard: Floats) -> Floats:
    """Return how much lower soft is, relative to hard.

    >>> drop(np.array([0.5]), np.array([2.0]))
    array([0.75])
    """
    return (hard - soft) / hard


def _subtract(soft: Floats, hard: Floats) -> Floats:
    return soft - hard


def average(
    score: str,
    measure: Callable[[Floats, Floats], Floats],
    groups: Sequence[Sequence[str]],
    results: Results,
) -> Score | None:
    """Return the mean over groups of the mean over their sets, seed by seed."""
    pairs = paired(results, [name for group in groups for name in group], score)
    if pairs is None:
        return None
    means = [np.mean([measure(*pairs[name]) for name in group], axis=0) for group in groups]
    return over_runs(np.mean(means, axis=0))


def entropy_gain(score: str, together: bool, results: Results) -> Score | None:
    """Return the gain of soft over hard correlations, relative to hard, seed by seed: that of the
    sets' mean correlation, if ``together``, else the mean of the sets' own gains.  The former is
    stable where a single set's correlation is near 0.  None where a hard correlation is not
    clearly above 0."""
    pairs = paired(results, SETS, score)
    if pairs is None:
        return None
    soft, hard = (np.array(side) for side in zip(*pairs.values(), strict=True))  # (sets, seeds)
    if together:
        soft, hard = (side.mean(axis=0, keepdims=True) for side in (soft, hard))
    if not (hard > 0).all() or not all(intervals.over_seeds(one).low > 0 for one in hard):
        return None
    return over_runs(((soft - hard) / hard).mean(axis=0))


def subtract_constant(cell: Condition, results: Results) -> Score | None:
    """Return KL to people minus that of the training items' mean label, predicted for all items."""
    runs = {one.seed: one for one in results.of_cell(cell)}
    return subtract(runs, runs, ("kl", "constant/kl"))


def _difference(first: Condition, second: Condition, score: str) -> Ours:
    return lambda results: results.difference(first, second, score)


# ── facts ────────────────────────────────────────────────────────────────────────────────────


def facts() -> list[Claim]:
    """Return how many labels an item has: what we know second-hand of the paper's sets."""
    claims = []
    for name, value, tolerance, labels in (
        *((name, 100.0, 0.0, "100 labels") for name in CHAOSNLI),
        (PICTURES, 50.0, 2.5, "about 50 labels"),
        ("popquorn/politeness", 6.7, 0.05, "about 6.7 labels (POPQUORN)"),
    ):
        id, says, ours = (
            f"{name} labels",
            f"{name}: {labels} per item (in brackets the fewest and the most)",
            partial(_count, name),
        )
        known = Published(value, secondhand=True)
        claims.append(Claim(id, "data sets", says, "exact", ours, known, tolerance, NO_DATA))
    return claims


def _count(name: str, results: Results) -> Score | None:
    """Count the labels of an item: their mean, fewest and most."""
    try:
        counts = data.votes(name).sum(axis=1)
    except MissingData:
        return None
    return Score(float(counts.mean()), float(counts.min()), float(counts.max()), len(counts))
