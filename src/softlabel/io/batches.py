"""Parquet of any length in constant memory: rows come in batches, and never stand all together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from softlabel._util.files import aside

Row = Sequence[Any]
GROUP = 20_000  # rows of one row group: what a reader holds at a time
TYPES: Mapping[type, Any] = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}


def _folder(whole: Path) -> TemporaryDirectory[str]:
    """Called like the file in the making, so that whoever removes that removes this."""
    return TemporaryDirectory(dir=whole.parent, prefix=f"{whole.name}s-")


def write_batches(
    batches: Iterable[Sequence[Row]], columns: Mapping[str, type], path: Path
) -> None:
    """``columns`` are str, int, float or bool; a cell that is None is null.

    A Parquet file cannot be appended to, so each batch becomes a small one, and these are then
    joined by a query that streams.
    """
    schema = {name: TYPES[kind] for name, kind in columns.items()}
    with aside(path, private=True) as whole, _folder(whole) as folder:
        parts = [Path(folder, "0.parquet")]
        pl.DataFrame(schema=schema).write_parquet(parts[0])  # no rows at all is a file, too
        for number, rows in enumerate(batches, 1):
            parts.append(Path(folder, f"{number}.parquet"))
            pl.DataFrame(rows, schema=schema, orient="row", strict=True).write_parquet(parts[-1])
        pl.scan_parquet(parts, glob=False).sink_parquet(whole, row_group_size=GROUP)
