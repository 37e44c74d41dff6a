"""The networks, by name.  Each maps normalised images (b, 3, h, w), or features (b, d), to logits
(b, k), and shows with ``features`` what its last layer sees.

``make`` draws the starting weights from the run's seed alone and leaves torch's global generator
as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import torch
from torch import nn

from softlabel.errors import SoftlabelError, UnknownName
from softlabel.train.nets.base import Net, begin
from softlabel.train.nets.dense import Linear, Mlp
from softlabel.train.nets.resnet import resnet18, resnet34a, resnet50
from softlabel.train.nets.small import Small
from softlabel.train.nets.vgg import Vgg11

NETS: dict[str, Callable[..., Net]] = {
    "resnet34a": resnet34a,
    "vgg11": Vgg11,
    "resnet50": resnet50,
    "resnet18": resnet18,
    "small": Small,
    "mlp": Mlp,
    "linear": Linear,
}


def make(name: str, classes: int, seed: int, inputs: int | None = None) -> Net:
    """A network with starting weights drawn from ``seed``.

    ``name`` may carry options, as in ``mlp:hidden=128,dropout=0.5``; ``inputs`` is the number of
    colour channels or of features, where it is not the usual one.
    """
    name, _, rest = name.partition(":")
    if name not in NETS:
        raise UnknownName("net", name, NETS)
    options = _options(name, rest)
    if inputs is not None:
        options["inputs"] = inputs
    with torch.random.fork_rng(devices=[]):  # building a layer draws numbers, soon overwritten
        net = NETS[name](classes, **options)
    begin(net, torch.Generator().manual_seed(seed))
    return net


def parameters(net: nn.Module) -> int:
    """How many numbers training may change."""
    return sum(each.numel() for each in net.parameters() if each.requires_grad)


def _options(name: str, text: str) -> dict[str, Any]:
    known = [key for key in signature(NETS[name]).parameters if key != "classes"]
    options: dict[str, Any] = {}
    for pair in filter(None, text.split(",")):
        key, _, value = pair.partition("=")
        if key not in known:
            raise UnknownName(f"option of net {name}", key, known)
        try:
            options[key] = float(value) if "." in value else int(value)
        except ValueError:
            raise SoftlabelError(f"net {name}: {key} = {value!r} is not a number") from None
    return options


__all__ = ["NETS", "Linear", "Mlp", "Net", "Small", "Vgg11", "make", "parameters"]
