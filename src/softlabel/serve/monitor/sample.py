"""The latest answers as tables: what agreement, stability and flags are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from softlabel.construct import Clamp
from softlabel.elicit import Answer, Hard
from softlabel.records import stack
from softlabel.sampling import one_per_annotator
from softlabel.serve.monitor.seconds import Steps
from softlabel.tables import Annotations, Index, Statements, names

ASKED = ("target", "repeat")  # what the study is about; the other kinds prepare and check
CHECKS = ("gold", "attention")


class Seen(NamedTuple):
    """One stored answer, read.  ``said`` is None where the person skipped the item, and where the
    study as it is now cannot read the answer; times are NaN where they are not known."""

    id: str
    item: str
    annotator: str
    kind: str
    mode: str
    at: float  # when it was stored
    active: float  # seconds the person looked at the item, without the time it was hidden
    first: float  # seconds until the first input
    steps: Steps
    skip: str | None  # the reason of a skip
    said: Answer | None

    @property
    def skipped(self) -> bool:
        return self.skip is not None


@dataclass(frozen=True, eq=False)
class Sample:
    """The latest answers, oldest first, without those that were superseded.

    ``stored`` is how many there are in all: where it is larger than ``read``, the numbers made
    from this sample are about its answers only, and say so.
    """

    labels: tuple[str, ...]
    seen: Sequence[Seen]
    read: int
    stored: int

    @property
    def whole(self) -> bool:
        """True where nothing was left out."""
        return self.read >= self.stored

    @property
    def unreadable(self) -> int:
        """Answers that the study cannot read: its labels or its mode have changed since."""
        return sum(one.said is None and not one.skipped for one in self.seen)

    @cached_property
    def asked(self) -> tuple[Seen, ...]:
        """What was answered of the target items and their repeats."""
        return tuple(one for one in self.seen if one.kind in ASKED and not one.skipped)

    @cached_property
    def said(self) -> Statements:
        """Answers to target items and their repeats."""
        return statements(self.labels, [one for one in self.seen if one.kind in ASKED])

    @cached_property
    def is_repeat(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which of ``said`` the study asked for a second time."""
        asked = [one for one in self.seen if one.kind in ASKED and one.said is not None]
        return np.array([one.kind == "repeat" for one in asked], dtype=np.bool_)

    @cached_property
    def each(self) -> Annotations:
        """The label of each of these answers."""
        return labelled(self.said, {one.mode for one in self.seen})

    @cached_property
    def once(self) -> Annotations:
        """One label per person and item: a repeat is not a second opinion."""
        return one_per_annotator(self.each)

    @cached_property
    def checks(self) -> Statements:
        """Answers to items whose answer is known."""
        return statements(self.labels, [one for one in self.seen if one.kind in CHECKS])


def statements(labels: Sequence[str], seen: Sequence[Seen]) -> Statements:
    """The answers among these (skipped items are none), in their order."""
    given = [(one, one.said) for one in seen if one.said is not None]
    items, item = _coded([one.item for one, _ in given])
    people, annotator = _coded([one.annotator for one, _ in given])
    index = Index(names(items), names(people), names(list(labels)))
    return stack(index, item, annotator, [said for _, said in given])


def labelled(said: Statements, modes: set[str]) -> Annotations:
    """Clamped labels; plain votes stay votes, as in ``softlabel label``."""
    if modes <= {Hard.name} and len(said):
        return Annotations(said.index, said.item, said.annotator, label=said.named[:, 0])
    return Clamp()(said)


def _coded(values: list[str]) -> tuple[list[str], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    codes = {name: code for code, name in enumerate(dict.fromkeys(values))}
    return list(codes), np.array([codes[value] for value in values], dtype=np.int64)
