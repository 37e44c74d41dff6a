"""The numbers and claims of Gheibi & Ghazizadeh 2026, each with the way ours is computed.

The numbers come from other people's reading notes: none was checked against the paper, and every
one is marked ``secondhand``.  They are of ResNet-18 after 200 epochs at its best checkpoint.  The
other recipes train other networks, so only differences are compared, and curvatures by factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from softlabel.metrics import intervals
from softlabel.papers.claims import Claim, Published, Results, Scale, over_runs
from softlabel.papers.gheibi2026.cells import SINGLE, Condition
from softlabel.tables import Floats, Score

# ── published numbers ────────────────────────────────────────────────────────────────────────

METRICS = {
    "cross-entropy": "soft NLL",
    "accuracy": "accuracy",
    "ece-mass": "calibration error",
    "entropy-spearman": "entropy correlation (Spearman)",
}
FULL = {  # all votes, ResNet-18, 10 seeds: the four metrics by policy
    policy: {metric: value for metric, value in zip(METRICS, row, strict=True) if value is not None}
    for policy, row in {
        "majority": (0.7284, 0.857, 0.0704, 0.2902),
        "smoothing": (0.6263, 0.859, 0.0598, 0.2117),
        "soft": (0.5096, 0.8687, 0.0185, 0.3909),
        "sls": (0.5052, 0.8695, 0.0186, 0.3946),
        "multipass": (0.4942, 0.8714, None, 0.4),
        "control": (0.4921, 0.8724, None, 0.3963),
        "shuffled": (2.2973, 0.1199, None, -0.006),
    }.items()
}
SPARSE = {  # soft NLL by the number of votes kept, 5 paired seeds
    "soft": {5: 0.586, 10: 0.5785, 25: 0.5388, 50: 0.5628},
    "sls": {5: 0.5599, 10: 0.5485, 25: 0.5169, 50: 0.5291},
    "multipass": {5: 0.5649, 10: 0.5371, 25: 0.5117, 50: 0.5241},
    "control": {5: 0.5555, 10: 0.5388, 25: 0.5077, 50: 0.5231},
}
P_VALUES = {  # one-sided, against soft
    "sls": {5: 0.031, 10: 0.031, 25: 0.063, 50: 0.094},
    "multipass": {5: 0.063, 10: 0.031, 25: 0.031, 50: 0.031},
    "control": {5: 0.031, 10: 0.031, 25: 0.031, 50: 0.031},
}
CURVATURES = {"lambda-max": "largest eigenvalue", "trace": "trace"}  # of the Hessian
CURVATURE = {  # both of them
    "soft": (242.2, 4946.0),
    "sls": (104.9, 1633.9),
    "multipass": (103.8, 1571.4),
    "control": (101.6, 1581.6),
    "shuffled": (18.4, 33.9),
}
BARRIER = 2.05  # between SLS and soft
STALE = {1: 0.5027, 50: 0.6689}  # soft NLL by the epochs for which a draw is kept
VARIANCE_ENTROPY = 0.939
GAIN_BY_DISTANCE = (0.05, 0.16)  # a range over cells
CKA = {"sls": 0.92, "soft": 0.887}  # between seeds
GRADCAM = {"sls": 0.901, "soft": 0.804}
OOD_P = 0.0186  # energy and ODIN, CIFAR-100
MIXUP = 0.5526  # soft NLL


def secondhand(value: float, half: float | None = None) -> Published:
    """Return a number that is known from reading notes."""
    return Published(value, half, secondhand=True)


# ── ours from the runs ───────────────────────────────────────────────────────────────────────

Ours = Callable[[Results], Score | None]
LOSS = "10h/cross-entropy"
ALPHA = 0.05


def mean(condition: Condition, score: str) -> Ours:
    """Take the mean over seeds."""
    return lambda results: results.mean(condition.name, score)


def difference(first: Condition, second: Condition, score: str) -> Ours:
    """Take first minus second, seed by seed."""
    return lambda results: results.difference(first.name, second.name, score)


def log_ratio(first: Condition, second: Condition, score: str, results: Results) -> Score | None:
    """Return the mean of log(first / second), seed by seed: curvatures have no scale that two
    networks would share.  None where a value is not above 0."""
    a, b = (results.by_seed(one.name, score) for one in (first, second))
    both = np.array([(a[seed], b[seed]) for seed in sorted(a.keys() & b.keys())])
    if not len(both) or not (both > 0).all():
        return None
    return over_runs(np.log(both[:, 0] / both[:, 1]))


def pair_score(single: Condition, score: str, results: Results) -> Score | None:
    """Return a score of pairs of soft and single votes, which either run of a pair may store."""
    soft = Condition("soft", single.votes)
    by_seed = results.by_seed(soft.name, score) | results.by_seed(single.name, score)
    return over_runs(list(by_seed.values()))


def cka_difference(first: Condition, second: Condition, results: Results) -> Score | None:
    """Compare CKA over pairs of neighbouring seeds, each known by its lower seed.  Pairs share
    runs, so the interval is a little too short."""
    a, b = (
        {seed - 1: cka for seed, cka in results.by_seed(one.name, "cka/previous").items()}
        | results.by_seed(one.name, "cka/next")
        for one in (first, second)
    )
    return over_runs([a[seed] - b[seed] for seed in sorted(a.keys() & b.keys())])


@dataclass(frozen=True)
class Comparison:
    """A one-sided Wilcoxon test against soft training over paired seeds; ``adjusted`` is p after
    Holm's correction."""

    policy: str
    votes: int
    seeds: int
    p: float
    adjusted: float


def compare_with_soft(results: Results) -> list[Comparison]:
    """Return the comparisons of the sparse sweep that were run, corrected as a family."""
    rows = []
    for policy, by_votes in P_VALUES.items():
        for votes in by_votes:
            pair = (Condition(one, votes).name for one in (policy, "soft"))
            ours, soft = (results.by_seed(name, LOSS) for name in pair)
            seeds = sorted(ours.keys() & soft.keys())
            if len(seeds) > 1:
                a, b = (np.array([one[seed] for seed in seeds]) for one in (ours, soft))
                rows.append((policy, votes, len(seeds), intervals.paired_wilcoxon(a, b, "less")))
    adjusted = intervals.holm(np.array([row[3] for row in rows]))
    return [Comparison(*row, float(p)) for row, p in zip(rows, adjusted, strict=True)]


def count_significant(p_values: Floats) -> int:
    """Return how many are below .05 after Holm's correction."""
    return int((intervals.holm(p_values) < ALPHA).sum())


# ── claims ───────────────────────────────────────────────────────────────────────────────────

TABLE, SWEEP, GEOMETRY = "full-distribution table", "sparse sweep", "geometry table"
SOFT, SLS = Condition("soft"), Condition("sls")
CHANCE = 0.03  # tolerance around their 12 % accuracy: chance is 10 %


def claims(recipe: Scale) -> list[Claim]:
    """Return all claims about training, orderings first."""
    values = _values() if recipe == "paper" else ()
    return [*_policies(), *_shuffling(), *_geometry(), *_distance(), *_similarity(recipe), *values]


def _ordering(
    id: str, where: str, says: str, ours: Ours, published: float, reason: str = ""
) -> Claim:
    return Claim(id, where, says, "ordering", ours, secondhand(published), reason=reason)


def _policies() -> Iterator[Claim]:
    """Compare two policies with all votes, and single votes with soft labels with fewer."""
    for first, second, metric in (
        *((policy, "majority", metric) for policy in ("soft", "sls") for metric in METRICS),
        *((policy, "soft", "cross-entropy") for policy in SINGLE),
        *((policy, "soft", "entropy-spearman") for policy in SINGLE),
        ("soft", "smoothing", "cross-entropy"),
        ("soft", "smoothing", "entropy-spearman"),
    ):
        apart = round(FULL[first][metric] - FULL[second][metric], 4)
        relation = "lower" if apart < 0 else "higher"
        says = f"all votes: {METRICS[metric]} is {relation} with {first} than with {second}"
        ours = difference(Condition(first), Condition(second), f"10h/{metric}")
        yield _ordering(f"all-{first}-{second}-{metric}", TABLE, says, ours, apart)
    for policy in SINGLE:
        for votes, loss in SPARSE[policy].items():
            p = P_VALUES[policy][votes]
            says = f"{votes} votes: soft NLL is lower with {policy} than with soft (printed p {p})"
            ours = difference(Condition(policy, votes), Condition("soft", votes), LOSS)
            apart = round(loss - SPARSE["soft"][votes], 4)
            yield _ordering(f"k{votes}-{policy}", SWEEP, says, ours, apart)
    says = "soft NLL is higher with draws kept for 50 epochs than with a new draw per epoch"
    ours = difference(Condition("stale-50"), SLS, LOSS)
    yield _ordering("stale", "stale targets", says, ours, round(STALE[50] - STALE[1], 4))


def _shuffling() -> Iterator[Claim]:
    for id, metric, says in (
        ("shuffled-accuracy", "accuracy", "accuracy falls to chance"),
        ("shuffled-entropy", "entropy-spearman", "the entropy correlation vanishes"),
    ):
        says = f"with shares assigned to wrong items, {says}"
        ours = mean(Condition("shuffled"), f"10h/{metric}")
        published = secondhand(FULL["shuffled"][metric])
        yield Claim(id, GEOMETRY, says, "value", ours, published, CHANCE)


def _geometry() -> Iterator[Claim]:
    for column, (score, called) in enumerate(CURVATURES.items()):
        for policy in (*SINGLE, "shuffled"):
            apart = float(np.log(CURVATURE[policy][column] / CURVATURE["soft"][column]))
            says = f"log ratio of the Hessian's {called}, {policy} to soft"
            ours = partial(log_ratio, Condition(policy), SOFT, f"flat/{score}")
            yield _ordering(f"{score}-{policy}", GEOMETRY, says, ours, round(apart, 3))
    says = "the loss rises between networks trained with sls and soft: their basins differ"
    ours = partial(pair_score, SLS, "barrier/sls")
    yield _ordering("barrier", "loss barrier", says, ours, BARRIER)


def _distance() -> Iterator[Claim]:
    low, high = GAIN_BY_DISTANCE
    published = secondhand(round((low + high) / 2, 4), round((high - low) / 2, 4))
    where = "gain against Jensen-Shannon distance"
    for policy in ("sls", "multipass"):
        for votes in (5, 10, 25):
            says = (
                f"{votes} votes: the farther an item's kept votes are from all votes, the more "
                f"{policy} gains over soft (Spearman over items; printed as a range over cells)"
            )
            ours = partial(pair_score, Condition(policy, votes), f"gain-by-distance/{policy}")
            id = f"gain-by-distance-k{votes}-{policy}"
            yield Claim(id, where, says, "value", ours, published)


def _similarity(recipe: Scale) -> Iterator[Claim]:
    """Detection and representations after sls and soft training, and what cannot be tested."""
    for place in ("cifar100", "svhn"):
        for score in ("energy", "odin"):
            says = f"{place}: {score} detects outside pictures better after sls than after soft"
            reason = f"{place} was not on the machine that made the runs"
            if (recipe, score) == ("features", "odin"):
                reason = "a head on features has no pixels for ODIN to perturb"
            yield Claim(
                f"ood-{place}-{score}",
                "out-of-distribution detection",
                says + (f" (printed: paired p {OOD_P})" if place == "cifar100" else ""),
                "ordering",
                difference(SLS, SOFT, f"ood/{place}/{score}/auroc"),
                reason=reason,
                direction="above",
            )
    alike = "of two seeds are more alike after sls than after soft training"
    where, apart = "representations", round(CKA["sls"] - CKA["soft"], 3)
    cka = partial(cka_difference, SLS, SOFT)
    yield _ordering("cka", where, f"features {alike} (CKA)", cka, apart)
    apart, reason = round(GRADCAM["sls"] - GRADCAM["soft"], 3), "Grad-CAM is not part of softlabel"
    yield _ordering("gradcam", where, f"Grad-CAM maps {alike}", _not_run, apart, reason)
    apart, reason = FULL["soft"]["cross-entropy"] - MIXUP, "mixup is not part of softlabel"
    says = "all votes: soft NLL is lower with soft than with mixup"
    yield _ordering("mixup", TABLE, says, _not_run, round(apart, 4), reason)


def _not_run(results: Results) -> None:
    return None


def _values() -> Iterator[Claim]:
    """Compare the printed numbers themselves, for their own network."""
    for policy, scores in FULL.items():
        for metric, value in scores.items():
            one, says = Condition(policy), f"all votes, {policy}: {METRICS[metric]}"
            yield _value(f"{one.name}-{metric}", TABLE, says, mean(one, f"10h/{metric}"), value)
    for policy, by_votes in SPARSE.items():
        for votes, value in by_votes.items():
            one, says = Condition(policy, votes), f"{votes} votes, {policy}: soft NLL"
            yield _value(one.name, SWEEP, says, mean(one, LOSS), value)
    for policy, both in CURVATURE.items():
        for score, value in zip(CURVATURES, both, strict=True):
            one, says = Condition(policy), f"Hessian of {policy}: {score}"
            yield _value(f"{one.name}-{score}", GEOMETRY, says, mean(one, f"flat/{score}"), value)
    barrier = partial(pair_score, SLS, "barrier/sls")
    yield _value("barrier-height", "loss barrier", "height", barrier, BARRIER)


def _value(id: str, where: str, says: str, ours: Ours, published: float) -> Claim:
    return Claim(id, where, says, "value", ours, secondhand(published))
