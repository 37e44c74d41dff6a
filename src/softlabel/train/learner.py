"""One network in the course of its training: a step, and a state that can be stored."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from softlabel.train import ranks
from softlabel.train.config import Config
from softlabel.train.crowd import CrowdLayer
from softlabel.train.nets import Net


class Learner:
    """The network, the layer of its objective if it has one, their optimiser and averages."""

    def __init__(self, config: Config, net: Net, layer: CrowdLayer | None, device: torch.device):
        self.config, self.net, self.layer, self.device = config, net, layer, device
        self.parameters = [each for each in net.parameters() if each.requires_grad]
        groups: list[dict[str, Any]] = [{"params": self.parameters}]
        if layer is not None:  # decay would draw annotators to zero, not to what they start from
            own = list(layer.parameters())
            groups.append({"params": own, "weight_decay": 0.0})
            self.parameters = self.parameters + own
        self.optimiser = _optimiser(config, groups)
        self.average = deepcopy(net) if config.ema else None
        self.half = _half(config, device)
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.half == torch.float16)
        self.forward = torch.compile(net) if config.compile else net

    def scores(self, x: Tensor) -> Tensor:
        """(b, k) logits, in half precision inside where that is wanted."""
        enabled = self.half is not None
        with torch.autocast(self.device.type, dtype=self.half, enabled=enabled):
            return self.forward(x).to(x.dtype)

    def step(self, loss: Tensor, lr: float) -> None:
        """Down the gradient of ``loss``, which is summed over all processes."""
        for group in self.optimiser.param_groups:
            group["lr"] = lr
        self.optimiser.zero_grad()
        self.scaler.scale(loss).backward()
        gradients = [each.grad for each in self.parameters if each.grad is not None]
        ranks.add_up(gradients)
        if self.config.clip:
            self.scaler.unscale_(self.optimiser)
            nn.utils.clip_grad_norm_(self.parameters, self.config.clip)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        if self.average is not None:
            _approach(self.average, self.net, 1 - self.config.ema)

    def forget(self) -> None:
        """Momentum begins anew."""
        self.optimiser.state.clear()

    @property
    def result(self) -> Net:
        """The network to be used: the average, if there is one."""
        return self.net if self.average is None else self.average

    def state(self) -> dict[str, Any]:
        """All that the next step depends on."""
        parts = {"net": self.net, "layer": self.layer, "average": self.average}
        state = {name: part.state_dict() for name, part in parts.items() if part is not None}
        return {
            **state,
            "optimiser": self.optimiser.state_dict(),
            "scaler": self.scaler.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Be again as ``state`` says."""
        for name, part in (("net", self.net), ("layer", self.layer), ("average", self.average)):
            if part is not None:
                part.load_state_dict(state[name])
        self.optimiser.load_state_dict(state["optimiser"])
        self.scaler.load_state_dict(state["scaler"])


def _optimiser(config: Config, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
    """Fused: one pass over the weights, on CPUs too."""
    common: dict[str, Any] = {"lr": config.lr, "weight_decay": config.weight_decay, "fused": True}
    if config.optimiser == "sgd":
        nesterov = config.nesterov and config.momentum > 0
        return torch.optim.SGD(groups, momentum=config.momentum, nesterov=nesterov, **common)
    kind = torch.optim.Adam if config.optimiser == "adam" else torch.optim.AdamW
    return kind(groups, **common)


def _half(config: Config, device: torch.device) -> torch.dtype | None:
    if not config.amp or device.type != "cuda" or config.dtype != "float32":
        return None
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


@torch.no_grad()
def _approach(average: nn.Module, net: nn.Module, share: float) -> None:
    """The average comes nearer to the network by this share of the way; counters are copied."""
    for old, new in zip(average.state_dict().values(), net.state_dict().values(), strict=True):
        if old.is_floating_point():
            old.lerp_(new, share)
        else:
            old.copy_(new)
