"""What every network is, how its weights start, layers that all share, and dense networks."""

import math
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from softlabel.train import ranks


class Net(nn.Module):
    """A network whose last layer is ``head``: logits are ``head(features(x))``."""

    head: nn.Module

    def features(self, x: Tensor) -> Tensor:
        """Return (b, d), the input of the last layer."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))

    def inspect(self, x: Tensor) -> None:
        """See some training inputs before the first step; most networks need not."""

    def arrange(self) -> Self:
        """Put the weights into the layout in which the network is fastest on its device."""
        return self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def draw_weights(net: nn.Module, generator: torch.Generator) -> None:
    """Draw the starting weights: of convolutions and linear layers uniform in +-1/sqrt(fan-in), of
    LSTMs in +-1/sqrt(hidden size), embeddings standard normal, batch norm 1 and 0.  torch does the
    same by default, so the papers' code starts from there too."""
    for layer in net.modules():
        if isinstance(layer, nn.Embedding):
            nn.init.normal_(layer.weight, generator=generator)
        elif isinstance(layer, nn.Conv2d | nn.Linear | nn.LSTM):
            fan = layer.hidden_size if isinstance(layer, nn.LSTM) else layer.weight[0].numel()
            bound = 1 / math.sqrt(fan)
            for each in layer.parameters(recurse=False):
                nn.init.uniform_(each, -bound, bound, generator=generator)


class BatchNorm(nn.BatchNorm2d):
    """Batch norm over the whole batch, also when several processes hold a part of it each."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or ranks.size() == 1:
            return super().forward(x)
        dims, shape = (0, 2, 3), (1, -1, 1, 1)
        own = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        count = ranks.total(torch.tensor(own.numel() / own.shape[1], device=x.device))
        mean = ranks.total(own.sum(dims)) / count
        off = own - mean.view(shape)
        var = ranks.total(off.square().sum(dims)) / count
        with torch.no_grad():
            assert self.running_mean is not None
            assert self.running_var is not None
            assert self.num_batches_tracked is not None
            assert self.momentum is not None
            self.num_batches_tracked += 1
            self.running_mean.lerp_(mean.to(self.running_mean), self.momentum)
            spread = (var * count / (count - 1)).to(self.running_var)
            self.running_var.lerp_(spread, self.momentum)
        scale = self.weight * torch.rsqrt(var + self.eps)
        return (off * scale.view(shape) + self.bias.view(shape)).to(x.dtype)


class Conv(nn.Conv2d):
    """A convolution; on a CPU, one of 3 x 3 on a picture of at most 2 x 2 is a matrix product of
    patches and weights, which takes half the time there: most of the window is padding."""

    def forward(self, x: Tensor) -> Tensor:
        height, width = x.shape[2:]
        if x.is_cuda or max(height, width) > 2 or self.kernel_size != (3, 3) or self.stride[0] > 1:
            return super().forward(x)
        padded = F.pad(x.permute(0, 2, 3, 1), (0, 0, 1, 1, 1, 1))  # (b, h + 2, w + 2, c)
        windows = [padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
        patches = torch.cat(windows, dim=3).flatten(0, 2)  # (b h w, 9 c)
        product = patches @ self.weight.permute(2, 3, 1, 0).flatten(0, 2)
        if self.bias is not None:
            product = product + self.bias
        return product.view(len(x), height, width, -1).permute(0, 3, 1, 2)


def conv(inputs: int, outputs: int, size: int = 3, stride: int = 1, bias: bool = False) -> Conv:
    """Make a convolution that keeps the size of the picture, but for its stride."""
    return Conv(inputs, outputs, size, stride, padding=size // 2, bias=bias)


# ── on features ──────────────────────────────────────────────────────────────────────────────


class Linear(Net):
    """One linear layer: multinomial logistic regression."""

    def __init__(self, classes: int, inputs: int = 1280) -> None:
        super().__init__()
        self.head = nn.Linear(inputs, classes)

    def features(self, x: Tensor) -> Tensor:
        return x


class Mlp(Net):
    """One hidden layer with ReLU and, if asked for, dropout."""

    def __init__(
        self, classes: int, inputs: int = 1280, hidden: int = 256, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Dropout(dropout))
        self.head = nn.Linear(hidden, classes)

    def features(self, x: Tensor) -> Tensor:
        return self.body(x)
