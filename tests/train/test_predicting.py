"""Predictions are the network's, whatever the batch, and leave it as it was."""

from __future__ import annotations

import numpy as np
import torch

from softlabel.train import nets, predicting
from softlabel.train.data import normalise


def test_batches_do_not_matter_and_features_lead_to_logits(pictures):
    net = nets.make("small", 3, seed=1)
    whole = predicting.logits(net, pictures)
    parts = predicting.logits(net, pictures, batch=7)
    assert whole.dtype == np.float32
    assert whole.shape == (60, 3)
    assert np.allclose(whole, parts, atol=1e-5)
    with torch.no_grad():
        assert np.allclose(whole, net.eval()(normalise(torch.from_numpy(pictures))), atol=1e-5)
        seen = predicting.features(net, pictures)
        assert np.allclose(net.head(torch.from_numpy(seen)).numpy(), whole, atol=1e-5)


def test_probabilities_sum_to_one(pictures):
    probs = predicting.probs(nets.make("small", 3, seed=1), pictures)
    assert np.allclose(probs.sum(axis=1), 1, atol=1e-12)


def test_a_network_in_training_stays_in_training(pictures):
    net = nets.make("small", 3, seed=1).train()
    before = net.body[0].norm.running_mean.clone()
    predicting.logits(net, pictures)
    assert net.training
    assert torch.equal(net.body[0].norm.running_mean, before), "and has learned nothing"
