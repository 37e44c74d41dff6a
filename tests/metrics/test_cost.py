"""The cost table of Collins et al. 2022, exactly."""

from __future__ import annotations

import pytest

from softlabel import UnknownName
from softlabel.metrics.cost import Cost

TABLE = [  # label, seconds per answer, annotators, seconds per item
    ("t1-unif", 12.8, 6, 76.8),
    ("t1-clamp", 19.2, 6, 115.2),
    ("t2-unif", 25.6, 6, 153.6),
    ("t2-clamp", 32.0, 6, 192.0),
    ("select-top-2", 12.8, 6, 76.8),
    ("hard", 1.8, 51, 91.8),
]


@pytest.mark.parametrize(("label", "each", "annotators", "item"), TABLE)
def test_table(label, each, annotators, item):
    assert Cost().answer(label) == pytest.approx(each, abs=1e-12)
    assert Cost().item(label, annotators) == pytest.approx(item, abs=1e-12)


def test_one_rich_answer_is_worth_the_time_of_17_8_votes():
    assert round(Cost().votes_for_the_time_of("t2-clamp"), 1) == 17.8
    assert round(Cost().item("t2-clamp", 6) / Cost().item("hard", 51), 2) == 2.09
    assert round(Cost().votes_for_the_time_of("t2-clamp", 3)) == 53


def test_pay_of_a_session():
    assert Cost().money(25 * 60) == pytest.approx(3.33, abs=0.005)
    assert Cost(fee=0.5).money(3600) == 12
    assert Cost(overhead_seconds=120).session("t2-clamp", 27) == 120 + 27 * 32


def test_an_unknown_label_is_named():
    with pytest.raises(UnknownName, match="'t3-clamp'"):
        Cost().answer("t3-clamp")
