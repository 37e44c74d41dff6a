"""Networks on features that something else has made of the items: a vector each."""

from __future__ import annotations

from torch import Tensor, nn

from softlabel.train.nets.base import Net


class Linear(Net):
    """One linear layer: multinomial logistic regression."""

    def __init__(self, classes: int, inputs: int = 1280) -> None:
        super().__init__()
        self.head = nn.Linear(inputs, classes)

    def features(self, x: Tensor) -> Tensor:
        return x


class Mlp(Net):
    """One hidden layer with ReLU and, if asked for, dropout."""

    def __init__(
        self, classes: int, inputs: int = 1280, hidden: int = 256, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Dropout(dropout))
        self.head = nn.Linear(hidden, classes)

    def features(self, x: Tensor) -> Tensor:
        return self.body(x)
