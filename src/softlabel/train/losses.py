"""What a prediction is charged for, given a soft label: functions of logits and targets (b, k).

Uma et al. 2020 compare the four; training on people's distributions usually means the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from softlabel.errors import UnknownName

Reduction = Literal["mean", "sum", "none"]
Loss = Callable[..., Tensor]

LEAST = 1e-12  # the probability that stands for 0 inside the logarithm of `reverse_kl`, as in U20


def soft_cross_entropy(logits: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """-sum_k p_k log softmax(z)_k; its gradient in z is softmax(z) - p.

    >>> soft_cross_entropy(torch.tensor([[2.0, 1, 0]]), torch.tensor([[0.7, 0.2, 0.1]]))
    tensor(0.8076)
    """
    return reduced(-(target * F.log_softmax(logits, dim=1)).sum(dim=1), reduction)


def kl(logits: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """KL(p || q) = cross-entropy minus the entropy of the target: other values, same gradient."""
    rest = torch.special.entr(target).sum(dim=1)
    return reduced(soft_cross_entropy(logits, target, "none") - rest, reduction)


def reverse_kl(logits: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """KL(q || p), with p clipped from below at 1e-12: a class nobody named would cost infinity."""
    log_q = F.log_softmax(logits, dim=1)
    return reduced((log_q.exp() * (log_q - target.clamp(min=LEAST).log())).sum(dim=1), reduction)


def squared_error(logits: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """sum_k (q_k - p_k)^2, the Brier score of the soft label."""
    return reduced((F.softmax(logits, dim=1) - target).square().sum(dim=1), reduction)


def reduced(each: Tensor, reduction: Reduction) -> Tensor:
    """(b,) losses as one number, or as they are."""
    if reduction == "none":
        return each
    if reduction == "sum":
        return each.sum()
    if reduction == "mean":
        return each.mean()
    raise UnknownName("reduction", reduction, ("mean", "sum", "none"))


LOSSES: dict[str, Loss] = {
    "cross-entropy": soft_cross_entropy,
    "kl": kl,
    "reverse-kl": reverse_kl,
    "squared-error": squared_error,
}
