"""VGG-11 for small pictures (Simonyan & Zisserman 2015), with batch norm and one linear layer."""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import Tensor, nn

from softlabel.train.nets.base import BatchNorm, Net, conv

LAYERS = (64, "pool", 128, "pool", 256, 256, "pool", 512, 512, "pool", 512, 512, "pool")
DEEP = slice(8, 21)  # the four convolutions at 8 x 8 and 4 x 4


class Vgg11(Net):
    """9,231,114 parameters for ten classes, 152.8 M multiply-adds at 32 x 32; no dropout."""

    def __init__(self, classes: int, inputs: int = 3) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for width in LAYERS:
            if isinstance(width, int):
                layers += [conv(inputs, width, bias=True), BatchNorm(width), nn.ReLU(inplace=True)]
                inputs = width
            else:  # before the ReLU, with which it changes places: a quarter of the work
                layers.insert(-1, nn.MaxPool2d(2))
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(512, classes)

    def features(self, x: Tensor) -> Tensor:
        x = self.layers[: DEEP.start](x)
        first: Any = self.layers[DEEP.start]
        if first.weight.is_contiguous():
            x = x.contiguous()
        return self.layers[DEEP.start :](x).mean(dim=(2, 3))  # 1 x 1 at 32 x 32

    def arranged(self) -> Self:
        """On CPUs with AVX-512 the deep convolutions are faster in torch's usual layout."""
        net = super().arranged()
        on_cpu = net.head.weight.device.type == "cpu"
        if on_cpu and torch.backends.cpu.get_cpu_capability() == "AVX512":
            net.layers[DEEP].to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        return net
