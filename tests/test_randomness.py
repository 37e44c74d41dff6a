"""Draws that belong to a name."""

from __future__ import annotations

import numpy as np
from scipy import stats

from softlabel.randomness import name_keys, uniform
from softlabel.tables import names


def test_draws_are_uniform_and_independent_across_each_key():
    draw = uniform(3, np.arange(300)[:, None], np.arange(300)[None, :])
    assert stats.kstest(draw.ravel(), "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(draw[:-1].ravel(), draw[1:].ravel())[0, 1]) < 0.02
    assert abs(np.corrcoef(draw[:, :-1].ravel(), draw[:, 1:].ravel())[0, 1]) < 0.02


def test_neighbouring_seeds_are_unrelated():
    first, second = uniform(0, np.arange(5000)), uniform(1, np.arange(5000))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.05


def test_a_name_keeps_its_key():
    keys = name_keys(names(["cat", "dog", "cat"]))
    assert keys[0] == keys[2] != keys[1]
