"""What simulated people can know about an item that is on their screen."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.errors import DataError, FileError
from softlabel.simulate.people import keyed_rng
from softlabel.study import Item, Study
from softlabel.tables import Floats, check_simplex

FILE = "truth.csv"  # in the study folder: id, one column per label
DOUBT = 0.4  # Dirichlet concentration of beliefs that are made up: mostly one label, often two
Screen = tuple[str | None, str | None, str | None]  # picture, sound, text


@dataclass(frozen=True, eq=False)
class Truth:
    """The truth of each item.  The server never says which item it shows, so an item is known by
    what can be seen of it."""

    ids: Mapping[Screen, str]
    of: Mapping[str, Floats]  # (k,) by item id, in the study's order of labels

    def identify(self, showing: Mapping[str, Any]) -> str:
        """Return the id of the item in a showing of the plan."""
        media = (showing["image"], showing["audio"])
        image, audio = (address and address.rpartition("/")[2] for address in media)
        seen = (image, audio, showing["text"])
        if seen not in self.ids:
            raise DataError(f"the server shows {seen}, which is no item of this study folder")
        return self.ids[seen]


def read_truth(study: Study, seed: int) -> Truth:
    """Return the truth of every item; of two items that look the same, the first one is known."""
    path = study.folder / FILE
    written = read_truth_file(path, study.labels) if path.is_file() else {}
    ids: dict[Screen, str] = {}
    of: dict[str, Floats] = {}
    for item in (*study.items, *study.practice, *study.checks):
        image, audio = (media.sha256 if media else None for media in (item.image, item.audio))
        ids.setdefault((image, audio, item.text), item.id)
        of[item.id] = _find_belief(item, written.get(item.id), len(study.labels), seed)
    return Truth(ids, of)


def _find_belief(item: Item, written: Floats | None, labels: int, seed: int) -> Floats:
    """Take the belief from truth.csv, or else the item's gold, or else make it up by the seed.  The
    text of an attention check overrides what can be seen, so its gold comes first."""
    if item.gold is not None and (written is None or item.kind == "attention"):
        return np.array(item.gold)
    if written is not None:
        return written
    return keyed_rng(seed, "truth", item.id).dirichlet(np.full(labels, DOUBT))


def read_truth_file(path: Path, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Read a distribution over these labels for each item id."""
    truth = {}
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
            truth[row["id"]] = probs
    return truth
