"""How all items split: against ppi-python, and against simulated populations."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

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


ASK = """
import json, sys
import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
given = {name: np.array(values) for name, values in json.load(sys.stdin).items()}
some = given["asked"]
y, there, every = given["said"][some], given["predicted"][some], given["predicted"]
points = [
    ppi_mean_pointestimate(y, there, every, lam=weight, w=given["weights"]) for weight in (1.0, 0.4)
]
low, high = ppi_mean_ci(y, there, every[~some], alpha=0.1)
print(json.dumps([float(np.squeeze(x)) for x in (*points, low, high)]))
"""


def ask_ppi(votes, predicted, chance):
    """Return what ppi-python estimates with weights of 1 and .4, and its own interval.

    It is asked in the environment of other programs: it installs a package called ``tests``, which
    would stand in the way of ours.
    """
    other = os.environ.get("SOFTLABEL_PEERS")
    if other is None or not Path(other).exists():
        pytest.skip("ppi-python is not installed; name a Python that has it in SOFTLABEL_PEERS")
    asked = votes.sum(axis=1) > 0
    inverse = 1 / chance[asked]
    given = {
        "asked": asked.tolist(),
        "said": votes[:, 0].tolist(),
        "predicted": predicted[:, 0].tolist(),
        "weights": (inverse / inverse.sum() * asked.sum()).tolist(),
    }
    command = [other, "-W", "ignore", "-c", ASK]
    done = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def test_it_is_what_ppi_python_estimates():
    votes, predicted, chance = sample(np.random.default_rng(2), 0.7, by_item=True)
    *points, _, _ = ask_ppi(votes, predicted, chance)
    for weight, theirs in zip((1.0, 0.4), points, strict=True):
        ours = estimate_population(votes, predicted, chance, weight=weight)[0]
        assert ours.value == pytest.approx(theirs, abs=1e-12)


def test_the_weight_of_predictions_is_near_that_of_ppi_python():
    votes, predicted, _ = sample(np.random.default_rng(3), 1.0, by_item=False)
    _, _, low, high = ask_ppi(votes, predicted, np.ones(len(votes)))
    ours = estimate_population(votes, predicted)[0]
    assert ours.value == pytest.approx((low + high) / 2, abs=0.01)
    assert ours.high - ours.low == pytest.approx(high - low, rel=0.15)


def test_what_cannot_be_estimated_is_refused():
    votes = np.eye(2)[[0, 1, 0]]
    with pytest.raises(DataError, match="1 items have votes"):
        estimate_population(votes * [[1], [0], [0]], votes)
    with pytest.raises(DataError, match="above 0 where asked"):
        estimate_population(votes, votes, np.array([0.5, 0.0, 1.0]))
