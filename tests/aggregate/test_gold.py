"""Known classes, by name or by code."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import DataError, Index, UnknownName
from softlabel.aggregate.truth.base import encode_gold

INDEX = Index(["a", "b", "c", "d"], ["someone"], ["cat", "dog"])


def test_names_become_codes():
    np.testing.assert_array_equal(encode_gold({"b": "dog", "d": "cat"}, INDEX), [-1, 1, -1, 0])


def test_codes_stay():
    codes = np.array([0, -1, 1, -1])
    np.testing.assert_array_equal(encode_gold(codes, INDEX), codes)


def test_nothing_known_is_no_gold():
    assert encode_gold(None, INDEX) is None
    assert encode_gold({}, INDEX) is None
    assert encode_gold(np.full(4, -1), INDEX) is None


def test_an_unknown_item_is_named():
    with pytest.raises(DataError, match=r"item 'z'.*1 of 2"):
        encode_gold({"a": "cat", "z": "cat"}, INDEX)


def test_an_unknown_class_is_named_with_the_nearest():
    with pytest.raises(UnknownName, match=r"gold item 'a' called 'dgo' \(did you mean 'dog'\?\)"):
        encode_gold({"a": "dgo"}, INDEX)


@pytest.mark.parametrize(
    ("codes", "complaint"),
    [
        (np.zeros(3, int), r"shape \(3,\).*expected \(4,\)"),
        (np.zeros(4), "float64"),
        (np.array([0, 0, 2, 0]), r"item 2 is 2, expected -1 or a class 0\.\.1"),
        (np.array([0, -2, 0, 0]), "item 1 is -2"),
    ],
)
def test_wrong_codes_are_refused(codes, complaint):
    with pytest.raises(DataError, match=complaint):
        encode_gold(codes, INDEX)
