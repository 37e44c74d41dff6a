"""The estimate before a run: exact in what can be counted, proportional in what cannot."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from softlabel.errors import SoftlabelError
from softlabel.train import Config, estimate_cost

CONFIG = Config(net="mlp:hidden=64", augment="none", epochs=10)


def test_counts_are_exact():
    found = estimate_cost(CONFIG, items=1000, classes=4, shape=(32,))
    assert found.parameters == 32 * 64 + 64 + 64 * 4 + 4
    assert found.flops == 2 * (32 * 64 + 64 * 4)
    assert str(found).startswith("mlp:hidden=64: 2,372 parameters, 0.0 MFLOP per item; 10 epochs")


def test_seconds_grow_with_epochs_and_items():
    small = estimate_cost(CONFIG, items=100, shape=(32,))
    large = estimate_cost(replace(CONFIG, epochs=1000), items=10_000, shape=(32,))
    assert 0 < small.seconds < large.seconds


def test_pictures_of_any_size():
    config = Config(batch=4)
    small, large = (estimate_cost(config, 100, shape=(size, size, 3)) for size in (16, 32))
    assert large.flops == pytest.approx(4 * small.flops, rel=0.05)


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"net": "small"},
            r"'small' does not work on inputs of the shape \(5,\); networks for fea",
        ),
        ({"net": "mlp:hidden=0"}, "net = 'mlp:hidden=0' does not work"),
        ({"net": "mlp:hidden=-3"}, "net = 'mlp:hidden=-3' does not work"),
        ({"net": "mlp:dropout=2"}, r"dropout probability has to be between 0 and 1, but got 2\)$"),
        ({"net": "mlp", "device": "cpux"}, "device = 'cpux' is not on this machine; auto takes"),
        pytest.param(
            {"net": "mlp", "device": "cuda"},
            "device = 'cuda' is not on this machine; auto takes what there is",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
        ),
    ],
)
def test_settings_that_cannot_work_are_named(settings, message):
    with pytest.raises(SoftlabelError, match=message):
        estimate_cost(Config(**settings), 100, shape=(5,))
