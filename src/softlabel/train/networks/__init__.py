"""The networks, by name.  Each maps normalised images (b, 3, h, w), or features (b, d), to logits
(b, k); its ``features`` are the input of its last layer.

``make_network`` draws the starting weights from the run's seed alone and leaves torch's global
generator as it was.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any, TypeVar

import torch
from torch import nn

from softlabel.errors import SoftlabelError, UnknownName
from softlabel.train.networks.base import Linear, Mlp, Net, draw_weights
from softlabel.train.networks.images import Small, Vgg11, resnet18, resnet34a, resnet50
from softlabel.train.networks.text import Words

NETS: dict[str, Callable[..., Net]] = {
    "resnet34a": resnet34a,
    "vgg11": Vgg11,
    "resnet50": resnet50,
    "resnet18": resnet18,
    "small": Small,
    "mlp": Mlp,
    "linear": Linear,
    "words": Words,
}

N = TypeVar("N", bound=nn.Module)

__all__ = ["NETS", "Net", "build", "count_parameters", "make_network"]


def make_network(name: str, classes: int, seed: int, inputs: int | None = None) -> Net:
    """Make a network with starting weights drawn from ``seed``.

    ``name`` may carry options, as in ``mlp:hidden=128,dropout=0.5``; ``inputs`` is the number of
    colour channels or of features, where it is not the usual one.
    """
    name, _, rest = name.partition(":")
    if name not in NETS:
        raise UnknownName("net", name, NETS)
    known = [key for key in signature(NETS[name]).parameters if key != "classes"]
    options: dict[str, Any] = {} if inputs is None else {"inputs": inputs}
    for pair in filter(None, rest.split(",")):
        key, _, value = pair.partition("=")
        if key not in known:
            raise UnknownName(f"option of net {name}", key, known)
        try:
            options.setdefault(key, float(value) if "." in value else int(value))
        except ValueError:
            raise SoftlabelError(f"net {name}: {key} = {value!r} is not a number") from None
    return build(lambda: NETS[name](classes, **options), seed)


def build(make: Callable[[], N], seed: int) -> N:
    """Build a network and draw its weights from ``seed``; torch's generator stays as it was."""
    with torch.random.fork_rng(devices=[]):  # building a layer draws numbers, soon overwritten
        net = make()
    draw_weights(net, torch.Generator().manual_seed(seed))
    return net


def count_parameters(net: nn.Module) -> int:
    """Return how many numbers training may change."""
    return sum(each.numel() for each in net.parameters() if each.requires_grad)
