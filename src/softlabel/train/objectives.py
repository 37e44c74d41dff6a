"""What the loop minimises: the loss against delivered labels, or against every single vote.

An objective makes the table of an epoch once, on the device, in the order in which the epoch goes
through the items; a batch is then a slice of it.
"""

from hashlib import blake2b

import numpy as np
import torch
from torch import Tensor

from softlabel.deliver import Delivery, Draws, TrainingLabels
from softlabel.errors import DataError, SoftlabelError
from softlabel.tables import Annotations, Floats, Ints
from softlabel.train.config import Config
from softlabel.train.losses import LOSSES, CrowdLayer, Votes


class LabelObjective:
    """The delivery's labels (b, k) and one of the four losses; ``digest`` is a hash of the labels.

    ``start_epoch`` prepares an epoch that goes through the items in this order, ``loss`` is the
    summed loss of rows of the epoch, and ``weight`` how many labels that sum is over.
    """

    layer: CrowdLayer | None = None

    def __init__(
        self, config: Config, delivery: Delivery, draws: Draws, device: torch.device, count: int
    ) -> None:
        self.delivery, self.draws, self.device = delivery, draws, device
        self.dtype, self.function = getattr(torch, config.dtype), LOSSES[config.loss]
        first = self._labels(0, np.arange(count))
        self.classes = first.shape[1]
        self.digest = _digest(first)

    def start_epoch(self, epoch: int, items: Ints) -> None:
        self.table = torch.from_numpy(self._labels(epoch, items)).to(self.device, self.dtype)

    def loss(self, logits: Tensor, rows: slice) -> Tensor:
        return self.function(logits, self.table[rows], "sum")

    def weight(self, rows: slice) -> int:
        return int(rows.stop - rows.start)

    def _labels(self, epoch: int, items: Ints) -> Floats:
        labels = np.ascontiguousarray(self.delivery.labels_for(epoch, items, self.draws))
        if labels.ndim != 2 or len(labels) != len(items):
            raise DataError(f"labels {labels.shape} were delivered for {len(items)} items")
        return labels


class VoteObjective:
    """Every annotator's own vote, seen through a crowd layer; items without votes teach nothing."""

    def __init__(self, config: Config, each: Annotations, device: torch.device) -> None:
        if each.anonymous:
            raise DataError(
                f"objective = {config.objective!r} needs to know who cast which vote, and some of "
                "these votes are anonymous"
            )
        by_item = np.argsort(each.item, kind="stable")
        body = each.label if each.label is not None else each.soft()
        self.annotator, self.label = each.annotator[by_item], body[by_item]
        self.count = each.votes_per_item()
        self.first = np.concatenate([[0], np.cumsum(self.count)])
        _, annotators, self.classes = each.index.shape
        self.dtype, self.device = getattr(torch, config.dtype), device
        on, transposed = config.crowd_on, config.crowd_transposed
        layer = CrowdLayer(config.objective, self.classes, annotators, on, transposed)  # type: ignore[arg-type]
        self.layer: CrowdLayer | None = layer.to(device, self.dtype)
        self.digest = _digest(self.annotator, self.label, self.count)

    def start_epoch(self, epoch: int, items: Ints) -> None:
        counts = self.count[items]
        self.end = np.concatenate([[0], np.cumsum(counts)])
        # for each vote: which of its item's votes it is, and then the row of that one
        number = np.arange(self.end[-1]) - np.repeat(self.end[:-1], counts)
        rows = np.repeat(self.first[items], counts) + number
        self.row = torch.from_numpy(np.repeat(np.arange(len(items)), counts)).to(self.device)
        self.who = torch.from_numpy(self.annotator[rows].astype(np.int64)).to(self.device)
        kind = self.dtype if self.label.ndim == 2 else torch.int64
        self.what = torch.from_numpy(self.label[rows]).to(self.device, kind)

    def loss(self, logits: Tensor, rows: slice) -> Tensor:
        assert self.layer is not None
        votes = slice(int(self.end[rows.start]), int(self.end[rows.stop]))
        batch = Votes(self.row[votes] - rows.start, self.who[votes], self.what[votes])
        return self.layer.loss(logits, batch, "sum")

    def weight(self, rows: slice) -> int:
        return max(int(self.end[rows.stop] - self.end[rows.start]), 1)


Objective = LabelObjective | VoteObjective


def make_objective(
    config: Config,
    delivery: Delivery | TrainingLabels,
    draws: Draws,
    device: torch.device,
    count: int,
) -> Objective:
    """Make the objective; a crowd layer takes the ``TrainingLabels`` instead of a delivery."""
    if isinstance(delivery, TrainingLabels):
        if config.objective == "labels":
            raise SoftlabelError("objective = 'labels' takes a delivery: policy(teaching, draws)")
        if delivery.each is None or len(delivery) != count:
            raise DataError(f"a crowd layer needs annotations of the {count} items")
        return VoteObjective(config, delivery.each, device)
    if config.objective != "labels":
        raise SoftlabelError(
            f"objective = {config.objective!r} learns from single votes: pass the TrainingLabels "
            "itself, not a delivery"
        )
    return LabelObjective(config, delivery, draws, device, count)


def _digest(*arrays: Floats | Ints) -> str:
    whole = blake2b(digest_size=8)
    for array in arrays:
        whole.update(np.ascontiguousarray(array).data)
    return whole.hexdigest()
