"""What is trained for Gheibi & Ghazizadeh 2026: conditions, data, and the labels they deliver.

A condition is a policy of delivery and a number of votes per image.  Its cell is called ``k5/sls``
(five votes per image, drawn by the seed of the run: the same ones for every policy, so that seeds
are pairs), ``all/sls`` (all votes) or ``all-64/sls`` (64 epochs).

With one vote per image all policies deliver that vote in every epoch, so ``k1/soft`` is its only
cell.  In 20 epochs ``multipass`` completes two rounds of 10 votes, but not one round of 25 or 51;
after 64 epochs it has completed a round for every image (47 to 63 votes).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from softlabel import datasets, metrics, registry
from softlabel.aggregate import Mean
from softlabel.deliver import NO_CLASS, Draws, ExpectedDelivery, TrainingLabels
from softlabel.papers.claims import Cell, Scale, tuning
from softlabel.papers.claims import quick as generated
from softlabel.randomness import name_keys
from softlabel.tables import Annotations, Bools, Floats, Index, Ints, Names, SoftLabels, names

if TYPE_CHECKING:  # the votes can be read without torch
    from softlabel.train import Split

# ── conditions ───────────────────────────────────────────────────────────────────────────────

POLICIES = {
    "soft": "aggregate",
    "sls": "sls",
    "multipass": "multipass",
    "majority": "hard",
    "control": "control",  # multipass under another seed
}
ABLATIONS = {
    "shuffled": "shuffled-sls",
    "stale-50": "stale-sls:every=50",  # in 20 epochs: one draw for the whole run
    "control-sorted": "control:order=sorted",
    "stale-5": "stale-sls:every=5",
    "stale-10": "stale-sls:every=10",
    "smoothing": "smoothing:beta=0.1",  # theirs is not known
}
MAIN = ("soft", "sls", "multipass", "majority")
SINGLE = ("sls", "multipass", "control")  # deliver single votes
VOTES = (1, 2, 5, 10, 25, 50)
LONG = 64  # epochs in which every vote has its turn
BASES: dict[Scale, str] = {
    "paper": "g26",
    **{"cpu": "small", "cpu-tuned": "small"},
    **{"features": "features", "features-tuned": "features", "fine-tuned": "tuned"},
}
TUNED = [
    (policy, votes) for votes in (None, 5) for policy in ("soft", "sls", "multipass", "majority")
]


@dataclass(frozen=True)
class Condition:
    """A policy of delivery and the votes per image that are kept (None: all); ``epochs`` is None
    where the recipe decides.

    >>> Condition("sls", 5).name, Condition("sls", 5).deliver
    ('k5/sls', 'sparse-k:k=5,then=sls')
    >>> Condition("stale-5", epochs=64).name, Condition("stale-5", epochs=64).deliver
    ('all-64/stale-5', 'stale-sls:every=5')
    """

    policy: str
    votes: int | None = None
    epochs: int | None = None

    @property
    def name(self) -> str:
        votes = "all" if self.votes is None else f"k{self.votes}"
        return f"{votes if self.epochs is None else f'{votes}-{self.epochs}'}/{self.policy}"

    @property
    def deliver(self) -> str:
        """The delivery of the policy where the kept votes are all there is."""
        deliver = (POLICIES | ABLATIONS)[self.policy]
        return deliver if self.votes is None else f"sparse-k:k={self.votes},then={deliver}"


def condition_of(policy: str, votes: int | None) -> Condition:
    """Return the condition that was run: with one vote all policies are the same."""
    return Condition("soft" if votes == 1 else policy, votes)


def conditions(recipe: Scale, quick: bool = False) -> list[Condition]:
    """Return the conditions of a recipe, the most valuable first."""
    if quick:
        few = [Condition("soft", 5), Condition("sls", 5), Condition("soft", 1)]
        return [*(Condition(policy) for policy in (*MAIN, "shuffled")), *few]
    listed = [
        *(Condition(policy, votes) for votes in (None, 5, 10, 25, 2) for policy in MAIN),
        Condition("soft", 1),
        *(Condition("control", votes) for votes in (None, 5, 10, 25, 2)),
        *(Condition(policy) for policy in ABLATIONS),
        *(Condition(policy, 50) for policy in POLICIES),
    ]
    if recipe != "paper":  # whose 200 epochs are enough for every vote
        wanted = ("soft", "multipass", "sls", "control-sorted", "control")
        listed += [Condition(policy, epochs=LONG) for policy in wanted]
    return listed


CONDITIONS = {one.name: one for one in conditions("cpu")}  # of all recipes
PROBED = {  # where flatness and detection are measured: they cost more than the scores
    *(Condition(policy) for policy in (*POLICIES, "shuffled")),
    *(Condition(policy, 5) for policy in POLICIES),
}


def cells(recipe: Scale, quick: bool = False) -> list[Cell]:
    """Return the cells of a recipe, the most valuable first."""
    base, lesson = (BASES["cpu"], quick_lesson) if quick else (BASES[recipe], cifar10h)
    if recipe in tuning.DECAYS and not quick:
        tuned = [Condition(policy, votes) for policy, votes in TUNED]
        if recipe == "fine-tuned":  # where a run takes long
            tuned = [one for one in tuned if one.policy in ("soft", "sls")]
        arms = {
            one.name: {"": Cell(one.name, tuned_lesson, one.deliver, {}, base)} for one in tuned
        }
        return tuning.make_cells(recipe, arms)
    listed = []
    for one in conditions(recipe, quick):
        epochs = 3 if quick else one.epochs
        settings = {"epochs": epochs} if epochs else {}
        listed.append(Cell(one.name, lesson, one.deliver, settings, base))
    return listed


# ── data ─────────────────────────────────────────────────────────────────────────────────────
# Only votes are taught: no class is given with an item, so that ``hard`` is the majority of the
# votes that a condition keeps (the first class of those that are tied).

ONE_IN = 5  # the reading notes say "80/20, stratified", but not which images
FEW = 100  # pictures of a quick look: measuring a run costs more than training it


@cache
def cifar10h() -> Split:
    """Return 8,000 images to learn from and 2,000 to be tested on, 200 of each class."""
    images = datasets.cifar10.load("test").arrays["images"]
    return make_lesson(images, *_cifar10h_votes(), "cifar10h, 80/20")


@cache
def tuned_lesson() -> Split:
    """Return the same with validation images."""
    return tuning.add_validation(cifar10h())


@cache
def cifar10h_teaching() -> TrainingLabels:
    """Return the votes for the 8,000."""
    return teach(*_cifar10h_votes())


@cache
def _cifar10h_votes() -> tuple[Annotations, Bools]:
    """Return all votes, and which images are held out."""
    data = datasets.cifar10h.load("counts")  # the same votes on every machine
    assert data.annotations is not None, "CIFAR-10H is votes"
    assert data.gold is not None, "CIFAR-10 has its classes"
    return data.annotations, held_out(data.index.items, data.gold)


@cache
def quick_lesson() -> Split:
    """Return drawn shapes with the votes of simulated people."""
    shapes = generated.made()
    votes = shapes.votes.take(shapes.votes.item < FEW)
    votes = replace(votes, index=replace(votes.index, items=votes.index.items[:FEW]))
    held = held_out(votes.index.items, shapes.gold[:FEW])
    return make_lesson(shapes.images[:FEW], votes, held, "drawn shapes")


def held_out(items: Names, classes: Ints) -> Bools:
    """Return (m,) one item in five of each class, those whose names have the smallest hashes: a
    rule that needs no file and no seed."""
    keys = name_keys(items)
    held = np.zeros(len(items), dtype=np.bool_)
    for one in np.unique(classes):
        rows = np.flatnonzero(classes == one)
        first = np.argsort(keys[rows], kind="stable")[: round(len(rows) / ONE_IN)]
        held[rows[first]] = True
    return held


def teach(votes: Annotations, held: Bools) -> TrainingLabels:
    """Return the votes on the items that are not held out."""
    no_class = np.full(len(held), NO_CLASS)
    return TrainingLabels.of(Mean()(votes), votes, no_class).only(np.flatnonzero(~held))


def make_lesson(
    pictures: npt.NDArray[np.uint8], votes: Annotations, held: Bools, name: str
) -> Split:
    """Return a lesson taught by votes alone and tested on the shares of all votes."""
    from softlabel.train import Split

    pooled = Mean()(votes)
    index = Index(pooled.index.items[held], names([]), pooled.index.labels)
    people = SoftLabels(index, pooled.probs[held], pooled.count[held])
    named = {"images": name}
    return Split(pictures[~held], teach(votes, held), pictures[held], index, people, named)


# ── delivered labels, and their distance from the shares of all votes ────────────────────────

EDGES = (0.0, 0.02, 0.1, 0.2, 0.4, 1.0)  # of total variation between the kept and all votes
BINS = tuple(f"{low:g}-{high:g}" for low, high in pairwise(EDGES))


def kept_shares(votes: int | None, known: TrainingLabels, seed: int) -> Floats:
    """Return (m, k) the shares of the votes that a run keeps, whatever its policy."""
    return _start(Condition("soft", votes).deliver, known, seed).expected()


def label_distances(
    deliver: str, known: TrainingLabels, seed: int, epochs: int
) -> dict[str, float]:
    """Return mean distances from the shares of all votes: of the ``target``, which the policy
    delivers in the long run, and of the labels that were ``taught`` in these epochs."""
    delivery, rng = _start(deliver, known, seed), Draws(seed)
    rows = np.arange(len(known))
    taught = sum(delivery.labels_for(epoch, rows, rng) for epoch in range(epochs)) / epochs
    means = {}
    for what, labels in (("target", delivery.expected()), ("taught", np.asarray(taught))):
        distance = metrics.total_variation(known.pooled, labels)
        means[f"{what}/total-variation"] = float(distance.mean())
        means[f"{what}/js-distance"] = float(metrics.js_distance(known.pooled, labels).mean())
        means[f"{what}/kl"] = float(metrics.kl(labels, known.pooled).mean())
    # KL is infinite for labels with mass where nobody voted (smoothed, shuffled)
    return {name: mean for name, mean in means.items() if np.isfinite(mean)}


def learned_by_distance(full: Floats, kept: Floats, losses: Floats) -> dict[str, float]:
    """Return the mean loss of the training items in each bin of the distance of their kept from all
    votes: ``learned/0.1-0.2``.  Empty bins are left out."""
    distance = metrics.total_variation(full, kept)
    place = np.clip(np.searchsorted(EDGES, distance, side="right") - 1, 0, len(BINS) - 1)
    return {f"learned/{BINS[one]}": float(losses[place == one].mean()) for one in np.unique(place)}


def _start(deliver: str, known: TrainingLabels, seed: int) -> ExpectedDelivery:
    delivery: ExpectedDelivery = registry.parse("deliver", deliver)(known, Draws(seed))
    return delivery
