"""Networks on small pictures: a small one of our own, VGG-11, and residual networks.

``small`` learns 7,000 pictures in a minute on two cores.  VGG-11 (Simonyan & Zisserman 2015) has
batch norm and one linear layer.  "ResNet-34A" of the soft-label papers is the CIFAR network (He et
al. 2016) of 6n + 2 = 44 layers (n = 7) with shortcuts that pad with zeros (option A) and biases
before batch norm.  ResNet-18 and ResNet-50 are the wide ones with a 3 x 3 stem without pooling.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from softlabel.train.networks.base import BatchNorm, Net, conv

HALF = 12  # directions of the whitened stem of ``small``; each is there with both signs
SHARPNESS = 0.25  # what the last layer's scores are multiplied by: small steps at the start
VGG_LAYERS = (64, "pool", 128, "pool", 256, 256, "pool", 512, 512, "pool", 512, 512, "pool")
DEEP = slice(8, 21)  # the four convolutions of VGG-11 at 8 x 8 and 4 x 4


class SmallBlock(nn.Module):
    """conv-norm-relu, with a pool before the norm or a shortcut around it."""

    def __init__(
        self, inputs: int, width: int, *, pool: bool = False, around: bool = False
    ) -> None:
        super().__init__()
        self.conv, self.norm = conv(inputs, width), BatchNorm(width)
        self.pool, self.around = pool, around

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(x)
        if self.pool:  # before the norm: a quarter of the points to normalise
            y = F.max_pool2d(y, 2)
        y = F.relu(self.norm(y), inplace=True)
        return x + y if self.around else y


class Small(Net):
    """74,256 parameters for ten classes (w = 16), 4.6 M multiply-adds at 32 x 32.

    A 3 x 3 stem of stride 2 whose filters are the main directions of the training pictures'
    patches, scaled to variance 1 (after Coates & Ng 2011) and never trained; five convolutions, two
    of them with shortcuts; the maximum over the picture; one linear layer.
    """

    def __init__(self, classes: int, inputs: int = 3, width: int = 16) -> None:
        super().__init__()
        self.stem = conv(inputs, 2 * HALF, stride=2)
        self.stem.weight.requires_grad_(False)
        self.body = nn.Sequential(
            SmallBlock(2 * HALF, width),
            SmallBlock(width, 2 * width, pool=True),
            SmallBlock(2 * width, 2 * width, around=True),
            SmallBlock(2 * width, 4 * width, pool=True),
            SmallBlock(4 * width, 4 * width, around=True),
        )
        self.head = nn.Linear(4 * width, classes)

    def features(self, x: Tensor) -> Tensor:
        x = F.relu(self.stem(x), inplace=True)  # (b, 24, h/2, w/2)
        return self.body(x).amax(dim=(2, 3)) * SHARPNESS

    @torch.no_grad()
    def inspect(self, x: Tensor) -> None:
        """Whiten: set the filters to the leading eigenvectors of the patches' covariance over the
        square roots of their eigenvalues, and to their negatives."""
        patches = F.unfold(x, 3, stride=2).transpose(1, 2).flatten(0, 1).double()  # (n, 27)
        values, vectors = torch.linalg.eigh(patches.T.cov())
        top = (vectors / (values + 1e-2).sqrt()).T.flip(0)[:HALF]
        largest = top.abs().argmax(dim=1, keepdim=True)
        top = top * top.gather(1, largest).sign()  # an eigenvector has no sign of its own
        self.stem.weight.copy_(torch.cat([top, -top]).view_as(self.stem.weight))


class Vgg11(Net):
    """9,231,114 parameters for ten classes, 152.8 M multiply-adds at 32 x 32; no dropout."""

    def __init__(self, classes: int, inputs: int = 3) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for width in VGG_LAYERS:
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

    def arrange(self) -> Self:
        """Keep torch's usual layout for deep convolutions on CPUs with AVX-512: faster there."""
        net = super().arrange()
        on_cpu = net.head.weight.device.type == "cpu"
        if on_cpu and torch.backends.cpu.get_cpu_capability() == "AVX512":
            net.layers[DEEP].to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        return net


# ── residual networks ─────────────────────────────────────────────────────────────────────────


class Padded(nn.Module):
    """Shortcut of option A: every second point, and zeros for the new channels."""

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
    block = partial(Block, option_a=True)
    return _resnet(conv(inputs, 16, bias=True), block, ((16, 7), (32, 7), (64, 7)), classes)


def resnet18(classes: int, inputs: int = 3) -> Net:
    """11,173,962 parameters for ten classes, 555 M multiply-adds at 32 x 32."""
    block = partial(Block, option_a=False)
    return _resnet(conv(inputs, 64), block, ((64, 2), (128, 2), (256, 2), (512, 2)), classes)


def resnet50(classes: int, inputs: int = 3) -> Net:
    """23,520,842 parameters for ten classes, 1,298 M multiply-adds at 32 x 32."""
    stages = ((64, 3), (128, 4), (256, 6), (512, 3))
    return _resnet(conv(inputs, 64), Bottleneck, stages, classes, expand=4)


def _resnet(
    stem: nn.Conv2d,
    block: Callable[[int, int, int], nn.Module],
    stages: tuple[tuple[int, int], ...],
    classes: int,
    expand: int = 1,
) -> Net:
    """Build stages of (width, number of blocks); each but the first halves the picture."""
    blocks: list[nn.Module] = []
    before = stem.out_channels
    for stage, (width, count) in enumerate(stages):
        for number in range(count):
            blocks.append(block(before, width, 2 if stage and not number else 1))
            before = expand * width
    return ResNet(stem, blocks, before, classes)


def _shortcut(inputs: int, outputs: int, stride: int, option_a: bool) -> nn.Module:
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    if option_a:
        return Padded(outputs - inputs)
    return nn.Sequential(conv(inputs, outputs, 1, stride), BatchNorm(outputs))
