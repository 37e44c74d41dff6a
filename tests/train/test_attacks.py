"""Attacks: the printed step, a linear model worked by hand, and what must hold of any attack."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import softmax
from torch import nn

from softlabel import DataError, metrics
from softlabel.train import attacks
from softlabel.train.attacks import Walk, choose_items, fgsm, pgd
from softlabel.train.data import CIFAR, Normalise
from softlabel.train.networks import make_network
from softlabel.train.predict import odin, predict_probs
from softlabel.train.sharpness import surface


def linear(weight):
    """Logits W x in double precision."""
    net = nn.Linear(len(weight[0]), len(weight), bias=False).double()
    net.weight.data = torch.tensor(weight, dtype=torch.float64)
    return net


def small(seed=0):
    """A convolution, statistics, a classifier: what pictures go through."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(3, 6, 3, stride=2),
            nn.BatchNorm2d(6),
            nn.Tanh(),
            nn.Flatten(),
            nn.LazyLinear(4),
        )


@pytest.fixture
def pictures():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (20, 8, 8, 3), dtype=np.uint8)
    images[0], images[1] = 0, 255  # where a step would leave [0, 1]
    net = small()
    net(CIFAR(torch.rand(30, 3, 8, 8)))  # statistics that are not 0 and 1
    return net, images, rng.dirichlet([1.0] * 4, 20)


PRINTED = linear([[2, 0], [0, 1], [-1, 1]])
X, P = np.array([[0.5, 0.5]]), np.array([[0.7, 0.2, 0.1]])


def test_printed_step():
    done = fgsm(PRINTED, X, P, normalise=None)
    assert done.clean[0] == pytest.approx(0.880270, abs=1e-6)
    np.testing.assert_allclose(done.images, [[0.484314, 0.515686]], atol=1e-6)
    assert done.loss[0] == pytest.approx(0.891096, abs=1e-6)
    assert done.correct.tolist() == [1]


def test_printed_gradient_and_normalised_step():
    x = torch.tensor(X, requires_grad=True)
    loss = -(torch.tensor(P) * torch.log_softmax(PRINTED(x), dim=1)).sum()
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), [[-0.473363, 0.193520]], atol=1e-6)
    step = 4 / 255 / np.array(CIFAR.std)
    np.testing.assert_allclose(step, [0.07754, 0.07867, 0.07804], atol=5e-6)


def test_normalisation_is_part_of_the_attacked_model(pictures):
    """A net that takes normalised pictures, and one that normalises them itself, are one model."""
    net, images, target = pictures

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x):
            mean = torch.tensor(CIFAR.mean).view(1, 3, 1, 1)
            return self.net((x - mean) / torch.tensor(CIFAR.std).view(1, 3, 1, 1))

    for attack in (fgsm, pgd):
        outside = attack(net, images, target)
        inside = attack(Whole(), images, target, normalise=None)
        np.testing.assert_allclose(outside.loss, inside.loss, rtol=1e-6)
        np.testing.assert_array_equal(outside.images, inside.images)
    without = fgsm(net, images, target, normalise=None)
    assert abs(without.clean - fgsm(net, images, target).clean).max() > 0.01


@pytest.mark.parametrize("attack", [fgsm, pgd])
def test_what_holds_of_every_attack(attack, pictures):
    net, images, target = pictures
    before = {key: value.clone() for key, value in net.state_dict().items()}
    net.train()
    net[1].eval()  # somebody froze one layer
    done = attack(net, images, target, 4 / 255)
    assert [layer.training for layer in net] == [True, False, True, True, True]
    assert all(torch.equal(value, before[key]) for key, value in net.state_dict().items())
    assert all(param.grad is None for param in net.parameters())
    points = images.astype(np.float32) / 255
    assert done.images.shape == images.shape
    assert abs(done.images - points).max() <= 4 / 255 + 1e-6
    assert done.images.min() >= 0
    assert done.images.max() <= 1
    assert done.loss.mean() > done.clean.mean() + 0.01
    assert done.loss.dtype == np.float64
    # the numbers belong to the pictures that are given back
    net.eval()
    with torch.no_grad():
        logits = net(CIFAR(torch.from_numpy(done.images).permute(0, 3, 1, 2))).double()
        probs = torch.softmax(logits, dim=1).numpy()
    np.testing.assert_allclose(done.loss, metrics.cross_entropy(target, probs), rtol=1e-5)
    np.testing.assert_array_equal(done.correct, metrics.accuracy(target, probs))


def test_no_room_no_change(pictures):
    net, images, target = pictures
    for attack in (fgsm, pgd):
        done = attack(net, images, target, 0.0)
        np.testing.assert_allclose(done.loss, done.clean, rtol=1e-6)
        np.testing.assert_allclose(done.images, images / 255, atol=1e-7)


@pytest.mark.parametrize("attack", [fgsm, pgd])
def test_batches_do_not_matter(attack, pictures, monkeypatch):
    net, images, target = pictures
    whole = attack(net, images, target)
    monkeypatch.setattr(attacks, "BATCH", 3)
    parts = attack(net, images, target)
    np.testing.assert_allclose(whole.loss, parts.loss, rtol=1e-5)
    np.testing.assert_allclose(whole.images, parts.images, atol=1e-6)


def test_hard_targets_are_one_hot_soft_ones(pictures):
    net, images, _ = pictures
    classes = np.arange(20) % 4
    hard, soft = fgsm(net, images, classes), fgsm(net, images, metrics.one_hot(classes, 4))
    np.testing.assert_array_equal(hard.loss, soft.loss)
    np.testing.assert_array_equal(hard.correct, soft.correct)


def test_robust_accuracy_of_a_linear_model_is_known():
    """Two classes and logits (x, 1 - x): right for class 0 while x - eps > 1/2."""
    net = linear([[1.0, 0.0], [0.0, 1.0]])
    x = np.array([[0.52, 0.48], [0.60, 0.40], [0.50, 0.50]])
    for attack in (fgsm, pgd):
        done = attack(net, x, np.zeros(3, dtype=int), 0.04, normalise=None)
        assert done.correct[:2].tolist() == [0, 1]
    clean = fgsm(net, x, np.zeros(3, dtype=int), 0.0, normalise=None)
    assert clean.correct.tolist() == [1, 1, 0.5]  # a tie is half right


def test_pgd_of_a_linear_model_ends_in_the_worst_corner():
    """For two classes the loss falls in one linear direction: a corner of the box is worst, and
    10 steps of 2/255 cross it from any start."""
    net = linear([[1.0, -2.0, 0.5], [-0.5, 1.0, 0.0]])
    x = np.full((1, 3), 0.5)
    done = pgd(net, x, np.array([0]), normalise=None)
    corner = 0.5 + 4 / 255 * np.array([[-1, 1, -1]])
    np.testing.assert_allclose(done.images, corner, atol=1e-12)
    logits = corner @ net.weight.detach().numpy().T
    expected = -np.log(np.exp(logits[0, 0]) / np.exp(logits).sum())
    assert done.loss[0] == pytest.approx(expected)


def test_pgd_reports_its_final_point_and_beats_one_step(pictures):
    net, images, target = pictures
    one, many = fgsm(net, images, target), pgd(net, images, target)
    assert many.loss.mean() >= one.loss.mean()
    assert pgd(net, images, target, walk=Walk(steps=0)).loss.mean() < one.loss.mean()


def test_pgd_seeds_and_restarts(pictures):
    net, images, target = pictures
    first, again = (pgd(net, images, target, walk=Walk(seed=1, steps=2)) for _ in range(2))
    other = pgd(net, images, target, walk=Walk(seed=2, steps=2))
    np.testing.assert_array_equal(first.images, again.images)
    assert (first.images != other.images).any()
    more = pgd(net, images, target, walk=Walk(seed=1, steps=2, restarts=3))
    assert (more.loss >= first.loss - 1e-12).all()
    assert (more.loss > first.loss).any()
    assert (more.correct <= first.correct).all()


def test_of_several_restarts_the_worst_counts():
    """Without steps the final points are the random starts, which can be drawn again here."""
    net = linear([[1.0, -2.0], [-0.5, 1.0]])
    x = np.random.default_rng(0).uniform(0.3, 0.7, (40, 2))
    classes = (x @ net.weight.detach().numpy().T).argmax(axis=1)
    done = pgd(net, x, classes, 0.2, walk=Walk(steps=0, restarts=4, seed=5), normalise=None)
    rng = np.random.default_rng(5)
    points = np.array([x + rng.uniform(-0.2, 0.2, x.shape) for _ in range(4)])
    logits = points @ net.weight.detach().numpy().T
    true = metrics.one_hot(classes, 2)
    loss = np.array([metrics.cross_entropy(true, softmax(each, axis=1)) for each in logits])
    right = np.array([metrics.accuracy(true, softmax(each, axis=1)) for each in logits])
    np.testing.assert_allclose(done.loss, loss.max(axis=0))
    np.testing.assert_array_equal(done.correct, right.min(axis=0))
    np.testing.assert_allclose(done.images, points[loss.argmax(axis=0), np.arange(40)])
    assert 0 < done.correct.mean() < right[-1].mean()  # the last restart alone would be too kind


def test_chosen_items():
    rows = choose_items(3000, 1000, seed=3)
    assert len(np.unique(rows)) == 1000
    assert (np.diff(rows) > 0).all()
    assert np.array_equal(rows, choose_items(3000, 1000, seed=3))
    assert not np.array_equal(rows, choose_items(3000, 1000, seed=4))


def test_any_callable_can_be_attacked():
    done = fgsm(lambda x: torch.stack([x[:, 0], -x[:, 0]], dim=1), X, np.array([0]), normalise=None)
    np.testing.assert_allclose(done.images, [[0.5 - 4 / 255, 0.5]], atol=1e-6)


REFUSED = [
    (lambda: fgsm(PRINTED, X * 3, P, normalise=None), "from 1.5 to 1.5; attacks need"),
    (lambda: fgsm(PRINTED, X, P), "pass normalise=None"),
    (lambda: fgsm(PRINTED, X.astype(int), P), "bytes or numbers"),
    (lambda: fgsm(PRINTED, X, P[:, :2], normalise=None), r"shape \(1, 2\); 1 items of 3 classes"),
    (lambda: fgsm(PRINTED, X, np.array([3]), normalise=None), "class 3 is not in 0..2"),
    (lambda: pgd(PRINTED, X, P, walk=Walk(restarts=0), normalise=None), "restarts at least 1"),
    (lambda: fgsm(PRINTED, X[0], P, normalise=None), r"features \(m, d\); got \(2,\)"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_refused(call, words):
    with pytest.raises(DataError, match=words):
        call()


def test_normalise():
    made = Normalise((0.5, 0.1), (0.25, 0.5))(torch.ones(1, 2, 1, 1))
    assert made.flatten().tolist() == pytest.approx([2, 1.8])


def test_what_is_attacked_is_what_predicts():
    """Before the attack, the loss is that of the predictions that evaluation saves."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (8, 32, 32, 3), dtype=np.uint8)
    target = rng.dirichlet([1.0] * 10, 8)
    net = make_network("small", 10, 0)
    saved = metrics.cross_entropy(target, predict_probs(net, images))
    done = fgsm(net, images, target)
    np.testing.assert_allclose(done.clean, saved, rtol=1e-5)
    assert done.loss.mean() > done.clean.mean()
    assert surface(net, images, target).loss() == pytest.approx(saved.mean(), rel=1e-5)
    np.testing.assert_allclose(
        odin(net, images, 1.0, 0.0), predict_probs(net, images).max(axis=1), rtol=1e-5
    )
