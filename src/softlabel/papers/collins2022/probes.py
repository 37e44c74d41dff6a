"""What is measured on a finished run: on both hold-outs, as published and as it should be.

``10h/`` and ``10s/`` say on which images: ``ce``, ``kl``, ``accuracy``, ``entropy-r``; ``rms`` is
the calibration error over all bins, ``rms-dropped`` without the last one, as published; ``fgsm``
attacks and scores by what people say, ``fgsm-hard`` by the given class, as the released code does
on CIFAR-10H.  ``bin<i>-said`` and ``bin<i>-right`` are confidence and accuracy in ten bins of
equally many images.  ``val/`` is on validation images, by their class.
"""

from __future__ import annotations

import math

import numpy as np

from softlabel import metrics
from softlabel.metrics import evaluate
from softlabel.papers.claims import Cell
from softlabel.papers.collins2022.names import NETWORKS, TUNED
from softlabel.papers.collins2022.settings import Exam, Setting, setting
from softlabel.tables import Floats, Predictions
from softlabel.train import ENCODERS, Lesson, Run, attacks, encoded, predicting, weights

ATTACKED = 1000  # items at most, the same for all runs
BINS = 10


def probes(run: Run, cell: Cell) -> dict[str, float]:
    """All scores of the run; those that are not defined on it are left out."""
    lesson = cell.lesson()
    given = setting(lesson.named["images"])
    scratch = run.config["kind"] == "scratch"
    found: dict[str, float] = {}
    for name, exam in given.exams.items():
        scores = scored(run.predictions, exam)
        if scratch:
            scores |= attacked(run, lesson, exam)
        found |= {f"{name}/{key}": value for key, value in scores.items()}
    if plain_name(cell.name) in TUNED and given.validation is not None:
        found |= validated(run, given, scratch)
    return {key: value for key, value in found.items() if not math.isnan(value)}


def plain_name(cell: str) -> str:
    """Without the network."""
    first, _, rest = cell.partition("/")
    return rest if first in NETWORKS else cell


def scored(predictions: Predictions, exam: Exam) -> dict[str, float]:
    """From what was predicted alone."""
    true, predicted, _ = evaluate.matched(predictions, exam.people)
    size = exam.bin_size
    return {
        "ce": _mean(metrics.cross_entropy(true, predicted)),
        "kl": _mean(metrics.kl(true, predicted)),
        "accuracy": _mean(metrics.accuracy(true, predicted)),
        "entropy-r": metrics.entropy_pearson(true, predicted),
        "rms": metrics.rms_calibration(true, predicted, size),
        "rms-dropped": metrics.rms_calibration(true, predicted, size, drop_last_bin=True),
    } | _bins(metrics.reliability(true, predicted, BINS, "mass"))


def _bins(found: metrics.Bins) -> dict[str, float]:
    said, right = found.confidence.tolist(), found.right.tolist()
    return {f"bin{i}-said": value for i, value in enumerate(said)} | {
        f"bin{i}-right": value for i, value in enumerate(right)
    }


def attacked(run: Run, lesson: Lesson, exam: Exam) -> dict[str, float]:
    """Loss under FGSM, 4/255, with either kind of target for attack and score."""
    place = {item: row for row, item in enumerate(lesson.index.items.tolist())}
    rows = np.array([place[item] for item in exam.people.index.items.tolist()])
    few = attacks.chosen(len(rows), ATTACKED)
    net, images = weights.network(run), lesson.held[rows[few]]
    soft = attacks.fgsm(net, images, exam.people.probs[few])
    hard = attacks.fgsm(net, images, exam.gold[few].astype(np.int64))
    return {"fgsm": _mean(soft.loss), "fgsm-hard": _mean(hard.loss)}


def validated(run: Run, given: Setting, scratch: bool) -> dict[str, float]:
    """Cross-entropy and accuracy by the given classes of images that nobody relabelled."""
    assert given.validation is not None, "there are validation images"
    images, gold = given.validation()
    inputs = images if scratch else encoded(images, ENCODERS["lite0"]())
    predicted = predicting.probs(weights.network(run), inputs)
    true = metrics.one_hot(gold, predicted.shape[1])
    return {
        "val/ce": _mean(metrics.cross_entropy(true, predicted)),
        "val/accuracy": _mean(metrics.accuracy(true, predicted)),
    }


def _mean(values: Floats) -> float:
    return float(np.mean(values))
