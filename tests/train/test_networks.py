"""The networks: their sizes are the papers', their weights belong to the seed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from softlabel.errors import SoftlabelError, UnknownName
from softlabel.train import networks
from softlabel.train.networks.images import HALF

PARAMETERS = {
    "resnet34a": 660_170,
    "vgg11": 9_231_114,
    "resnet50": 23_520_842,
    "resnet18": 11_173_962,
}
MFLOPS = {"resnet34a": 194.3, "vgg11": 305.5, "resnet50": 2595.7, "resnet18": 1110.8}


@pytest.mark.parametrize(("name", "count"), PARAMETERS.items())
def test_parameters_are_exactly_the_papers(name, count):
    assert networks.count_parameters(networks.make_network(name, 10, seed=0)) == count


@pytest.mark.parametrize(("name", "millions"), MFLOPS.items())
def test_the_work_of_one_picture(name, millions):
    with torch.device("meta"):
        net = networks.NETS[name](10).eval()
        with FlopCounterMode(display=False) as counter:
            net(torch.zeros(1, 3, 32, 32))
    assert counter.get_total_flops() / 1e6 == pytest.approx(millions, rel=2e-3)


def test_resnet34a_has_44_layers():
    layers = networks.make_network("resnet34a", 10, 0).modules()
    assert sum(isinstance(each, torch.nn.Conv2d | torch.nn.Linear) for each in layers) == 44


@pytest.mark.parametrize("name", ["resnet34a", "vgg11", "resnet18", "resnet50", "small"])
def test_logits_are_the_last_layer_of_the_features(name):
    net = networks.make_network(name, 7, seed=1).eval()
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        features, logits = net.features(x), net(x)
    assert logits.shape == (2, 7)
    assert features.shape == (2, net.head.in_features)
    assert torch.equal(net.head(features), logits)


@pytest.mark.parametrize("name", ["mlp", "linear", "mlp:hidden=8,dropout=0.5"])
def test_networks_on_features(name):
    net = networks.make_network(name, 4, seed=1, inputs=12).eval()
    assert net(torch.zeros(3, 12)).shape == (3, 4)
    assert net.features(torch.zeros(3, 12)).shape == (3, net.head.in_features)


def test_weights_belong_to_the_seed_and_to_nothing_else():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    one = networks.make_network("resnet34a", 10, seed=3).state_dict()
    assert torch.equal(torch.get_rng_state(), before), "the global generator was used"
    torch.manual_seed(1)
    again, other = (
        networks.make_network("resnet34a", 10, seed=seed).state_dict() for seed in (3, 4)
    )
    assert all(torch.equal(one[key], again[key]) for key in one)
    assert not torch.equal(one["head.weight"], other["head.weight"])


def test_starting_weights_are_torchs_own_in_distribution():
    """Uniform in +-1/sqrt(fan-in), weights and biases."""
    net = networks.make_network("vgg11", 10, seed=0)
    for layer in (net.layers[4], net.head):
        bound = layer.weight[0].numel() ** -0.5
        weight = layer.weight.detach()
        assert weight.abs().max() <= bound
        assert weight.std() == pytest.approx(bound / np.sqrt(3), rel=0.03)
        assert layer.bias.abs().max() <= bound


def test_the_shortcut_of_option_a_appends_zeros():
    padded = networks.images.Padded(2)
    x = torch.arange(32.0).view(1, 2, 4, 4)
    assert torch.equal(padded(x)[:, :2], x[:, :, ::2, ::2])
    assert (padded(x)[:, 2:] == 0).all()


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (1, 2)])
def test_a_convolution_on_a_tiny_picture_is_a_convolution(size):
    ours = networks.base.conv(5, 4, bias=True).double()
    theirs = torch.nn.Conv2d(5, 4, 3, padding=1).double()
    theirs.load_state_dict(ours.state_dict())
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(3, 5, *size, generator=rng, dtype=torch.float64, requires_grad=True)
    results = []
    for layer in (ours, theirs):
        x.grad = None
        y = layer(x)
        y.square().sum().backward()
        results.append([y, x.grad, layer.weight.grad, layer.bias.grad])
    for got, wanted in zip(*results, strict=True):
        assert torch.allclose(got, wanted, atol=1e-12)


@pytest.mark.parametrize("name", ["vgg11", "resnet34a", "small"])
def test_the_layout_changes_nothing_but_the_speed(name):
    x = torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    plain, fast = (networks.make_network(name, 10, seed=0).double() for _ in range(2))
    fast = fast.arrange()
    y = fast(x.contiguous(memory_format=torch.channels_last))
    assert torch.allclose(plain(x), y, atol=1e-9)
    y.sum().backward()
    plain(x).sum().backward()
    pairs = zip(plain.parameters(), fast.parameters(), strict=True)
    assert all(torch.allclose(a.grad, b.grad, atol=1e-8) for a, b in pairs if a.requires_grad)


def test_the_small_network_whitens_what_it_sees():
    rng = np.random.default_rng(0)
    smooth = rng.normal(size=(64, 3, 4, 4)).repeat(4, axis=2).repeat(4, axis=3)
    x = torch.tensor(smooth + 0.3 * rng.normal(size=smooth.shape), dtype=torch.float32)
    net = networks.make_network("small", 10, seed=0)
    net.inspect(x)
    # patches inside the picture: at its edge zeros are added, which are no part of the pictures
    seen = torch.nn.functional.conv2d(x, net.stem.weight, stride=2).transpose(0, 1).flatten(1)
    cov = torch.cov(seen[:HALF].detach())
    assert torch.allclose(cov, torch.eye(HALF), atol=0.2)
    assert torch.allclose(cov - torch.diag(cov.diag()), torch.zeros(HALF, HALF), atol=0.02)
    assert torch.equal(net.stem.weight[HALF:], -net.stem.weight[:HALF])
    assert not net.stem.weight.requires_grad


def test_what_is_wrong_is_named():
    with pytest.raises(UnknownName, match=r"'resnet34'.*did you mean 'resnet34a'"):
        networks.make_network("resnet34", 10, 0)
    with pytest.raises(UnknownName, match="'hiddn'"):
        networks.make_network("mlp:hiddn=3", 10, 0)
    with pytest.raises(SoftlabelError, match="'many' is not a number"):
        networks.make_network("mlp:hidden=many", 10, 0)


def test_pooling_before_the_relu_is_pooling_after_it():
    net = networks.make_network("vgg11", 10, seed=0).double().train()
    x = torch.randn(4, 3, 32, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = net(x)
    found.square().sum().backward()
    slopes = [each.grad.clone() for each in net.parameters()]
    net.zero_grad()
    y, layers = x, list(net.layers)
    while layers:  # as the paper has it: convolution, norm, ReLU, pool
        y = torch.relu(layers[1](layers[0](y)))
        layers = layers[2:]
        if isinstance(layers[0], torch.nn.MaxPool2d):
            y = layers.pop(0)(y)
        assert isinstance(layers.pop(0), torch.nn.ReLU)
    expected = net.head(y.mean(dim=(2, 3)))
    torch.testing.assert_close(found, expected)
    expected.square().sum().backward()
    for slope, each in zip(slopes, net.parameters(), strict=True):
        torch.testing.assert_close(slope, each.grad)
