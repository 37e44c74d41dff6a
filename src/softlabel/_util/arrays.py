"""Files of arrays (``.npz``): read what is needed, execute nothing, and say what is wrong."""

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from softlabel.errors import DataError, FileError

UNREADABLE = (  # what reading a zip archive of arrays raises
    *(ValueError, TypeError, KeyError, EOFError, RuntimeError, NotImplementedError, OSError),
    *(zipfile.BadZipFile, zlib.error),
)


def load_arrays(
    path: str | Path, what: str, needed: Sequence[str], more: Sequence[str] = ()
) -> dict[str, npt.NDArray[Any]]:
    """The arrays ``needed``, and those of ``more`` that are there, of an ``.npz`` file.

    ``what`` the file should be is said if it is something else.  Nothing in it is ever executed.
    """
    path = Path(path)
    if not path.exists():
        raise FileError(path, "there is no such file")
    if path.is_dir():
        raise FileError(path, f"is a folder, not an .npz file of {what}")
    if not zipfile.is_zipfile(path):
        raise FileError(path, f"is no .npz file, or a damaged one; not {what}")
    with complaining(path, what), zipfile.ZipFile(path) as box:
        held = [name.removesuffix(".npy") for name in box.namelist() if name.endswith(".npy")]
        for key in needed:
            if key not in held:
                has = f"has the arrays {', '.join(held[:8])}" if held else "has no arrays"
                wanted = f"{what} are {', '.join(needed)}"
                raise FileError(path, f"{has}; {wanted}, so {key!r} is missing")
        found = {}
        for key in (*needed, *(key for key in more if key in held)):
            with box.open(f"{key}.npy") as member:
                found[key] = np.lib.format.read_array(member, allow_pickle=False)
        return found


@contextmanager
def complaining(path: str | Path, what: str) -> Iterator[None]:
    """Mistakes in the contents of a file are told with its name."""
    try:
        yield
    except FileError:
        raise
    except (DataError, *UNREADABLE) as error:
        raise FileError(path, f"does not hold {what}: {error}") from None
