"""Options that make no sense are refused by name and value, when the strategy is made."""

from __future__ import annotations

import inspect
import math
import pickle
from dataclasses import replace
from typing import Literal, get_args, get_origin

import pytest

from softlabel import SoftlabelError, UnknownName, registry
from softlabel.aggregate import Dirichlet, LogPool, Majority, Softmax
from softlabel.construct import Clamp, Select, Smooth, Uniform
from softlabel.deliver import Mixed, SparseK

REFUSED = [
    (Clamp, {"spread": 1.5}, "Clamp: spread = 1.5 is not in 0..1"),
    (Clamp, {"spread": math.nan}, "Clamp: spread = nan"),
    (Clamp, {"mode": "loose"}, "no mode of Clamp called 'loose'; there are: reference, strict"),
    (Clamp, {"top": 3}, "no top of Clamp called '3'; there are: 1, 2"),
    (Uniform, {"top": 0}, "no top of Uniform called '0'"),
    (Select, {"mode": "references"}, "did you mean 'reference'"),
    (Smooth, {"beta": -0.1}, "Smooth: beta = -0.1"),
    (Softmax, {"tau": -1.0}, "Softmax: tau = -1.0"),
    (Softmax, {"tau": "2"}, "Softmax: tau = '2' must be a number or None"),
    (LogPool, {"floor": 0}, "LogPool: floor = 0"),
    (Dirichlet, {"weight": True}, "Dirichlet: weight = True must be a number or None"),
    (Dirichlet, {"strength": -1}, "no option of Dirichlet called 'strength'; there are: weight"),
    (SparseK, {"k": 0}, "SparseK: k = 0 is not in 1.."),
    (SparseK, {"k": 2.5}, "SparseK: k = 2.5 must be a whole number"),
    (SparseK, {"then": "agregate"}, "did you mean 'aggregate'"),
    (Mixed, {"then": "mixed"}, "must be another policy"),
    (
        Majority,
        {"ties": "last"},
        "no ties of Majority called 'last'; there are: first, random, rare, split, trusted",
    ),
]


@pytest.mark.parametrize(("kind", "options", "words"), REFUSED, ids=lambda value: str(value))
def test_refused(kind, options, words):
    with pytest.raises(SoftlabelError) as error:
        kind(**options)
    assert words in str(error.value)


def strategies() -> dict[str, type]:
    families = ("construct", "aggregate", "deliver")
    return {
        f"{family} {name}": kind
        for family in families
        for name, kind in registry.members(family).items()
        if kind.__module__.startswith("softlabel.")
    }


EVERY = strategies()
OPTIONS = [
    pytest.param(kind, name, hint, id=f"{place} {name}")
    for place, kind in EVERY.items()
    for name, (hint, _) in registry.parameters(kind).items()
]
SEEDS = "seed"  # any whole number will do


@pytest.mark.parametrize(("kind", "name", "hint"), OPTIONS)
def test_every_option_is_checked_when_it_is_given(kind, name, hint):
    bad: list[object] = [object()]
    if get_origin(hint) is not Literal and hint is not str:
        bad += ["much", [1.0]]
        if name != SEEDS:
            bad += [-1, math.nan]
        if float not in (hint, *get_args(hint)):
            bad.append(1.5)
    else:
        bad += ["no such choice", 1234]
    for value in bad:
        with pytest.raises(SoftlabelError) as error:
            kind(**{name: value})
        assert name in str(error.value) or repr(value) in str(error.value)


@pytest.mark.parametrize("place", EVERY)
def test_every_strategy_refuses_an_option_that_it_does_not_have(place):
    with pytest.raises(UnknownName, match=r"no option of \w+ called 'nonsense'"):
        EVERY[place](nonsense=1)


@pytest.mark.parametrize("place", EVERY)
def test_checked_strategies_can_be_copied_and_sent_elsewhere(place):
    strategy = EVERY[place]()
    assert replace(strategy) == strategy == pickle.loads(pickle.dumps(strategy))


@pytest.mark.parametrize("family", registry.HOMES)
def test_every_call_of_a_family_says_what_it_returns(family):
    for name, thing in registry.members(family).items():
        call = thing if inspect.isfunction(thing) else vars_of(thing).get("__call__")
        if call is not None:
            assert inspect.getdoc(call), f"{family} {name}"
            assert "Call self as a function" not in inspect.getdoc(call)


def vars_of(kind: type) -> dict[str, object]:
    """The attributes of a class that are ours, with those it inherits."""
    ours = [one for one in reversed(kind.__mro__) if one.__module__.startswith("softlabel.")]
    return {name: value for one in ours for name, value in vars(one).items()}
