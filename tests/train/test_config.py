"""Settings are read to the type of their field, and nothing else passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest
import torch

from softlabel.errors import SoftlabelError, UnknownName
from softlabel.train import RECIPES, file_job
from softlabel.train.config import OPTIMISERS, change_settings, parse_settings


@dataclass(frozen=True)
class Config:
    lr: float = 0.1
    epochs: int = 20
    net: str = "small"
    nesterov: bool = True
    cap: float | None = None
    augment: Literal["frozen", "none"] = "frozen"
    widths: tuple[int, ...] = (16, 32)


@pytest.mark.parametrize(
    ("word", "field", "value"),
    [
        ("lr=1", "lr", 1.0),
        ("lr=1e-3", "lr", 0.001),
        ("epochs=30", "epochs", 30),
        ("net=mlp:hidden=64", "net", "mlp:hidden=64"),
        ("nesterov=false", "nesterov", False),
        ("cap=none", "cap", None),
        ("cap=2", "cap", 2.0),
        ("augment=none", "augment", "none"),
        ("widths=[8, 8]", "widths", (8, 8)),
    ],
)
def test_values_become_what_the_field_is(word, field, value):
    got = getattr(change_settings(Config(), parse_settings([word])), field)
    assert (got, type(got)) == (value, type(value))


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("epochs=2.5", "epochs = 2.5 is of the wrong type; it is of type int"),
        ("epochs=true", "epochs = True is of the wrong type"),
        ("lr=fast", "lr = 'fast' is of the wrong type; it is of type float"),
        ("nesterov=1", "nesterov = 1 is of the wrong type"),
        ("net=5", "net = 5 is of the wrong type"),
        ("epoch=3", r"no setting called 'epoch' \(did you mean 'epochs'\?\)"),
        ("augment=frosen", r"no choice for --set augment called 'frosen' \(did you mean 'frozen'"),
        ("epochs", "'epochs' is not of the form key=value"),
    ],
)
def test_the_rest_is_refused(word, message):
    with pytest.raises(SoftlabelError, match=message):
        change_settings(Config(), parse_settings([word]))


def test_twice_is_once_too_often():
    with pytest.raises(SoftlabelError, match="lr is given twice"):
        parse_settings(["lr=1", "lr=2"])


def test_recipes_have_the_papers_values():
    """Optimiser table of the four papers, as read from their code."""
    columns = "net epochs batch lr weight_decay momentum nesterov schedule clip reduction augment"
    table = {
        "c22-resnet34a": "resnet34a 65 32 0.1 0.0001 0.9 False c22 1.0 mean frozen",
        "c22-vgg11": "vgg11 65 32 0.1 0.0001 0.9 False c22 1.0 mean frozen",
        "c22-resnet50": "resnet50 65 32 0.4 0.0001 0.9 False c22 1.0 mean frozen",
        "u20": "resnet34a 65 32 0.1 0.0001 0.9 False u20 1.0 sum frozen",
        "g26": "resnet18 200 128 0.1 0.0005 0.9 False cosine 0.0 mean per_epoch",
        "small": "small 20 64 0.1 0.0001 0.9 True one-cycle 0.0 mean frozen",
    }
    for name, row in table.items():
        config = RECIPES[name].config
        assert " ".join(str(getattr(config, column)) for column in columns.split()) == row, name
        assert RECIPES[name].kind == "scratch"
    head = RECIPES["features"].config
    assert (head.optimiser, head.lr, head.weight_decay, head.batch) == ("adamw", 1e-3, 1e-2, 128)
    assert {RECIPES[name].kind for name in ("features", "features-linear")} == {"features"}
    with pytest.raises(UnknownName, match=r"'c22-vgg' \(did you mean 'c22-vgg11'\?\)"):
        _ = file_job("c22-vgg", "x.npz").config


@pytest.mark.parametrize(("name", "theirs"), [("sgd", "SGD"), ("adam", "Adam"), ("adamw", "AdamW")])
def test_an_optimiser_does_what_that_of_torch_does(name, theirs):
    """To the bit, also when it goes on from a state; and no gradient flows through its steps."""
    ended = []
    for kind in (OPTIMISERS[name], getattr(torch.optim, theirs)):
        weights = torch.nn.Parameter(torch.linspace(-1, 1, 7))
        options = {"lr": 0.1, "weight_decay": 0.01} | ({"momentum": 0.9} if name == "sgd" else {})
        ours = kind([weights], **options)
        for step in range(4):
            if step == 2:
                state, ours = ours.state_dict(), kind([weights], **options)
                ours.load_state_dict(state)
            ours.zero_grad()
            weights.pow(4).sum().backward()
            ours.step()
        assert weights.is_leaf
        ended.append(weights.detach().clone())
    assert torch.equal(*ended)
