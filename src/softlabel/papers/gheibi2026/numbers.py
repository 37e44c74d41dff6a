"""The numbers and claims of Gheibi & Ghazizadeh 2026, each with the way ours is computed.

The numbers come from other people's reading notes: none was checked against the paper, and every
one is marked ``secondhand``.  They are of ResNet-18 after 200 epochs at its best checkpoint.  The
other recipes train other networks, so only differences are compared, and curvatures by factors.
"""

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from softlabel.metrics import intervals
from softlabel.papers.claims import Claim, Published, Results, Scale, over_runs
from softlabel.papers.gheibi2026.conditions import SINGLE, Condition
from softlabel.tables import Floats, Score

# ── published numbers ────────────────────────────────────────────────────────────────────────

PUBLISHED = tomllib.loads(Path(__file__).with_name("published.toml").read_text("utf-8"))
METRICS: dict[str, str] = PUBLISHED["metrics"]
CURVATURES: dict[str, str] = PUBLISHED["curvatures"]
FULL: dict[str, dict[str, float]] = PUBLISHED["full"]
KEPT = (5, 10, 25, 50)  # votes
SPARSE, P_VALUES = (
    {policy: dict(zip(KEPT, row, strict=True)) for policy, row in PUBLISHED[name].items()}
    for name in ("sparse", "p-values")
)
CURVATURE: dict[str, list[float]] = PUBLISHED["curvature"]


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
    """Return a score of pairs of soft and single votes, which either run of a pair may store.

    Both were trained with the same settings.  Where arms are tuned and two chose different ones,
    there is no such pair."""
    soft = Condition("soft", single.votes)
    runs = [*results.of_cell(soft.name), *results.of_cell(single.name)]
    if len({(one.about.get("config") or {}).get("weight_decay") for one in runs}) > 1:
        return None
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
    """A one-sided Wilcoxon test against soft training over paired seeds; ``adjusted`` by Holm."""

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
MATCHED = 0.02  # nats, or correlation: what the notes' own cells differ by with the same labels
# outside pictures that need no download, in place of the paper's CIFAR-100 and SVHN
OTHER_DATA = {"digits": "digits", "noise": "noise", "patches": "permuted patches"}
CHANCE = 0.03  # tolerance around their 12 % accuracy: chance is 10 %


def claims(recipe: Scale) -> list[Claim]:
    """Return all claims about training, orderings first."""
    values = _values() if recipe == "paper" else ()
    return [*_policies(), *_geometry(), *_distance(), *_similarity(recipe), *values]


def _ordering(
    id: str, where: str, says: str, ours: Ours, published: float, reason: str = ""
) -> Claim:
    return Claim(id, where, says, "ordering", ours, secondhand(published), reason=reason)


def _policies() -> Iterator[Claim]:
    """Compare two policies with all votes, and single votes with soft labels with fewer."""
    for first, second, metric in (
        *((policy, "majority", metric) for policy in ("soft", "sls") for metric in METRICS),
        ("control", "soft", "cross-entropy"),
        ("control", "soft", "entropy-spearman"),
        ("soft", "smoothing", "cross-entropy"),
        ("soft", "smoothing", "entropy-spearman"),
    ):
        apart = round(FULL[first][metric] - FULL[second][metric], 4)
        relation = "lower" if apart < 0 else "higher"
        says = f"all votes: {METRICS[metric]} is {relation} with {first} than with {second}"
        ours = difference(Condition(first), Condition(second), f"10h/{metric}")
        yield _ordering(f"all-{first}-{second}-{metric}", TABLE, says, ours, apart)
    for policy in ("sls", "multipass"):
        for metric in ("cross-entropy", "entropy-spearman"):
            says = f"all votes: {policy} matches soft: {METRICS[metric]} is the same to {MATCHED}"
            ours = difference(Condition(policy), SOFT, f"10h/{metric}")
            id = f"all-{policy}-soft-{metric}"
            yield Claim(id, TABLE, says, "equivalence", ours, margin=MATCHED)
    for policy in SINGLE:
        for votes, loss in SPARSE[policy].items():
            p = P_VALUES[policy][votes]
            says = f"{votes} votes: soft NLL is lower with {policy} than with soft (printed p {p})"
            ours = difference(Condition(policy, votes), Condition("soft", votes), LOSS)
            apart = round(loss - SPARSE["soft"][votes], 4)
            yield _ordering(f"k{votes}-{policy}", SWEEP, says, ours, apart)
    says = "soft NLL is higher with draws kept for 50 epochs than with a new draw per epoch"
    ours, stale = difference(Condition("stale-50"), SLS, LOSS), PUBLISHED["stale"]
    yield _ordering("stale", "stale targets", says, ours, round(stale["50"] - stale["1"], 4))


def _geometry() -> Iterator[Claim]:
    for id, metric, says in (
        ("shuffled-accuracy", "accuracy", "accuracy falls to chance"),
        ("shuffled-entropy", "entropy-spearman", "the entropy correlation vanishes"),
    ):
        says = f"with shares assigned to wrong items, {says}"
        ours = mean(Condition("shuffled"), f"10h/{metric}")
        published = secondhand(FULL["shuffled"][metric])
        yield Claim(id, GEOMETRY, says, "value", ours, published, CHANCE)
    for column, (score, called) in enumerate(CURVATURES.items()):
        for policy in (*SINGLE, "shuffled"):
            apart = float(np.log(CURVATURE[policy][column] / CURVATURE["soft"][column]))
            says = f"log ratio of the Hessian's {called}, {policy} to soft"
            ours = partial(log_ratio, Condition(policy), SOFT, f"flat/{score}")
            yield _ordering(f"{score}-{policy}", GEOMETRY, says, ours, round(apart, 3))
    says = "the loss rises between networks trained with sls and soft: their basins differ"
    ours = partial(pair_score, SLS, "barrier/sls")
    yield _ordering("barrier", "loss barrier", says, ours, PUBLISHED["barrier"])


def _distance() -> Iterator[Claim]:
    low, high = PUBLISHED["gain-by-distance"]
    where = "gain against Jensen-Shannon distance"
    for policy in ("sls", "multipass"):
        for votes in (5, 10, 25):
            says = (
                f"{votes} votes: the farther an item's kept votes are from all votes, the more "
                f"{policy} gains over soft (Spearman over items; printed {low:g} to {high:g})"
            )
            ours = partial(pair_score, Condition(policy, votes), f"gain-by-distance/{policy}")
            id = f"gain-by-distance-k{votes}-{policy}"
            yield Claim(id, where, says, "ordering", ours, secondhand(low))


def _similarity(recipe: Scale) -> Iterator[Claim]:
    """Detection and representations after sls and soft training, and what cannot be tested."""
    for place in ("cifar100", "svhn"):
        for score in ("energy", "odin"):
            says = f"{place}: {score} detects outside pictures better after sls than after soft"
            says += f" (printed: paired p {PUBLISHED['ood-p']})" if place == "cifar100" else ""
            why = f"{place} was not on the machine that made the runs"
            if recipe in ("features", "features-tuned") and score == "odin":
                why = "a head on features has no pixels for ODIN to perturb"
            id, where = f"ood-{place}-{score}", "out-of-distribution detection"
            ours = difference(SLS, SOFT, f"ood/{place}/{score}/auroc")
            yield Claim(id, where, says, "ordering", ours, reason=why, direction="above")
    for place, called in OTHER_DATA.items():
        for score in ("energy", "odin") if "features" not in recipe else ("energy",):
            says = f"{called}: {score} detects outside pictures better after sls than after soft"
            ours = difference(SLS, SOFT, f"ood/{place}/{score}/auroc")
            id, where = f"ood-{place}-{score}", "out-of-distribution detection, on other data"
            yield Claim(id, where, says, "ordering", ours, direction="above")
    for id, what, ours, reason in (
        ("cka", "features {} (CKA)", partial(cka_difference, SLS, SOFT), ""),
        ("gradcam", "Grad-CAM maps {}", _not_run, "Grad-CAM is not part of softlabel"),
    ):
        says = what.format("of two seeds are more alike after sls than after soft training")
        apart = round(PUBLISHED[id]["sls"] - PUBLISHED[id]["soft"], 3)
        yield _ordering(id, "representations", says, ours, apart, reason)
    says, reason = "soft NLL is lower with soft than with mixup", "mixup is not part of softlabel"
    apart = round(FULL["soft"]["cross-entropy"] - PUBLISHED["mixup"], 4)
    yield _ordering("mixup", TABLE, f"all votes: {says}", _not_run, apart, reason)


def _not_run(results: Results) -> None:
    return None


def _values() -> Iterator[Claim]:
    """Compare the printed numbers themselves, for their own network."""
    for policy, scores in FULL.items():
        for metric, value in scores.items():
            says = f"all votes, {policy}: {METRICS[metric]}"
            yield _value(Condition(policy), f"-{metric}", TABLE, says, f"10h/{metric}", value)
    for policy, by_votes in SPARSE.items():
        for votes, value in by_votes.items():
            says = f"{votes} votes, {policy}: soft NLL"
            yield _value(Condition(policy, votes), "", SWEEP, says, LOSS, value)
    for policy, both in CURVATURE.items():
        for score, value in zip(CURVATURES, both, strict=True):
            says = f"Hessian of {policy}: {score}"
            yield _value(Condition(policy), f"-{score}", GEOMETRY, says, f"flat/{score}", value)
    ours, published = partial(pair_score, SLS, "barrier/sls"), secondhand(PUBLISHED["barrier"])
    yield Claim("barrier-height", "loss barrier", "height", "value", ours, published)


def _value(
    condition: Condition, id: str, where: str, says: str, score: str, published: float
) -> Claim:
    ours = mean(condition, score)
    return Claim(condition.name + id, where, says, "value", ours, secondhand(published))
