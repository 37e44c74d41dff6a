"""Pictures on the device: the same cut whatever the batch, and what a person would cut."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from softlabel.deliver import Draws
from softlabel.errors import DataError, UnknownName
from softlabel.train import data
from softlabel.train.data import (
    Pictures,
    crop_images,
    epoch_order,
    frame_images,
    normalise,
    to_device,
)

DRAWS = Draws(7)


def by_hand(image, row, column, flip):
    """One picture with numpy: mirrored, padded, cut."""
    image = image[:, ::-1] if flip else image
    padded = np.pad(image, ((4, 4), (4, 4), (0, 0)))
    height, width = image.shape[:2]
    return padded[row : row + height, column : column + width]


def test_every_picture_is_cut_as_by_hand(pictures):
    items = np.array([5, 0, 59, 5, *range(20, 40)])
    got = crop_images(frame_images(torch.from_numpy(pictures)), items, DRAWS, epoch=2).numpy()
    for place, item in enumerate(items):
        row, column = (int(9 * DRAWS.uniform(key, 2, item)) for key in (data.ROW, data.COLUMN))
        flip = DRAWS.uniform(data.FLIP, 2, item) < 0.5
        assert np.array_equal(got[place], by_hand(pictures[item], row, column, flip))


def test_all_places_and_both_sides_occur_equally_often():
    items = np.arange(8100)
    row = (9 * DRAWS.uniform(data.ROW, 0, items)).astype(int)
    column = (9 * DRAWS.uniform(data.COLUMN, 0, items)).astype(int)
    counts = np.bincount(9 * row + column, minlength=81)
    assert ((counts - 100) ** 2 / 100).sum() < 125  # chi-squared with 80 degrees, p = .001
    assert (DRAWS.uniform(data.FLIP, 0, items) < 0.5).mean() == pytest.approx(0.5, abs=0.02)


def test_frozen_moves_once_per_run_and_per_epoch_in_every_epoch(pictures):
    table, items = torch.from_numpy(pictures), np.arange(60)
    frozen = Pictures(table, "frozen", DRAWS)
    assert torch.equal(frozen.epoch(0, items), frozen.epoch(1, items))
    assert torch.equal(frozen.epoch(3, items[::-1].copy()), frozen.epoch(0, items).flip(0))
    assert not torch.equal(frozen.epoch(0, items), table)
    assert not torch.equal(
        frozen.epoch(0, items), Pictures(table, "frozen", Draws(8)).epoch(0, items)
    )
    fresh = Pictures(table, "per_epoch", DRAWS)
    assert not torch.equal(fresh.epoch(0, items), fresh.epoch(1, items))
    assert torch.equal(fresh.epoch(1, items), Pictures(table, "per_epoch", DRAWS).epoch(1, items))
    assert torch.equal(Pictures(table, "none", DRAWS).epoch(4, items), table)


def test_a_cut_depends_on_the_item_not_on_its_company(pictures):
    fresh = Pictures(torch.from_numpy(pictures), "per_epoch", DRAWS)
    whole = fresh.epoch(3, np.arange(60))
    assert torch.equal(fresh.epoch(3, np.array([41, 7])), whole[[41, 7]])


def test_the_order_is_a_new_permutation_in_every_epoch():
    first, second = epoch_order(DRAWS, 0, 500), epoch_order(DRAWS, 1, 500)
    assert sorted(first) == sorted(second) == list(range(500))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.15
    assert np.array_equal(first, epoch_order(Draws(7), 0, 500))


def test_bytes_and_floats_are_normalised_alike(pictures):
    from_bytes = normalise(torch.from_numpy(pictures))
    floats = torch.from_numpy(pictures).permute(0, 3, 1, 2) / 255
    by_hand = (pictures / 255 - data.MEAN) / data.STD
    assert from_bytes.shape == (60, 3, 16, 16)
    assert from_bytes.is_contiguous(memory_format=torch.channels_last)
    assert np.allclose(from_bytes.permute(0, 2, 3, 1).numpy(), by_hand, atol=1e-5)
    assert torch.allclose(from_bytes, normalise(floats), atol=1e-5)


def test_gradients_pass_through_normalisation():
    x = torch.full((1, 3, 2, 2), 0.5, requires_grad=True)
    normalise(x).sum().backward()
    assert x.grad[0, :, 0, 0].tolist() == pytest.approx([1 / each for each in data.STD])


def test_what_is_wrong_is_named(pictures):
    with pytest.raises(DataError, match="int64"):
        to_device(pictures.astype(np.int64), torch.device("cpu"))
    with pytest.raises(DataError, match="features need augment = 'none'"):
        Pictures(torch.zeros(3, 4), "frozen", DRAWS)
    with pytest.raises(UnknownName, match=r"'per-epoch'.*did you mean 'per_epoch'"):
        Pictures(torch.from_numpy(pictures), "per-epoch", DRAWS)
