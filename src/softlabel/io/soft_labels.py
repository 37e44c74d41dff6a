"""Read one label per item: soft labels as ``softlabel label`` writes them, and predictions.

A table has the column ``item``, one column per class and, for soft labels, ``count``, which
no class follows.  In JSON lines the classes are keys, or are named once on the first line.  In
``.npz`` they are arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy.special import softmax

from softlabel._util.arrays import complaining, load_arrays
from softlabel._util.files import file_kind
from softlabel.errors import FileError
from softlabel.io.columns import find
from softlabel.io.csv_files import read_csv
from softlabel.io.json_files import parse_lines
from softlabel.io.sheet import Sheet, detect_shape, read_parquet, read_text
from softlabel.io.source import Source, read_answers
from softlabel.io.votes import as_text
from softlabel.io.write import COUNT, PROBS
from softlabel.records import LISTS
from softlabel.tables import (
    SIMPLEX_TOLERANCE,
    Floats,
    Index,
    Ints,
    Predictions,
    SoftLabels,
    find_classes,
    names,
)

KINDS = (
    *("csv", "tsv", "parquet", "jsonl", "npz"),
    *("csv.gz", "tsv.gz", "parquet.gz", "jsonl.gz"),
)
Numbers = Literal["probabilities", "counts", "logits"]
SUM = (
    "not to 1; if they are rounded or counts, --normalise divides each row by its sum; if they are "
    "logits, --from-logits takes their softmax"
)


@dataclass(frozen=True, eq=False)
class ClassTable:
    """One row of numbers per item and one column per class, with the sheet they were read from."""

    sheet: Sheet
    items: Sequence[str]
    labels: Sequence[str]
    numbers: Floats  # (m, k), NaN in rows that are empty
    count: Ints | None

    @property
    def index(self) -> Index:
        return Index(names(list(self.items)), names([]), names(list(self.labels)))

    def refuse(self, bad: Any, reason: str) -> None:
        """Raise the error about the first cell (m, k) that is bad, if there is one."""
        if bad.any():
            row = int(bad.any(axis=1).argmax())
            column = self.labels[int(bad[row].argmax())]
            raise self.sheet.error(reason, row, column, self.sheet.frame[column][row])


def read_people(path: str | Path, labels: Sequence[str] | None = None) -> SoftLabels | Source:
    """Read what people said about each item: soft labels, or answers of any kind (votes, counts,
    responses).  ``labels`` is the full list of classes of answers."""
    path = Path(path)
    kind = file_kind(path, (*KINDS, "json", "json.gz")).removesuffix(".gz")
    if kind == "npz":
        return SoftLabels.load(path)
    table = None
    if kind == "jsonl":
        table = _read_label_lines(path)
    elif kind != "json":
        sheet = _read_sheet(path)
        shape = detect_shape(path, sheet.frame.columns)
        if shape.kind == "soft" and shape.annotator is None:
            table = _read_classes(sheet)
    if table is None or _is_counts(table):
        return read_answers(path, labels)
    return _as_soft_labels(table)


def read_predictions(path: str | Path, given: Numbers = "probabilities") -> Predictions:
    """Read what a model believes about each item.  Rows that are no distributions are refused
    unless ``given`` says what they are: counts are divided by their sum, of logits the softmax is
    taken."""
    path = Path(path)
    kind = file_kind(path, KINDS).removesuffix(".gz")
    if kind == "npz":
        held = load_arrays(path, "predictions", ("item", "labels", "probs"))
        with complaining(path, "predictions"):
            items, classes = (names(held[key].tolist()) for key in ("item", "labels"))
            return Predictions(Index(items, names([]), classes), held["probs"])
    table = _read_label_lines(path) if kind == "jsonl" else _read_classes(_read_sheet(path))
    if table is None:
        raise FileError(path, "holds answers, not predictions: item, and one key per class")
    table.refuse(np.isnan(table.numbers), "the cell is empty; every item needs a prediction")
    return Predictions(table.index, _as_distributions(table, given))


def _read_sheet(path: Path) -> Sheet:
    kind = file_kind(path, KINDS).removesuffix(".gz")
    return read_parquet(path) if kind == "parquet" else read_csv(path)


def _read_classes(sheet: Sheet) -> ClassTable:
    """Read a sheet with one row per item; columns beside the classes are left out."""
    columns = sheet.frame.columns
    item = find("item", columns)
    if item is None:
        there = ", ".join(map(repr, columns[:20]))
        reason = f"no such column; there are {there}; needed are item and one column per class"
        raise FileError(sheet.path, reason, column="item")
    labels = find_classes(columns, item)
    if not labels:
        raise FileError(sheet.path, "has no column of a class; needed is one per class")
    sheet.refuse_empty(item)
    items = sheet.frame.select(as_text(item, sheet.frame[item].dtype))[item]
    sheet.refuse(~items.is_first_distinct(), "this item is there already; one row per item", item)
    count = None
    if COUNT in columns:
        cells = sheet.frame[COUNT].cast(pl.Int64, strict=False)
        sheet.refuse(cells.is_null() | (cells < 0), "must be a whole number of answers", COUNT)
        count = cells.to_numpy()
    numbers = [_read_column(sheet, label, count) for label in labels]
    return ClassTable(sheet, items.to_list(), labels, np.stack(numbers, axis=1), count)


def _read_column(sheet: Sheet, label: str, count: Ints | None) -> Floats:
    cells = sheet.frame[label]
    if cells.dtype.is_nested() or cells.dtype.is_temporal() or cells.dtype == pl.Boolean:
        raise FileError(sheet.path, f"holds {cells.dtype}, no probabilities", column=label)
    if cells.dtype == pl.String:
        cells = cells.str.strip_chars().replace("", None)
    numbers = cells.cast(pl.Float64, strict=False)
    reason = (
        "not a number; besides item, every column before count is a class with its probabilities"
    )
    sheet.refuse(cells.is_not_null() & numbers.is_null(), reason, label)
    nan = (numbers.is_nan() & cells.is_not_null()).fill_null(False)
    silent = pl.Series(np.zeros(len(cells), np.bool_) if count is None else count == 0)
    sheet.refuse(nan & ~silent, "NaN is no probability", label)
    return numbers.fill_null(float("nan")).to_numpy()


def _read_label_lines(path: Path) -> ClassTable | None:
    """Read JSON lines of one label per item; None if the file holds answers."""
    rows = list(parse_lines(path, read_text(path)))
    first = rows[0][1]
    if first.get("schema") == LISTS and "id" not in first:
        rows = [(line, _spread(path, line, row, first["labels"])) for line, row in rows[1:]]
    elif "schema" in first or any(find(role, first) for role in ("annotator", "label")):
        return None
    if not rows:
        raise FileError(path, "names classes but no items")
    item = find("item", rows[0][1])
    columns: dict[str, list[Any]] = {key: [] for key in rows[0][1]}
    for line, row in rows:
        if odd := sorted(columns.keys() ^ row.keys()):
            known = odd[0] in columns
            reason = "this key is missing" if known else "the first line has no such key"
            raise FileError(path, reason, line=line, column=odd[0])
        for key, value in row.items():
            if not isinstance(value, str if key == item else int | float | None):
                right = "text" if key == item else "a number"
                raise FileError(path, f"must be {right}", line=line, column=key, value=value)
            columns[key].append(value)
    kinds: Any = {key: pl.Float64() for key in columns} | {item: pl.String(), COUNT: pl.Int64()}
    frame = pl.DataFrame(columns, {key: kinds[key] for key in columns}, strict=False)
    return _read_classes(Sheet(path, frame, [line for line, _ in rows].__getitem__))


def _spread(path: Path, line: int, row: dict[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    """Return a line with a list of probabilities as one with a key per class."""
    probs = row.get(PROBS) or [None] * len(labels)  # an item without answers has null
    if not isinstance(probs, list) or len(probs) != len(labels):
        reason = f"must be a list of {len(labels)} numbers, one per class"
        raise FileError(path, reason, line=line, column=PROBS)
    kept = {key: row[key] for key in ("item", COUNT) if key in row}
    return {**kept, **dict(zip(labels, probs, strict=True))}


def _is_counts(table: ClassTable) -> bool:
    """True for counts of votes: whole numbers, and no soft labels on which all people agree."""
    numbers = table.numbers
    if not (np.isfinite(numbers) & (numbers >= 0) & (numbers == np.floor(numbers))).all():
        return False
    return table.count is None or bool((numbers.sum(axis=1) == table.count).all())


def _as_soft_labels(table: ClassTable) -> SoftLabels:
    m = len(table.items)
    count = np.ones(m, dtype=np.int64) if table.count is None else table.count
    silent = count == 0
    table.refuse(np.isnan(table.numbers) & ~silent[:, None], "the cell is empty")
    known = np.where(silent[:, None], 1 / len(table.labels), table.numbers)
    probs = _as_distributions(
        ClassTable(table.sheet, table.items, table.labels, known, None), "probabilities"
    )
    return SoftLabels(table.index, np.where(silent[:, None], np.nan, probs), count)


def _as_distributions(table: ClassTable, given: Numbers) -> Floats:
    numbers = table.numbers
    table.refuse(~np.isfinite(numbers), "must be a finite number")
    if given == "logits":
        return np.asarray(softmax(numbers, axis=1))
    hint = "; if these are logits, --from-logits takes their softmax"
    table.refuse(numbers < 0, f"a probability must not be negative{hint}")
    total = numbers.sum(axis=1)
    if given == "counts":
        if (total == 0).any():
            raise table.sheet.error("the numbers sum to 0", int((total == 0).argmax()))
        return np.asarray(numbers / total[:, None])
    off = np.flatnonzero(abs(total - 1) > SIMPLEX_TOLERANCE)
    if len(off):
        raise table.sheet.error(f"the probabilities sum to {total[off[0]]:.9g}, {SUM}", int(off[0]))
    return numbers
