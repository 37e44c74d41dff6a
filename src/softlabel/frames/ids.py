"""Ids of any type: their names as text, and the way back.

A name is the text that a file would hold: ``17`` for the number 17 and for 17.0 (pandas turns
whole numbers into decimals where there are gaps), ``str(id)`` for a tuple, a UUID or a date.  Two
ids with one name, such as 17 and "17", are refused.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import polars as pl

from softlabel.errors import DataError

Column = pl.Series | list[Any]  # a list where polars has no type for what it holds
EXACT = 2**53  # below it, a decimal number that is whole is exact
TEXTS = (pl.String, pl.Categorical, pl.Enum)


def to_column(values: Any) -> Column:
    """Return values as a typed column, or as a list if they have no type in common."""
    if isinstance(values, pl.Series):
        return values
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        return pl.Series(np.ascontiguousarray(values))
    if hasattr(values, "isna"):  # a series of pandas
        gaps, values = values.isna().to_numpy(), values.to_numpy(dtype=object, copy=True)
        values[gaps] = None
    entries = values.tolist() if hasattr(values, "tolist") else list(values)
    kinds = {type(value) for value in entries} - {type(None)}
    simple: dict[Any, Any] = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}
    if len(kinds) == 1 and (kind := simple.get(*kinds)):
        try:
            return pl.Series(entries, dtype=kind)
        except (OverflowError, TypeError):  # whole numbers of more than 64 bits
            return entries
    return entries


def is_missing(value: object) -> bool:
    """Return whether a value stands for none: None, NaN, or what pandas has for them."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(value != value)


def missing_cells(column: Column) -> pl.Series:
    """Return True where a column has no value."""
    if isinstance(column, list):
        return pl.Series([is_missing(value) for value in column], dtype=pl.Boolean)
    blank = column.is_null()
    return blank | column.is_nan().fill_null(False) if column.dtype.is_float() else blank


def is_numeric(column: Column) -> bool:
    """Return whether a column holds numbers."""
    return isinstance(column, pl.Series) and column.dtype.is_numeric()


def distinct_values(column: Column) -> set[Any]:
    """Return the values of a column that can be ids."""
    if isinstance(column, pl.Series):
        plain = not column.dtype.is_nested() and column.dtype != pl.Object
        column = column.unique().to_list() if plain else []
    return {one for one in column if isinstance(one, Hashable) and not is_missing(one)}


def name_of(value: object) -> str:
    """Return the text that stands for an id.

    >>> from datetime import date
    >>> [name_of(one) for one in ("a", 17, 17.0, 0.5, True, (1, "b"), date(2026, 11, 17))]
    ['a', '17', '17', '0.5', 'True', "(1, 'b')", '2026-11-17']
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


class Ids:
    """The ids of one axis, column by column: ``name`` returns their names, ``given`` the way back.

    Distinct values are looked at, not rows; of text and whole numbers nothing is kept.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self._texts: list[pl.Series] = []
        self._numbers: list[pl.Series] = []
        self._others: dict[str, Any] = {}

    def name(self, column: Column) -> pl.Series:
        """Return the names of a column, null where an id is missing."""
        if isinstance(column, list):
            return self._name_objects(column)
        kind = column.dtype
        if kind.is_nested():
            raise DataError(f"{self.what}: the column holds {kind}, which can be no id")
        if kind in TEXTS:
            texts = column.cast(pl.String)
            texts = texts.set((texts.str.strip_chars() == "").fill_null(False), None)
            self._texts.append(texts.unique())
            return texts
        if kind.is_float():
            present = column.fill_nan(None).drop_nulls()
            if not ((present.abs() < EXACT) & (present == present.round())).all():
                return self._name_objects(column.to_list())
            column = column.fill_nan(None).cast(pl.Int64)
        if column.dtype.is_integer():
            texts = column.cast(pl.String)
            self._numbers.append(texts.unique())
            return texts
        return self._name_objects(column.to_list())

    def _name_objects(self, values: Sequence[Any]) -> pl.Series:
        texts: list[str | None] = []
        names: dict[Any, str] = {}
        for value in values:
            if is_missing(value) or (isinstance(value, str) and not value.strip()):
                texts.append(None)
                continue
            try:
                key = (type(value), value)
                if key not in names:
                    names[key] = self._keep(
                        value.item() if isinstance(value, np.generic) else value
                    )
                texts.append(names[key])
            except TypeError:
                kind = type(value).__name__
                raise DataError(f"{self.what} {value!r} is a {kind}, which can be no id") from None
        return pl.Series(texts, dtype=pl.String)

    def _keep(self, value: Any) -> str:
        name = name_of(value)
        value = int(value) if isinstance(value, float) and value.is_integer() else value
        self._refuse_twin(name, value, self._others.setdefault(name, value))
        return name

    def _refuse_twin(self, name: str, one: object, other: object) -> None:
        if one != other or isinstance(one, str) != isinstance(other, str):
            raise DataError(
                f"{self.what}: both {one!r} and {other!r} are there, and in a file both would be "
                f"{name!r}; make them alike"
            )

    def given(self) -> Callable[[str], Any] | None:
        """Return what turns a name into its id; None if names are ids."""
        if not self._numbers and all(isinstance(value, str) for value in self._others.values()):
            return None
        if not self._texts and not self._others:
            return int
        known: dict[str, Any] = {}
        for kind, columns in ((str, self._texts), (int, self._numbers)):
            for name in pl.concat(columns).drop_nulls().to_list() if columns else ():
                self._refuse_twin(name, kind(name), known.setdefault(name, kind(name)))
        for name, value in self._others.items():
            self._refuse_twin(name, value, known.setdefault(name, value))
        same: dict[Any, str] = {}
        for name, value in known.items():
            if value in same:
                raise DataError(
                    f"{self.what}: {name!r} and {same[value]!r} stand for values that are equal "
                    f"({value!r} == {known[same[value]]!r}); make them alike"
                )
            same[value] = name
        return known.__getitem__
