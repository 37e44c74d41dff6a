"""Intervals: they hold as much as they promise, and they hold the label."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel import Annotations, Index, SoftlabelError, datasets, registry
from softlabel.aggregate import (
    Atoms,
    Auto,
    Belief,
    Dirichlet,
    DirichletMixture,
    Prior,
    Share,
    Stack,
)
from softlabel.aggregate.split import mixtures
from softlabel.aggregate.split.mixtures import distinct
from softlabel.labelling import credible_intervals
from softlabel.sampling import votes_from_counts

OFFER = (Dirichlet(), DirichletMixture(), Atoms(), Auto())
SPLITTING = [
    name
    for name, kind in registry.members("aggregate").items()
    if kind.estimand == "distribution" and name != "weighted"  # which needs people
]


def index_of(items, classes):
    return Index([f"i{i}" for i in range(items)], [], [f"c{j}" for j in range(classes)])


def counted(counts):
    return votes_from_counts(index_of(*np.shape(counts)), np.asarray(counts))


def drawn(rng, alpha):
    split = rng.standard_gamma(alpha) + 1e-300
    return split / split.sum(axis=1, keepdims=True)


def one_kind(rng, items, classes):
    share = np.arange(classes, 0, -1.0)
    return drawn(rng, np.tile(2 * share / share.sum(), (items, 1)))


def confusable(rng, items, classes):
    """Each class is taken for its neighbour, and now and then for any other."""
    first = rng.integers(0, classes, items)
    alpha = np.full((items, classes), 0.1)
    alpha[np.arange(items), first] = 4
    alpha[np.arange(items), first ^ 1] = 1.5
    return drawn(rng, alpha)


def scored(rng, items, classes):
    """Not drawn from any Dirichlet."""
    each = np.exp(rng.normal(0, 1.5, (items, classes)))
    return each / each.sum(axis=1, keepdims=True)


SETTINGS = [
    (crowd, items, classes, votes)
    for crowd in (one_kind, confusable, scored)
    for items, classes in ((50, 2), (50, 10), (300, 4), (600, 10))
    for votes in (1, 2, 5)
]


@pytest.mark.parametrize("pool", OFFER, ids=lambda pool: pool.name)
def test_intervals_cover_simulated_truth(pool):
    """90 % on average over crowds, items, classes and votes, within .03 and three standard errors
    (one yes or no per item: its classes are not independent)."""
    inside = []
    for number, (crowd, items, classes, votes) in enumerate(SETTINGS):
        rng = np.random.default_rng([17, number])
        split = crowd(rng, items, classes)
        low, high = pool(counted(rng.multinomial(votes, split))).belief.interval(0.9)
        inside.append(((low <= split) & (split <= high)).mean())
    items = np.array([items for _, items, _, _ in SETTINGS])
    error = np.sqrt((0.09 / items).sum()) / len(items)
    assert abs(np.mean(inside) - 0.9) < 0.03 + 3 * error
    assert min(inside) > 0.7, "no setting is left in the lurch"


def test_many_votes_leave_the_fitted_prior_alone():
    """Where the votes tell everything, nothing is added to it."""
    rng = np.random.default_rng(3)
    rows, _ = distinct(rng.multinomial(20, one_kind(rng, 3000, 3)).astype(float))
    alpha, weight, _ = mixtures.fit_mixture(rows, np.ones((1, 3)), np.ones(1), 300, 1e-9)
    prior = mixtures.widen(Prior(index_of(1, 3).labels, alpha, weight), rows)
    assert prior.alpha.shape == (1, 3)
    np.testing.assert_allclose(prior.alpha, alpha, rtol=0.01)


def test_one_vote_per_item_leaves_the_concentration_open():
    """The likelihood of single votes is the same at any concentration: all scales remain, with
    the chances of their prior, whatever the number of items."""
    found = []
    for items in (60, 6000):
        counts = np.tile(np.eye(3, dtype=int), (items // 3, 1))
        prior = Dirichlet()(counted(counts)).belief.prior
        assert len(prior.weight) > 5
        assert prior.mass.max() / prior.mass.min() > 50
        middle = np.exp(prior.weight @ np.log(prior.mass))
        assert middle == pytest.approx(mixtures.USUAL_MASS, rel=0.1)
        found.append(prior)
    np.testing.assert_allclose(found[0].weight, found[1].weight, atol=0.02)


def test_scales_are_weighed_by_their_likelihood():
    """Against scipy's Dirichlet-multinomial, with the prior on the concentration."""
    from scipy import stats

    rng = np.random.default_rng(5)
    counts = rng.multinomial(3, one_kind(rng, 30, 3))
    rows, _ = distinct(counts.astype(float))
    fitted = Prior(index_of(1, 3).labels, [[0.9, 0.6, 0.4]], [1.0])
    wide = mixtures.widen(fitted, rows)
    log = []
    for alpha in wide.alpha:
        away = np.log(alpha.sum() / mixtures.USUAL_MASS) / mixtures.MASS_SPREAD
        log.append(stats.dirichlet_multinomial.logpmf(counts, alpha, 3).sum() - away**2 / 2)
    chance = np.exp(np.array(log) - max(log))
    assert len(chance) > 1
    np.testing.assert_allclose(wide.weight, chance / chance.sum(), atol=1e-9)


def test_with_single_votes_there_are_no_kinds():
    said = counted(np.tile(np.eye(4, dtype=int), (100, 1)))
    np.testing.assert_array_equal(DirichletMixture()(said).probs, Dirichlet()(said).probs)


def test_a_saved_prior_keeps_its_intervals(tmp_path):
    rng = np.random.default_rng(4)
    said = counted(rng.multinomial(2, one_kind(rng, 80, 3)))
    made = Atoms()(said)
    made.belief.prior.save(tmp_path / "prior.npz")
    again = DirichletMixture()(said, prior=Prior.load(tmp_path / "prior.npz"))
    np.testing.assert_allclose(again.belief.interval(), made.belief.interval(), atol=1e-12)
    turned = made.belief.prior.among(said.index.labels[::-1])
    np.testing.assert_array_equal(turned.wide.alpha, made.belief.prior.wide.alpha[:, ::-1])


# ── the label and its interval ───────────────────────────────────────────────────────────────


@st.composite
def votes(draw):
    """A few items with a few votes: single ones, unanimous ones, items nobody answered."""
    classes = draw(st.integers(1, 12))
    items = draw(st.integers(1, 12))
    row = st.lists(st.integers(0, 5), min_size=classes, max_size=classes)
    one = st.tuples(st.integers(0, classes - 1), st.sampled_from([1, 2, 30]))
    rows = [draw(row) if draw(st.booleans()) else draw(one) for _ in range(items)]
    counts = np.zeros((items, classes), dtype=int)
    for number, found in enumerate(rows):
        if isinstance(found, tuple):
            counts[number, found[0]] = found[1]
        else:
            counts[number] = found
    return counts


@pytest.mark.parametrize("name", SPLITTING)
@given(counts=votes())
@settings(max_examples=25)
def test_a_label_lies_in_its_interval_or_there_is_none(name, counts):
    if not counts.any():
        return
    made = registry.make("aggregate", name)(counted(counts))
    try:
        found = credible_intervals(made)
    except SoftlabelError:
        assert name not in ("auto", "dirichlet", "dirichlet-mixture", "atoms")
        return
    some = made.answered
    assert (found["low"][some] <= made.probs[some] + 1e-12).all()
    assert (made.probs[some] <= found["high"][some] + 1e-12).all()
    assert (found["low"][some] >= 0).all()
    assert (found["high"][some] <= 1).all()


def test_labels_of_sparse_crowds_lie_in_their_intervals():
    """Thousands of labels for classes that a kind of item never gets."""
    rng = np.random.default_rng(8)
    alpha = np.full((400, 10), 0.005)
    alpha[np.arange(400), rng.integers(0, 10, 400)] = 8
    said = counted(rng.multinomial(3, drawn(rng, alpha)))
    for pool in (DirichletMixture(), Atoms()):
        made = pool(said)
        low, high = made.belief.interval(0.9)
        assert ((low <= made.probs + 1e-12) & (made.probs <= high + 1e-12)).all()


def test_a_limit_beyond_which_the_mean_lies_is_that_of_an_exponential_share():
    """alpha = (1e-4, 10): P(p < 1e-9) is above .99, yet the mean is 1e-5."""
    prior = Prior(index_of(1, 2).labels, [[1e-4, 10.0]], [1.0])
    low, high = Belief(index_of(1, 2), np.zeros((1, 2)), prior).interval(0.9)
    assert low[0, 0] == 0
    assert high[0, 0] == pytest.approx(-np.log(0.05) * 1e-5, rel=1e-4)
    assert low[0, 1] == pytest.approx(1 - high[0, 0], abs=1e-9)
    assert high[0, 1] == 1


def test_shares_have_no_interval():
    """Two of three votes: no interval of another model stands beside the share."""
    with pytest.raises(SoftlabelError, match=r"Share\(\) has no model .* --aggregate dirichlet"):
        credible_intervals(Share()(counted([[2, 1], [3, 0]])))


def test_auto_names_the_pool_that_has_no_interval():
    index = index_of(40, 3)
    probs = np.random.default_rng(0).dirichlet([1, 1, 1], 80)
    rich = Annotations(index, np.tile(np.arange(40), 2), np.full(80, -1), probs=probs)
    with pytest.raises(SoftlabelError, match=r"Auto\(\) \(here: extremised\) has no model"):
        credible_intervals(Auto()(rich))


def test_a_stack_of_votes_alone_is_bayesian_and_has_intervals():
    rng = np.random.default_rng(1)
    made = Stack()(counted(rng.multinomial(3, one_kind(rng, 60, 3))))
    assert credible_intervals(made)["low"].shape == (60, 3)


# ── people ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("pool", OFFER, ids=lambda pool: pool.name)
@pytest.mark.parametrize("part", ["snli", "mnli"])
def test_intervals_cover_people_of_chaosnli(data_folder, part, pool):
    """Five votes are pooled, 95 are held out.  By predictive chance: a share of 95 votes has an
    error of its own, which a credible interval does not promise to hold."""
    counts = datasets.load(f"chaosnli/{part}").arrays["counts"][:700]
    rng = np.random.default_rng(2)
    few = np.array([rng.multivariate_hypergeometric(row, 5) for row in counts])
    made = pool(counted(few))
    inside = []
    order = np.argsort(-made.probs, axis=1, kind="stable")
    for label in order.T:
        count = (counts - few)[np.arange(len(few)), label]
        below, at_most = made.belief.predictive_cdf(label, count, np.full(len(few), 95))
        chance = below + rng.random(len(few)) * (at_most - below)
        inside.append((chance > 0.05) & (chance < 0.95))
    error = np.sqrt(0.09 / len(few))
    assert abs(np.mean(inside) - 0.9) < 0.03 + 2 * error
