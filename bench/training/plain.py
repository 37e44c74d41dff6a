"""The plain recipe: what one writes first, and what the papers' scripts do.

Pictures are transformed one by one in a ``DataLoader`` (padded, cut, mirrored, scaled, normalised,
with the tensor operations that torchvision uses for tensors), the layout is contiguous, the
optimiser is ``torch.optim.SGD`` as it comes.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from softlabel.train import networks
from softlabel.train.data import MEAN, STD


class Items(Dataset):
    """A picture and its label at a time."""

    def __init__(self, images: Any, labels: Any) -> None:
        self.images, self.labels = images, labels
        self.mean, self.std = torch.tensor(MEAN).view(3, 1, 1), torch.tensor(STD).view(3, 1, 1)
        self.rng = np.random.default_rng(0)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, item: int) -> tuple[torch.Tensor, torch.Tensor]:
        image = torch.from_numpy(self.images[item]).permute(2, 0, 1)  # (3, h, w) bytes
        height, width = image.shape[1:]
        padded = torch.nn.functional.pad(image, (4, 4, 4, 4))
        row, column = self.rng.integers(0, 9, 2)
        cut = padded[:, row : row + height, column : column + width]
        if self.rng.random() < 0.5:
            cut = cut.flip(-1)
        floats = cut.contiguous().to(torch.float32).div(255)
        return floats.sub(self.mean).div(self.std), torch.from_numpy(self.labels[item])


def loader(images: Any, labels: Any, batch: int) -> DataLoader:
    """In the main process, as by default."""
    return DataLoader(Items(images, labels), batch_size=batch, shuffle=True)


def _usual(layers: torch.nn.Sequential) -> None:
    """ReLU and then pooling, as it is written; ours has them the other way round."""
    for place in range(1, len(layers)):
        kinds = type(layers[place - 1]), type(layers[place])
        if kinds == (torch.nn.MaxPool2d, torch.nn.ReLU):
            layers[place - 1], layers[place] = layers[place], layers[place - 1]


def seconds(name: str, images: Any, labels: Any, batch: int, epochs: int) -> list[float]:
    """Wall time of each epoch of training."""
    net = networks.make_network(name, labels.shape[1], seed=0).train()
    for layer in net.modules():
        if isinstance(layer, torch.nn.Conv2d):
            layer.__class__ = torch.nn.Conv2d  # torch's own, without our shortcuts
        if isinstance(layer, torch.nn.Sequential):
            _usual(layer)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    found = []
    for _ in range(epochs):
        begun = time.perf_counter()
        for x, target in loader(images, labels, batch):
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), target)
            loss.backward()
            optimiser.step()
        found.append(time.perf_counter() - begun)
    return found
