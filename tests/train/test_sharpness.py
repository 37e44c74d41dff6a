"""Sharpness: quadratics worked by hand, and a small net whose whole Hessian can be written out."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import nn

from softlabel import DataError
from softlabel.train import sharpness
from softlabel.train.sharpness import (
    Surface,
    barrier,
    estimate_statistics,
    keskar,
    lambda_max,
    sam,
    slice_1d,
    surface,
    trace,
)

H = torch.tensor([[3.0, 1.0], [1.0, 2.0]], dtype=torch.float64)


def bowl(hessian=H, at=(0.3, -0.2), slope=(0.0, 0.0)):
    """Half w'Hw plus a slope, in two parts as two batches would be."""
    w = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    b = torch.tensor(slope, dtype=torch.float64)
    parts = [lambda: 0.2 * (w @ hessian @ w) + b @ w, lambda: 0.3 * (w @ hessian @ w)]
    return Surface((w,), parts)


def small(seed=0, hidden=4):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Linear(3, hidden), nn.BatchNorm1d(hidden), nn.Tanh(), nn.Linear(hidden, 3)
        ).double()


@pytest.fixture
def items():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), rng.dirichlet([1.0] * 3, 40)


def whole_hessian(net, inputs, target):
    """Written out column by column by torch itself, in evaluation mode."""
    net.eval()
    names = [name for name, _ in net.named_parameters()]
    shapes = [param.shape for param in net.parameters()]
    x, p = torch.from_numpy(inputs), torch.from_numpy(target)

    def loss(flat):
        split = flat.split([shape.numel() for shape in shapes])
        params = {n: part.view(s) for n, part, s in zip(names, split, shapes, strict=True)}
        logits = torch.func.functional_call(net, params, (x,))
        return -(p * torch.log_softmax(logits, dim=1)).sum(dim=1).mean()

    flat = torch.cat([param.detach().reshape(-1) for param in net.parameters()])
    return torch.autograd.functional.hessian(loss, flat), loss, flat


def test_printed_matrix():
    assert lambda_max(bowl(), tolerance=1e-12).value == pytest.approx(3.618034, abs=1e-6)
    found = trace(bowl(), probes=500)
    assert abs(found.value - 5) < 4 * found.error  # v'Hv is 5 + 2 or 5 - 2
    assert found.error == pytest.approx(2 / np.sqrt(500), rel=0.01)
    assert trace(bowl(torch.diag(torch.diag(H)))).value == 5  # signs cancel without off-diagonals
    assert trace(bowl(torch.diag(torch.diag(H)))).error == 0


def test_the_whole_hessian_of_a_small_net(items):
    net = small()
    net(torch.from_numpy(items[0]))  # statistics that are not 0 and 1
    hessian, _, _ = whole_hessian(net, *items)
    on = surface(net.train(), *items, normalise=None)
    values = torch.linalg.eigvalsh(hessian)
    assert lambda_max(on, iterations=1000, tolerance=1e-10).value == pytest.approx(
        float(values[-1]), rel=1e-5
    )
    found = trace(on, probes=200)
    assert abs(found.value - float(hessian.trace())) < 4 * found.error
    # the variance of Hutchinson's estimate with signs is 2 sum of squares off the diagonal
    off = hessian - torch.diag(torch.diag(hessian))
    assert found.error == pytest.approx(float((2 * (off**2).sum() / 200) ** 0.5), rel=0.2)
    for seed in range(3):
        v = torch.randn(len(hessian), dtype=torch.float64, generator=torch.manual_seed(seed))
        torch.testing.assert_close(on.curvature(v), hessian @ v)


def test_gradient_and_loss_of_a_small_net(items, monkeypatch):
    net = small()
    _, loss, flat = whole_hessian(net, *items)
    expected = torch.autograd.functional.jacobian(loss, flat)
    for batch in (250, 7):
        monkeypatch.setattr(sharpness, "BATCH", batch)
        on = surface(net, *items, normalise=None)
        torch.testing.assert_close(on.gradient(), expected)
        assert on.loss() == pytest.approx(float(loss(flat)))


def test_a_larger_negative_eigenvalue_is_not_the_largest():
    saddle = torch.diag(torch.tensor([2.0, -5.0], dtype=torch.float64))
    assert lambda_max(bowl(saddle), tolerance=1e-12).value == pytest.approx(2)
    hill = torch.diag(torch.tensor([-1.0, -5.0], dtype=torch.float64))
    assert lambda_max(bowl(hill), 500, tolerance=1e-14).value == pytest.approx(-1, abs=1e-4)


def test_whether_it_converged_is_in_the_result():
    loose, tight = lambda_max(bowl(), iterations=2), lambda_max(bowl(), tolerance=1e-10)
    assert loose.iterations == 2
    assert tight.change <= 1e-10 < loose.change
    assert tight.iterations < 100
    assert lambda_max(bowl(0 * H)).value == 0


def test_a_linear_loss_has_no_curvature():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    flat = Surface((w,), [lambda: w.sum()])
    assert lambda_max(flat).value == 0
    assert trace(flat).value == 0


def test_sam_of_a_bowl():
    """L(w + r g/|g|) - L(w) = r |g| + r^2/2 g'Hg / |g|^2, for g = Hw."""
    on = bowl()
    g = H @ torch.tensor([0.3, -0.2], dtype=torch.float64)
    length = g.norm()
    expected = 0.05 * length + 0.05**2 / 2 * (g @ H @ g) / length**2
    assert sam(on) == pytest.approx(float(expected))
    assert sam(bowl(at=(0.0, 0.0))) == 0


def test_keskar_finds_the_worst_corner_of_the_box():
    on = bowl(at=(0.0, 0.0))
    corners = torch.tensor([[1.0, 1], [1, -1], [-1, 1], [-1, -1]], dtype=torch.float64) * 0.1
    worst = max(float(c @ H @ c) / 2 for c in corners)
    assert keskar(on, eps=0.1, restarts=8) == pytest.approx(100 * worst)
    away = bowl(at=(2.0, 1.0))  # there the box is 0.3 and 0.2 wide, and the corner is up the slope
    w, step = torch.tensor([2.0, 1.0]).double(), torch.tensor([0.3, 0.2]).double()
    base, top = (float(v @ H @ v) / 2 for v in (w, w + step))
    assert keskar(away, eps=0.1) == pytest.approx(100 * (top - base) / (1 + base))


def test_everything_is_left_as_it_was(items):
    net = small().train()
    net[1].eval()
    before = {key: value.clone() for key, value in net.state_dict().items()}
    on = surface(net, *items, normalise=None)
    other = small(1)
    lambda_max(on, 3), trace(on, 2), sam(on), keskar(on, steps=2, restarts=1), slice_1d(on, 3)
    barrier(net, other, *items, points=3, reestimate=items[0], normalise=None)
    assert all(torch.equal(value, before[key]) for key, value in net.state_dict().items())
    assert [layer.training for layer in net] == [True, False, True, True]
    assert all(param.grad is None for param in net.parameters())


def test_the_place_is_restored_when_the_loss_fails():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    on = Surface((w,), [lambda: w.square().sum()])

    def fails():
        with on.moved() as here:
            on.put(here * 0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert w.tolist() == [1, 2]


# ── slices ───────────────────────────────────────────────────────────────────────────────────


def test_a_slice_of_a_bowl():
    """One "filter" of two weights: the direction has their length, and the loss is known."""
    w = torch.tensor([[3.0, 4.0]], dtype=torch.float64, requires_grad=True)
    curve = slice_1d(Surface((w,), [lambda: w.square().sum()]), points=5)
    assert curve.at.tolist() == [-1, -0.5, 0, 0.5, 1]
    assert curve.loss[2] == 25
    # |w + a d|^2 with |d| = |w| = 5: 25 + 25 a^2 + 2 a w'd
    np.testing.assert_allclose(curve.loss + curve.loss[::-1], 2 * (25 + 25 * curve.at**2))


def test_slices_do_not_see_the_scale_of_weights(items):
    """Of a net that is indifferent to it; plain sharpness does."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = nn.Sequential(
            nn.Linear(3, 6, bias=False), nn.ReLU(), nn.Linear(6, 3, bias=False)
        ).double()
    scaled = deepcopy(net)
    scaled[0].weight.data *= 10
    scaled[2].weight.data /= 10
    first, second = (surface(each, *items, normalise=None) for each in (net, scaled))
    np.testing.assert_allclose(slice_1d(first).loss, slice_1d(second).loss)
    assert lambda_max(second).value > 5 * lambda_max(first).value
    assert (slice_1d(first, seed=1).loss != slice_1d(first, seed=2).loss).any()


def test_biases_and_scales_stay_in_a_slice(items):
    net = small()
    for param in net.parameters():
        if param.ndim > 1:
            param.data.zero_()  # filters of no length: nothing moves
    curve = slice_1d(surface(net, *items, normalise=None), points=3)
    assert len(set(curve.loss.tolist())) == 1


# ── barriers ─────────────────────────────────────────────────────────────────────────────────


def test_no_barrier_to_itself_or_within_a_convex_loss(items):
    net = small()
    alone = barrier(net, net, *items, normalise=None)
    assert alone.height == pytest.approx(0, abs=1e-12)
    assert len(alone.at) == 21
    one, two = nn.Linear(3, 3).double(), nn.Linear(3, 3).double()
    assert barrier(one, two, *items, normalise=None).height == 0


def test_the_same_function_in_other_places_of_the_net_has_a_barrier(items):
    """Hidden units in another order compute the same, and their mean does not."""
    x, _ = items
    net = small(hidden=6)
    for layer in (net[0], net[3]):
        layer.weight.data *= 4
    net(torch.from_numpy(x))
    net.eval()
    target = torch.softmax(net(torch.from_numpy(x)) * 3, dim=1).detach().numpy()
    other, order = deepcopy(net), [1, 2, 3, 4, 5, 0]
    for name in ("weight", "bias"):
        getattr(other[0], name).data = getattr(net[0], name).data[order]
        getattr(other[1], name).data = getattr(net[1], name).data[order]
    other[1].running_mean, other[1].running_var = (
        net[1].running_mean[order],
        net[1].running_var[order],
    )
    other[3].weight.data = net[3].weight.data[:, order]
    found = barrier(net, other, x, target, normalise=None)
    assert found.loss[0] == pytest.approx(found.loss[-1])
    assert found.height > 0.05
    middle = found.loss[10] - found.loss[0]
    assert found.height >= middle


def test_the_barrier_is_that_of_the_mixed_network(items):
    one, two = small(0), small(1)
    for net in (one, two):
        net(torch.from_numpy(items[0]))
    found = barrier(one, two, *items, points=5, normalise=None)
    mixed = small(2)
    for key, value in mixed.state_dict().items():
        if value.is_floating_point():
            value.copy_(0.75 * one.state_dict()[key] + 0.25 * two.state_dict()[key])
    assert found.loss[1] == pytest.approx(surface(mixed, *items, normalise=None).loss())
    rise = found.loss - np.linspace(found.loss[0], found.loss[-1], 5)
    assert found.height == pytest.approx(rise.max())


def test_statistics_taken_anew(items):
    x, _ = items
    net = small()
    estimate_statistics(net, x, normalise=None)
    hidden = net[0](torch.from_numpy(x)).detach()
    torch.testing.assert_close(net[1].running_mean, hidden.mean(dim=0))
    torch.testing.assert_close(net[1].running_var, hidden.var(dim=0))
    assert net[1].momentum == 0.1
    plain = nn.Linear(3, 3)
    estimate_statistics(plain, x, normalise=None)  # nothing to do


def test_reestimation_lowers_a_barrier_of_statistics(items):
    """Two nets that differ in the scale of a layer, which normalisation takes out again, if its
    statistics belong to the weights."""
    x, target = items
    one, two = small(0), small(0)
    two[0].weight.data *= 3
    for net in (one, two):
        estimate_statistics(net, x, normalise=None)
    two[1].running_var *= 50  # statistics that do not belong to the weights
    mixed = barrier(one, two, x, target, points=5, normalise=None)
    anew = barrier(one, two, x, target, points=5, reestimate=x, normalise=None)
    np.testing.assert_allclose(anew.loss, anew.loss[0], atol=1e-4)  # everywhere the same function
    assert np.ptp(mixed.loss) > 1e-3
    assert anew.height < 1e-4


def test_pictures_are_normalised_on_the_way():
    images = np.random.default_rng(0).integers(0, 256, (6, 4, 4, 3), dtype=np.uint8)
    net = nn.Sequential(nn.Flatten(), nn.Linear(48, 3))
    classes = np.array([0, 1, 2, 0, 1, 2])
    plain, normal = surface(net, images, classes, normalise=None), surface(net, images, classes)
    assert plain.loss() != pytest.approx(normal.loss(), abs=1e-3)
    assert barrier(net, net, images, classes, points=3).loss[0] == pytest.approx(normal.loss())


REFUSED = [
    (lambda: trace(bowl(), probes=1), "probes = 1"),
    (lambda: lambda_max(bowl(), iterations=0), "iterations = 0"),
    (lambda: barrier(nn.Linear(3, 3), nn.Linear(3, 2), None, None), "of one architecture"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_refused(call, words):
    with pytest.raises(DataError, match=words):
        call()
