"""From pictures to features, once: an encoder is a callable, and what it gave is kept on disk.

Features of a network that has seen a million other pictures make another experiment than learning
from scratch; runs on them carry ``kind: features`` and are never reported together with the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional as F

from softlabel._util.files import aside
from softlabel.errors import DataError
from softlabel.io import Tell, silent
from softlabel.train import runs
from softlabel.train.recipes import lite0

SIDE = 96  # CIFAR's 32 points are too few for five halvings; at 96 a picture costs 12 ms
BATCH = 100
Features = npt.NDArray[np.float32]


class Encoder(Protocol):
    """Pictures uint8 (m, h, w, 3) to features (m, d).  One that has a ``name``, which must say
    which version it is, is asked only once for the same pictures."""

    def __call__(self, images: npt.NDArray[np.uint8]) -> Any: ...


class EfficientNetLite0:
    """Pictures scaled to 96 points, bilinearly, through ``lite0``; 1,280 features."""

    def __init__(self) -> None:
        self.net = lite0.load().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.name = f"lite0-{SIDE}-{lite0.version()}"

    def __call__(self, images: npt.NDArray[np.uint8]) -> Features:
        with torch.inference_mode():
            x = torch.from_numpy(images).permute(0, 3, 1, 2).float()
            x = F.interpolate(x, size=(SIDE, SIDE), mode="bilinear", align_corners=False)
            return self.net(x.contiguous(memory_format=torch.channels_last)).numpy()


ENCODERS: dict[str, Callable[[], Encoder]] = {"lite0": EfficientNetLite0}


def encoded(images: npt.NDArray[np.uint8], encoder: Encoder, tell: Tell = silent) -> Features:
    """The features of these pictures, float32 (m, d): from the cache, or worked out and kept."""
    name = getattr(encoder, "name", None)
    path = None if name is None else _cache() / f"{name}-{runs.digest({'images': images})[:32]}.npy"
    if path is not None and path.exists():
        return np.asarray(np.load(path, allow_pickle=False))
    parts = []
    for low in range(0, len(images), BATCH):
        tell("features", low, len(images))
        parts.append(np.asarray(encoder(images[low : low + BATCH]), dtype=np.float32))
    found = np.concatenate(parts)
    if found.shape[:1] != images.shape[:1] or found.ndim != 2:
        raise DataError(f"the encoder made {found.shape} of {len(images)} pictures, not (m, d)")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside(path) as part, part.open("wb") as file:
            np.save(file, found, allow_pickle=False)
    return found


def _cache() -> Path:
    own = os.environ.get("SOFTLABEL_CACHE")
    user = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return (Path(own) if own else Path(user) / "softlabel").expanduser() / "features"
