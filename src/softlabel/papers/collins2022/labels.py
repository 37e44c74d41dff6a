"""The images and labels that are compared, each kind of labels as a lesson on the same images; and
how a finished run is scored.

The images are those of the paper, split as the paper splits them, or generated ones for a run of a
minute.  All labels but one are made from first answers alone, with the strict reading of
contradictions; ``released`` counts what the release counts twice, bug for bug.

The paper's validation set, on which spread and smoothing were chosen, is 15,000 of the 50,000
official training images, drawn with seed 7.  Ours is the first 10,000 of them, which is what our
data folder holds.  Both have the given classes for labels.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from softlabel import datasets, metrics, tables
from softlabel.aggregate import Mean
from softlabel.construct import Clamp, Select, Uniform, make_annotations, stated_percents
from softlabel.deliver import TrainingLabels
from softlabel.errors import UnknownName
from softlabel.metrics import evaluate, one_hot
from softlabel.papers.claims import Cell, quick
from softlabel.papers.collins2022 import conditions
from softlabel.papers.collins2022.conditions import BY_NAME, CIFAR, FEATURES, GENERATED
from softlabel.train import ENCODERS, PublishedData, Run, Split, attacks, encode, predict, splits


@dataclass(frozen=True, eq=False)
class Exam:
    """A test set: people's labels of its items, the class given with each, and how many of them
    make a bin of the calibration error."""

    people: tables.SoftLabels
    gold: tables.Ints
    bin_size: int


@dataclass(frozen=True, eq=False)
class Setting:
    """Images and what people say about the relabelled ones.

    ``first`` are first answers to the rich form and ``votes`` hard ones; ``every`` are the rich
    answers with all that the release counts twice.  ``validation`` loads images and classes.
    """

    known: PublishedData
    first: tables.Statements
    every: tables.Statements
    votes: tables.Annotations
    exams: Mapping[str, Exam]
    validation: Callable[[], tuple[npt.NDArray[np.uint8], tables.Ints]] | None


@cache
def load_setting(name: str) -> Setting:
    """Load a setting, once: 10,000 images are large."""
    if name == CIFAR:
        return _load_cifar()
    if name in (GENERATED, FEATURES):
        return _generate(name)
    raise UnknownName("setting", name, (CIFAR, GENERATED, FEATURES))


def _load_cifar() -> Setting:
    """6,900 images to learn from, 900 of them relabelled; 3,000 and 100 held out."""
    everything = datasets.cifar10s.load("all")
    assert everything.statements is not None, "CIFAR-10S is statements"
    first = ~everything.arrays["is_repeat"] & ~everything.arrays["duplicate"]
    votes = datasets.cifar10h.load().annotations
    assert votes is not None, "CIFAR-10H is votes"
    relabelled = np.isin(votes.index.items, everything.index.items)
    classes = datasets.cifar10.gold_of_test()
    assert classes is not None, "its images were just read"
    exams = {}
    for exam, size in (("10h", 100), ("10s", 10)):  # images per bin, as published
        people = splits.load_people(f"cifar{exam}")
        exams[exam] = Exam(people, classes[people.index.items.astype(np.int64)], size)

    def validation() -> tuple[npt.NDArray[np.uint8], tables.Ints]:
        train = datasets.cifar10.load("train10k")
        assert train.gold is not None, "CIFAR-10 has its classes"
        return train.arrays["images"], train.gold

    return Setting(
        splits.load_cifar10s(),
        everything.statements.take(first),
        everything.statements,
        votes.take(relabelled[votes.item]),
        exams,
        validation,
    )


def _generate(name: str) -> Setting:
    """200 pictures to learn from, 60 of them relabelled by simulated people; 60 held out with
    votes, 20 with rich answers."""
    made = quick.made()
    items, gold = made.votes.index.items, made.gold
    learn, last = np.arange(quick.LEARN), len(items) - 20

    def make_exam(each: tables.Annotations, rows: tables.Ints, bin_size: int) -> Exam:
        soft = Mean()(each)
        index = tables.Index(soft.index.items[rows], tables.names([]), soft.index.labels)
        people = tables.SoftLabels(index, soft.probs[rows], soft.count[rows])
        return Exam(people, gold[rows], bin_size)

    exams = {
        "10h": make_exam(made.votes, np.arange(quick.LEARN, last), 10),
        "10s": make_exam(made.rich, np.arange(last, len(items)), 5),
    }
    known = PublishedData(
        name,
        items,
        made.features if name == FEATURES else made.images,
        items[learn],
        gold[learn],
        TrainingLabels(gold[learn], one_hot(gold[learn], made.truth.shape[1])),
        items[quick.LEARN :],
        exams["10h"].people,
    )
    first = made.said.take(made.said.item < 60)
    return Setting(known, first, first, made.votes.take(made.votes.item < 60), exams, None)


# ── kinds of labels ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Unspread:
    """A trap of the released training code: its loader asks for the redistribution by a name that
    the function does not know, so that nothing is spread.  One named class is a hard label."""

    top: int

    def __call__(self, said: tables.Statements) -> tables.Annotations:
        percent = stated_percents(said, 2 if self.top == 2 else 1, "strict")
        return make_annotations(said, percent / percent.sum(axis=1, keepdims=True))


# made from first answers
CONSTRUCTIONS: Mapping[str, Callable[[tables.Statements], tables.Annotations]] = {
    "t2-clamp": Clamp(top=2),
    "t2-unif": Uniform(top=2),
    "t1-clamp": Clamp(top=1),
    "t1-unif": Uniform(top=1),
    "select": Select(),
    "t2-none": Unspread(2),
    "t1-none": Unspread(1),
    **{f"t2-clamp {spread}": Clamp(2, spread) for spread in conditions.SPREADS},
}
SMOOTHED = {
    f"{kind} {beta}": beta for kind in ("smoothing", "smoothing-all") for beta in conditions.BETAS
}


@lru_cache(maxsize=4)
def make_lesson(images: str, labels: str) -> Split:
    """Make the lesson of these labels in this setting; only the relabelled items differ."""
    setting, plain = load_setting(images), _make_plain(images)
    known, first = setting.known, setting.first
    if labels in SMOOTHED:  # the relabelled items only, as in the code, or all, as in the text
        beta, k = SMOOTHED[labels], len(first.index.labels)
        soft = one_hot(known.gold, k)
        asked = np.isin(known.learn, first.index.items[np.unique(first.item)])
        asked |= labels.startswith("smoothing-all")
        soft[asked] = (1 - beta) * soft[asked] + beta / k
        teaching = TrainingLabels(known.gold, soft)
    elif labels == "10h":
        teaching = teach(known, setting.votes)
    elif labels == "released":  # each answer as somebody else's, as in the released files
        each = Clamp(top=2, mode="reference")(setting.every)
        each = replace(each, annotator=np.full(len(each), tables.ANONYMOUS))
        teaching = teach(known, each)
    elif labels in CONSTRUCTIONS:
        teaching = teach(known, CONSTRUCTIONS[labels](first))
    else:
        raise UnknownName("kind of labels", labels, ("10h", "released", *CONSTRUCTIONS, *SMOOTHED))
    return replace(plain, teaching=teaching, named={**plain.named, "labels": labels})


@cache
def _make_plain(images: str) -> Split:
    """Make the lesson of the given classes, with the images that all lessons share."""
    known = load_setting(images).known
    place = {item: row for row, item in enumerate(known.items.tolist())}
    learn, held = (
        np.array([place[item] for item in items.tolist()]) for items in (known.learn, known.held)
    )
    classes = known.people.index.labels
    return Split(
        known.images[learn],
        TrainingLabels(known.gold, one_hot(known.gold, len(classes))),
        known.images[held],
        tables.Index(known.held, tables.names([]), classes),
        known.people,
        {"images": known.name},
    )


def teach(known: PublishedData, said: tables.Annotations) -> TrainingLabels:
    """Teach what people say about the items to learn from, and the given class of the others."""
    each = splits.select_items(said, known.learn)
    asked = each.votes_per_item() > 0
    soft = one_hot(known.gold, len(said.index.labels))
    soft[asked] = Mean()(each).probs[asked]
    return TrainingLabels(known.gold, soft, each)


# ── scores of a finished run ────────────────────────────────────────────────────────────────
# ``10h/`` and ``10s/`` name the test set.  ``rms`` is the calibration error over all bins,
# ``rms-dropped`` without the last one (as published).
# ``fgsm`` attacks and scores by people's labels, ``fgsm-hard`` by the given class, as the released
# code does on CIFAR-10H.  ``bin<i>-said`` and ``bin<i>-right`` are confidence and accuracy in ten
# bins of equally many images.  ``val/`` scores are on validation images, by their class.

ATTACKED = 1000  # items at most, the same for all runs
BINS = 10
TUNED = {
    *conditions.SPREADS.values(),
    *conditions.BETAS.values(),
}  # scored on validation images too


def score_run(run: Run, cell: Cell) -> dict[str, float]:
    """Return all scores of the run that are defined on it."""
    lesson = cell.lesson()
    setting = load_setting(lesson.named["images"])
    from_scratch = run.config["kind"] == "scratch"
    scores: dict[str, float] = {}
    for name, exam in setting.exams.items():
        found = score_predictions(run.predictions, exam)
        if from_scratch:
            attacked = attack(run, lesson, exam)
            found |= {key: float(losses.mean()) for key, losses in attacked.items()}
        scores |= {f"{name}/{key}": value for key, value in found.items()}
    condition = BY_NAME.get(cell.name)  # none of a cell that is tuned: its log has the validation
    if condition and replace(condition, network="") in TUNED and setting.validation is not None:
        # cross-entropy and accuracy by the given classes of images that nobody relabelled
        images, gold = setting.validation()
        inputs = images if from_scratch else encode(images, ENCODERS["lite0"]())
        predicted = predict.predict_probs(predict.load_network(run), inputs)
        true = metrics.one_hot(gold, predicted.shape[1])
        scores["val/ce"] = float(metrics.cross_entropy(true, predicted).mean())
        scores["val/accuracy"] = float(metrics.accuracy(true, predicted).mean())
    return {key: value for key, value in scores.items() if not math.isnan(value)}


def score_predictions(predictions: tables.Predictions, exam: Exam) -> dict[str, float]:
    """Return the scores that need the predictions alone."""
    true, predicted, _ = evaluate.matched(predictions, exam.people)
    size = exam.bin_size
    bins = metrics.reliability(true, predicted, BINS, "mass")
    return {
        "ce": float(metrics.cross_entropy(true, predicted).mean()),
        "kl": float(metrics.kl(true, predicted).mean()),
        "accuracy": float(metrics.accuracy(true, predicted).mean()),
        "entropy-r": metrics.entropy_pearson(true, predicted),
        "rms": metrics.rms_calibration(true, predicted, size),
        "rms-dropped": metrics.rms_calibration(true, predicted, size, drop_last_bin=True),
        **{f"bin{i}-said": value for i, value in enumerate(bins.confidence.tolist())},
        **{f"bin{i}-right": value for i, value in enumerate(bins.right.tolist())},
    }


def score_items(run: Run, images: str = CIFAR) -> dict[str, tables.Floats]:
    """Return the loss of every test item, and of every item that is attacked."""
    values = {}
    for name, exam in load_setting(images).exams.items():
        true, predicted, _ = evaluate.matched(run.predictions, exam.people)
        values[f"{name}/ce"] = metrics.cross_entropy(true, predicted)
        if run.config["kind"] == "scratch":
            attacked = attack(run, _make_plain(images), exam)
            values |= {f"{name}/{key}": losses for key, losses in attacked.items()}
    return values


def attack(run: Run, lesson: Split, exam: Exam) -> dict[str, tables.Floats]:
    """Return the losses under FGSM, 4/255, with either kind of target for attack and score."""
    place = {item: row for row, item in enumerate(lesson.index.items.tolist())}
    rows = np.array([place[item] for item in exam.people.index.items.tolist()])
    few = attacks.choose_items(len(rows), ATTACKED)
    net, images = predict.load_network(run), lesson.held[rows[few]]
    soft = attacks.fgsm(net, images, exam.people.probs[few])
    hard = attacks.fgsm(net, images, exam.gold[few].astype(np.int64))
    return {"fgsm": soft.loss, "fgsm-hard": hard.loss}
