"""Published data sets, each in one file: ``load("cifar10s")``, ``load("chaosnli/snli")``.

Files are looked for in ``$SOFTLABEL_DATA/<name>/``, then in the user's cache, where ``fetch``
puts them.  Nothing is downloaded unless asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from softlabel.datasets import (
    _fetch,
    chaosnli,
    cifar10,
    cifar10h,
    cifar10n,
    cifar10s,
    cifar100,
    crowd,
    labelme,
    popquorn,
    pos,
    rte,
    sentiment,
    shifted,
    svhn,
)
from softlabel.datasets._fetch import FetchError, MissingData, Report, locate
from softlabel.datasets._read import array
from softlabel.datasets.base import Dataset, File, Info
from softlabel.errors import UnknownName


class Source(Protocol):
    """What each file of this room offers."""

    @property
    def INFO(self) -> Info: ...

    @property
    def load(self) -> Callable[..., Dataset]: ...


_ALL: tuple[Source, ...] = (
    cifar10,
    cifar10h,
    cifar10s,
    cifar10n,
    chaosnli,
    popquorn,
    labelme,
    sentiment,
    pos,
    rte,
    crowd,
    cifar100,
    svhn,
)
DATASETS: dict[str, Source] = {source.INFO.name: source for source in _ALL}


def load(name: str) -> Dataset:
    """The data set ``name``, or its part ``name/part``."""
    source, part = _split(name)
    return source.load(part) if part else source.load()


def infos() -> list[Info]:
    """Every data set there is."""
    return [source.INFO for source in DATASETS.values()]


def fetch(name: str, report: Report | None = None) -> list[Path]:
    """Download the files of a data set that are not here yet; returns the new ones."""
    return _fetch.fetch(_split(name)[0].INFO, report)


def where(name: str) -> dict[str, Path | None]:
    """The place of each file of a data set on this machine."""
    return _fetch.where(_split(name)[0].INFO)


def verify(name: str) -> list[str]:
    """What is wrong with the files of a data set that are here; nothing, if all is well."""
    return _fetch.verify(_split(name)[0].INFO)


def _split(name: str) -> tuple[Source, str]:
    whole, slash, part = name.partition("/")
    if whole not in DATASETS:
        raise UnknownName("data set", whole, DATASETS)
    source = DATASETS[whole]
    return source, source.INFO.part(part) if slash else ""


__all__ = [
    "DATASETS",
    "Dataset",
    "FetchError",
    "File",
    "Info",
    "MissingData",
    "array",
    "fetch",
    "infos",
    "load",
    "locate",
    "shifted",
    "verify",
    "where",
]
