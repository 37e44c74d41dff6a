"""How all items split: against ppi-python, and against simulated populations."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import DataError
from softlabel.aggregate.split.population import estimate_population

TRUE = 0.45
SAMPLES, ITEMS = 400, 300


def sample(rng, skill, by_item):
    """Return votes on some items, predictions for all, and the chances of being asked."""
    belief = rng.beta(0.9, 1.1, ITEMS)  # of mean TRUE
    said = rng.random(ITEMS) < belief
    chance = 0.15 + 0.5 * (belief > 0.5) if by_item else np.full(ITEMS, 0.3)
    asked = rng.random(ITEMS) < chance
    predicted = skill * belief + (1 - skill) * rng.random(ITEMS)
    votes = np.stack([said, ~said], axis=1) * asked[:, None]
    return votes.astype(float), np.stack([predicted, 1 - predicted], axis=1), chance


@pytest.mark.parametrize("by_item", [False, True])
@pytest.mark.parametrize("skill", [1.0, 0.0])
def test_the_estimate_is_unbiased_and_its_interval_covers(skill, by_item):
    rng = np.random.default_rng(0)
    found = [estimate_population(*sample(rng, skill, by_item))[0] for _ in range(SAMPLES)]
    values = np.array([one.value for one in found])
    assert abs(values.mean() - TRUE) < 3 * values.std() / SAMPLES**0.5
    covered = np.mean([one.low <= TRUE <= one.high for one in found])
    assert covered == pytest.approx(0.9, abs=3 * (0.09 / SAMPLES) ** 0.5)


def test_good_predictions_narrow_the_interval_and_wrong_ones_do_not_widen_it():
    rng = np.random.default_rng(1)
    votes, _, _ = sample(rng, 1.0, by_item=False)
    truth = np.random.default_rng(1).beta(0.9, 1.1, ITEMS)
    good = np.stack([truth, 1 - truth], axis=1)

    def width(predicted):
        one = estimate_population(votes, predicted)[0]
        return one.high - one.low

    nothing = width(np.zeros_like(good))
    assert width(good) < 0.95 * nothing
    assert width(1 - good) <= nothing + 1e-9


@pytest.mark.parametrize("weight", [1.0, 0.4])
def test_it_is_what_ppi_python_estimates(weight):
    from ppi_py import ppi_mean_pointestimate

    rng = np.random.default_rng(2)
    votes, predicted, chance = sample(rng, 0.7, by_item=True)
    asked = votes.sum(axis=1) > 0
    ours = estimate_population(votes, predicted, chance, weight=weight)[0].value
    inverse = 1 / chance[asked]
    theirs = ppi_mean_pointestimate(
        votes[asked, 0],
        predicted[asked, 0],
        predicted[:, 0],
        lam=weight,
        w=inverse / inverse.sum() * asked.sum(),
    )
    assert ours == pytest.approx(float(np.squeeze(theirs)), abs=1e-12)


def test_the_weight_of_predictions_is_near_that_of_ppi_python():
    from ppi_py import ppi_mean_ci

    rng = np.random.default_rng(3)
    votes, predicted, _ = sample(rng, 1.0, by_item=False)
    asked = votes.sum(axis=1) > 0
    ours = estimate_population(votes, predicted)[0]
    low, high = ppi_mean_ci(votes[asked, 0], predicted[asked, 0], predicted[~asked, 0], alpha=0.1)
    assert ours.value == pytest.approx(float(np.squeeze(low + high)) / 2, abs=0.01)
    assert ours.high - ours.low == pytest.approx(float(np.squeeze(high - low)), rel=0.15)


def test_what_cannot_be_estimated_is_refused():
    votes = np.eye(2)[[0, 1, 0]]
    with pytest.raises(DataError, match="1 items have votes"):
        estimate_population(votes * [[1], [0], [0]], votes)
    with pytest.raises(DataError, match="above 0 where asked"):
        estimate_population(votes, votes, np.array([0.5, 0.0, 1.0]))
