"""Soft labels as tables of other libraries: pandas, polars, Hugging Face."""

from typing import Any

import numpy as np
import polars as pl

from softlabel import io
from softlabel.errors import MissingExtra, SoftlabelError
from softlabel.frames.ids import Column, to_column
from softlabel.tables import SoftLabels

ITEM = "item"


def to_polars(soft: SoftLabels) -> pl.DataFrame:
    """Return the table that a file would hold, with items as they were given; columns of polars
    have text for names."""
    frame = io.soft_label_frame(soft)
    if "items" not in soft.index.given:
        return frame
    ids: Column = to_column(soft.index.ids("items"))
    if isinstance(ids, list):  # such as tuples and UUIDs
        ids = pl.Series(ids, dtype=pl.Object)
    return frame.with_columns(ids.alias(ITEM))


def to_pandas(soft: SoftLabels) -> Any:
    """Return the same table for pandas: items and classes are as they were given, and an item
    without answers has NaN."""
    try:
        import pandas
    except ModuleNotFoundError:
        raise SoftlabelError("to_pandas needs pandas: pip install pandas") from None
    frame = io.soft_label_frame(soft)
    labels = soft.index.labels.tolist()
    titles = dict(zip(labels, soft.index.ids("labels"), strict=True))
    cells = {titles.get(name, name): frame[name].to_numpy() for name in frame.columns[1:]}
    items = pandas.Series(soft.index.ids("items"), name=ITEM)
    return pandas.DataFrame({ITEM: items, **cells})


def to_dataset(soft: SoftLabels) -> Any:
    """Return a Hugging Face ``Dataset``: ``item``, ``label`` (the most probable class, for tools
    that know only one; -1 where nobody answered), ``soft_label`` (k probabilities in the order of
    the label's names), ``low`` and ``high`` where there are intervals, ``count``."""
    try:
        from datasets import ClassLabel, Dataset, Features, List, Value
    except ModuleNotFoundError:
        raise MissingExtra("to_dataset", "huggingface") from None
    labels, answered = soft.index.labels.tolist(), soft.answered
    lists = {"soft_label": soft.probs} | {
        name: values for name, values in soft.more.items() if values.ndim == 2
    }
    ids = to_column(soft.index.ids("items"))
    items = soft.index.items.tolist() if isinstance(ids, list) else ids.to_list()
    whole = not isinstance(ids, list) and ids.dtype.is_integer()
    top = np.where(answered, np.nan_to_num(soft.probs).argmax(axis=1), -1)
    kinds = {
        ITEM: Value("int64" if whole else "string"),
        "label": ClassLabel(names=labels),
        **{name: List(Value("float32"), length=len(labels)) for name in lists},
        "count": Value("int32"),
    }
    rows: dict[str, Any] = {ITEM: items if whole else [*map(str, items)], "label": top.tolist()}
    for name, values in lists.items():
        rows[name] = [
            row if known else None for row, known in zip(values.tolist(), answered, strict=True)
        ]
    return Dataset.from_dict({**rows, "count": soft.count.tolist()}, features=Features(kinds))
