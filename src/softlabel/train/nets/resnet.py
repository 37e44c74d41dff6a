"""Residual networks for small pictures (He et al. 2016).

"ResNet-34A" of the soft-label papers is the CIFAR network of 6n + 2 = 44 layers (n = 7) with
shortcuts that pad with zeros (option A) and biases before batch norm.  ResNet-18 and ResNet-50 are
the wide ones with a 3 x 3 stem and no pooling in it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from softlabel.train.nets.base import BatchNorm, Net, conv


class Padded(nn.Module):
    """Option A: every second point, and zeros for the channels that are new."""

    def __init__(self, new: int) -> None:
        super().__init__()
        self.new = new

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, self.new))


class Block(nn.Module):
    """conv-norm-relu-conv-norm, plus the shortcut, relu."""

    def __init__(self, inputs: int, width: int, stride: int, *, option_a: bool) -> None:
        super().__init__()
        self.conv1 = conv(inputs, width, stride=stride, bias=option_a)
        self.norm1 = BatchNorm(width)
        self.conv2 = conv(width, width, bias=option_a)
        self.norm2 = BatchNorm(width)
        self.shortcut = _shortcut(inputs, width, stride, option_a)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x), inplace=True)


class Bottleneck(nn.Module):
    """1 x 1, 3 x 3, 1 x 1 to four times the width, plus the shortcut, relu."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = conv(inputs, width, 1), BatchNorm(width)
        self.conv2, self.norm2 = conv(width, width, stride=stride), BatchNorm(width)
        self.conv3, self.norm3 = conv(width, 4 * width, 1), BatchNorm(4 * width)
        self.shortcut = _shortcut(inputs, 4 * width, stride, option_a=False)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = F.relu(self.norm2(self.conv2(y)), inplace=True)
        return F.relu(self.norm3(self.conv3(y)) + self.shortcut(x), inplace=True)


class ResNet(Net):
    """A stem, stages of blocks, the average over the picture, one linear layer."""

    def __init__(self, stem: nn.Module, stages: list[nn.Module], width: int, classes: int) -> None:
        super().__init__()
        self.stem, self.norm = stem, BatchNorm(stem.out_channels)  # type: ignore[arg-type]
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(width, classes)

    def features(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm(self.stem(x)), inplace=True)  # (b, 16 or 64, h, w)
        return torch.mean(self.stages(x), dim=(2, 3))


def resnet34a(classes: int, inputs: int = 3) -> Net:
    """660,170 parameters for ten classes, 97.2 M multiply-adds at 32 x 32."""
    blocks: list[nn.Module] = []
    before = 16
    for width in (16, 32, 64):
        for number in range(7):
            stride = 2 if number == 0 and width > 16 else 1
            blocks.append(Block(before, width, stride, option_a=True))
            before = width
    return ResNet(conv(inputs, 16, bias=True), blocks, 64, classes)


def resnet18(classes: int, inputs: int = 3) -> Net:
    """11,173,962 parameters for ten classes, 555 M multiply-adds at 32 x 32."""
    blocks: list[nn.Module] = []
    before = 64
    for width in (64, 128, 256, 512):
        for number in range(2):
            stride = 2 if number == 0 and width > 64 else 1
            blocks.append(Block(before, width, stride, option_a=False))
            before = width
    return ResNet(conv(inputs, 64), blocks, 512, classes)


def resnet50(classes: int, inputs: int = 3) -> Net:
    """23,520,842 parameters for ten classes, 1,298 M multiply-adds at 32 x 32."""
    blocks: list[nn.Module] = []
    before = 64
    for width, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for number in range(count):
            stride = 2 if number == 0 and width > 64 else 1
            blocks.append(Bottleneck(before, width, stride))
            before = 4 * width
    return ResNet(conv(inputs, 64), blocks, 2048, classes)


def _shortcut(inputs: int, outputs: int, stride: int, option_a: bool) -> nn.Module:
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    if option_a:
        return Padded(outputs - inputs)
    return nn.Sequential(conv(inputs, outputs, 1, stride), BatchNorm(outputs))
