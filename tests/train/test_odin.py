"""ODIN on models whose gradient is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import softmax
from torch import nn

from softlabel import DataError, metrics
from softlabel.train import odin as room
from softlabel.train.odin import odin
from softlabel.train.pixels import CIFAR

WEIGHT = np.array([[2.0, 0.0, 1.0], [0.0, 1.0, -1.0], [-1.0, 1.0, 0.5]])


def linear(dtype=torch.float64):
    net = nn.Linear(3, 3, bias=False).to(dtype)
    net.weight.data = torch.tensor(WEIGHT, dtype=dtype)
    return net


def by_hand(x, temperature, eps):
    """d log S_y / dx = (w_y - sum_j S_j w_j) / T."""
    s = softmax(x @ WEIGHT.T / temperature, axis=1)
    gradient = WEIGHT[s.argmax(axis=1)] - s @ WEIGHT
    return softmax((x + eps * np.sign(gradient)) @ WEIGHT.T / temperature, axis=1).max(axis=1)


@pytest.mark.parametrize(("temperature", "eps"), [(1000.0, 0.0014), (1.0, 0.1), (2.0, 0.0)])
def test_linear_by_hand(temperature, eps):
    x = np.random.default_rng(0).random((30, 3))
    found = odin(linear(), x, temperature, eps, normalise=None)
    np.testing.assert_allclose(found, by_hand(x, temperature, eps), rtol=1e-12)


def test_without_step_and_heat_it_is_the_largest_probability():
    x = np.random.default_rng(1).random((30, 3))
    expected = metrics.max_softmax(x @ WEIGHT.T)
    np.testing.assert_allclose(odin(linear(), x, 1.0, 0.0, normalise=None), expected)


def test_items_stay_apart_in_single_precision():
    """At temperature 1000 all scores are near 1/3; float32 would make many of them equal."""
    x = np.random.default_rng(2).random((500, 3)).astype(np.float32)
    found = odin(linear(torch.float32), x, normalise=None)
    assert len(np.unique(found)) == 500
    np.testing.assert_allclose(found, by_hand(x.astype(float), 1000.0, 0.0014), rtol=1e-7)


def test_pictures_step_in_pixel_space_unclipped(monkeypatch):
    """White pictures: the step goes on past 1, and is eps / std after normalising."""
    seen = []

    class Watching(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(3, 2)

        def forward(self, x):
            seen.append(x.detach())
            return self.last(x.mean(dim=(2, 3)))

    images = np.full((5, 4, 4, 3), 255, dtype=np.uint8)
    found = odin(Watching(), images)
    moved = (seen[1] - seen[0]).abs()[0, :, 0, 0].numpy()
    np.testing.assert_allclose(moved, 0.0014 / np.array(CIFAR.std), rtol=1e-3)
    monkeypatch.setattr(room, "BATCH", 2)
    assert len(found) == len(odin(Watching(), images)) == 5


def test_the_net_is_left_as_it_was():
    net = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2)).train()
    before = {key: value.clone() for key, value in net.state_dict().items()}
    odin(net, np.random.default_rng(3).random((6, 3)), normalise=None)
    assert net[0].training
    assert all(torch.equal(value, before[key]) for key, value in net.state_dict().items())
    assert all(param.grad is None for param in net.parameters())


def test_temperature_must_be_above_zero():
    with pytest.raises(DataError, match="temperature = 0 is not above 0"):
        odin(linear(), np.zeros((1, 3)), 0, normalise=None)
