"""What simulated people can know about an item that is on their screen."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.errors import DataError, FileError
from softlabel.simulate.crowd.people import keyed
from softlabel.study import Item, Study
from softlabel.tables import Floats, check_simplex

FILE = "truth.csv"  # in the study folder: id, one column per label
DOUBT = 0.4  # Dirichlet concentration of beliefs that are made up: mostly one label, often two
Screen = tuple[str | None, str | None, str | None]


@dataclass(frozen=True, eq=False)
class Truth:
    """The server never says which item it shows, so an item is known by what can be seen."""

    ids: Mapping[Screen, str]
    of: Mapping[str, Floats]  # (k,) by item id, in the study's order of labels

    def item(self, showing: Mapping[str, Any]) -> str:
        """The id of the item that a plan shows here."""
        seen = (_hash(showing["image"]), _hash(showing["audio"]), showing["text"])
        if seen not in self.ids:
            raise DataError(f"the server shows {seen}, which is no item of this study folder")
        return self.ids[seen]


def known(study: Study, seed: int) -> Truth:
    """What can be known of every item; of two that look the same, what is known of the first."""
    written = read(study.folder / FILE, study.labels) if (study.folder / FILE).is_file() else {}
    ids: dict[Screen, str] = {}
    of: dict[str, Floats] = {}
    for item in (*study.items, *study.practice, *study.checks):
        ids.setdefault(_screen(item), item.id)
        of[item.id] = _belief(item, written.get(item.id), len(study.labels), seed)
    return Truth(ids, of)


def _belief(item: Item, written: Floats | None, labels: int, seed: int) -> Floats:
    """From truth.csv where it has the item, else its gold, else made up by the seed; the text of
    an attention check overrides what can be seen, so there gold comes first."""
    if item.gold is not None and (written is None or item.kind == "attention"):
        return np.array(item.gold)
    if written is not None:
        return written
    return keyed(seed, "truth", item.id).dirichlet(np.full(labels, DOUBT))


def read(path: Path, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Item id to distribution over these labels."""
    found = {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        for name in ("id", *labels):
            if name not in (rows.fieldnames or ()):
                raise FileError(path, "there is no such column", line=1, column=name)
        for row in rows:
            try:
                probs = np.array([float(row[label]) for label in labels])
                check_simplex("truth", probs[None])
            except (TypeError, ValueError, DataError) as error:
                raise FileError(path, str(error), line=rows.line_num) from None
            found[row["id"]] = probs
    return found


def _screen(item: Item) -> Screen:
    image, audio = (media.sha256 if media else None for media in (item.image, item.audio))
    return image, audio, item.text


def _hash(address: str | None) -> str | None:
    return address and address.rpartition("/")[2]
