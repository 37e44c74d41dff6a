"""What a prediction is charged for: losses against soft labels, and the crowd layer for votes.

The losses are functions of logits and targets (b, k).  Uma et al. 2020 compare the four; training
on people's distributions usually means the first.

In a crowd layer each annotator sees the network's scores through parameters of their own
(Rodrigues & Pereira 2018, "Deep learning from crowds"; the variants and their starting values are
theirs).  Votes are rows (item, annotator, label), so the work grows with the votes that exist and
not with items times annotators.  After training the layer is taken off: predictions are the
network's own softmax.

Letters in shapes: b items of a batch, r annotators, k classes, n votes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from softlabel.errors import DataError, UnknownName

Reduction = Literal["mean", "sum", "none"]
Loss = Callable[..., Tensor]

SMALLEST = 1e-12  # the probability that stands for 0 inside the logarithm of `reverse_kl`, as U20
MISSING = -1  # in a table of votes: this annotator did not see this item
CROWD_LAYERS = ("mw", "vw", "vb", "vw+b", "sw")


def soft_cross_entropy(logits: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """-sum_k p_k log softmax(z)_k; its gradient in z is softmax(z) - p.

    >>> soft_cross_entropy(torch.tensor([[2.0, 1, 0]]), torch.tensor([[0.7, 0.2, 0.1]]))
    tensor(0.8076)
    """
    return reduce(-(target * F.log_softmax(logits, dim=1)).sum(dim=1), reduction)


def kl(logits: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """KL(p || q) = cross-entropy minus the entropy of the target: other values, same gradient."""
    rest = torch.special.entr(target).sum(dim=1)
    return reduce(soft_cross_entropy(logits, target, "none") - rest, reduction)


def reverse_kl(logits: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """KL(q || p), with p clipped from below at 1e-12: a class nobody named would cost infinity."""
    log_q = F.log_softmax(logits, dim=1)
    return reduce((log_q.exp() * (log_q - target.clamp(min=SMALLEST).log())).sum(dim=1), reduction)


def squared_error(logits: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """sum_k (q_k - p_k)^2, the Brier score of the soft label."""
    return reduce((F.softmax(logits, dim=1) - target).square().sum(dim=1), reduction)


def reduce(each: Tensor, reduction: Reduction) -> Tensor:
    """Return losses (b,) as one number, or as they are."""
    if reduction not in ("mean", "sum", "none"):
        raise UnknownName("reduction", reduction, ("mean", "sum", "none"))
    if reduction == "none":
        return each
    return each.sum() if reduction == "sum" else each.mean()


LOSSES: dict[str, Loss] = {
    "cross-entropy": soft_cross_entropy,
    "kl": kl,
    "reverse-kl": reverse_kl,
    "squared-error": squared_error,
}


# ── single votes ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Votes:
    """n votes on the b items of a batch: ``item[n]`` (row of the batch), ``annotator[n]``, and
    ``label[n]`` (classes) or ``label[n, k]`` (soft)."""

    item: Tensor
    annotator: Tensor
    label: Tensor

    @classmethod
    def of(cls, table: Tensor) -> Self:
        """Take votes from a table of items and annotators: classes (b, r) with -1 where there is
        no vote, or soft labels (b, r, k) with NaN there."""
        if table.ndim not in (2, 3):
            raise DataError(f"votes {tuple(table.shape)} are neither (b, r) nor (b, r, k)")
        given = table != MISSING if table.ndim == 2 else ~table.isnan().any(dim=2)
        item, annotator = given.nonzero(as_tuple=True)
        return cls(item, annotator, table[given])

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
        if kind not in CROWD_LAYERS:
            raise UnknownName("crowd layer", kind, CROWD_LAYERS)
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
        """Return (n, k), what each vote's annotator would score."""
        x = (F.softmax(logits, dim=1) if self.on == "probs" else logits)[votes.item]
        if self.kind == "mw":
            matrix = self._parameter("matrix", votes).view(-1, self.classes, self.classes)
            turned = matrix.mT if self.transposed else matrix
            return torch.bmm(x[:, None], turned)[:, 0]
        if self.kind != "vb":
            x = self._parameter("weight", votes) * x
        return x + self._parameter("bias", votes) if self.kind in ("vb", "vw+b") else x

    def loss(self, logits: Tensor, votes: Votes, reduction: Reduction = "sum") -> Tensor:
        """Return the cross-entropy of every vote under its annotator's scores, summed (Uma et al.
        2020) or averaged over the votes; without votes 0."""
        scores = F.log_softmax(self(logits, votes), dim=1)
        if votes.label.ndim == 2:
            each = -(votes.label * scores).sum(dim=1)
        else:
            each = -scores.gather(1, votes.label.long()[:, None])[:, 0]
        if reduction == "none":
            return each
        return each.sum() / (max(len(votes), 1) if reduction == "mean" else 1)

    def _parameter(self, name: str, votes: Votes) -> Tensor:
        """Return (n, ...), the parameter of each vote's annotator; an annotator without votes here
        gets a gradient of exactly 0."""
        table: Any = getattr(self, name)
        return F.embedding(votes.annotator, table)

    def extra_repr(self) -> str:
        return f"{self.kind}, on={self.on}, transposed={self.transposed}"
