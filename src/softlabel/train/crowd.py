"""The crowd layer: each annotator sees the network's scores through parameters of their own.

Rodrigues & Pereira 2018, "Deep learning from crowds"; the variants and their starting values are
theirs.  Votes are rows (item, annotator, label), so the work grows with the votes that exist and
not with items times annotators.  After training the layer is taken off: predictions are the
network's own softmax.

Letters in shapes: b items of a batch, r annotators, k classes, n votes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from softlabel.errors import DataError, UnknownName
from softlabel.train.losses import Reduction

MISSING = -1  # in a table of votes: this annotator did not see this item
KINDS = ("mw", "vw", "vb", "vw+b", "sw")


@dataclass(frozen=True, eq=False)
class Votes:
    """n votes on the b items of a batch: ``item[n]`` (row of the batch), ``annotator[n]``, and
    ``label[n]`` (classes) or ``label[n, k]`` (soft)."""

    item: Tensor
    annotator: Tensor
    label: Tensor

    @classmethod
    def of(cls, table: Tensor) -> Self:
        """From all annotators' answers to every item: classes (b, r) with -1 where there is none,
        or soft labels (b, r, k) with NaN there."""
        if table.ndim not in (2, 3):
            raise DataError(f"votes {tuple(table.shape)} are neither (b, r) nor (b, r, k)")
        there = table != MISSING if table.ndim == 2 else ~table.isnan().any(dim=2)
        item, annotator = there.nonzero(as_tuple=True)
        return cls(item, annotator, table[there])

    def __len__(self) -> int:
        return len(self.item)


class CrowdLayer(nn.Module):
    """Scores x (b, k) become o^r (n, k), one row per vote, as its annotator r would give them.

    ``mw`` o = x W^r (W starts as the identity), ``vw`` w^r * x, ``vb`` x + b^r, ``vw+b`` both,
    ``sw`` one number w^r times x.  ``on`` says what x is: the logits (Uma et al. 2020), or their
    softmax (the original demonstration).  ``transposed`` is W^r x, the matrix on the left.
    """

    def __init__(
        self,
        kind: str,
        classes: int,
        annotators: int,
        on: Literal["logits", "probs"] = "logits",
        transposed: bool = False,
    ) -> None:
        super().__init__()
        if kind not in KINDS:
            raise UnknownName("crowd layer", kind, KINDS)
        if on not in ("logits", "probs"):
            raise UnknownName("input of the crowd layer", on, ("logits", "probs"))
        self.kind, self.on, self.transposed, self.classes = kind, on, transposed, classes
        ones, zeros = torch.ones(annotators, classes), torch.zeros(annotators, classes)
        start = {
            "mw": {"matrix": torch.eye(classes).flatten().repeat(annotators, 1)},
            "vw": {"weight": ones},
            "vb": {"bias": zeros},
            "vw+b": {"weight": ones, "bias": zeros},
            "sw": {"weight": torch.ones(annotators, 1)},
        }
        for name, value in start[kind].items():
            self.register_parameter(name, nn.Parameter(value))

    def forward(self, logits: Tensor, votes: Votes) -> Tensor:
        """(n, k) what each vote's annotator would score."""
        x = (F.softmax(logits, dim=1) if self.on == "probs" else logits)[votes.item]
        if self.kind == "mw":
            matrix = self._of("matrix", votes).view(-1, self.classes, self.classes)
            turned = matrix.mT if self.transposed else matrix
            return torch.bmm(x[:, None], turned)[:, 0]
        if self.kind != "vb":
            x = self._of("weight", votes) * x
        return x + self._of("bias", votes) if self.kind in ("vb", "vw+b") else x

    def loss(self, logits: Tensor, votes: Votes, reduction: Reduction = "sum") -> Tensor:
        """Cross-entropy of every vote under its annotator's scores, summed (Uma et al. 2020) or
        averaged over the votes; without votes 0."""
        scores = F.log_softmax(self(logits, votes), dim=1)
        if votes.label.ndim == 2:
            each = -(votes.label * scores).sum(dim=1)
        else:
            each = -scores.gather(1, votes.label.long()[:, None])[:, 0]
        if reduction == "none":
            return each
        return each.sum() / (max(len(votes), 1) if reduction == "mean" else 1)

    def _of(self, name: str, votes: Votes) -> Tensor:
        """(n, ...) the parameter of each vote's annotator; an annotator without votes here gets a
        gradient of exactly 0."""
        table: Any = getattr(self, name)
        return F.embedding(votes.annotator, table)

    def extra_repr(self) -> str:
        return f"{self.kind}, on={self.on}, transposed={self.transposed}"
