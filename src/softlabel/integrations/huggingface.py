"""Labels as a column of a Hugging Face data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel import registry
from softlabel.deliver import Deliver, Delivery, Draws, TrainingLabels
from softlabel.errors import DataError, SoftlabelError

if TYPE_CHECKING:
    from datasets import Dataset

TOP = "top_label"  # not "label": some collators would take it for the target


def to_huggingface(
    columns: Mapping[str, Sequence[Any]] | Dataset,
    teaching: TrainingLabels,
    deliver: Deliver | str,
    seed: int = 0,
    *,
    epoch: int = 0,
    column: str = "labels",
    item: str = "item",
) -> Dataset:
    """Return ``columns`` (m rows) with ``labels``: k float32, the targets of ``epoch``.

    Where the classes have names, ``top_label`` follows: the most probable class of each target, as
    a ``ClassLabel``, whose names are in the order of the targets.  If there is a column called
    ``item``, its names must be those of the labels, in their order.

    The data set can be saved, shared and read without softlabel.  It holds one epoch: with a
    delivery that draws in each, train on ``LabelledDataset`` over the same rows instead.
    """
    from datasets import ClassLabel, Dataset, List, Value  # takes seconds, and is seldom installed

    draws = Draws(seed)
    delivery = start_delivery(teaching, deliver, draws)
    rows = columns if isinstance(columns, Dataset) else Dataset.from_dict(dict(columns))
    if len(rows) != len(teaching):
        raise DataError(f"{len(rows)} rows and labels of {len(teaching)} items")
    for new in (column, TOP):
        if new in rows.column_names:
            raise DataError(f"there is a column {new!r} already: remove it, or name another")
    if item in rows.column_names:
        teaching.check_items(rows[item])
    targets = delivery.labels_for(epoch, np.arange(len(rows)), draws)
    kind = List(Value("float32"), length=targets.shape[1])
    rows = rows.add_column(column, targets.astype(np.float32).tolist(), feature=kind)
    if teaching.index is None:
        return rows
    names = ClassLabel(names=teaching.index.labels.tolist())
    return rows.add_column(TOP, targets.argmax(axis=1).tolist(), feature=names)


def start_delivery(teaching: TrainingLabels, deliver: Deliver | str, draws: Draws) -> Delivery:
    """Return what a policy, or the one of this name, delivers of training labels."""
    if not isinstance(teaching, TrainingLabels):
        raise SoftlabelError(
            f"teaching is {type(teaching).__name__}, not TrainingLabels; "
            "TrainingLabels.of(pooled) makes them of soft labels"
        )
    delivery: Delivery = registry.resolve("deliver", deliver)(teaching, draws)
    return delivery
