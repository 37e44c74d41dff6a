"""Predictions, ODIN among them, are the network's, whatever the batch, and leave it as it was."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import softmax
from torch import nn

from softlabel import DataError, metrics
from softlabel.train import predict
from softlabel.train.data import CIFAR, normalise
from softlabel.train.networks import make_network
from softlabel.train.predict import extract_features, odin, predict_logits, predict_probs


def test_batches_do_not_matter_and_features_lead_to_logits(pictures):
    net = make_network("small", 3, seed=1)
    whole = predict_logits(net, pictures)
    parts = predict_logits(net, pictures, batch=7)
    assert whole.dtype == np.float32
    assert whole.shape == (60, 3)
    assert np.allclose(whole, parts, atol=1e-5)
    with torch.no_grad():
        assert np.allclose(whole, net.eval()(normalise(torch.from_numpy(pictures))), atol=1e-5)
        seen = extract_features(net, pictures)
        assert np.allclose(net.head(torch.from_numpy(seen)).numpy(), whole, atol=1e-5)


def test_probabilities_sum_to_one(pictures):
    probs = predict_probs(make_network("small", 3, seed=1), pictures)
    assert np.allclose(probs.sum(axis=1), 1, atol=1e-12)


def test_a_network_in_training_stays_in_training(pictures):
    net = make_network("small", 3, seed=1).train()
    before = net.body[0].norm.running_mean.clone()
    predict_logits(net, pictures)
    assert net.training
    assert torch.equal(net.body[0].norm.running_mean, before), "and has learned nothing"


# ── ODIN, on models whose gradient is known ──────────────────────────────────────────────────

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
    monkeypatch.setattr(predict, "BATCH", 2)
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
