"""Published data sets: ``load("cifar10s")``, ``load("chaosnli/snli")``.

Files are looked for in ``$SOFTLABEL_DATA/<name>/``, then in the user's cache, where ``fetch``
puts them.  Nothing is downloaded unless asked for.
"""

from pathlib import Path
from types import ModuleType

from softlabel.datasets import base, cifar10, cifar10s, cifar100, files, shifted, svhn
from softlabel.datasets.base import Dataset, File, Info, MissingData, Source, locate
from softlabel.datasets.cifar10 import cifar10h, cifar10n
from softlabel.datasets.files import FetchError, Report
from softlabel.datasets.lewidi import lewidi2023, lewidi2025
from softlabel.datasets.machines import alttest, popquorn_models
from softlabel.datasets.reading import read_npy
from softlabel.datasets.votes import (
    chaosnli,
    crowd,
    dices,
    labelme,
    model_vs_human,
    popquorn,
    pos,
    rte,
    sentiment,
)
from softlabel.errors import UnknownName

# each has INFO: Info, and load: Callable[..., Dataset]; a set with more to it is a module
SOURCES: tuple[ModuleType | Source, ...] = (
    *(cifar10, cifar10h, cifar10s, cifar10n, chaosnli, popquorn, labelme, sentiment),
    *(pos, rte, crowd, cifar100, svhn, lewidi2023, lewidi2025),
    *(alttest, popquorn_models, dices, model_vs_human),
)
DATASETS = {source.INFO.name: source for source in SOURCES}


def load(name: str) -> Dataset:
    """Load the data set ``name``, or its part ``name/part``."""
    source, part = _split(name)
    dataset: Dataset = source.load(part) if part else source.load()
    return dataset


def list_infos() -> list[Info]:
    """Return the description of every data set there is."""
    return [source.INFO for source in DATASETS.values()]


def fetch(name: str, report: Report | None = None) -> list[Path]:
    """Download the files of a data set that are not here yet; return the new ones."""
    return files.fetch(_split(name)[0].INFO, report)


def find_files(name: str) -> dict[str, Path | None]:
    """Return the place of each file of a data set on this machine."""
    return base.find_files(_split(name)[0].INFO)


def verify(name: str) -> list[str]:
    """Return what is wrong with the files of a data set that are here; nothing, if all is well."""
    return files.verify(_split(name)[0].INFO)


def _split(name: str) -> tuple[ModuleType | Source, str]:
    whole, slash, part = name.partition("/")
    if whole not in DATASETS:
        raise UnknownName("data set", whole, DATASETS)
    source = DATASETS[whole]
    return source, source.INFO.part(part) if slash else ""


__all__ = [
    "DATASETS", "Dataset", "FetchError", "File", "Info", "MissingData", "Source", "alttest",
    "chaosnli", "cifar10", "cifar10h", "cifar10n", "cifar10s", "cifar100", "crowd", "dices",
    "fetch", "find_files", "labelme", "lewidi2023", "lewidi2025", "list_infos", "load", "locate",
    "model_vs_human", "popquorn", "popquorn_models", "pos", "read_npy", "rte", "sentiment",
    "shifted", "svhn", "verify",
]  # fmt: skip
