"""The right class of items, where somebody knows it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from softlabel.errors import FileError, nearest
from softlabel.io.comma import read_csv
from softlabel.io.shapes import ITEM, LABEL
from softlabel.tables import Index, Ints


def read_gold(path: Path, index: Index) -> Ints:
    """(m,) the class code of each item of the index, -1 where the file does not name it.

    The file is CSV with the columns item and label; items that the index does not hold are passed
    over, because gold often covers more than was asked about.
    """
    sheet = read_csv(path)
    for column in (ITEM, LABEL):
        if column not in sheet.frame.columns:
            known = ", ".join(sheet.frame.columns)
            raise FileError(path, f"must have this column; it has {known}", column=column)
    sheet.refuse_empty(ITEM, LABEL)
    items, classes = (
        {name: code for code, name in enumerate(names)}
        for names in (index.items.tolist(), index.labels.tolist())
    )
    gold = np.full(len(index.items), -1)
    for row, (item, label) in enumerate(sheet.frame.select(ITEM, LABEL).iter_rows()):
        if label not in classes:
            hint = nearest(label, classes) or f"; classes are {', '.join(classes)}"
            raise sheet.error(f"no such class{hint}", row, LABEL, label)
        if item not in items:
            continue
        if gold[items[item]] not in (-1, classes[label]):
            raise sheet.error("this item has another label further up", row, ITEM, item)
        gold[items[item]] = classes[label]
    if (gold < 0).all():
        raise FileError(path, "names none of the items that were answered")
    return gold
