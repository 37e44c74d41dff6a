"""What a run learns from and what it is tested on, from files or from published data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from softlabel.aggregate import Mean
from softlabel.deliver import Teaching
from softlabel.errors import DataError, FileError, UnknownName
from softlabel.io import read_answers
from softlabel.label import Plan, construct_labels
from softlabel.tables import Annotations, Index, Ints, Names, SoftLabels, names
from softlabel.train import runs
from softlabel.train.recipes import published

Inputs = npt.NDArray[Any]  # images uint8 (m, h, w, 3), or features float32 (m, d)
ONE_IN = 5  # items are held out if nobody says which


@dataclass(frozen=True, eq=False)
class Lesson:
    """``inputs`` and ``teaching`` of the m training items; ``held`` inputs of the items that are
    only predicted, whose names and classes are in ``index``; ``people``, what is known of these.

    ``named`` says what things were called.  With ``watched`` the log of a run also tells, after
    every epoch, how it does on the items held out: for curves, not for choosing an epoch.
    """

    inputs: Inputs
    teaching: Teaching
    held: Inputs
    index: Index
    people: SoftLabels
    named: Mapping[str, str] = field(default_factory=dict)
    watched: bool = False

    def __post_init__(self) -> None:
        check_inputs("inputs", self.inputs)
        check_inputs("held", self.held)
        for what, rows, labels in (
            ("training", self.inputs, len(self.teaching)),
            ("held-out", self.held, len(self.index.items)),
        ):
            if len(rows) != labels:
                raise DataError(f"{len(rows)} {what} inputs and {labels} labels do not go together")
        if self.inputs.shape[1:] != self.held.shape[1:]:
            raise DataError(
                f"training inputs are {self.inputs.shape[1:]}, held-out ones {self.held.shape[1:]}"
            )

    @classmethod
    def of(cls, inputs: Inputs, teaching: Teaching, held: Inputs, people: SoftLabels) -> Self:
        """Tested on exactly the items that ``people`` speaks of."""
        index = Index(people.index.items, names([]), people.index.labels)
        return cls(inputs, teaching, held, index, people)

    @property
    def images(self) -> bool:
        """True for pictures, False for features."""
        return self.inputs.ndim == 4

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All labels, for the hash that names a run."""
        found: dict[str, npt.NDArray[Any]] = {
            "hard": self.teaching.hard,
            "pooled": self.teaching.pooled,
        }
        each = self.teaching.each
        if each is not None:
            found |= {"item": each.item, "annotator": each.annotator}
            found["each"] = each.label if each.label is not None else each.soft()
        return found

    @cached_property
    def hashes(self) -> dict[str, str]:
        """What was seen and what was predicted, for the configuration of a run."""
        held = {"held": self.held, "item": np.array(self.index.items.tolist(), dtype=np.str_)}
        return {
            "inputs_sha": runs.digest({"inputs": self.inputs}),
            "held_sha": runs.digest(held),
        }


def check_inputs(what: str, rows: Inputs) -> None:
    """Images (m, h, w, 3) of bytes or features (m, d) of 32-bit floats, and nothing else."""
    image = rows.dtype == np.uint8 and rows.ndim == 4 and rows.shape[3] == 3
    if not image and not (rows.dtype == np.float32 and rows.ndim == 2):
        raise DataError(
            f"{what}: {rows.dtype} {rows.shape} are neither images, uint8 (m, h, w, 3), nor "
            "features, float32 (m, d)"
        )


def read(images: str, labels: str | None = None, against: str | None = None) -> Lesson:
    """The lesson that the options of ``softlabel train`` name.

    ``images`` is an ``.npz`` or a published set with its own split; ``labels`` an ``.npz`` of soft
    labels, or answers of any kind that ``softlabel.io`` reads; ``against`` what is known of the
    items that are held out: an ``.npz`` of soft labels.  Without it a published set is split as it
    was published, and of other items one in five is held out, by its name.
    """
    if images in published.SETS:
        known = published.SETS[images]()
        items, rows = known.items, known.images
        teaching, learn = known.teaching, known.learn
        if labels is not None:
            teaching = _relabelled(known, _answers(labels), labels)
        people = known.people if against is None else _people(against)
        held = known.held if against is None else people.index.items
        classes = known.people.index.labels
    else:
        if not images.endswith(".npz"):
            kinds = [*published.SETS, "an .npz file"]
            raise UnknownName("set of images", images, kinds)
        items, rows = _npz(Path(images))
        if labels is None:
            raise DataError(f"{images} has no labels of its own; say --labels FILE")
        each, pooled = _answers(labels)
        people = _held_out(pooled) if against is None else _people(against)
        held = people.index.items
        wanted = pooled.answered & ~np.isin(pooled.index.items, held)
        learn = pooled.index.items[wanted]
        teaching = Teaching.of(_rows(pooled, learn), _cut(each, learn))
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
    where = _places(items, images)
    return Lesson(
        rows[where(learn)],
        teaching,
        rows[where(held)],
        Index(held, names([]), classes),
        people,
        {"images": images} | ({} if labels is None else {"labels": labels}),
    )


# ── files ────────────────────────────────────────────────────────────────────────────────────


def _npz(path: Path) -> tuple[Names, Inputs]:
    """``images`` or ``features`` and the names of their ``items`` (or their numbers)."""
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


def _answers(path: str) -> tuple[Annotations | None, SoftLabels]:
    """Labels as they are, or answers and their mean."""
    if path.endswith(".npz"):
        return None, SoftLabels.load(path)
    source = read_answers(path)
    source.refuse_mixtures()
    each, _ = construct_labels(source, Plan())
    return each, Mean()(each)


def _people(against: str) -> SoftLabels:
    if against in published.SETS:
        return published.people(against)
    people = SoftLabels.load(against)
    return _rows(people, people.index.items[people.answered])


def _held_out(pooled: SoftLabels) -> SoftLabels:
    """One item in five, chosen by the hash of its name: the same in every run and for all seeds."""
    from softlabel.randomness import name_keys

    items = pooled.index.items[pooled.answered]
    held = items[name_keys(items) % np.uint64(ONE_IN) == 0]
    if not len(held) or len(held) == len(items):
        raise DataError(
            f"{len(items)} items are too few to hold one in {ONE_IN} out; name those to be tested "
            "on with --against FILE.npz"
        )
    return _rows(pooled, held)


# ── tables by name ───────────────────────────────────────────────────────────────────────────


class _places:
    """Rows of these names; a name that is not there is an error."""

    def __init__(self, items: Names, where: str) -> None:
        self.place = {item: row for row, item in enumerate(items.tolist())}
        self.where = where

    def __call__(self, wanted: Iterable[str]) -> Ints:
        asked = [str(item) for item in wanted]
        missing = [item for item in asked if item not in self.place]
        if missing:
            raise DataError(
                f"item {missing[0]!r} is not in {self.where} ({len(missing)} of {len(asked)} are "
                "not); items are matched by name"
            )
        return np.array([self.place[item] for item in asked], dtype=np.int64)


def _rows(soft: SoftLabels, wanted: Names) -> SoftLabels:
    """The same labels of these items only, in this order."""
    rows = _places(soft.index.items, "the labels")(wanted)
    index = Index(wanted, soft.index.annotators, soft.index.labels)
    return SoftLabels(index, soft.probs[rows], soft.count[rows], soft.estimand, soft.made_by)


def _cut(each: Annotations | None, wanted: Names) -> Annotations | None:
    """The answers about these items only, renumbered in this order."""
    if each is None:
        return None
    place = {item: row for row, item in enumerate(wanted.tolist())}
    new = np.array([place.get(item, -1) for item in each.index.items.tolist()], dtype=np.int64)
    kept = each.take(new[each.item] >= 0)
    index = Index(wanted, each.index.annotators, each.index.labels)
    return Annotations(index, new[kept.item], kept.annotator, kept.label, kept.probs)


def _relabelled(
    known: published.Known, answers: tuple[Annotations | None, SoftLabels], called: str
) -> Teaching:
    """A published set taught by other labels where there are any, and by its given class where
    there are none."""
    each, pooled = answers
    if pooled.index.labels.tolist() != known.people.index.labels.tolist():
        raise DataError(
            f"{called} has the classes {', '.join(pooled.index.labels.tolist())}, and "
            f"{known.name} {', '.join(known.people.index.labels.tolist())}"
        )
    both = pooled.answered & np.isin(pooled.index.items, known.learn)
    if not both.any():
        raise DataError(f"{called} labels none of the {len(known.learn)} items that are taught")
    items = pooled.index.items[both]
    soft = np.eye(pooled.probs.shape[1])[known.gold]
    at = _places(known.learn, known.name)(items)
    soft[at] = pooled.probs[both]
    if each is None:  # one voice per item says which items were labelled at all
        index = Index(known.learn, names(["label"]), pooled.index.labels)
        said = Annotations(index, at, np.zeros(len(at), dtype=np.int64), probs=pooled.probs[both])
        return Teaching(known.gold, soft, said)
    return Teaching(known.gold, soft, _cut(each, known.learn))
