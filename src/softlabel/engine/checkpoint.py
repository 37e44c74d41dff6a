"""What a fit had learned after so many steps, kept in a file from which it can go on."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from softlabel._util.files import aside
from softlabel.errors import FileError

ARRAY = "array"  # array0, array1, ...: the parameters


@dataclass(frozen=True)
class Checkpoint:
    """The objective after every step so far, and the parameters, as arrays, for the next."""

    trace: tuple[float, ...]
    arrays: tuple[npt.NDArray[Any], ...]

    def save(self, path: Path) -> None:
        """Plain arrays in one ``.npz``, which is either whole or the one before."""
        members: dict[str, Any] = {f"{ARRAY}{n}": array for n, array in enumerate(self.arrays)}
        with aside(path) as part, part.open("wb") as file:
            np.savez(file, trace=np.array(self.trace), **members)

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """What ``save`` wrote; nothing in the file is ever executed."""
        if not zipfile.is_zipfile(path):
            raise FileError(path, "is no checkpoint, or a damaged one; remove it to begin anew")
        with np.load(path, allow_pickle=False) as file:
            kept = [file[f"{ARRAY}{number}"] for number in range(len(file.files) - 1)]
            return cls(tuple(file["trace"].tolist()), tuple(kept))


def leaves(parameters: Any) -> tuple[npt.NDArray[Any], ...]:
    """The arrays of parameters, in order: they are an array, or a tuple or dataclass of such."""
    if is_dataclass(parameters):
        return leaves(tuple(getattr(parameters, field.name) for field in fields(parameters)))
    if isinstance(parameters, tuple):
        return tuple(array for entry in parameters for array in leaves(entry))
    return (np.asarray(parameters),)


def like(template: Any, arrays: list[npt.NDArray[Any]]) -> Any:
    """Parameters of the kind of ``template``, made of ``arrays``, taken from the front."""
    if is_dataclass(template) and not isinstance(template, type):
        names = [field.name for field in fields(template)]
        return replace(template, **{name: like(getattr(template, name), arrays) for name in names})
    if isinstance(template, tuple):
        entries = [like(entry, arrays) for entry in template]
        return type(template)(*entries) if hasattr(template, "_fields") else tuple(entries)
    array = arrays.pop(0)
    return array if isinstance(template, np.ndarray) else array.item()
