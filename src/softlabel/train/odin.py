"""ODIN: a high temperature and a small step towards confidence tell inside from outside.

Liang, Li & Srikant 2018, "Enhancing the Reliability of Out-of-distribution Image Detection in
Neural Networks".  The step is made in pixel space, as the authors' division by the standard
deviations does, and not clipped to [0, 1], as theirs is not.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from softlabel.errors import DataError
from softlabel.tables import Floats
from softlabel.train.pixels import CIFAR, Array, Model, as_pixels, evaluating, first_parameter

BATCH = 250


def odin(
    net: Model,
    images: Array,
    temperature: float = 1000.0,
    eps: float = 0.0014,
    *,
    normalise: Model | None = CIFAR,
) -> Floats:
    """(m,) the largest probability at this temperature after the step; higher says inside.

    >>> net = torch.nn.Linear(1, 2, bias=False)
    >>> net.weight.data = torch.tensor([[1.0], [0.0]])  # logits x and 0, the step raises x
    >>> odin(net, np.array([[0.5]]), temperature=1, eps=0.1, normalise=None).round(4)
    array([0.6457])
    """
    if not temperature > 0:
        raise DataError(f"temperature = {temperature} is not above 0")
    pixels = as_pixels(images, first_parameter(net))

    def log_probs(x: Tensor) -> Tensor:
        # near 1/k at high temperatures: in single precision all items would be alike
        return torch.log_softmax(net(normalise(x) if normalise else x).double() / temperature, 1)

    found = []
    with evaluating(net):
        for x in torch.split(pixels, BATCH):
            at = x.detach().requires_grad_(True)
            with torch.enable_grad():
                best = log_probs(at).max(dim=1).values.sum()
                towards = torch.autograd.grad(best, at)[0].sign()
            with torch.no_grad():
                found.append(log_probs(x + eps * towards).max(dim=1).values.exp())
    return np.asarray(torch.cat(found).cpu().numpy(), dtype=np.float64)
