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


@pytest.mark.parametrize("payload", [{}, {"label": ""}, {"label": "c"}, {"labl": "a"}, None])
def test_anything_else_is_refused(payload):
    with pytest.raises(ResponseError):
        Hard().read(payload, ["a", "b"])


def test_simulated_votes_match_the_belief():
    rng = np.random.default_rng(0)
    votes = [Hard().simulate(np.array([0.3, 0.7]), ["a", "b"], rng)["label"] for _ in range(4000)]
    assert abs(votes.count("b") / 4000 - 0.7) < 0.03  # four standard errors
