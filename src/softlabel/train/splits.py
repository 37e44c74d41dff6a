"""What a run learns from and what it is tested on, from files or from published data.

Two data sets are split as their authors split them.  CIFAR-10H and CIFAR-10S number the CIFAR-10
test images and share one split of 7,000 images to learn from and 3,000 to be tested on.  CIFAR-10S
holds 100 of its 1,000 images out besides: 6,900 are learned from, 900 of them relabelled, and the
other 6,000 by their given class.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from softlabel import datasets
from softlabel.aggregate import Mean
from softlabel.construct import Clamp
from softlabel.deliver import TrainingLabels
from softlabel.errors import DataError, FileError, UnknownName
from softlabel.io import read_answers
from softlabel.labelling import Plan, construct_labels
from softlabel.randomness import name_keys
from softlabel.tables import (
    Annotations,
    Bools,
    Floats,
    Index,
    Ints,
    Names,
    SoftLabels,
    as_texts,
    names,
)
from softlabel.train.identity import digest

Inputs = npt.NDArray[Any]  # images uint8 (m, h, w, 3), or features float32 (m, d)
ONE_IN = 5  # items are held out unless a file names them
HELD_10S = Path(__file__).with_name("cifar10s-held-out.txt")


@dataclass(frozen=True, eq=False)
class Validation:
    """Items by which an epoch or a setting is chosen: their inputs, and labels (n, k)."""

    inputs: Inputs
    labels: Floats


@dataclass(frozen=True, eq=False)
class Split:
    """``inputs`` and ``teaching`` of the m training items; ``held`` inputs of the items that are
    only predicted, whose names and classes are in ``index``; ``people``, the labels of these.

    ``named`` tells what things were called.  With ``watched`` the log of a run also has, after
    every epoch, the scores on the items held out: for curves, not for choosing an epoch.  An epoch
    or a setting is chosen by ``validation``, whose items are neither learned from nor held out.
    """

    inputs: Inputs
    teaching: TrainingLabels
    held: Inputs
    index: Index
    people: SoftLabels
    named: Mapping[str, str] = field(default_factory=dict)
    watched: bool = False
    validation: Validation | None = None

    def __post_init__(self) -> None:
        check_inputs("inputs", self.inputs)
        check_inputs("held", self.held)
        for what, rows, labels in (
            ("training", self.inputs, len(self.teaching)),
            ("held-out", self.held, len(self.index.items)),
        ):
            if len(rows) != labels:
                raise DataError(f"{len(rows)} {what} inputs and {labels} labels do not go together")
        others = {"held-out": self.held}
        if self.validation is not None:
            others["validation"] = self.validation.inputs
        for what, rows in others.items():
            if self.inputs.shape[1:] != rows.shape[1:]:
                raise DataError(
                    f"training inputs are {self.inputs.shape[1:]}, {what} ones {rows.shape[1:]}"
                )

    @classmethod
    def of(cls, inputs: Inputs, teaching: TrainingLabels, held: Inputs, people: SoftLabels) -> Self:
        """Make a split that is tested on exactly the items of ``people``."""
        index = Index(people.index.items, names([]), people.index.labels)
        return cls(inputs, teaching, held, index, people)

    @property
    def images(self) -> bool:
        """True for pictures, False for features."""
        return self.inputs.ndim == 4

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all labels, for the hash that names a run."""
        arrays: dict[str, Any] = {"hard": self.teaching.hard, "pooled": self.teaching.pooled}
        if (each := self.teaching.each) is not None:
            arrays |= {"item": each.item, "annotator": each.annotator}
            arrays["each"] = each.label if each.label is not None else each.soft()
        return arrays

    @cached_property
    def hashes(self) -> dict[str, str]:
        """Hashes of the inputs that are learned from and predicted, and of the labels that the
        predictions are scored against: the version of the data."""
        index, people = self.people.index, {"probs": self.people.probs, "count": self.people.count}
        people |= {"item": as_texts(index.items), "class": as_texts(index.labels)}
        hashes = {
            "inputs_sha": digest({"inputs": self.inputs}),
            "held_sha": digest({"held": self.held, "item": as_texts(self.index.items)}),
            "people_sha": digest(people),
        }
        if self.validation is not None:
            hashes["validation_sha"] = digest(vars(self.validation))
        return hashes


@dataclass(frozen=True, eq=False)
class FoldedSplit(Split):
    """A split whose first held-out items are the ones to learn from, in the same order;
    ``fold`` (m,) is the fold of each of these."""

    fold: Ints = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        count = len(self.fold)
        if count != len(self.inputs) or not np.array_equal(self.inputs, self.held[:count]):
            raise DataError(
                f"{count} folds for {len(self.inputs)} items: there must be as many, and the items "
                "to learn from must be the first of those held out"
            )

    @cached_property
    def hashes(self) -> dict[str, str]:
        """Hashes of the inputs and of the folds."""
        return {**super().hashes, "fold_sha": digest({"fold": self.fold})}


@dataclass(frozen=True, eq=False)
class PublishedData:
    """A published set: all ``images`` and their names; of the items in ``learn`` the ``gold``
    class and the ``teaching``; ``held`` items are predicted, and ``people`` are their labels."""

    name: str
    items: Names
    images: npt.NDArray[Any]
    learn: Names
    gold: Ints
    teaching: TrainingLabels
    held: Names
    people: SoftLabels


def check_inputs(what: str, rows: Inputs) -> None:
    """Refuse all but images (m, h, w, 3) of bytes and features (m, d) of 32-bit floats."""
    image = rows.dtype == np.uint8 and rows.ndim == 4 and rows.shape[3] == 3
    if not image and not (rows.dtype == np.float32 and rows.ndim == 2):
        raise DataError(
            f"{what}: {rows.dtype} {rows.shape} are neither images, uint8 (m, h, w, 3), nor "
            "features, float32 (m, d)"
        )


def choose_held_out(items: Names) -> Bools:
    """Return (m,), True for one item in five, by the hash of its name: a rule, so that no list is
    needed, and the same items in every run and for all seeds.

    >>> choose_held_out(names(["a", "b", "c", "d", "e"])).tolist()
    [False, False, True, True, False]
    """
    return np.asarray(name_keys(items) % np.uint64(ONE_IN) == 0)


def read_split(images: str, labels: str | None = None, against: str | None = None) -> Split:
    """Read the split that the options of ``softlabel train`` name.

    ``images`` is an ``.npz`` or a published set with its own split; ``labels`` an ``.npz`` of soft
    labels, or answers of any kind that ``softlabel.io`` reads; ``against`` an ``.npz`` of soft
    labels of the items that are held out.  Without it a published set is split as it was
    published, and of other items one in five is held out, by its name.
    """
    if images in PUBLISHED:
        known = PUBLISHED[images]()
        items, rows = known.items, known.images
        teaching, learn = known.teaching, known.learn
        if labels is not None:
            teaching = _relabel(known, read_labels(labels), labels)
        people = known.people if against is None else _read_people(against)
        held = known.held if against is None else people.index.items
        classes = known.people.index.labels
    else:
        items, rows = read_inputs(images)
        if labels is None:
            raise DataError(f"{images} has no labels of its own; say --labels FILE")
        each, pooled = read_labels(labels)
        people = _hold_out(pooled) if against is None else _read_people(against)
        held = people.index.items
        learn = pooled.index.items[pooled.answered & ~np.isin(pooled.index.items, held)]
        teaching = TrainingLabels.of(
            select_labels(pooled, learn), None if each is None else select_items(each, learn)
        )
        classes = pooled.index.labels
    inside = np.isin(learn, held)
    if inside.any():
        raise DataError(
            f"item {learn[inside][0]!r} is to be learned from and tested on "
            f"({int(inside.sum())} of {len(held)}); leave it out of --labels or of --against"
        )
    if sorted(classes.tolist()) != sorted(people.index.labels.tolist()):
        raise DataError(
            f"the classes learned, {', '.join(classes.tolist())}, are not those tested on, "
            f"{', '.join(people.index.labels.tolist())}"
        )
    inputs, tested = (rows[_rows_of(wanted, items, images)] for wanted in (learn, held))
    named = {"images": images} | ({} if labels is None else {"labels": labels})
    return Split(inputs, teaching, tested, Index(held, names([]), classes), people, named)


# ── files ────────────────────────────────────────────────────────────────────────────────────


def read_inputs(text: str) -> tuple[Names, Inputs]:
    """Read ``images`` or ``features`` and the names of their ``items`` (or their numbers) from an
    ``.npz`` file, or all images of a published set."""
    if text in PUBLISHED:
        known = PUBLISHED[text]()
        return known.items, known.images
    path = Path(text)
    if path.suffix != ".npz":
        raise UnknownName("set of images", text, [*PUBLISHED, "an .npz file"])
    if not path.exists():
        raise FileError(path, "there is no such file")
    with np.load(path, allow_pickle=False) as file:
        given = [key for key in ("images", "features") if key in file]
        if len(given) != 1:
            raise FileError(path, f"holds {', '.join(file)}; one of images and features is needed")
        rows = file[given[0]]
        called = file["items"].tolist() if "items" in file else range(len(rows))
    check_inputs(f"{path}, {given[0]}", rows)
    items = names([str(item) for item in called])
    if len(items) != len(rows):
        raise FileError(path, f"has {len(rows)} {given[0]} and {len(items)} items")
    return items, rows


def read_labels(path: str) -> tuple[Annotations | None, SoftLabels]:
    """Read soft labels, or answers and their mean."""
    if path.endswith(".npz"):
        return None, SoftLabels.load(path)
    source = read_answers(path)
    source.refuse_mixtures()
    each, _ = construct_labels(source, Plan())
    return each, Mean()(each)


def _read_people(against: str) -> SoftLabels:
    if against in PUBLISHED:
        return load_people(against)
    people = SoftLabels.load(against)
    return select_labels(people, people.index.items[people.answered])


def _hold_out(pooled: SoftLabels) -> SoftLabels:
    items = pooled.index.items[pooled.answered]
    held = items[choose_held_out(items)]
    if not len(held) or len(held) == len(items):
        raise DataError(
            f"{len(items)} items are too few to hold one in {ONE_IN} out; name those to be tested "
            "on with --against FILE.npz"
        )
    return select_labels(pooled, held)


def _rows_of(wanted: Names, items: Names, where: str) -> Ints:
    """Return the rows of these names; a missing name is an error."""
    place = {item: row for row, item in enumerate(items.tolist())}
    rows = [place.get(str(item), -1) for item in wanted]
    if missing := rows.count(-1):
        raise DataError(
            f"item {str(wanted[rows.index(-1)])!r} is not in {where} ({missing} of {len(rows)} are "
            "not); items are matched by name"
        )
    return np.array(rows, dtype=np.int64)


def select_labels(soft: SoftLabels, wanted: Names) -> SoftLabels:
    """Return the labels of these items only, in this order."""
    rows = _rows_of(wanted, soft.index.items, "the labels")
    index = Index(wanted, soft.index.annotators, soft.index.labels)
    return SoftLabels(index, soft.probs[rows], soft.count[rows], soft.estimand, soft.made_by)


def select_items(each: Annotations, wanted: Names) -> Annotations:
    """Return the answers about these items only, renumbered in this order."""
    place = {item: row for row, item in enumerate(wanted.tolist())}
    new = np.array([place.get(item, -1) for item in each.index.items.tolist()], dtype=np.int64)
    kept = each.take(new[each.item] >= 0)
    index = Index(wanted, each.index.annotators, each.index.labels)
    return Annotations(index, new[kept.item], kept.annotator, kept.label, kept.probs)


def _relabel(
    known: PublishedData, answers: tuple[Annotations | None, SoftLabels], called: str
) -> TrainingLabels:
    """Teach a published set by other labels where there are any, else by its given class."""
    each, pooled = answers
    if pooled.index.labels.tolist() != known.people.index.labels.tolist():
        raise DataError(
            f"{called} has the classes {', '.join(pooled.index.labels.tolist())}, and "
            f"{known.name} {', '.join(known.people.index.labels.tolist())}"
        )
    both = pooled.answered & np.isin(pooled.index.items, known.learn)
    if not both.any():
        raise DataError(f"{called} labels none of the {len(known.learn)} items that are taught")
    soft = np.eye(pooled.probs.shape[1])[known.gold]
    at = _rows_of(pooled.index.items[both], known.learn, known.name)
    soft[at] = pooled.probs[both]
    if each is not None:
        return TrainingLabels(known.gold, soft, select_items(each, known.learn))
    # one annotator for all tells which items were labelled at all
    index = Index(known.learn, names(["label"]), pooled.index.labels)
    each = Annotations(index, at, np.zeros(len(at), dtype=np.int64), probs=pooled.probs[both])
    return TrainingLabels(known.gold, soft, each)


# ── published data ───────────────────────────────────────────────────────────────────────────


def load_cifar10h() -> PublishedData:
    """Load 7,000 images with the shares of about 51 votes each, and 3,000 to be tested on."""
    return _publish("cifar10h", *_read_indices())


def load_cifar10s() -> PublishedData:
    """Load 6,900 images, of which 900 have the beliefs of 6 or 7 people; 3,100 to be predicted,
    scored on the 3,000 of CIFAR-10H (the 100 held out of CIFAR-10S: ``load_people("cifar10s")``).
    """
    learn, held = _read_indices()
    apart = read_held_10s()
    return _publish("cifar10s", learn[~np.isin(learn, apart)], np.concatenate([held, apart]))


def _publish(name: str, learn: Ints, held: Ints) -> PublishedData:
    """Teach each image by the mean of the answers about it or, where there are none, its class."""
    each = _read_answers(name, learn)
    data = datasets.cifar10.load("test")
    assert data.gold is not None, "CIFAR-10 has its classes"
    items, images, gold = data.index.items, data.arrays["images"], data.gold[learn]
    soft, asked = np.eye(each.index.shape[2])[gold], each.votes_per_item() > 0
    soft[asked] = Mean()(each).probs[asked]
    teaching, people = TrainingLabels(gold, soft, each), load_people("cifar10h")
    return PublishedData(name, items, images, items[learn], gold, teaching, items[held], people)


def load_people(name: str) -> SoftLabels:
    """Load the labels of the held-out items: vote shares of 3,000, or soft labels of 100."""
    held = _read_indices()[1] if name == "cifar10h" else read_held_10s()
    return Mean()(_read_answers(name, held))


PUBLISHED: dict[str, Callable[[], PublishedData]] = {
    "cifar10h": load_cifar10h,
    "cifar10s": load_cifar10s,
}


def read_held_10s() -> Ints:
    """Read the 100 images that Collins et al. held out, as their script draws them."""
    lines = HELD_10S.read_text().splitlines()
    return np.array([int(line) for line in lines if line and not line.startswith("#")])


def _read_indices() -> tuple[Ints, Ints]:
    """Read the 7,000 and the 3,000 of Uma et al., which Collins et al. use too."""
    info = datasets.cifar10s.INFO
    return tuple(  # type: ignore[return-value]
        np.sort(datasets.read_npy(datasets.locate(info, f"{part}_indices.npy")))
        for part in ("train", "test")
    )


def _read_answers(name: str, images: Ints) -> Annotations:
    """Read the answers about these images of CIFAR-10, in this order: votes, or for CIFAR-10S each
    person's belief (two classes, clamped, a tenth spread over the possible rest)."""
    if name == "cifar10h":
        each = datasets.cifar10h.load().annotations
        assert each is not None, "CIFAR-10H is votes"
    else:
        statements = datasets.cifar10s.load().statements
        assert statements is not None, "CIFAR-10S is statements"
        each = Clamp()(statements)
    return select_items(each, names([str(image) for image in images.tolist()]))
