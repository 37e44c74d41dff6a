"""What the released files say, against numbers measured on them independently and the paper's."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import metrics
from softlabel.papers import collins2022
from softlabel.papers.claims.claims import judge
from softlabel.papers.claims.findings import DERIVED, RECOUNTS, group_of
from softlabel.papers.claims.results import Results
from softlabel.papers.collins2022.facts import released

# the two numbers of the paper that do not come out of its files
BROKEN = {"paper: entropy correlation", "paper: Wasserstein distance (of values)"}
# cannot be told from the files that are here
UNKNOWN = {"paper: median seconds per vote"}


@pytest.fixture(scope="module")
def said(data_folder):
    nothing = Results([], "collins2022", "data")
    return {claim.id: judge(claim, nothing) for claim in collins2022.facts()}


def test_all_come_out_but_two(said):
    assert {name for name, one in said.items() if one.verdict == "differs"} == BROKEN
    assert {name for name, one in said.items() if one.verdict == "untested"} <= UNKNOWN
    assert len(said) > 130


def test_the_two_that_do_not(said):
    both = [said[name] for name in BROKEN]
    found = {one.claim.published.value: round(one.ours.value, 4) for one in both}
    assert found == {0.596: 0.6243, 0.028: 0.0270}


def test_arithmetic_on_printed_seconds_is_no_fact_of_the_data():
    """The costs of tables 4 and 5 multiply the paper's own seconds: no file can contradict them."""
    groups = {claim.id: group_of(claim) for claim in collins2022.facts()}
    derived = [claim for claim in collins2022.facts() if groups[claim.id] == DERIVED]
    assert {claim.where for claim in derived} == {"tables 4 and 5, figure 10"}
    assert "paper: seconds per input" in {claim.id for claim in derived}
    assert groups["paper: median seconds per vote"] == "facts"  # measured, though not by us
    assert {group for name, group in groups.items() if name.startswith("files")} == {RECOUNTS}


def test_every_fact_is_called_something_else():
    ids = [claim.id for claim in collins2022.facts()]
    assert len(set(ids)) == len(ids)


def test_figure_8_is_of_the_distance_that_does_not_see_classes(data_folder):
    """Other distances are largest on other classes than the printed dog, frog and bird."""
    data = released()
    found = {
        name: data.data.index.labels[
            data.gold[np.argsort(-measure(data.people, data.label))[:3]]
        ].tolist()
        for name, measure in (
            ("values", metrics.w1_values),
            ("numbers", metrics.w1_index),
            ("total variation", metrics.total_variation),
        )
    }
    assert found == {
        "values": ["dog", "frog", "bird"],
        "numbers": ["truck", "truck", "truck"],
        "total variation": ["truck", "dog", "airplane"],
    }
