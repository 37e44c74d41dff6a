"""What a trained network says of items: arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from softlabel.train.data import on_device, ready
from softlabel.train.nets import Net

Singles = npt.NDArray[np.float32]


def logits(net: nn.Module, inputs: npt.NDArray[Any], batch: int = 500) -> Singles:
    """(m, k) scores, before softmax."""
    return _through(net, net, inputs, batch)


def probs(net: nn.Module, inputs: npt.NDArray[Any], batch: int = 500) -> npt.NDArray[np.float64]:
    """(m, k) on the simplex, in double precision."""
    scores = logits(net, inputs, batch).astype(np.float64)
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def features(net: Net, inputs: npt.NDArray[Any], batch: int = 500) -> Singles:
    """(m, d) what the last layer sees."""
    return _through(net, net.features, inputs, batch)


def _through(
    net: nn.Module, function: Callable[[Tensor], Tensor], inputs: npt.NDArray[Any], batch: int
) -> Singles:
    some = next(net.parameters())
    training = net.training
    net.eval()
    try:
        with torch.inference_mode():
            table = on_device(inputs, some.device)
            parts = [function(ready(part, some.dtype)) for part in table.split(batch)]
            return torch.cat(parts).float().cpu().numpy()
    finally:
        net.train(training)
