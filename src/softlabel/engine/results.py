"""Soft labels part by part: workers write rows, and the rows are put together as a stream."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import entr

from softlabel._util.files import aside, kind_of
from softlabel.aggregate import Aggregate
from softlabel.engine.partitions import ITEM, Part, item_names
from softlabel.io import COUNT, SOFT_KINDS, compact, escaped_table
from softlabel.tables import ANONYMOUS, Annotations, Floats, Index, Ints, names

BATCH = 2**18  # rows of an .npz file at a time


class Written(NamedTuple):
    """What a worker wrote: the file, its items, and the sum of their labels' entropies."""

    path: str
    items: int
    entropy: float


def write_posterior(part: Part, folder: str, method: Any, parameters: Any) -> Written:
    """The labels of a part under these parameters of a method."""
    items = item_names(part.partitions, part.number)
    return _write(part, items, folder, method.posterior(part, parameters))


def write_pooled(part: Part, folder: str, pooler: Aggregate) -> Written:
    """The labels of a part by a pool that looks at one item at a time."""
    items = item_names(part.partitions, part.number)
    return _write(part, items, folder, pooler(_annotations(part, items)).probs)


def _annotations(part: Part, items: pl.Series) -> Annotations:
    """The votes of a part as a table; who gave them does not matter to such pools."""
    index = Index(compact(items), names([]), names(list(part.partitions.labels)))
    item = np.repeat(np.arange(part.items), np.diff(part.start))
    if part.answer is None or part.weight is None:
        return Annotations(index, item, np.full(len(item), ANONYMOUS), label=part.label)
    _, first, answer = np.unique(part.answer, return_index=True, return_inverse=True)
    probs = np.zeros((len(first), part.labels))
    probs[answer, part.label] = part.weight
    return Annotations(index, item[first], np.full(len(first), ANONYMOUS), probs=probs)


def _write(part: Part, items: pl.Series, folder: str, probs: Floats) -> Written:
    path = Path(folder) / f"rows-{part.number:05d}.parquet"
    frame = _frame(items, part.partitions.labels, probs, part.count)
    with aside(path) as target:
        frame.write_parquet(target, compression="lz4")
    return Written(str(path), part.items, float(entr(probs).sum()))


def unanswered(said: Annotations, folder: Path) -> None:
    """The rows of items that nobody answered: they are in no part, and have no label."""
    nobody = np.flatnonzero(said.votes_per_item() == 0)
    if not len(nobody):
        return
    items = pl.Series(ITEM, said.index.items[nobody].tolist(), dtype=pl.String)
    empty = np.full((len(nobody), len(said.index.labels)), np.nan)
    frame = _frame(items, said.index.labels.tolist(), empty, np.zeros(len(nobody), np.int64))
    folder.mkdir(exist_ok=True)
    frame.write_parquet(folder / "rows-unanswered.parquet", compression="lz4")  # sorts last


def _frame(items: pl.Series, labels: Sequence[str], probs: Floats, count: Ints) -> pl.DataFrame:
    columns = {
        label: pl.Series(probs[:, j].copy()).fill_nan(None) for j, label in enumerate(labels)
    }
    return pl.DataFrame({ITEM: items} | columns | {COUNT: count.astype(np.int64)})


# ── putting together ─────────────────────────────────────────────────────────────────────────


def combine(rows: list[Path], out: Path, about: dict[str, npt.NDArray[Any]]) -> None:
    """One file of all the rows, streamed; ``about`` are the members that an ``.npz`` has besides.

    An item nobody answered has empty cells, as everywhere.
    """
    kind = kind_of(out, SOFT_KINDS)
    table = pl.scan_parquet(rows, glob=False)
    with aside(out) as target:
        if kind == "parquet":
            table.sink_parquet(target)
        elif kind == "csv":
            escaped_table(table).sink_csv(target)
        elif kind == "jsonl":
            table.sink_ndjson(target)
        else:
            _write_npz(table, target, about)


def _write_npz(table: pl.LazyFrame, target: Path, about: dict[str, npt.NDArray[Any]]) -> None:
    """The members that ``SoftLabels.save`` writes, in pieces."""
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
            with box.open(f"{name}.npy", "w", force_zip64=True) as member:
                _header(member, kind, shape)
                for piece in _pieces(table, labels if name == "probs" else [name]):
                    member.write(np.ascontiguousarray(piece, dtype=kind).tobytes())
        for name, array in about.items():
            with box.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _header(member: IO[bytes], kind: np.dtype[Any], shape: tuple[int, ...]) -> None:
    descr = np.lib.format.dtype_to_descr(kind)
    facts = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(member, facts)


def _pieces(table: pl.LazyFrame, columns: list[str]) -> Iterator[npt.NDArray[Any]]:
    """These columns from the first row to the last, a null being NaN."""
    for batch in table.select(columns).collect_batches(chunk_size=BATCH):
        yield batch.to_numpy() if len(columns) > 1 else batch.to_series().to_numpy()
