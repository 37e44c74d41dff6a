"""What a published data set is: where it comes from, and what loading it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from softlabel.errors import DataError, SoftlabelError, UnknownName
from softlabel.tables import Annotations, Index, Ints, Names, Statements, broken


@dataclass(frozen=True)
class File:
    """One file of a data set, under the name it has on disk (there perhaps with ``.gz`` added).

    ``sha256`` is of the released bytes; of an ``.npz``, whose bytes depend on the zip library,
    it is of the arrays inside.  ``inner`` is the member of the archive at ``url`` that is meant.
    ``check`` takes the place of a checksum that cannot be known: it says what is wrong, or nothing.
    """

    name: str
    sha256: str | None
    url: str | None = None
    inner: str | None = None
    check: Callable[[Path], str] | None = None


@dataclass(frozen=True)
class Info:
    """Where a data set comes from and on what terms.  ``by_hand`` says how to get the files that
    have no ``url``; ``parts`` are the names that ``load`` takes."""

    name: str
    title: str
    home: str
    licence: str
    files: tuple[File, ...]
    parts: tuple[str, ...] = ()
    by_hand: str = ""
    cite: str = ""

    def part(self, name: str) -> str:
        """The name of a part, or an error that lists the parts there are."""
        if not name:
            choices = ", ".join(f"{self.name}/{part}" for part in self.parts)
            raise SoftlabelError(f"{self.name} comes in parts; say one of {choices}")
        if not self.parts:
            raise SoftlabelError(f"{self.name} has no parts, so there is no {self.name}/{name}")
        if name not in self.parts:
            raise UnknownName(f"part of {self.name}", name, self.parts)
        return name


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set as it was released: ``statements`` or ``annotations``, whichever there are.

    ``gold[m]`` is the label code of each item (-1: unknown).  ``arrays`` hold what is neither
    vote nor text: images, features, splits, and columns with one entry per row.  ``texts`` hold
    one text per item.  ``notes`` are what one must know before using it.
    """

    name: str
    info: Info
    index: Index
    statements: Statements | None = None
    annotations: Annotations | None = None
    gold: Ints | None = None
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    texts: Mapping[str, Names] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.gold is not None:
            m, _, k = self.index.shape
            gold = np.asarray(self.gold, dtype=np.int64)
            if gold.shape != (m,):
                raise DataError(f"{self.name}: gold has shape {gold.shape}, expected ({m},)")
            broken(self.name, (gold < -1) | (gold >= k), f"gold code outside -1..{k - 1}", gold)
            object.__setattr__(self, "gold", gold)
