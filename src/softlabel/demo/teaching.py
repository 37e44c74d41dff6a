"""The demo's training: four deliveries of the same answers, and pictures nobody was asked about."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from softlabel._util.machine import cores
from softlabel.deliver import SLS, Aggregate, Deliver, Draws, Hard, PerAnnotator, Teaching
from softlabel.demo.study import Study
from softlabel.study import shapes
from softlabel.tables import Annotations, Floats, Index, Predictions, SoftLabels, names

Pictures = npt.NDArray[np.uint8]

SEEDS = 3
UNSEEN = 400  # pictures drawn for testing alone
SIDE = 32  # px at which the network sees them
# Chosen on studies of other seeds (98 and 99), before those of the page were looked at.
EPOCHS = 60
SETTINGS = {"net": "small", "batch": 32, "augment": "per_epoch", "device": "cpu"}


@dataclass(frozen=True)
class Arm:
    """One way to deliver the same answers."""

    name: str
    deliver: Deliver
    words: str


ARMS = (
    Arm("hard", Hard(), "the most likely shape of the pooled label, as if it were certain"),
    Arm("pooled soft", Aggregate(), "the pooled label itself"),
    Arm("per annotator", PerAnnotator(), "one person’s whole answer, drawn anew in every epoch"),
    Arm("SLS", SLS(), "one shape, drawn from the pooled label anew in every epoch"),
)


@dataclass(frozen=True)
class Learned:
    """One run: what its network believes of the unseen pictures."""

    seed: int
    predictions: Predictions


@dataclass(frozen=True, eq=False)
class Lessons:
    """Everything that was learned; ``runs`` has a list over seeds for each of ``ARMS``."""

    pictures: list[shapes.Pixels]
    people: SoftLabels  # the known truth, in the place of what people believe
    runs: tuple[list[Learned], ...]


def possible() -> bool:
    """Is there a torch to train with?"""
    return importlib.util.find_spec("torch") is not None


def teach(
    study: Study,
    each: Annotations,
    pooled: SoftLabels,
    seed: int,
    epochs: int = EPOCHS,
    told: Callable[[int, int], None] = lambda done, of: None,
) -> Lessons:
    """Train every arm with every seed, a process per core; ``told`` hears how many are done."""
    pictures, people = unseen(seed)
    images, held = negatives(study.pictures), negatives(pictures)
    known = Teaching.of(pooled, each)
    jobs = list(product(range(len(ARMS)), range(SEEDS)))
    spawn = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    with ProcessPoolExecutor(min(cores(), len(jobs)), spawn, _one_thread) as pool:
        futures = [
            pool.submit(_learn, images, ARMS[arm].deliver, known, held, epochs, seed)
            for arm, seed in jobs
        ]
        found: list[Floats] = []
        for future in futures:
            told(len(found), len(jobs))
            found.append(future.result())
    runs = [
        Learned(seed, Predictions(people.index, probs))
        for (_, seed), probs in zip(jobs, found, strict=True)
    ]
    return Lessons(
        pictures,
        people,
        tuple(runs[first : first + SEEDS] for first in range(0, len(runs), SEEDS)),
    )


def unseen(seed: int, count: int = UNSEEN) -> tuple[list[shapes.Pixels], SoftLabels]:
    """Pictures of the same kind that are not part of the study, and their true distributions."""
    rng = np.random.default_rng([seed, 2])  # its own stream: drawing the study does not move it
    blend = shapes.weights(count, rng)
    index = Index(
        names([f"unseen-{i:03d}" for i in range(1, count + 1)]),
        names([]),
        names(shapes.LABELS),
    )
    pictures = [shapes.draw(row, rng) for row in blend]
    one = np.ones(count, dtype=np.int64)
    return pictures, SoftLabels(index, shapes.truth(blend), one, made_by="known by construction")


def negatives(pictures: list[shapes.Pixels]) -> Pictures:
    """(m, 32, 32, 3) smaller, light on dark: crops are framed with black, as their ground is."""
    table = np.stack(pictures)
    m, size = len(table), table.shape[1] // SIDE
    small = table.reshape(m, SIDE, size, SIDE, size, 3).mean(axis=(2, 4))
    return np.asarray(np.round(255 - small), dtype=np.uint8)


def _one_thread() -> None:
    """Before a process opens torch, which would else take all cores for each of them."""
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def _learn(
    images: Pictures, deliver: Deliver, known: Teaching, held: Pictures, epochs: int, seed: int
) -> Floats:
    """(m, k) what a network taught in this way believes of the pictures held out."""
    from softlabel.train import Config, fit, predict

    config = Config(**SETTINGS, epochs=epochs)  # type: ignore[arg-type]
    trained = fit(config, images, deliver(known, Draws(seed)), seed=seed)
    return predict.predict_probs(trained.net, held)
