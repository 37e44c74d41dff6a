"""The losses, by the numbers worked by hand and by scipy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import entropy

from softlabel.errors import UnknownName
from softlabel.train.losses import LOSSES, kl, reverse_kl, soft_cross_entropy, squared_error

Z = torch.tensor([[2.0, 1.0, 0.0]], dtype=torch.float64)
P = torch.tensor([[0.7, 0.2, 0.1]], dtype=torch.float64)
Q = torch.softmax(Z, dim=1).numpy()[0]


def test_worked_cross_entropy_and_its_gradient():
    z = Z.clone().requires_grad_()
    loss = soft_cross_entropy(z, P)
    loss.backward()
    assert loss.item() == pytest.approx(0.807606, abs=1e-6)
    assert z.grad[0].numpy() == pytest.approx([-0.034759, 0.044728, -0.009969], abs=1e-6)


def test_worked_kl_has_the_gradient_of_cross_entropy():
    z = Z.clone().requires_grad_()
    loss = kl(z, P)
    loss.backward()
    assert loss.item() == pytest.approx(0.005787, abs=1e-6)
    assert z.grad[0].numpy() == pytest.approx(Q - P.numpy()[0], abs=1e-12)


def test_kl_both_ways_against_scipy():
    assert kl(Z, P).item() == pytest.approx(entropy(P[0], Q), abs=1e-12)
    assert reverse_kl(Z, P).item() == pytest.approx(entropy(Q, P[0]), abs=1e-12)


def test_worked_squared_error():
    assert squared_error(Z, P).item() == pytest.approx(0.003308, abs=1e-6)


def test_hard_targets_give_torchs_cross_entropy():
    torch_says = torch.nn.functional.cross_entropy(Z, torch.tensor([1]))
    assert soft_cross_entropy(Z, torch.eye(3, dtype=torch.float64)[[1]]) == torch_says


@pytest.mark.parametrize("name", LOSSES)
def test_sum_is_mean_times_items_and_gradients_are_right(name):
    rng = torch.Generator().manual_seed(3)
    z = torch.randn(4, 5, generator=rng, dtype=torch.float64, requires_grad=True)
    p = torch.softmax(torch.randn(4, 5, generator=rng, dtype=torch.float64), dim=1)
    each = LOSSES[name](z, p, "none")
    assert each.shape == (4,)
    assert LOSSES[name](z, p, "sum").item() == pytest.approx(each.sum().item())
    assert LOSSES[name](z, p).item() == pytest.approx(each.mean().item())
    assert torch.autograd.gradcheck(lambda z: LOSSES[name](z, p), z)


@pytest.mark.parametrize("name", LOSSES)
def test_zeros_in_the_target_and_large_logits_stay_finite(name):
    z = torch.tensor([[1e4, -1e4, 0.0]], requires_grad=True)
    loss = LOSSES[name](z, torch.tensor([[0.0, 1.0, 0.0]]))
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(z.grad).all()


@pytest.mark.parametrize("name", LOSSES)
def test_the_best_prediction_is_the_target_itself(name):
    rng = np.random.default_rng(0)
    true = torch.tensor(rng.dirichlet(np.ones(4)))[None]
    at = LOSSES[name](true.log(), true)
    others = torch.tensor(rng.normal(size=(50, 4)))
    assert (LOSSES[name](others, true.expand(50, 4), "none") > at).all()


def test_an_unknown_reduction_is_named():
    with pytest.raises(UnknownName, match="'average'"):
        soft_cross_entropy(Z, P, "average")
