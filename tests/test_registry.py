"""Names, options, and the words for what does not exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from softlabel import SoftlabelError, UnknownName, metrics, registry
from softlabel.aggregate import Majority, Softmax
from softlabel.construct import Clamp


@pytest.mark.parametrize(
    ("family", "text", "made"),
    [
        ("construct", "clamp", Clamp()),
        ("construct", "clamp:top=1,spread=0.05,mode=reference", Clamp(1, 0.05, "reference")),
        ("aggregate", "softmax:tau=2", Softmax(2.0)),
        ("aggregate", "majority:ties=random,seed=7", Majority("random", 7)),
    ],
)
def test_text_becomes_a_strategy_and_back(family, text, made):
    assert registry.parse(family, text) == made
    assert registry.parse(family, registry.describe(made)) == made


REFUSED = [
    ("no aggregate called 'sofmax' (did you mean 'softmax'?); there are:", "aggregate", "sofmax"),
    ("no construct called 'mean'", "construct", "mean"),
    ("no family called 'pools'", "pools", "mean"),
    ("no option of construct 'clamp' called 'sprad'", "construct", "clamp:sprad=1"),
    ("no choice for 'clamp:top=3': top called '3'; there are: 1, 2", "construct", "clamp:top=3"),
    ("tau = 'hot' is not of type float", "aggregate", "softmax:tau=hot"),
    ("'tau' is not of the form key=value", "aggregate", "softmax:tau"),
    ("no option of aggregate 'mean' called 'x'", "aggregate", "mean:x=1"),
    ("tau stands there twice", "aggregate", "softmax:tau=2,tau=3"),
    ("no option of metric 'kl' called 'top'", "metric", "kl:top=2"),
]


@pytest.mark.parametrize(("words", "family", "text"), REFUSED)
def test_what_does_not_exist_is_named(words, family, text):
    with pytest.raises(SoftlabelError) as error:
        registry.parse(family, text)
    assert words in str(error.value)


def test_options_in_code_are_checked_too():
    with pytest.raises(UnknownName, match="there are: tau"):
        registry.make("aggregate", "softmax", temperature=2)


def test_names_with_commas_are_listed_between_semicolons():
    assert str(UnknownName("cell", "c", ["a, 65 epochs", "b"])).endswith(": a, 65 epochs; b")


def test_your_own_strategy_is_one_line(monkeypatch):
    monkeypatch.setitem(registry.FAMILIES, "aggregate", dict(registry.members("aggregate")))

    @dataclass(frozen=True)
    class Mine:
        flip: bool = False
        limit: float | None = None
        name: ClassVar[str] = "mine"

    assert registry.register("aggregate", Mine) is Mine
    assert registry.parse("aggregate", "mine:flip=true") == Mine(flip=True)
    assert registry.parse("aggregate", "mine:limit=2.5") == Mine(limit=2.5)
    assert registry.parse("aggregate", "mine:limit=none") == Mine()
    with pytest.raises(SoftlabelError, match="limit = 'much' is not of type"):
        registry.parse("aggregate", "mine:limit=much")
    with pytest.raises(SoftlabelError, match="flip = 'maybe' is not true or false"):
        registry.parse("aggregate", "mine:flip=maybe")
    with pytest.raises(SoftlabelError, match="aggregate 'mine' is registered already"):
        registry.register("aggregate", Mine)


def test_a_metric_is_a_function_with_its_options_filled_in():
    plain, clipped = registry.parse("metric", "kl"), registry.parse("metric", "kl:floor=0.001")
    assert plain([[0.5, 0.5]], [[1.0, 0.0]])[0] == float("inf")
    assert clipped([[0.5, 0.5]], [[1.0, 0.0]])[0] < 10


def test_a_metric_cannot_take_the_place_of_another():
    with pytest.raises(SoftlabelError, match="metric 'brier' is registered already"):

        @metrics.metric(better="lower")
        def brier(true, predicted):
            return true - predicted
