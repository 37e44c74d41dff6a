"""What the loop minimises: the loss against delivered labels, or against every single vote.

An objective makes its table of an epoch once, on the device, in the order in which the epoch goes
through the items; a batch is then a slice of it.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from softlabel.deliver import Delivery, Draws, Teaching
from softlabel.errors import DataError, SoftlabelError
from softlabel.tables import Annotations, Floats, Ints
from softlabel.train.config import Config
from softlabel.train.crowd import CrowdLayer, Votes
from softlabel.train.losses import LOSSES


class Objective(Protocol):
    """Of a run: k classes, perhaps parameters of its own, and a fingerprint of its labels."""

    classes: int
    layer: CrowdLayer | None
    digest: str

    def turn(self, epoch: int, items: Ints) -> None:
        """Make ready for an epoch that goes through the items in this order."""
        ...

    def loss(self, logits: Tensor, rows: slice) -> Tensor:
        """The summed loss of these rows of the epoch."""
        ...

    def weight(self, rows: slice) -> int:
        """How many things that sum is over."""
        ...


class Labels:
    """The delivery's labels (b, k) and one of the four losses."""

    layer: CrowdLayer | None = None

    def __init__(
        self, config: Config, delivery: Delivery, draws: Draws, device: torch.device, count: int
    ) -> None:
        self.delivery, self.draws, self.device = delivery, draws, device
        self.dtype, self.function = getattr(torch, config.dtype), LOSSES[config.loss]
        first = self._labels(0, np.arange(count))
        self.classes = first.shape[1]
        self.digest = _digest(first)

    def turn(self, epoch: int, items: Ints) -> None:
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


class Single:
    """Every annotator's own vote, seen through a crowd layer; items without votes teach nothing."""

    def __init__(self, config: Config, said: Annotations, device: torch.device) -> None:
        if said.anonymous:
            raise DataError(
                f"objective = {config.objective!r} needs to know who cast which vote, and some of "
                "these votes are anonymous"
            )
        by_item = np.argsort(said.item, kind="stable")
        body = said.label if said.label is not None else said.soft()
        self.annotator, self.label = said.annotator[by_item], body[by_item]
        self.count = said.votes_per_item()
        self.first = np.concatenate([[0], np.cumsum(self.count)])
        _, annotators, self.classes = said.index.shape
        self.dtype, self.device = getattr(torch, config.dtype), device
        on, turned = config.crowd_on, config.crowd_transposed
        layer = CrowdLayer(config.objective, self.classes, annotators, on, turned)  # type: ignore[arg-type]
        self.layer: CrowdLayer | None = layer.to(device, self.dtype)
        self.digest = _digest(self.annotator, self.label, self.count)

    def turn(self, epoch: int, items: Ints) -> None:
        counts = self.count[items]
        self.end = np.concatenate([[0], np.cumsum(counts)])
        # of each vote: which of its item's votes it is, and then where that one stands
        number = np.arange(self.end[-1]) - np.repeat(self.end[:-1], counts)
        rows = np.repeat(self.first[items], counts) + number
        self.row = torch.from_numpy(np.repeat(np.arange(len(items)), counts)).to(self.device)
        self.who = torch.from_numpy(self.annotator[rows].astype(np.int64)).to(self.device)
        label = self.label[rows]
        soft = label.ndim == 2
        kind = self.dtype if soft else torch.int64
        self.what = torch.from_numpy(label).to(self.device, kind)

    def loss(self, logits: Tensor, rows: slice) -> Tensor:
        assert self.layer is not None
        votes = slice(int(self.end[rows.start]), int(self.end[rows.stop]))
        batch = Votes(self.row[votes] - rows.start, self.who[votes], self.what[votes])
        return self.layer.loss(logits, batch, "sum")

    def weight(self, rows: slice) -> int:
        return max(int(self.end[rows.stop] - self.end[rows.start]), 1)


def objective(
    config: Config, delivery: Delivery | Teaching, draws: Draws, device: torch.device, count: int
) -> Objective:
    """The objective that ``config`` names; a crowd layer takes what is known itself, the
    ``Teaching``, in place of a delivery."""
    if isinstance(delivery, Teaching):
        if config.objective == "labels":
            raise SoftlabelError("objective = 'labels' takes a delivery: policy(teaching, draws)")
        if delivery.each is None or len(delivery) != count:
            raise DataError(f"a crowd layer needs annotations of the {count} items")
        return Single(config, delivery.each, device)
    if config.objective != "labels":
        raise SoftlabelError(
            f"objective = {config.objective!r} learns from single votes: pass the Teaching itself, "
            "not a delivery"
        )
    return Labels(config, delivery, draws, device, count)


def _digest(*arrays: Floats | Ints) -> str:
    whole = blake2b(digest_size=8)
    for array in arrays:
        whole.update(np.ascontiguousarray(array).data)
    return whole.hexdigest()
