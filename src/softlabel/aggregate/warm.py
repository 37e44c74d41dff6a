"""What an earlier result still says: people and classes are found again by their names."""

from __future__ import annotations

import numpy as np

from softlabel.aggregate.results import TruthPosterior
from softlabel.errors import DataError
from softlabel.tables import Index, Ints


def people(start: TruthPosterior, index: Index) -> tuple[Ints, Ints]:
    """The codes that people of both have here, and the ones they had there."""
    there = {name: code for code, name in enumerate(start.index.annotators.tolist())}
    names = index.annotators.tolist()
    here = [code for code, name in enumerate(names) if name in there]
    return np.array(here, np.int64), np.array([there[names[code]] for code in here], np.int64)


def classes(start: TruthPosterior, index: Index) -> Ints:
    """The code that each class had there; both must have the same classes."""
    there = {name: code for code, name in enumerate(start.index.labels.tolist())}
    names = index.labels.tolist()
    odd = sorted(set(names) ^ set(there))
    if odd:
        raise DataError(f"the result to start from has other classes: {odd[0]!r} is in one only")
    return np.array([there[name] for name in names], np.int64)


def check_same_method(method: object, start: TruthPosterior) -> None:
    """What another method learned means something else."""
    maker = start.made_by.partition("(")[0]
    if maker != type(method).__name__:
        raise DataError(
            f"{type(method).__name__} cannot start from what {maker or 'nobody'} made; "
            "it starts from an earlier result of its own"
        )
