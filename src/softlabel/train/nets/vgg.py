"""VGG-11 for small pictures (Simonyan & Zisserman 2015), with batch norm and one linear layer."""

from __future__ import annotations

from torch import Tensor, nn

from softlabel.train.nets.base import BatchNorm, Net, conv

LAYERS = (64, "pool", 128, "pool", 256, 256, "pool", 512, 512, "pool", 512, 512, "pool")


class Vgg11(Net):
    """9,231,114 parameters for ten classes, 152.8 M multiply-adds at 32 x 32; no dropout."""

    def __init__(self, classes: int, inputs: int = 3) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for width in LAYERS:
            if isinstance(width, int):
                layers += [conv(inputs, width, bias=True), BatchNorm(width), nn.ReLU(inplace=True)]
                inputs = width
            else:
                layers.append(nn.MaxPool2d(2))
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(512, classes)

    def features(self, x: Tensor) -> Tensor:
        return self.layers(x).mean(dim=(2, 3))  # 1 x 1 at 32 x 32
