"""The same work by ``softlabel.train``, through the door that everybody uses."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from softlabel.deliver import Draws
from softlabel.train import Config, fit
from softlabel.train.data import Pictures, epoch_order, prepare, to_device
from softlabel.train.loop import choose_device


class Fixed:
    """The same label in every epoch."""

    def __init__(self, labels: Any) -> None:
        self.labels = np.asarray(labels, dtype=np.float64)

    def labels_for(self, epoch: int, indices: Any, rng: Draws) -> Any:
        return self.labels[indices]


def seconds(name: str, images: Any, labels: Any, batch: int, epochs: int) -> list[float]:
    """Wall time of each epoch of training: its order, pictures and labels, and all its steps."""
    config = Config(
        *(name, epochs, batch), augment="per_epoch", nesterov=False, schedule="constant"
    )
    log = fit(config, images, Fixed(labels), seed=0).log
    return [line["seconds"] for line in log]


def data_seconds(images: Any, batch: int, epochs: int) -> list[float]:
    """Wall time of the pictures of an epoch, batch by batch, ready for the network."""
    draws, config = Draws(0), Config()
    pictures = Pictures(to_device(images, choose_device(config)), "per_epoch", draws)
    found = []
    for epoch in range(epochs):
        begun = time.perf_counter()
        table = pictures.epoch(epoch, epoch_order(draws, epoch, len(images)))
        for part in table.split(batch):
            prepare(part)
        found.append(time.perf_counter() - begun)
    return found
