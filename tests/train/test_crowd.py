"""The crowd layer, by the numbers worked by hand, and against a loop over every annotator."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from softlabel.errors import DataError, UnknownName
from softlabel.train.crowd import KINDS, CrowdLayer, Votes

Z = torch.tensor([[2.0, 1.0, 0.0]])
FIRST = Votes.of(torch.tensor([[0]]))


def nudged(layer, seed=0):
    """The layer with parameters that differ from where they start."""
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for each in layer.parameters():
            each.add_(0.3 * torch.randn(each.shape, generator=rng))
    return layer


@pytest.mark.parametrize("kind", KINDS)
def test_it_starts_as_ordinary_cross_entropy(kind):
    assert CrowdLayer(kind, 3, 1).loss(Z, FIRST).item() == pytest.approx(0.407606, abs=1e-6)


def test_on_probabilities_it_starts_elsewhere():
    loss = CrowdLayer("mw", 3, 1, on="probs").loss(Z, FIRST)
    assert loss.item() == pytest.approx(0.797190, abs=1e-6)


def test_worked_matrix():
    layer = CrowdLayer("mw", 3, 1)
    with torch.no_grad():
        layer.matrix.copy_(torch.tensor([[0.9, 0.1, 0, 0.1, 0.9, 0, 0, 0, 1]]))
    assert layer(Z, FIRST)[0].tolist() == pytest.approx([1.9, 1.1, 0])
    assert layer.loss(Z, FIRST).item() == pytest.approx(0.469314, abs=1e-6)


def test_the_matrix_on_the_left():
    layer, turned = CrowdLayer("mw", 3, 1), CrowdLayer("mw", 3, 1, transposed=True)
    matrix = torch.tensor([[0.5, 0.5, 0], [0, 1, 0], [0.25, 0, 0.75]])
    with torch.no_grad():
        layer.matrix.copy_(matrix.view(1, 9))
        turned.matrix.copy_(matrix.view(1, 9))
    assert torch.allclose(layer(Z, FIRST)[0], Z[0] @ matrix)
    assert torch.allclose(turned(Z, FIRST)[0], matrix @ Z[0])


@pytest.mark.parametrize(
    ("kind", "count"),
    {"mw": 257_100, "vw": 25_710, "vb": 25_710, "vw+b": 51_420, "sw": 2571}.items(),
)
def test_parameters_of_the_2571_annotators_of_cifar10h(kind, count):
    assert sum(each.numel() for each in CrowdLayer(kind, 10, 2571).parameters()) == count


@pytest.mark.parametrize("kind", KINDS)
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_vote_contributes_exactly_nothing(kind):
    votes = Votes.of(torch.tensor([[0, -1, 2]]))
    layer = nudged(CrowdLayer(kind, 3, 3))
    loss = layer.loss(Z, votes)
    apart = [layer.loss(Z, Votes.of(torch.tensor([row]))) for row in ([0, -1, -1], [-1, -1, 2])]
    assert loss.item() == pytest.approx(sum(apart).item())
    loss.backward()
    for each in layer.parameters():
        assert (each.grad[1] == 0).all(), "of the annotator who did not vote"
        assert (each.grad[0] != 0).any()
        assert (each.grad[2] != 0).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_no_votes_at_all_is_zero_and_not_nan(kind, reduction):
    logits = Z.clone().requires_grad_()
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
    hard = [layer.loss(Z, Votes.of(torch.tensor([[-1, label]]))) for label in range(3)]
    wanted = 0.5 * hard[0] + 0.2 * hard[1] + 0.3 * hard[2]
    assert layer.loss(Z, Votes.of(soft)).item() == pytest.approx(wanted.item(), rel=1e-6)


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
