"""Labels as a column of a Hugging Face data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.deliver import Deliver, Draws, TrainingLabels
from softlabel.errors import DataError

if TYPE_CHECKING:
    from datasets import Dataset


def to_huggingface(
    columns: Mapping[str, Sequence[Any]] | Dataset,
    teaching: TrainingLabels,
    deliver: Deliver,
    seed: int = 0,
    *,
    epoch: int = 0,
    column: str = "labels",
) -> Dataset:
    """Return ``columns`` (m rows) with one more, ``labels``: k float32, the targets of ``epoch``.

    The data set can be saved, shared and read without softlabel.  It holds one epoch: with a
    delivery that draws in each, train on ``LabelledDataset`` over the same rows instead.
    """
    from datasets import Dataset, List, Value  # takes seconds, and is seldom installed

    rows = columns if isinstance(columns, Dataset) else Dataset.from_dict(dict(columns))
    if len(rows) != len(teaching):
        raise DataError(f"{len(rows)} rows and labels of {len(teaching)} items")
    if column in rows.column_names:
        raise DataError(f"there is a column {column!r} already: remove it, or name another")
    draws = Draws(seed)
    targets = deliver(teaching, draws).labels_for(epoch, np.arange(len(rows)), draws)
    kind = List(Value("float32"), length=targets.shape[1])
    return rows.add_column(column, targets.astype(np.float32).tolist(), feature=kind)
