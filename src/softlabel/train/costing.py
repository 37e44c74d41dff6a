"""What a run will cost, before it starts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from softlabel.train import nets
from softlabel.train.config import Config
from softlabel.train.loop import device_of
from softlabel.train.losses import soft_cross_entropy

WORK = 4e9  # floating-point operations of the trial step: a fraction of a second on a laptop's core


@dataclass(frozen=True)
class Cost:
    """Of one run: ``flops`` are of one item forward, ``seconds`` of all epochs on this machine."""

    net: str
    parameters: int
    flops: int
    items: int
    epochs: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.net}: {self.parameters:,} parameters, {self.flops / 1e6:.1f} MFLOP per item; "
            f"{self.epochs} epochs of {self.items:,} items: about {spoken(self.seconds)}"
        )


def cost(
    config: Config, items: int, classes: int = 10, shape: tuple[int, ...] = (32, 32, 3)
) -> Cost:
    """An estimate from a trial step of this network on this device, with as many of a batch's items
    as take a moment: forward, backward, per item, times all items of all epochs."""
    device = device_of(config)
    net = nets.make(config.net, classes, 0, shape[-1]).to(device)
    one = (shape[-1], *shape[:-1])  # (3, h, w) or (d,)
    with FlopCounterMode(display=False) as counter:
        net.eval()(torch.zeros(1, *one, device=device))
    flops = counter.get_total_flops()
    batch = int(min(config.batch, max(2, WORK / max(3 * flops, 1))))
    x = torch.zeros(batch, *one, device=device)
    if len(shape) == 3 and config.channels_last:
        net = net.arranged()
        x = x.contiguous(memory_format=torch.channels_last)
    trial = min(_seconds(net.train(), x, classes) for _ in range(3))
    seconds = trial / batch * items * config.epochs
    return Cost(config.net, nets.parameters(net), flops, items, config.epochs, seconds)


def _seconds(net: Any, x: torch.Tensor, classes: int) -> float:
    target = torch.full((len(x), classes), 1 / classes, device=x.device)
    begun = time.perf_counter()
    soft_cross_entropy(net(x), target).backward()
    if x.is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - begun


def spoken(seconds: float) -> str:
    """A time as people say it.

    >>> spoken(44.2), spoken(300), spoken(40_000)
    ('44 s', '5 min', '11 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
