"""Soft labels part by part: workers write rows, and the rows are combined as a stream."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import entr

from softlabel._util.files import file_kind, write_atomically
from softlabel.aggregate import Aggregate
from softlabel.engine.partitions import ITEM, Part, item_names
from softlabel.io import COUNT, LABEL_KINDS, compact_names, escape_formulas
from softlabel.tables import ANONYMOUS, Annotations, Floats, Index, Ints, names

BATCH = 2**18  # rows of an .npz file at a time


Written = tuple[int, float]  # by a worker: how many items, and the sum of their labels' entropies


def write_posterior(part: Part, folder: str, method: Any, parameters: Any) -> Written:
    """Write the labels of a part under these parameters of a method."""
    return _write(part, folder, method.posterior(part, parameters))


def write_itemwise(part: Part, folder: str, pooler: Aggregate) -> Written:
    """Write the labels of a part by a pool that looks at one item at a time; who gave which vote
    does not matter to such pools."""
    items = compact_names(item_names(part.partitions, part.number))
    index = Index(items, names([]), names(list(part.partitions.labels)))
    item = np.repeat(np.arange(part.items), np.diff(part.start))
    if part.answer is None or part.weight is None:
        votes = Annotations(index, item, np.full(len(item), ANONYMOUS), label=part.label)
    else:
        _, first, answer = np.unique(part.answer, return_index=True, return_inverse=True)
        probs = np.zeros((len(first), part.labels))
        probs[answer, part.label] = part.weight
        votes = Annotations(index, item[first], np.full(len(first), ANONYMOUS), probs=probs)
    return _write(part, folder, pooler(votes).probs)


def _write(part: Part, folder: str, probs: Floats) -> Written:
    items = item_names(part.partitions, part.number)
    frame = _frame(items, part.partitions.labels, probs, part.count)
    with write_atomically(Path(folder) / f"rows-{part.number:05d}.parquet") as target:
        frame.write_parquet(target, compression="lz4")
    return part.items, float(entr(probs).sum())


def write_unanswered(votes: Annotations, folder: Path) -> None:
    """Write the rows of items that nobody answered: they are in no part, and have no label."""
    nobody = np.flatnonzero(votes.votes_per_item() == 0)
    if not len(nobody):
        return
    items = pl.Series(ITEM, votes.index.items[nobody].tolist(), dtype=pl.String)
    empty = np.full((len(nobody), len(votes.index.labels)), np.nan)
    frame = _frame(items, votes.index.labels.tolist(), empty, np.zeros(len(nobody), np.int64))
    folder.mkdir(exist_ok=True)
    frame.write_parquet(folder / "rows-unanswered.parquet", compression="lz4")  # sorts last


def _frame(items: pl.Series, labels: Sequence[str], probs: Floats, count: Ints) -> pl.DataFrame:
    columns = {
        label: pl.Series(column.copy()).fill_nan(None)
        for label, column in zip(labels, probs.T, strict=True)
    }
    return pl.DataFrame({ITEM: items} | columns | {COUNT: count.astype(np.int64)})


def combine(rows: list[Path], out: Path, about: dict[str, npt.NDArray[Any]]) -> None:
    """Stream all the rows into one file; ``about`` are the further members of an ``.npz``.

    An item nobody answered has empty cells, as everywhere.
    """
    kind = file_kind(out, LABEL_KINDS)
    table = pl.scan_parquet(rows, glob=False)
    with write_atomically(out) as target:
        if kind == "parquet":
            table.sink_parquet(target)
        elif kind == "csv":
            escape_formulas(table).sink_csv(target)
        elif kind == "jsonl":
            table.sink_ndjson(target)
        else:
            _write_npz(table, target, about)


def _write_npz(table: pl.LazyFrame, target: Path, about: dict[str, npt.NDArray[Any]]) -> None:
    """Write the members that ``SoftLabels.save`` writes, in pieces; a null is NaN."""
    labels = table.collect_schema().names()[1:-1]
    facts = table.select(pl.len(), pl.col(ITEM).str.len_chars().max().alias("width")).collect()
    m, width = facts.row(0)
    shapes: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {
        ITEM: (np.dtype(f"U{width or 1}"), (m,)),
        COUNT: (np.dtype(np.int64), (m,)),
        "probs": (np.dtype(np.float64), (m, len(labels))),
    } | {label: (np.dtype(np.float64), (m,)) for label in labels}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as box:
        for name, (kind, shape) in shapes.items():
            columns = labels if name == "probs" else [name]
            descr = np.lib.format.dtype_to_descr(kind)
            header = {"descr": descr, "fortran_order": False, "shape": shape}
            with box.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(member, header)
                for batch in table.select(columns).collect_batches(chunk_size=BATCH):
                    cells = batch if len(columns) > 1 else batch.to_series()
                    member.write(np.ascontiguousarray(cells.to_numpy(), dtype=kind).tobytes())
        for name, array in about.items():
            with box.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
