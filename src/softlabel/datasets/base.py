"""What a published data set is, what loading it gives, and where its files are looked for."""

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from softlabel.errors import DataError, SoftlabelError, UnknownName
from softlabel.tables import Annotations, Index, Ints, Names, Statements, broken

ABOUT = tomllib.loads(Path(__file__).with_name("sources.toml").read_text("utf-8"))


class MissingData(SoftlabelError):
    """A file that is not on this machine: which, where it was looked for, how to get it."""


@dataclass(frozen=True)
class File:
    """One file of a data set, under the name it has on disk (there perhaps with ``.gz`` added).

    ``sha256`` is of the released bytes; of an ``.npz``, whose bytes depend on the zip library,
    it is of the arrays inside.  ``inner`` is the member of the archive at ``url`` that is meant.
    ``check`` takes the place of a checksum that cannot be known: it returns what is wrong, or "".
    """

    name: str
    sha256: str | None = None
    url: str | None = None
    inner: str | None = None
    check: Callable[[Path], str] | None = None


@dataclass(frozen=True)
class Info:
    """Where a data set comes from and on what terms.  ``by_hand`` explains how to get the files
    that have no ``url``; ``parts`` are the names that ``load`` takes."""

    name: str
    title: str
    home: str
    licence: str
    files: tuple[File, ...]
    parts: tuple[str, ...] = ()
    by_hand: str = ""
    cite: str = ""

    @classmethod
    def of(cls, name: str, **checks: Callable[[Path], str]) -> Self:
        """Return what ``sources.toml`` says of a data set; ``checks`` of files go by their stem."""
        about = dict(ABOUT[name])
        listed = about.pop("files")
        files = [File(**file, check=checks.get(Path(file["name"]).stem)) for file in listed]
        return cls(name, files=tuple(files), parts=tuple(about.pop("parts", ())), **about)

    def part(self, name: str) -> str:
        """Return the name of a part, or raise an error that lists the parts there are."""
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
    one text per item.  ``notes`` are what a user must know.  ``machines`` are labels that models
    gave to the same items: never part of ``annotations``, which are people's.
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
    machines: Annotations | None = None

    def __post_init__(self) -> None:
        if self.gold is not None:
            m, _, k = self.index.shape
            gold = np.asarray(self.gold, dtype=np.int64)
            if gold.shape != (m,):
                raise DataError(f"{self.name}: gold has shape {gold.shape}, expected ({m},)")
            broken(self.name, (gold < -1) | (gold >= k), f"gold code outside -1..{k - 1}", gold)
            object.__setattr__(self, "gold", gold)


@dataclass(frozen=True)
class Source:
    """A published data set: its description, and the function that loads it or one of its parts."""

    INFO: Info
    load: Callable[..., Dataset]


# ── finding ──────────────────────────────────────────────────────────────────────────────────


def cache_folder(info: Info) -> Path:
    """Return where fetched files go."""
    own = os.environ.get("SOFTLABEL_CACHE")
    user = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return (Path(own) if own else Path(user) / "softlabel").expanduser() / "data" / info.name


def search_folders(info: Info) -> list[Path]:
    """Return where files are looked for, the user's own folder first."""
    own = os.environ.get("SOFTLABEL_DATA")
    return [*([Path(own).expanduser() / info.name] if own else []), cache_folder(info)]


def find(info: Info, filename: str) -> Path | None:
    """Return the path of a file, perhaps with ``.gz`` added, or None."""
    for folder in search_folders(info):
        for name in (filename, filename + ".gz"):
            if (folder / name).is_file():
                return folder / name
    return None


def find_files(info: Info) -> dict[str, Path | None]:
    """Return the path of each file of the data set on this machine."""
    return {file.name: find(info, file.name) for file in info.files}


def locate(info: Info, filename: str) -> Path:
    """Return the path of a file, or raise ``MissingData``, which explains how to get it."""
    path = find(info, filename)
    if path is None:
        raise MissingData(explain_missing(info, filename))
    return path


def explain_missing(info: Info, filename: str) -> str:
    """Return where a file was looked for, and how to get it."""
    places = " nor in ".join(map(str, search_folders(info)))
    if not os.environ.get("SOFTLABEL_DATA"):
        places += f" (nor in $SOFTLABEL_DATA/{info.name}, as that variable is not set)"
    text = f"{info.name}: {filename} is not in {places}.\n"
    if any(file.url for file in info.files if file.name == filename):
        return text + f"Get it with: softlabel data fetch {info.name}"
    absent = [file.name for file in info.files if not file.url and find(info, file.name) is None]
    text += f"It must be got by hand. {info.by_hand.rstrip()}\n"
    return f"{text}Put {' and '.join(absent or [filename])} into such a folder."
