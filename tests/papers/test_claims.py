"""What a verdict says, at and around every limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel.papers.claims.claims import (
    FEW,
    UNDEFINED,
    Claim,
    Published,
    count,
    judge,
    rehearse,
    verdict,
)
from softlabel.papers.claims.results import Result, Results
from softlabel.tables import Score

NAN = float("nan")


def claim(kind, published=None, tolerance=0.0, **more):
    words = {"id": "c", "where": "Table 1", "says": "so it is", "ours": lambda results: None}
    return Claim(kind=kind, published=published, tolerance=tolerance, **words | more)


def score(value, low=None, high=None, n=5):
    return Score(value, value if low is None else low, value if high is None else high, n)


@pytest.mark.parametrize(
    ("published", "tolerance", "ours", "said"),
    [
        (Published(1.0, 0.1), 0, score(1.15, 1.05, 1.25), "holds"),
        (Published(1.0, 0.5), 0, score(1.6, 1.5, 1.7), "holds"),  # they touch
        (Published(1.0, 0.5), 0, score(1.6, 1.500001, 1.7), "fails"),
        (Published(1.0, 0.5), 0, score(0.4, 0.3, 0.5), "holds"),  # from below
        (Published(1.0, 0.5), 0, score(0.4, 0.3, 0.49), "fails"),
        (Published(1.0), 0, score(1.1, 0.9, 1.3), "holds"),  # printed without an interval
        (Published(1.0), 0, score(1.1, 1.05, 1.3), "fails"),
        (Published(1.0), 0.05, score(1.1, 1.05, 1.3), "holds"),  # to the printed digits
        (Published(1.0, 0.1), 0, score(1.0, 0.0, 2.0), "holds"),  # one inside the other
        (Published(1.0, 0.1), 0, score(NAN, NAN, NAN), "untested"),
        (Published(1.0, 0.1), 0, score(1.0, NAN, NAN, 1), "untested"),
    ],
)
def test_a_number_holds_where_intervals_overlap(published, tolerance, ours, said):
    assert verdict(claim("value", published, tolerance), ours) == said


@pytest.mark.parametrize(
    ("published", "ours", "said"),
    [
        (Published(-1.5, 0.2), score(-1.4, -1.6, -1.2), "holds"),
        (Published(-1.5, 0.2), score(-1.0, -1.3, -0.7), "holds"),  # they touch
        (Published(-1.5, 0.2), score(-0.4, -0.5, -0.3), "weaker"),  # there, but smaller
        (Published(-1.5, 0.2), score(-2.4, -2.5, -2.3), "holds"),  # larger is no weakness
        (Published(-0.1, 0.2), score(-0.1, -0.3, 0.1), "weaker"),  # overlaps, but may be none
        (Published(-0.1, 0.2), score(-0.1, -0.2, 0.0), "weaker"),  # 0 itself is none
        (Published(-1.5, 0.2), score(0.01, -2.0, 2.02), "fails"),  # another sign
        (Published(-1.5, 0.2), score(0.0, -2.0, 2.0), "fails"),  # no sign
        (Published(0.3), score(0.2, 0.1, 0.3), "holds"),
        (Published(0.3), score(0.2, 0.1, 0.29), "weaker"),
        (Published(0.3), score(0.2, NAN, NAN, 1), "untested"),
        (Published(0.3), score(NAN, NAN, NAN), "untested"),
    ],
)
def test_an_ordering_needs_sign_certainty_and_size(published, ours, said):
    assert verdict(claim("ordering", published), ours) == said


def test_an_ordering_without_a_printed_number_has_a_direction():
    below = claim("ordering", direction="below")
    assert verdict(below, score(-0.1, -0.2, -0.05)) == "holds"
    assert verdict(below, score(-0.1, -0.2, 0.05)) == "weaker"
    assert verdict(below, score(0.1, 0.05, 0.2)) == "fails"
    assert verdict(claim("ordering", direction="above"), score(0.1, 0.05, 0.2)) == "holds"
    with pytest.raises(ValueError, match="c: an ordering needs a direction"):
        claim("ordering")
    with pytest.raises(ValueError, match="c: an ordering needs a direction"):
        claim("ordering", Published(0.0, 0.1))  # .203 against .203 is no ordering
    with pytest.raises(ValueError, match="only an ordering"):
        claim("value", Published(1.0), direction="above")


@given(
    st.floats(-2, 2).filter(lambda x: abs(x) > 1e-3),
    st.floats(0, 1),
    st.floats(-3, 3),
    st.floats(0, 1),
)
def test_an_ordering_turned_round_is_the_same(there, half, value, width):
    """First minus second, or second minus first: nobody may gain by the way it is put."""
    ours = score(value, value - width, value + width)
    turned = score(-value, -value - width, -value + width)
    said = verdict(claim("ordering", Published(there, half)), ours)
    assert said == verdict(claim("ordering", Published(-there, half)), turned)


@pytest.mark.parametrize(
    ("tolerance", "value", "said"),
    [(0.0, 6723.0, "holds"), (0.0, 6724.0, "fails"), (0.5, 6723.5, "holds"), (0.5, 6724, "fails")],
)
def test_a_fact_is_exact(tolerance, value, said):
    assert verdict(claim("exact", Published(6723), tolerance), score(value)) == said


def test_nothing_published_is_a_mistake_of_ours():
    with pytest.raises(ValueError, match="nothing was published"):
        verdict(claim("value"), score(1.0))


def test_untested_says_why():
    one = Results([Result("hard", 0, {"kl": 1.0})])
    two = Results([Result("hard", seed, {"kl": 1.0 + seed, "odd": NAN}) for seed in range(2)])

    def of(metric, reason=""):
        return claim("value", Published(1.0), ours=lambda r: r.mean("hard", metric), reason=reason)

    assert judge(of("kl"), one).reason == FEW  # one run has no interval
    assert judge(of("kl", "no ids"), Results([])).reason == "no ids"
    assert judge(of("odd"), two).reason == UNDEFINED
    told = judge(of("kl"), two)
    assert (told.verdict, told.reason, told.ours.n) == ("holds", "", 2)
    told = rehearse(of("kl"), two)
    assert (told.verdict, told.ours.value) == ("untested", 1.5)
    assert count([told, told]) == {"holds": 0, "weaker": 0, "fails": 0, "untested": 2}
