"""What a verdict says, at and around every limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from softlabel.metrics import intervals
from softlabel.papers.claims.claims import (
    FEW,
    TESTED,
    UNDEFINED,
    VERDICTS,
    Claim,
    Published,
    count,
    equivalence_p,
    judge,
    judge_all,
    rehearse,
    verdict,
)
from softlabel.papers.claims.items import over_runs
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
        (Published(1.0, 0.5), 0, score(1.6, 1.500001, 1.7), "differs"),
        (Published(1.0, 0.5), 0, score(0.4, 0.3, 0.5), "holds"),  # from below
        (Published(1.0, 0.5), 0, score(0.4, 0.3, 0.49), "differs"),
        (Published(1.0), 0, score(1.1, 0.9, 1.3), "holds"),  # printed without an interval
        (Published(1.0), 0, score(1.1, 1.05, 1.3), "differs"),
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
        (Published(-1.5, 0.2), score(-1.0, -1.299999, -0.7), "smaller"),
        (Published(-1.5, 0.2), score(-0.4, -0.5, -0.3), "smaller"),  # there, but smaller
        (Published(-1.5, 0.2), score(-2.4, -2.5, -2.3), "holds"),  # larger is no weakness
        (Published(-0.1, 0.2), score(-0.1, -0.3, -1e-6), "holds"),
        (Published(-0.1, 0.2), score(-0.1, -0.3, 0.1), "undecided"),  # overlaps, but may be none
        (Published(-0.1, 0.2), score(-0.1, -0.2, 0.0), "undecided"),  # 0 itself is none
        (Published(-1.5, 0.2), score(-0.01, -0.02, 0.01), "undecided"),  # not smaller: unknown
        (Published(-1.5, 0.2), score(0.01, -2.0, 2.02), "undecided"),  # another sign, or none
        (Published(-1.5, 0.2), score(0.0, -2.0, 2.0), "undecided"),  # no sign
        (Published(-1.5, 0.2), score(0.2, 0.0, 0.4), "undecided"),
        (Published(-1.5, 0.2), score(0.2, 1e-6, 0.4), "contradicted"),
        (Published(-0.1, 0.2), score(0.05, 0.01, 0.09), "contradicted"),  # though both overlap
        (Published(0.3), score(0.2, 0.1, 0.3), "holds"),
        (Published(0.3), score(0.2, 0.1, 0.29), "smaller"),
        (Published(0.3), score(-0.2, -0.3, -0.1), "contradicted"),
        (Published(0.3), score(0.2, NAN, NAN, 1), "untested"),
        (Published(0.3), score(NAN, NAN, NAN), "untested"),
    ],
)
def test_an_ordering_needs_sign_certainty_and_size(published, ours, said):
    assert verdict(claim("ordering", published), ours) == said


def test_an_ordering_without_a_printed_number_has_a_direction():
    below = claim("ordering", direction="below")
    assert verdict(below, score(-0.1, -0.2, -0.05)) == "holds"
    assert verdict(below, score(-1e-3, -2e-3, -1e-4)) == "holds"  # no size was printed
    assert verdict(below, score(-0.1, -0.2, 0.05)) == "undecided"
    assert verdict(below, score(0.1, -0.05, 0.2)) == "undecided"
    assert verdict(below, score(0.1, 0.05, 0.2)) == "contradicted"
    assert verdict(claim("ordering", direction="above"), score(0.1, 0.05, 0.2)) == "holds"
    with pytest.raises(ValueError, match="c: an ordering needs a direction"):
        claim("ordering")
    with pytest.raises(ValueError, match="c: an ordering needs a direction"):
        claim("ordering", Published(0.0, 0.1))  # .203 against .203 is no ordering
    with pytest.raises(ValueError, match="only a difference"):
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
    [
        (0.0, 6723.0, "holds"),
        (0.0, 6724.0, "differs"),
        (0.5, 6723.5, "holds"),
        (0.5, 6724, "differs"),
    ],
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
    assert count([told, told]) == dict.fromkeys(VERDICTS, 0) | {"untested": 2}


def test_an_ordering_is_established_where_the_paper_shows_it():
    assert claim("ordering", Published(-1.0, 0.9, "ci95")).established
    assert not claim("ordering", Published(-1.0, 1.0, "ci95")).established  # it reaches 0
    assert not claim("ordering", Published(0.5, 1.0, "ci95")).established
    assert claim("ordering", Published(-1.0, 2.0, "sd")).established  # no interval of a mean
    assert claim("ordering", Published(-1.0)).established
    assert claim("ordering", direction="below").established
    assert claim("value", Published(0.1, 1.0, "ci95")).established  # numbers may be 0


def test_what_a_paper_leaves_open_is_measured_and_no_claim():
    """Whatever it is: no number of ours holds or contradicts it, and it is no test."""
    for ours in (score(1.0, 0.5, 1.5), score(0.0, -1.0, 1.0), score(2.0, NAN, NAN, 1)):
        found = judge(claim("measurement", ours=lambda _, ours=ours: ours), Results([]))
        assert (found.verdict, found.reason) == ("measured", "")
        assert np.isnan(found.p)
    assert verdict(claim("measurement"), None) == "untested"
    assert verdict(claim("measurement"), score(NAN)) == "untested"
    with pytest.raises(ValueError, match="only a difference"):
        claim("measurement", direction="below")


# ── equivalences ─────────────────────────────────────────────────────────────────────────────


def runs_around(mean, sd=0.01, n=8, seed=0):
    """Scores of n runs with exactly this mean and standard deviation."""
    drawn = np.random.default_rng(seed).normal(size=n)
    return mean + sd * (drawn - drawn.mean()) / drawn.std(ddof=1)


@pytest.mark.parametrize("mean", [-0.03, -0.012, -0.004, 0.0, 0.003, 0.011, 0.016, 0.05])
def test_an_equivalence_is_two_one_sided_tests(mean):
    """Both of scipy's, that the difference is below the margin and above minus the margin."""
    values, margin = runs_around(mean), 0.015
    below = ttest_1samp(values, margin, alternative="less").pvalue
    above = ttest_1samp(values, -margin, alternative="greater").pvalue
    same = claim("equivalence", margin=margin)
    ours = over_runs(values)
    assert equivalence_p(same, ours) == pytest.approx(max(below, above), rel=1e-9)
    assert (verdict(same, ours) == "holds") == (max(below, above) < 0.05)
    # where only a loss is limited, one of them is all
    lost = claim("equivalence", margin=margin, direction="below")
    assert equivalence_p(lost, ours) == pytest.approx(above, rel=1e-9)
    assert (verdict(lost, ours) == "holds") == (above < 0.05)
    gained = claim("equivalence", margin=margin, direction="above")
    assert equivalence_p(gained, ours) == pytest.approx(below, rel=1e-9)


@pytest.mark.parametrize(
    ("direction", "ours", "said"),
    [
        (None, score(0.0, -0.5, 0.5), "holds"),
        (None, score(0.0, -1.0, 1.0), "holds"),  # 5 % to either side is a 90 % interval
        (None, score(0.0, -1.3, 1.3), "undecided"),
        (None, score(0.9, 0.2, 1.6), "undecided"),  # excludes 0, and may be beyond the margin
        (None, score(0.3, 0.2, 0.4), "holds"),  # excludes 0, and is within the margin
        (None, score(1.2, 1.0, 1.4), "undecided"),  # at the margin
        (None, score(1.3, 1.1, 1.5), "contradicted"),
        (None, score(-1.3, -1.5, -1.1), "contradicted"),
        ("below", score(1.3, 1.1, 1.5), "holds"),  # only a loss counts
        ("below", score(-1.3, -1.5, -1.1), "contradicted"),
        ("below", score(-0.9, -1.5, -0.3), "undecided"),
        ("above", score(1.3, 1.1, 1.5), "contradicted"),
        ("above", score(-9.0, -9.5, -8.5), "holds"),
        (None, score(0.0, NAN, NAN, 1), "untested"),
        (None, score(NAN, NAN, NAN), "untested"),
    ],
)
def test_an_equivalence_has_a_margin(direction, ours, said):
    assert verdict(claim("equivalence", margin=1.0, direction=direction), ours) == said


def test_only_an_equivalence_has_a_margin():
    for kind, more in (("equivalence", {}), ("ordering", {"direction": "below", "margin": 0.1})):
        with pytest.raises(ValueError, match="c: an equivalence, and nothing else, needs a margin"):
            claim(kind, **more)


# ── families ─────────────────────────────────────────────────────────────────────────────────


def test_p_values_are_corrected_for_the_claims_of_one_place():
    """Against scipy's tests of the same runs and Holm's correction of each table alone."""
    drawn = {
        name: runs_around(mean)
        for name, mean in zip("abcde", (5e-3, 9e-3, 0.01, 1e-3, 0.02), strict=True)
    }
    results = Results(
        [Result(cell, seed, {"x": x}) for cell, xs in drawn.items() for seed, x in enumerate(xs)]
    )

    def of(cell, kind="ordering", where="Table 1", **more):
        words = {"id": f"{cell} {kind}", "where": where, "ours": lambda r: r.mean(cell, "x")}
        return claim(kind, **words | more)

    claims = [
        of("a", direction="above"),
        of("e", "value", published=Published(0.02)),  # no test: not of the family
        of("b", direction="below"),
        of("c", direction="above", where="Table 2"),
        of("d", "equivalence", margin=0.01),
        of("lost", direction="above"),  # nor what was not run
        of("d", "measurement"),
    ]
    judged = judge_all(claims, results)
    assert [one.claim for one in judged] == claims
    alone = [judge(each, results) for each in claims]
    assert [one.verdict for one in judged] == [one.verdict for one in alone]
    two_sided = {cell: ttest_1samp(xs, 0).pvalue for cell, xs in drawn.items()}
    equal = ttest_1samp(drawn["d"], 0.01, alternative="less").pvalue
    first = intervals.holm([two_sided["a"], two_sided["b"], equal])
    wanted = [first[0], NAN, first[1], two_sided["c"], first[2], NAN, NAN]
    assert [one.holm for one in judged] == pytest.approx(wanted, nan_ok=True)
    tested = [one.p for one in judged if not np.isnan(one.p)]
    assert len(tested) == sum(each.kind in TESTED for each in claims) - 1
    assert judged[2].p < 0.05 < judged[2].holm  # one chance result among three


def test_an_interval_without_its_freedom_is_taken_for_a_normal_one():
    """Such as one of a bootstrap: half of it is 1.96 standard errors."""
    found = judge(claim("ordering", direction="above", ours=lambda _: score(1, 0.02, 1.98)), None)
    assert found.p == pytest.approx(0.0455, abs=1e-4)  # two standard errors
