"""What is believed about how people split over an item before anybody has answered."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.errors import DataError
from softlabel.tables import Floats, Names, frozen, names


@dataclass(frozen=True, eq=False)
class Prior:
    """A mixture over kinds of item: p ~ sum_c weight_c Dirichlet(alpha_c).

    ``alpha`` (C, k) has one row per kind, ``weight`` (C,) says how common each is, ``labels`` are
    the classes.  It is a value: fit it on some items, save it, give it to a pool of others.
    ``wide`` is the prior for intervals of pools whose own kinds are too narrow for them (atoms).
    """

    labels: Names
    alpha: Floats
    weight: Floats
    made_by: str = ""
    wide: Prior | None = None

    def __post_init__(self) -> None:
        labels = names(self.labels)
        alpha = frozen(np.asarray(self.alpha, dtype=np.float64))
        weight = frozen(np.asarray(self.weight, dtype=np.float64))
        if alpha.ndim != 2 or alpha.shape != (len(weight), len(labels)) or not len(weight):
            raise DataError(
                f"Prior: alpha has shape {alpha.shape}, expected (kinds, classes) = "
                f"{(len(weight), len(labels))}"
            )
        if not (np.isfinite(alpha).all() and (alpha > 0).all()):
            raise DataError("Prior: every alpha must be a finite number above 0")
        if not ((weight > 0).all() and abs(weight.sum() - 1) < 1e-6):
            raise DataError("Prior: weights must be above 0 and sum to 1")
        for name, value in (("labels", labels), ("alpha", alpha), ("weight", weight)):
            object.__setattr__(self, name, value)

    @cached_property
    def log_weight(self) -> Floats:
        """(C,) logarithms of the weights."""
        return np.log(self.weight)

    @cached_property
    def mass(self) -> Floats:
        """(C,) A_c = sum_k alpha_ck: how many votes each kind of item is worth beforehand."""
        return np.asarray(self.alpha.sum(axis=1))

    def among(self, labels: Names) -> Prior:
        """The same prior with the classes in this order; other classes are refused by name."""
        wanted, known = labels.tolist(), self.labels.tolist()
        if wanted == known:
            return self
        if sorted(wanted) != sorted(known):
            odd = sorted(set(wanted) ^ set(known))[0]
            where = "prior, but not the data" if odd in known else "data, but not the prior"
            raise DataError(
                f"the {where}, has a class called {odd!r}: fit a prior of these classes"
            )
        order = [known.index(label) for label in wanted]
        wide = None if self.wide is None else self.wide.among(labels)
        return Prior(labels, self.alpha[:, order], self.weight, self.made_by, wide)

    def save(self, path: str | Path) -> None:
        """Plain arrays in one ``.npz``: ``labels``, ``alpha``, ``weight``, ``made_by``, and where
        there is one ``wide_alpha`` and ``wide_weight``."""
        wide = self.wide
        more: dict[str, Any] = {}
        if wide is not None:
            more = {"wide_alpha": wide.alpha, "wide_weight": wide.weight}
        with Path(path).open("wb") as file:
            np.savez_compressed(
                file,
                labels=np.array(self.labels.tolist(), dtype=np.str_),
                alpha=self.alpha,
                weight=self.weight,
                made_by=np.array(self.made_by),
                **more,
            )

    @classmethod
    def load(cls, path: str | Path) -> Prior:
        """What ``save`` wrote; nothing in the file is ever executed."""
        if not zipfile.is_zipfile(path):
            raise DataError(f"{path}: is no .npz file, or a damaged one; not a prior")
        with np.load(path, allow_pickle=False) as file:
            missing = {"labels", "alpha", "weight", "made_by"} - set(file)
            if missing:
                raise DataError(f"{path}: no array called {sorted(missing)[0]!r}; not a prior")
            labels = names(file["labels"].tolist())
            wide = None
            if {"wide_alpha", "wide_weight"} <= set(file):
                wide = cls(labels, file["wide_alpha"], file["wide_weight"])
            return cls(labels, file["alpha"], file["weight"], str(file["made_by"]), wide)
