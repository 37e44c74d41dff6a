"""The plain vote."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel.elicit import Hard
from softlabel.errors import ResponseError


def test_a_vote_is_one_class_with_certainty():
    read = Hard().read({"label": "b"}, ["a", "b"])
    assert (read.named, read.percent) == ((1,), (100.0,))
    assert read.possible.all()


def test_a_class_may_be_a_number():
    assert Hard().read({"label": 2}, ["1", "2"]).named == (1,)
    with pytest.raises(ResponseError):
        Hard().read({"label": True}, ["1", "True"])


@pytest.mark.parametrize("payload", [{}, {"label": ""}, {"label": "c"}, {"labl": "a"}, None])
def test_anything_else_is_refused(payload):
    with pytest.raises(ResponseError):
        Hard().read(payload, ["a", "b"])


def test_simulated_votes_match_the_belief():
    rng = np.random.default_rng(0)
    votes = [Hard().simulate(np.array([0.3, 0.7]), ["a", "b"], rng)["label"] for _ in range(4000)]
    assert abs(votes.count("b") / 4000 - 0.7) < 0.03  # four standard errors
