"""Drawn shapes: of any size, and the same picture from the same seed."""

from __future__ import annotations

import numpy as np

from softlabel.study import shapes

PLAIN = np.eye(len(shapes.LABELS))


def test_a_picture_has_the_size_asked_for():
    for size in (16, 160):
        assert shapes.draw(PLAIN[0], np.random.default_rng(0), size).shape == (size, size, 3)
    assert shapes.draw(PLAIN[0], np.random.default_rng(0)).shape == (64, 64, 3)


def test_a_larger_picture_shows_the_same_shape():
    for blend in PLAIN:
        small, large = (
            shapes.draw(blend, np.random.default_rng(3), size).mean(axis=2) for size in (64, 128)
        )
        shrunk = large.reshape(64, 2, 64, 2).mean(axis=(1, 3))
        assert np.abs(shrunk - small).mean() < 8  # grain and soft edges


def test_a_seed_is_a_picture():
    one, two, other = (shapes.draw(PLAIN[3], np.random.default_rng(seed), 32) for seed in (1, 1, 2))
    assert (one == two).all()
    assert (one != other).any()
