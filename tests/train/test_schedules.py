"""Learning rates by epoch, as the papers' code has them."""

from __future__ import annotations

import pytest

from softlabel.errors import UnknownName
from softlabel.train.schedules import SCHEDULES, find_schedule

TABLE = {  # learning rate .1 in a run of 65 epochs
    "c22": {0: 0.1, 49: 0.1, 50: 0.1, 51: 0.01, 55: 0.01, 56: 0.001, 64: 0.001},
    "u20": {0: 0.1, 49: 0.1, 50: 0.01, 51: 0.01, 54: 0.01, 55: 0.001, 56: 0.001, 64: 0.001},
    "paper-literal": {0: 0.1, 49: 0.1, 50: 1e-5, 54: 1e-5, 55: 1e-9, 64: 1e-9},
    "constant": {0: 0.1, 64: 0.1},
}
CASES = [(name, epoch, lr) for name, rates in TABLE.items() for epoch, lr in rates.items()]


@pytest.mark.parametrize(("name", "epoch", "lr"), CASES)
def test_rates_of_65_epochs(name, epoch, lr):
    assert 0.1 * find_schedule(name).factor(epoch, 0.5, 65) == pytest.approx(lr)


@pytest.mark.parametrize(
    ("name", "lengths"), [("c22", (51, 5, 9)), ("u20", (50, 5, 10)), ("paper-literal", (50, 5, 10))]
)
def test_lengths_of_the_segments(name, lengths):
    factors = [find_schedule(name).factor(epoch, 0, 65) for epoch in range(65)]
    assert tuple(factors.count(value) for value in dict.fromkeys(factors)) == lengths


def test_only_u20_forgets_its_momentum_at_each_segment():
    resets = {
        name: [epoch for epoch in range(65) if plan.resets(epoch, 65)]
        for name, plan in SCHEDULES.items()
    }
    assert resets.pop("u20") == [50, 55]
    assert not any(resets.values())


def test_a_shorter_run_drops_at_the_same_fractions():
    assert find_schedule("c22").starts(13) == (10, 11)


def test_curves():
    assert find_schedule("cosine").factor(0, 0, 10) == 1
    assert find_schedule("cosine").factor(5, 0, 10) == pytest.approx(0.5)
    assert find_schedule("cosine").factor(9, 1, 10) == pytest.approx(0)
    cycle = [find_schedule("one-cycle").factor(epoch, 0, 10) for epoch in range(10)]
    assert cycle == pytest.approx([0, 0.5, 1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125])
    line = [find_schedule("linear").factor(epoch, 0, 4) for epoch in range(4)]
    assert line == pytest.approx([1, 0.75, 0.5, 0.25])


def test_an_unknown_schedule_is_named():
    with pytest.raises(UnknownName, match=r"'cosinus'.*did you mean 'cosine'"):
        find_schedule("cosinus")
