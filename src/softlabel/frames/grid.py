"""Tables of other libraries as named columns, whatever library holds them.

Nothing is imported for their sake: pandas is read column by column, Arrow through its interface in
memory, Hugging Face through Arrow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
import polars as pl

from softlabel.errors import DataError
from softlabel.frames.ids import Column, is_missing, to_column
from softlabel.io import columns

ACCEPTED = (
    "a table of pandas, polars, Arrow or Hugging Face, a numpy array, a dict of columns, a list "
    "of records (dicts), a list of tuples (item, annotator, label), or the name of a file"
)
UNREAD = ("Image", "Audio", "Video", "Pdf")  # features of Hugging Face that hold no answers
SHOWN = 12  # columns that an error names


@dataclass(frozen=True)
class Grid:
    """Named columns, and what they were: ``rows`` are the ids of the rows where the table has some,
    ``declared`` the classes that the type of a column declares, ``ordered`` the columns whose type
    says that its classes are steps of a scale; ``empty`` counts items whose list of votes was
    empty."""

    name: str
    columns: dict[Any, Column]
    rows: Column | None = None
    declared: Mapping[Any, list[Any]] = field(default_factory=dict)
    ordered: frozenset[Any] = frozenset()
    empty: int = 0

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def refuse(self, reason: str) -> NoReturn:
        """Raise an error that says what was found."""
        found = ", ".join(map(repr, list(self.columns)[:SHOWN]))
        more = ", …" if len(self.columns) > SHOWN else ""
        size = f"{len(self):,} rows with the columns {found}{more}"
        raise DataError(f"{self.name} ({size}): {reason}")


def gather(data: Any) -> Grid:
    """Return any table as named columns."""
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if isinstance(data, pl.DataFrame):
        return _from_polars("polars DataFrame", data)
    if hasattr(data, "iloc"):
        return _from_pandas(data)
    if hasattr(data, "features") and hasattr(data, "with_format"):
        return _from_huggingface(data)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        name = type(data).__name__
        return _from_polars(f"Arrow {name}" if name == "Table" else name, pl.DataFrame(data))
    if isinstance(data, Mapping):
        return _from_mapping(data)
    if hasattr(data, "__array__"):
        return _from_array(np.asarray(data))
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _from_list(data)
    raise DataError(f"{type(data).__name__} is no table of answers; accepted are {ACCEPTED}")


def _from_polars(name: str, frame: pl.DataFrame) -> Grid:
    declared = {
        column: kind.categories.to_list()
        for column, kind in frame.schema.items()
        if isinstance(kind, pl.Enum)
    }
    return Grid(name, dict(zip(frame.columns, frame.get_columns(), strict=True)), None, declared)


def _from_pandas(frame: Any) -> Grid:
    """Read each column by itself, which needs neither pandas nor pyarrow to be imported here."""
    if not hasattr(frame, "columns"):  # a series
        frame = frame.to_frame("label" if frame.name is None else frame.name)
    found = list(frame.columns)
    if len(set(found)) < len(found):
        twice = next(column for column in found if found.count(column) > 1)
        raise DataError(f"pandas DataFrame: two columns are called {twice!r}")
    cells, declared = {}, {}
    levels = [frame.index.get_level_values(level) for level in range(frame.index.nlevels)]
    named = {level.name: level.to_series() for level in levels if level.name is not None}
    series = {**{key: one for key, one in named.items() if key not in found},
              **{column: frame[column] for column in found}}  # fmt: skip
    for column, values in series.items():
        if hasattr(values.dtype, "categories"):
            declared[column] = values.dtype.categories.tolist()
        cells[column] = _pandas_column(values)
    plain = len(levels) == 1 and levels[0].name is None
    counted = plain and list(levels[0]) == list(range(len(frame)))
    rows = _pandas_column(levels[0].to_series()) if plain and not counted else None
    steps = (column for column in declared if series[column].dtype.ordered)
    return Grid("pandas DataFrame", cells, rows, declared, frozenset(steps))


def _pandas_column(series: Any) -> Column:
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iufb":
        return pl.Series(series.to_numpy())
    return to_column(series)


def _from_huggingface(data: Any) -> Grid:
    kinds = dict(data.features)
    kept = [name for name, kind in kinds.items() if type(kind).__name__ not in UNREAD]
    frame = pl.DataFrame(data.select_columns(kept).with_format("arrow")[:])
    grid = _from_polars("Hugging Face Dataset", frame)
    declared = {name: list(kinds[name].names) for name in kept if hasattr(kinds[name], "int2str")}
    for name, classes in declared.items():
        codes = frame[name]
        known = codes.is_between(0, len(classes) - 1)  # -1 means that there is none
        grid.columns[name] = pl.Series(classes).gather(codes.set(~known, None))
    for name in kept:  # lists of classes
        inner = getattr(getattr(kinds[name], "feature", None), "names", None)
        if inner is not None:
            word = dict(enumerate(inner))
            rows = [
                None if row is None else [word.get(code) for code in row] for row in frame[name]
            ]
            grid.columns[name], declared[name] = pl.Series(rows), list(inner)
    return replace(grid, declared={**grid.declared, **declared})


def _from_mapping(data: Mapping[Any, Any]) -> Grid:
    values = list(data.values())
    if any(hasattr(value, "with_format") for value in values):
        raise DataError(f"{type(data).__name__} holds several tables; take one: {list(data)}")
    if values and all(isinstance(value, Mapping) for value in values):
        inner = dict.fromkeys(key for value in values for key in value)
        cells = {key: to_column([value.get(key) for value in values]) for key in inner}
        return Grid("dict of dicts", cells, to_column(list(data)))
    lengths = {len(value) if is_values(value) else -1 for value in values}
    if len(lengths) != 1 or -1 in lengths:
        raise DataError(
            "dict: must hold columns of equal length, such as {'item': […], 'annotator': […], "
            f"'label': […]}}; it has {len(data):,} keys, the first is {next(iter(data), None)!r}"
        )
    return Grid("dict of columns", {key: to_column(value) for key, value in data.items()})


def _from_array(array: Any) -> Grid:
    if array.dtype.names:
        return Grid(
            "structured array", {name: to_column(array[name]) for name in array.dtype.names}
        )
    if array.ndim == 1:
        return Grid("array", {"label": to_column(array)})
    if array.ndim != 2:
        raise DataError(f"an array of shape {array.shape} is no table; it must have rows, columns")
    shape = " x ".join(map(str, array.shape))
    return Grid(f"array {shape}", {j: to_column(array[:, j]) for j in range(array.shape[1])})


def _from_list(data: Sequence[Any]) -> Grid:
    name = f"list of {len(data):,}"
    rows = [row._asdict() if hasattr(row, "_asdict") else row for row in data]
    if rows and all(isinstance(row, Mapping) for row in rows):
        keys = dict.fromkeys(key for row in rows for key in row)
        cells = {key: to_column([row.get(key) for row in rows]) for key in keys}
        return Grid(f"{name} records", cells)
    if rows and all(isinstance(row, tuple) and len(row) == 3 for row in rows):
        parts = zip(("item", "annotator", "label"), zip(*rows, strict=True), strict=True)
        return Grid(f"{name} tuples", {key: to_column(list(values)) for key, values in parts})
    if any(isinstance(row, tuple | list | Mapping) for row in rows):
        raise DataError(f"{name} entries of which the first is {rows[0]!r}: must be {ACCEPTED}")
    return Grid(name, {"label": to_column(rows)})


# ── lists of votes ───────────────────────────────────────────────────────────────────────────


def unfold_votes(grid: Grid, said: Mapping[str, Any]) -> Grid | None:
    """Return a table with a row per vote of one whose rows hold lists of all votes for an item; and
    None if it holds none.  ``said`` are the columns that the caller named, by role.

    A list of annotators, if there is one, is in the order of the votes.  A gap in a list is no
    vote.
    """
    lists = {name: list(cells) for name, cells in grid.columns.items() if _is_lists(cells)}
    votes, people = _find_lists(grid, lists, said)
    if votes is None:
        return None
    item = columns.find("item", grid.columns) if said["item"] is None else said["item"]
    cells = grid.columns.get(item) if isinstance(item, str) else item
    cells = grid.rows if cells is None else to_column(cells)
    items = list(range(len(grid)) if cells is None else cells)
    rows, empty = list[tuple[Any, Any, Any]](), 0
    for number, (name, cell) in enumerate(zip(items, lists[votes], strict=True)):
        given = [] if cell is None else list(cell)
        who = [None] * len(given) if people is None else list(lists[people][number])
        if len(who) != len(given):
            reason = f"{votes!r} lists {len(given)} votes and {people!r} {len(who)} annotators"
            grid.refuse(f"row {number + 1}: {reason}")
        both = zip(who, given, strict=True)
        each = [(name, person, vote) for person, vote in both if not is_missing(vote)]
        empty += not each
        rows += each
    if not rows:
        grid.refuse(f"no list in {votes!r} holds a vote")
    parts = zip(("item", "annotator", "label"), zip(*rows, strict=True), strict=True)
    table = {role: to_column(list(values)) for role, values in parts}
    if people is None:
        del table["annotator"]
    declared = {"label": grid.declared[votes]} if votes in grid.declared else {}
    return Grid(f"{grid.name}, votes in {votes!r}", table, None, declared, empty=empty)


def _find_lists(
    grid: Grid, lists: Mapping[Any, Any], said: Mapping[str, Any]
) -> tuple[str | None, str | None]:
    """Return the columns with lists of votes and of annotators; None where there is none."""
    plain = [name for name in grid.columns if name not in lists]
    votes, people = said["label"], said["annotator"]
    if votes is None and not any(columns.find(role, plain) for role in ("label", "counts")):
        votes = columns.find("votes", lists)
    if not isinstance(votes, str) or votes not in lists:
        return None, None
    if people is None:
        people = columns.find("annotators", lists) or columns.find("annotator", lists)
        one_person = columns.find("annotator", plain) is not None
    else:
        one_person = not isinstance(people, str) or people not in lists
    return (None, None) if one_person else (votes, people)


def _is_lists(cells: Column) -> bool:
    if isinstance(cells, pl.Series):
        return isinstance(cells.dtype, pl.List | pl.Array)
    given = [cell for cell in cells if cell is not None]
    return bool(given) and all(isinstance(cell, list | np.ndarray) for cell in given)


def is_records(data: Any) -> bool:
    """Return whether these are a study's own records, which the careful reader knows."""
    return (
        isinstance(data, list) and bool(data) and isinstance(data[0], dict) and "schema" in data[0]
    )


def is_values(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes | Mapping)
