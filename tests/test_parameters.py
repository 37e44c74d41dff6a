"""Parameters that make no sense are refused by name and value, when the strategy is called."""

from __future__ import annotations

import math

import pytest

from softlabel import SoftlabelError
from softlabel.aggregate import LogPool, Majority, Softmax
from softlabel.construct import Clamp, Select, Smooth, Uniform
from softlabel.testing import example_soft, example_statements

REFUSED = [
    (Clamp(spread=1.5), "Clamp: spread = 1.5 is not in 0..1"),
    (Clamp(spread=math.nan), "Clamp: spread = nan"),
    (Clamp(mode="loose"), "no mode of Clamp called 'loose'; there are: reference, strict"),
    (Clamp(top=3), "no top of Clamp called '3'; there are: 1, 2"),
    (Uniform(top=0), "no top of Uniform called '0'"),
    (Select(mode="references"), "did you mean 'reference'"),
    (Smooth(beta=-0.1), "Smooth: beta = -0.1"),
    (Softmax(tau=-1.0), "Softmax: tau = -1.0"),
    (LogPool(floor=0), "LogPool: floor = 0"),
    (
        Majority(ties="last"),
        "no ties of Majority called 'last'; there are: first, random, rare, split, trusted",
    ),
]


@pytest.mark.parametrize(("strategy", "words"), REFUSED, ids=lambda value: str(value))
def test_refused(strategy, words):
    said = example_soft() if hasattr(strategy, "estimand") else example_statements()
    with pytest.raises(SoftlabelError) as error:
        strategy(said)
    assert words in str(error.value)
