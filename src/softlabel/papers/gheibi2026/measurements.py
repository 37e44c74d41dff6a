"""What is measured on a finished run of Gheibi & Ghazizadeh 2026.

All networks are compared on the same functions: the same training pictures, soft cross-entropy to
the shares of *all* votes, evaluation mode, whatever the network was taught.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from softlabel import metrics, registry, train
from softlabel.datasets import MissingData, cifar100, shifted, svhn
from softlabel.errors import MissingExtra
from softlabel.metrics import evaluate
from softlabel.papers.gheibi2026 import conditions
from softlabel.papers.gheibi2026.conditions import PROBED, Condition
from softlabel.tables import Floats
from softlabel.train import run_name as run_name

Pictures = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """A finished run of a condition, and the lesson it learned as ``pictures``."""

    run: train.Run
    condition: Condition
    pictures: train.Split

    @cached_property
    def net(self) -> train.Net:
        """The trained network, on a GPU if there is one."""
        return train.predict.load_network(self.run).to(train.choose_device(train.Config()))

    @cached_property
    def lesson(self) -> train.Split:
        """The lesson as the network saw it."""
        return _featured(self.pictures) if self.on_features else self.pictures

    @property
    def on_features(self) -> bool:
        """True where the network is a head on features."""
        return bool(self.run.config["kind"] == "features")

    @property
    def probed(self) -> bool:
        """True where flatness and detection are measured: not of a large network, whose Hessian
        would take longer than its training."""
        return self.condition in PROBED and self.run.config["kind"] != "tuned"

    @property
    def full(self) -> Floats:
        """(m, k) the shares of all votes for the training items."""
        return self.lesson.teaching.pooled

    @cached_property
    def losses(self) -> Floats:
        """(2000,) cross-entropy of the first training items to the shares of all votes."""
        predicted = train.predict.predict_probs(self.net, self.lesson.inputs[:SEEN])
        return metrics.cross_entropy(self.full[:SEEN], predicted)

    def twin(self, policy: str, seed: int) -> FinishedRun | None:
        """Return the finished run in the same folder that differs in policy and seed alone."""
        if seed < 0:
            return None
        condition = replace(self.condition, policy=policy)
        deliver = registry.describe(registry.parse("deliver", condition.deliver))
        name = run_name({**self.run.config, "deliver": deliver}, self.run.labels, seed)
        other = train.Run(self.run.path.with_name(name))
        return FinishedRun(other, condition, self.pictures) if other.finished else None


@cache
def _featured(lesson: train.Split) -> train.Split:
    return train.encode_split(lesson, _encoder())


@cache
def _encoder() -> train.Encoder:
    return train.ENCODERS["lite0"]()


# ── against people ───────────────────────────────────────────────────────────────────────────

METRICS = ("accuracy", "cross-entropy", "kl", "entropy-pearson", "entropy-spearman", "brier")
SEEN = 2000  # training pictures whose learned distributions are compared with all people's


def measure(finished: FinishedRun) -> dict[str, float]:
    """Return scores against people on the items held out, how far the labels were from all people's
    and how well those were learned; flatness and detection with all votes and with five; and
    comparisons with the other runs of a pair that are finished."""
    run, known = finished.run, finished.lesson.teaching
    pair = evaluate.matched(run.predictions, run.people)[:2]
    named = {name: name for name in METRICS} | {"ece-mass": "ece:binning=mass"}
    scores = {
        f"10h/{name}": float(np.mean(registry.parse("metric", metric)(*pair)))
        for name, metric in named.items()
    }
    epochs = int(run.config["epochs"])
    scores |= conditions.label_distances(finished.condition.deliver, known, run.seed, epochs)
    kept = conditions.kept_shares(finished.condition.votes, known, run.seed)[:SEEN]
    scores |= conditions.learned_by_distance(finished.full[:SEEN], kept, finished.losses)
    scores |= compare_pairs(finished)
    if finished.probed:
        scores |= measure_flatness(finished) | measure_detection(finished)
    return scores


# ── flatness ─────────────────────────────────────────────────────────────────────────────────

FLAT = 250  # training pictures: a Hessian product of the small network is a quarter second then
ITERATIONS, VECTORS = 60, 50
QUICK = 5  # of both with fewer pictures, in a quick look: that it can be measured is all it shows
SLICE = 11  # points along a random direction
RE_ESTIMATED = 500  # training pictures from which batch statistics are re-estimated


def measure_flatness(finished: FinishedRun) -> dict[str, float]:
    """Return the curvature at the network, and the accuracy it must be read with."""
    inputs, full = finished.lesson.inputs[:FLAT], finished.full[:FLAT]
    iterations, vectors = (QUICK, QUICK) if len(inputs) < FLAT else (ITERATIONS, VECTORS)
    surface = train.sharpness.surface(finished.net, inputs, full)
    top = train.sharpness.lambda_max(surface, iterations)
    trace = train.sharpness.trace(surface, vectors)
    line = train.sharpness.slice_1d(surface, SLICE)
    right = metrics.accuracy(full, train.predict.predict_probs(finished.net, inputs))
    return {
        "flat/lambda-max": top.value,
        "flat/lambda-max-change": top.change,
        "flat/trace": trace.value,
        "flat/trace-error": trace.error,
        "flat/sam": train.sharpness.sam(surface),
        "flat/loss": surface.loss(),
        "flat/accuracy": float(right.mean()),
        **{f"slice/{a:+.1f}": float(y) for a, y in zip(line.at, line.loss, strict=True)},
    }


# ── out-of-distribution detection ────────────────────────────────────────────────────────────

OUTSIDE = 500  # held-out pictures, and pictures of each set from outside
KNOWN, NEIGHBOURS = 2000, 50  # training features for the k-th nearest neighbour
MEASURES = {"auroc": metrics.auroc, "fpr95": metrics.fpr95, "aupr": metrics.aupr}


def measure_detection(finished: FinishedRun) -> dict[str, float]:
    """Return how well each score separates held-out items from each set of pictures from outside:
    ``ood/patches/energy/auroc``."""
    bank = _features(finished, finished.lesson.inputs[:KNOWN])
    inside = _detection_scores(finished, finished.lesson.held[:OUTSIDE], bank)
    separation = {}
    for name, pictures in outside_pictures(finished.pictures).items():
        seen = train.encode(pictures, _encoder()) if finished.on_features else pictures
        outside = _detection_scores(finished, seen, bank)
        for score in inside:
            for measure, of in MEASURES.items():
                separation[f"ood/{name}/{score}/{measure}"] = of(inside[score], outside[score])
    return separation


def _detection_scores(
    finished: FinishedRun, inputs: train.Inputs, bank: Floats
) -> dict[str, Floats]:
    """Return the scores by name; ODIN is left out for a head on features, which has no pixels."""
    logits = train.predict.predict_logits(finished.net, inputs).astype(np.float64)
    scores = {name: score(logits) for name, score in metrics.LOGIT_SCORES.items()}
    scores["knn"] = metrics.knn(_features(finished, inputs), bank, min(NEIGHBOURS, len(bank)))
    if not finished.on_features:
        scores["odin"] = train.predict.odin(finished.net, inputs)
    return scores


def _features(finished: FinishedRun, inputs: train.Inputs) -> Floats:
    return train.predict.extract_features(finished.net, inputs).astype(np.float64)


@cache
def outside_pictures(lesson: train.Split) -> Mapping[str, Pictures]:
    """Return 500 pictures of each outside set that is on this machine; the first two always are."""
    held = lesson.held[:OUTSIDE]
    side = held.shape[1]
    sets = {
        "patches": shifted.permuted_patches(held),
        "noise": shifted.gaussian_noise(len(held), side),
    }
    with suppress(MissingExtra):
        sets["digits"] = shifted.digits(side)[0][:OUTSIDE]
    for name, load in (("svhn", svhn.load), ("cifar100", cifar100.load)):
        with suppress(MissingData):
            sets[name] = load("test").arrays["images"][:OUTSIDE]
    return sets


# ── pairs of runs ────────────────────────────────────────────────────────────────────────────
# Soft and single votes from one seed, or one policy from neighbouring seeds.  The scores of a pair
# are stored with the run that is measured while the other is finished.  Both use the same name, so
# that none is missed.

PAIRED = ("sls", "multipass")  # policies that are paired with soft
COMPARED = 500  # items held out whose features are compared between seeds


def compare_pairs(finished: FinishedRun) -> dict[str, float]:
    """Return the comparisons of this run with the finished runs it is paired with."""
    scores: dict[str, float] = {}
    policy, seed = finished.condition.policy, finished.run.seed
    for other in PAIRED if policy == "soft" else ("soft",) if policy in PAIRED else ():
        twin = finished.twin(other, seed)
        if twin is not None:
            soft, single = (finished, twin) if policy == "soft" else (twin, finished)
            scores |= gain_by_distance(soft, single)
            if finished.probed:
                scores |= measure_barrier(soft, single)
    if finished.probed:
        for name, neighbour in (("next", seed + 1), ("previous", seed - 1)):
            twin = finished.twin(policy, neighbour)
            if twin is not None:
                held = finished.lesson.held[:COMPARED]
                scores[f"cka/{name}"] = cka(_features(finished, held), _features(twin, held))
    return scores


def gain_by_distance(soft: FinishedRun, single: FinishedRun) -> dict[str, float]:
    """Return Spearman's correlation over training items between the distance of the kept votes
    from all votes and the gain in cross-entropy of single votes over soft labels.

    It is undefined where all votes are kept.
    """
    kept = conditions.kept_shares(soft.condition.votes, soft.lesson.teaching, soft.run.seed)[:SEEN]
    distance = metrics.js_distance(soft.full[:SEEN], kept)
    if np.ptp(distance) < 1e-12:
        return {}
    gain = soft.losses - single.losses
    name = f"gain-by-distance/{single.condition.policy}"
    return {name: metrics.correlation(rankdata(distance), rankdata(gain))}


def measure_barrier(soft: FinishedRun, single: FinishedRun) -> dict[str, float]:
    """Return the loss on the line between two networks, with batch statistics mixed like weights
    and with statistics re-estimated at every point."""
    nets = soft.net, single.net
    inputs, full = soft.lesson.inputs[:FLAT], soft.full[:FLAT]
    mixed = train.sharpness.barrier(*nets, inputs, full)
    anew = train.sharpness.barrier(
        *nets, inputs, full, reestimate=soft.lesson.inputs[:RE_ESTIMATED]
    )
    points = list(zip(anew.at, anew.loss, strict=True))[::2]
    name = single.condition.policy
    return {
        f"barrier/{name}": mixed.height,
        f"barrier/{name}/re-estimated": anew.height,
        **{f"between/{name}/{a:.1f}": float(y) for a, y in points},
    }


def cka(first: Floats, second: Floats) -> float:
    """Return the linear centred kernel alignment of two tables of features (m, d) of the same
    items (Kornblith et al. 2019); 1 where one is the other rotated and scaled."""
    one, two = (rows - rows.mean(axis=0) for rows in (first, second))
    shared = np.linalg.norm(one.T @ two) ** 2
    return float(shared / (np.linalg.norm(one.T @ one) * np.linalg.norm(two.T @ two)))
