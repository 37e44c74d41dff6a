"""The losses, by the numbers worked by hand and by scipy; the crowd layer, also by a loop."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import entropy

from softlabel.errors import DataError, UnknownName
from softlabel.train.losses import (
    CROWD_LAYERS,
    LOSSES,
    CrowdLayer,
    Votes,
    kl,
    reverse_kl,
    soft_cross_entropy,
    squared_error,
)

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


# ── the crowd layer ──────────────────────────────────────────────────────────────────────────

ONE = torch.tensor([[2.0, 1.0, 0.0]])
FIRST = Votes.of(torch.tensor([[0]]))


def nudged(layer, seed=0):
    """The layer with parameters that differ from where they start."""
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for each in layer.parameters():
            each.add_(0.3 * torch.randn(each.shape, generator=rng))
    return layer


@pytest.mark.parametrize("kind", CROWD_LAYERS)
def test_it_starts_as_ordinary_cross_entropy(kind):
    assert CrowdLayer(kind, 3, 1).loss(ONE, FIRST).item() == pytest.approx(0.407606, abs=1e-6)


def test_on_probabilities_it_starts_elsewhere():
    loss = CrowdLayer("mw", 3, 1, on="probs").loss(ONE, FIRST)
    assert loss.item() == pytest.approx(0.797190, abs=1e-6)


def test_worked_matrix():
    layer = CrowdLayer("mw", 3, 1)
    with torch.no_grad():
        layer.matrix.copy_(torch.tensor([[0.9, 0.1, 0, 0.1, 0.9, 0, 0, 0, 1]]))
    assert layer(ONE, FIRST)[0].tolist() == pytest.approx([1.9, 1.1, 0])
    assert layer.loss(ONE, FIRST).item() == pytest.approx(0.469314, abs=1e-6)


def test_the_matrix_on_the_left():
    layer, turned = CrowdLayer("mw", 3, 1), CrowdLayer("mw", 3, 1, transposed=True)
    matrix = torch.tensor([[0.5, 0.5, 0], [0, 1, 0], [0.25, 0, 0.75]])
    with torch.no_grad():
        layer.matrix.copy_(matrix.view(1, 9))
        turned.matrix.copy_(matrix.view(1, 9))
    assert torch.allclose(layer(ONE, FIRST)[0], ONE[0] @ matrix)
    assert torch.allclose(turned(ONE, FIRST)[0], matrix @ ONE[0])


@pytest.mark.parametrize(
    ("kind", "count"),
    {"mw": 257_100, "vw": 25_710, "vb": 25_710, "vw+b": 51_420, "sw": 2571}.items(),
)
def test_parameters_of_the_2571_annotators_of_cifar10h(kind, count):
    assert sum(each.numel() for each in CrowdLayer(kind, 10, 2571).parameters()) == count


@pytest.mark.parametrize("kind", CROWD_LAYERS)
@pytest.mark.parametrize("on", ["logits", "probs"])
def test_rows_of_votes_equal_a_loop_over_annotators(kind, on):
    rng = torch.Generator().manual_seed(1)
    logits = torch.randn(6, 4, generator=rng)
    table = torch.randint(-1, 4, (6, 5), generator=rng)
    layer = nudged(CrowdLayer(kind, 4, 5, on=on))
    x = logits.softmax(1) if on == "probs" else logits
    wanted = 0.0
    for who in range(5):
        if kind == "mw":
            scores = x @ layer.matrix[who].view(4, 4)
        else:
            scores = x * layer.weight[who] if kind != "vb" else x
            scores = scores + layer.bias[who] if kind in ("vb", "vw+b") else scores
        for item in range(6):
            if table[item, who] >= 0:
                wanted -= scores[item].log_softmax(0)[table[item, who]].item()
    votes = Votes.of(table)
    assert layer.loss(logits, votes).item() == pytest.approx(wanted, rel=1e-5)
    assert layer.loss(logits, votes, "mean").item() == pytest.approx(wanted / len(votes), rel=1e-5)


@pytest.mark.parametrize("kind", CROWD_LAYERS)
def test_a_missing_vote_contributes_exactly_nothing(kind):
    votes = Votes.of(torch.tensor([[0, -1, 2]]))
    layer = nudged(CrowdLayer(kind, 3, 3))
    loss = layer.loss(ONE, votes)
    apart = [layer.loss(ONE, Votes.of(torch.tensor([row]))) for row in ([0, -1, -1], [-1, -1, 2])]
    assert loss.item() == pytest.approx(sum(apart).item())
    loss.backward()
    for each in layer.parameters():
        assert (each.grad[1] == 0).all(), "of the annotator who did not vote"
        assert (each.grad[0] != 0).any()
        assert (each.grad[2] != 0).any()


@pytest.mark.parametrize("kind", CROWD_LAYERS)
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_no_votes_at_all_is_zero_and_not_nan(kind, reduction):
    logits = ONE.clone().requires_grad_()
    layer = CrowdLayer(kind, 3, 2)
    loss = layer.loss(logits, Votes.of(torch.tensor([[-1, -1]])), reduction)
    loss.backward()
    assert loss.item() == 0
    assert (logits.grad == 0).all()
    assert all((each.grad == 0).all() for each in layer.parameters())


def test_soft_votes_are_averages_of_hard_ones():
    layer = nudged(CrowdLayer("mw", 3, 2))
    soft = torch.full((1, 2, 3), torch.nan)
    soft[0, 1] = torch.tensor([0.5, 0.2, 0.3])
    hard = [layer.loss(ONE, Votes.of(torch.tensor([[-1, label]]))) for label in range(3)]
    wanted = 0.5 * hard[0] + 0.2 * hard[1] + 0.3 * hard[2]
    assert layer.loss(ONE, Votes.of(soft)).item() == pytest.approx(wanted.item(), rel=1e-6)


def test_gradients_are_right():
    layer = nudged(CrowdLayer("vw+b", 3, 2, on="probs")).double()
    votes = Votes.of(torch.tensor([[0, 2], [1, -1]]))
    logits = torch.tensor([[2.0, 1, 0], [0, 0.5, -1]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: layer.loss(z, votes), logits)


def test_it_learns_who_errs():
    """Two annotators, one of whom calls class 0 by the name of 1: only his matrix moves there."""
    rng = np.random.default_rng(0)
    true = torch.tensor(rng.integers(0, 3, 300))
    wrong = torch.where(true == 0, 1, true)
    logits = 3 * torch.eye(3)[true]
    votes, layer = Votes.of(torch.stack([true, wrong], dim=1)), CrowdLayer("mw", 3, 2)
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.05)
    for _ in range(60):
        optimiser.zero_grad()
        layer.loss(logits, votes, "mean").backward()
        optimiser.step()
    scores = layer(logits[true == 0][:1], Votes.of(torch.tensor([[0, 0]])))
    assert scores.argmax(dim=1).tolist() == [0, 1]


def test_what_is_wrong_is_named():
    with pytest.raises(UnknownName, match=r"'wv\+b'.*did you mean 'vw\+b'"):
        CrowdLayer("wv+b", 3, 2)
    with pytest.raises(UnknownName, match="'scores'"):
        CrowdLayer("mw", 3, 2, on="scores")
    with pytest.raises(DataError, match=r"\(4,\)"):
        Votes.of(torch.zeros(4))
