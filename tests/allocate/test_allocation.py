"""Deciding what to ask: against gains worked out by hand, and against the stated chances."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy

from softlabel import DataError, Index, SoftlabelError, registry
from softlabel.aggregate import Belief, DirichletMixture, Prior
from softlabel.allocate import Allocation, Entropy, FitVotes, Greedy, Price, Uniform

LABELS = ["x", "y", "z"]
PURE = Greedy(explore=0, blend=0, even=1)  # the gain alone


def index_of(items):
    return Index([f"i{i}" for i in range(items)], [], LABELS)


def one_dirichlet(*alpha):
    return FitVotes(Prior(index_of(0).labels, [alpha], [1.0]))


def gain_by_hand(alpha, n):
    """H(q) - sum_k q_k H(q after a vote for k), each label written out."""
    total = np.asarray(alpha, dtype=float) + n
    q = total / total.sum()
    after = [entropy((total + np.eye(3)[k]) / (total.sum() + 1)) for k in range(3)]
    return entropy(q) - q @ after


def start(policy, evidence, alpha=(1.0, 0.5, 0.2), **more):
    evidence = np.asarray(evidence, dtype=float)
    fit = one_dirichlet(*alpha)
    return Allocation(index_of(len(evidence)), policy, fit=fit, evidence=evidence, **more)


# ── which item ───────────────────────────────────────────────────────────────────────────────


def test_greedy_asks_where_the_gain_is_largest():
    evidence = [[4, 0, 0], [2, 2, 0], [1, 0, 0], [0, 0, 3]]
    by_hand = [gain_by_hand([1.0, 0.5, 0.2], row) for row in evidence]
    state = start(PURE, evidence)
    np.testing.assert_allclose(state.gain, by_hand, atol=1e-12)
    order = state.choose(4, rng=np.random.default_rng(0)).items
    assert order.tolist() == np.argsort(by_hand)[::-1].tolist()


def test_entropy_asks_where_the_label_is_most_uncertain_for_its_answers():
    evidence = np.array([[4, 0, 0], [2, 2, 0], [1, 0, 0], [0, 0, 3]])
    q = (evidence + np.array([1.0, 0.5, 0.2])) / (evidence.sum(axis=1, keepdims=True) + 1.7)
    by_hand = entropy(q, axis=1) / (evidence.sum(axis=1) + 1)
    order = (
        start(Entropy(explore=0, even=1), evidence).choose(4, rng=np.random.default_rng(0)).items
    )
    assert order.tolist() == np.argsort(by_hand)[::-1].tolist()


def test_a_blend_is_a_geometric_mean():
    evidence = np.array([[4, 0, 0], [2, 2, 0], [1, 0, 0], [0, 0, 3]])
    belief = start(PURE, evidence).belief
    size, rate = evidence.sum(axis=1), np.full(4, 0.5)
    ends = PURE(belief, size, rate), Entropy()(belief, size, rate)
    np.testing.assert_allclose(
        Greedy(blend=0.25)(belief, size, rate), ends[0] ** 0.75 * ends[1] ** 0.25, rtol=1e-12
    )


def test_items_that_hardly_differ_are_asked_evenly():
    alike = [[2, 1, 0], [1, 2, 0], [2, 1, 1], [1, 2, 1]]
    unlike = [[9, 0, 0], [9, 0, 0], [9, 0, 0], [3, 4, 3]]
    for evidence, even in ((alike, True), (unlike, False)):
        state = start(Greedy(explore=0, even=0.92), evidence)
        q = state.belief.mean()
        h = entropy(q, axis=1)
        assert state.evenness == pytest.approx(h.mean() ** 2 / (h**2).mean())
        assert state.is_even == even
    rng = np.random.default_rng(9)
    assert set(start(Greedy(explore=0, even=0.92), alike).choose(2, rng=rng).items.tolist()) == {
        0,
        1,
    }
    assert state.choose(1, rng=rng).items.tolist() == [3], "though it has most answers"


def test_uniform_gives_every_item_equally_many():
    rng = np.random.default_rng(1)
    state = Allocation(index_of(7), Uniform())
    for _ in range(21):
        chosen = state.choose(rng=rng)
        state.record(chosen.items, rng.integers(0, 3, 1))
    assert state.answers.tolist() == [3] * 7


def test_what_is_touched_is_what_a_fresh_start_would_compute():
    rng = np.random.default_rng(2)
    prior = DirichletMixture().fit(index_of(300), rng.multinomial(6, [0.6, 0.3, 0.1], 300) * 1.0)
    state = Allocation(index_of(30), Greedy(stop=1e-4), fit=FitVotes(prior))
    for _ in range(40):
        items = rng.integers(0, 30, 3)
        state.record(items, rng.integers(0, 3, 3))
    fresh = Belief(state.index, state.evidence, prior)
    np.testing.assert_allclose(state.gain, fresh.gain(), atol=1e-12)
    np.testing.assert_allclose(state.belief.mean(), fresh.mean(), atol=1e-12)
    assert state.answers.sum() == 120
    again = Allocation(state.index, PURE, fit=FitVotes(prior), evidence=state.evidence)
    left = again.answers >= again.least
    best = np.flatnonzero(left)[fresh.gain()[left].argmax()]
    assert again.choose(1, left, rng=rng).items[0] == best


def test_items_get_their_first_answers_first():
    cold = Allocation(index_of(5), PURE)
    assert cold.least == 2
    assert start(Greedy(), np.zeros((5, 3))).least == 1, "with a prior of other items"
    assert start(Greedy(least=4), np.zeros((5, 3))).least == 4
    rng = np.random.default_rng(3)
    for _ in range(10):
        cold.record(cold.choose(rng=rng).items, rng.integers(0, 3, 1))
    assert cold.answers.tolist() == [2] * 5


def test_what_a_policy_leaves_open_follows_from_the_fit():
    cold = Allocation(index_of(5), Greedy()).policy
    warm = start(Greedy(), np.zeros((5, 3))).policy
    assert (cold.least, cold.blend, cold.even) == (2, 0.5, 0.9)
    assert (warm.least, warm.blend, warm.even) == (1, 0.25, 0.99)
    assert start(Greedy(blend=0.1, even=0.5), np.zeros((5, 3))).policy.blend == 0.1


def test_answers_that_are_out_with_others_count():
    evidence = [[1, 1, 0], [1, 1, 0], [9, 0, 0]]
    state = start(PURE, evidence)
    rng = np.random.default_rng(4)
    assert state.choose(1, pending=np.array([1, 0, 0]), rng=rng).items.tolist() == [1]
    assert state.choose(1, pending=np.array([40, 40, 0]), rng=rng).items.tolist() == [2]
    full = start(Uniform(most=3), evidence)
    assert full.choose(3, pending=np.array([1, 0, 0]), rng=rng).items.tolist() == [1]


# ── with what chance ─────────────────────────────────────────────────────────────────────────


def test_stated_chances_are_the_frequencies():
    """Of ordered pairs: the product of both chances, with ties and exploration."""
    state = start(
        Greedy(explore=0.4, blend=0, even=1), [[2, 2, 0], [2, 2, 0], [1, 0, 0], [9, 0, 0]]
    )
    rng = np.random.default_rng(5)
    seen, stated = {}, {}
    draws = 6000
    for _ in range(draws):
        chosen = state.choose(2, rng=rng)
        pair = tuple(chosen.items.tolist())
        seen[pair] = seen.get(pair, 0) + 1
        stated.setdefault(pair, set()).add(round(float(np.prod(chosen.propensity)), 12))
    assert len(seen) == 12, "everything has a chance"
    assert all(len(chances) == 1 for chances in stated.values())
    assert sum(next(iter(chances)) for chances in stated.values()) == pytest.approx(1)
    for pair, chances in stated.items():
        expected = next(iter(chances))
        error = np.sqrt(expected * (1 - expected) / draws)
        assert seen[pair] / draws == pytest.approx(expected, abs=4 * error + 1e-9), pair


def test_without_exploration_the_best_is_certain():
    chosen = start(PURE, [[2, 2, 0], [1, 0, 0], [9, 0, 0]]).choose(3)
    assert chosen.propensity.tolist() == [1, 1, 1]


# ── when to stop ─────────────────────────────────────────────────────────────────────────────


def test_an_item_is_done_when_a_second_buys_too_little():
    evidence = [[4, 0, 0], [2, 2, 0], [40, 0, 0]]
    gains = [gain_by_hand([1.0, 0.5, 0.2], row) for row in evidence]
    level = (gains[0] + gains[1]) / 2 / 2.0
    state = start(Greedy(stop=level, even=1), evidence, prices=[Price(seconds=2.0)])
    assert state.done.tolist() == [True, False, True]
    assert state.choose(3).items.tolist() == [1]
    quick = start(Greedy(stop=level, even=1), evidence, prices=[Price(seconds=1.0)])
    assert not quick.done[1]
    assert start(Uniform(stop=level), evidence, prices=[Price(seconds=2.0)]).done[0]


def test_a_limit_of_answers_and_a_budget_end_the_asking():
    rng = np.random.default_rng(6)
    state = start(Uniform(most=2), np.zeros((3, 3)))
    for _ in range(6):
        state.record(state.choose(rng=rng).items, [0])
    assert state.done.all()
    assert state.finished
    assert len(state.choose(5)) == 0
    short = start(Greedy(), np.zeros((4, 3)), budget=5.4)
    assert len(short.choose(4)) == 3, "three answers at 1.8 s"
    short.record([0, 1], [0, 1])
    assert short.spent == pytest.approx(3.6)
    assert not short.finished
    short.record([2], [0], seconds=[1.7])
    assert short.finished
    assert len(short.choose(1)) == 0


# ── in which mode ────────────────────────────────────────────────────────────────────────────


def test_the_mode_that_buys_most_votes_per_second_is_chosen():
    prices = [Price("hard", 1.8, 1.0), Price("quick", 5.7, 1.4), Price("chips", 2.0, 1.2)]
    evidence = [[2, 2, 0], [1, 0, 0], [9, 0, 0]]
    state = start(PURE, evidence, prices=prices)
    assert state.choose(3).modes.tolist() == [2, 2, 2]
    only = np.array([[True, True, False], [False, True, False], [False, False, False]])
    chosen = state.choose(3, only)
    assert dict(zip(chosen.items.tolist(), chosen.modes.tolist(), strict=True)) == {0: 0, 1: 1}
    # a dear mode makes an item worth less: 1.0 / 1.8 against 1.4 / 5.7 votes per second
    gains = [gain_by_hand([1.0, 0.5, 0.2], row) for row in evidence]
    assert chosen.items[0] == np.argmax(np.array(gains[:2]) * [1.0 / 1.8, 1.4 / 5.7])


def test_a_soft_answer_counts_what_its_mode_is_worth():
    state = start(Greedy(), np.zeros((2, 3)), prices=[Price(), Price("quick", 5.7, 1.5)])
    state.record([0], soft=[[0.8, 0.2, 0.0]], modes=[1])
    np.testing.assert_allclose(state.evidence[0], [1.2, 0.3, 0])
    assert state.answers.tolist() == [1, 0]
    assert state.spent == pytest.approx(5.7)


# ── learning ─────────────────────────────────────────────────────────────────────────────────


def test_the_prior_is_learned_again_on_schedule():
    state = Allocation(index_of(4), Uniform())
    when = []
    for number in range(1, 41):
        state.record(np.arange(4), np.full(4, number % 3))
        if state.due:
            when.append(number)
            state.refit()
    assert when == [2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 31, 39]


def test_answers_that_came_during_a_fit_are_kept():
    rng = np.random.default_rng(7)
    state = Allocation(index_of(20), Greedy())
    state.record(np.repeat(np.arange(20), 3), rng.integers(0, 3, 60))
    kept = state.snapshot()
    state.record([0, 0, 5], [1, 1, 2])
    belief = state.fit(state.index, kept)
    state.adopt(belief, kept)
    whole = Belief(state.index, state.evidence, belief.prior)
    np.testing.assert_allclose(state.gain, whole.gain(), atol=1e-12)
    np.testing.assert_allclose(state.belief.evidence, state.evidence)


def test_what_the_next_answers_buy_is_what_they_bought():
    """Simulated crowds of a known prior: the mean fall of KL(p || q) over the next answers."""
    rng = np.random.default_rng(8)
    items = 2000
    alpha = np.array([1.0, 0.5, 0.2])
    split = rng.dirichlet(alpha, items) + 1e-12
    first = np.array([rng.multinomial(2, p / p.sum()) for p in split])
    state = start(PURE, first, alpha)
    for n in (500, 4000):
        before = entropy(split, state.belief.mean(), axis=1).mean()
        said = state.expected(n)
        left = n
        while left:
            chosen = state.choose(min(left, 100), rng=rng)
            votes = [rng.choice(3, p=split[i] / split[i].sum()) for i in chosen.items]
            state.record(chosen.items, np.array(votes))
            left -= len(chosen)
        bought = before - entropy(split, state.belief.mean(), axis=1).mean()
        assert said == pytest.approx(bought, rel=0.2)


# ── what is refused ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.record([9], [0]), "item code outside 0..1"),
        (lambda s: s.record([0], [3]), "label code outside 0..2"),
        (lambda s: s.record([0]), "give labels (codes) or soft answers"),
        (lambda s: s.record([0], soft=[[0.5, 0.2, 0.2]]), "do not sum to 1"),
        (lambda s: s.record([0], [0], modes=[1]), "mode code outside 0..0"),
        (lambda s: s.choose(1, np.ones(3, dtype=bool)), "eligible is bool of shape (3,)"),
        (lambda s: s.choose(1, np.ones(2)), "eligible is float64"),
        (lambda s: s.choose(1, pending=np.zeros(5)), "pending has shape (5,)"),
        (lambda s: s.expected(0), "n = 0"),
        (lambda s: Allocation(s.index, s.policy, evidence=np.zeros((3, 3))), "evidence has shape"),
        (lambda s: Allocation(s.index, s.policy, prices=[]), "at least one mode"),
        (lambda s: Allocation(s.index, s.policy, prices=[Price(), Price()]), "'hard' is there"),
        (lambda s: Price(seconds=0), "Price: seconds = 0 is not in"),
        (lambda s: Greedy(explore=1.5), "Greedy: explore = 1.5 is not in 0..1"),
        (lambda s: Greedy(most=0), "Greedy: most = 0 is not in 1.."),
    ],
)
def test_refused(call, words):
    state = start(Greedy(), np.zeros((2, 3)))
    with pytest.raises(SoftlabelError) as error:
        call(state)
    assert words in str(error.value)
    assert state.answers.tolist() == [0, 0], "nothing was changed"
    assert isinstance(error.value, DataError | SoftlabelError)


def test_policies_are_strategies():
    assert registry.parse("policy", "greedy:stop=0.001,most=20") == Greedy(stop=0.001, most=20)
    assert registry.parse("policy", registry.describe(Entropy())) == Entropy()
    assert list(registry.members("policy")) == ["greedy", "entropy", "uniform"]


def test_many_items_teach_beside_the_prior_of_others():
    rng = np.random.default_rng(10)
    fit = one_dirichlet(1.0, 0.5, 0.2)
    for votes, joined in ((3, False), (4, True)):
        evidence = rng.multinomial(votes, [0.2, 0.3, 0.5], 2000).astype(float)
        prior = fit(index_of(2000), evidence).prior
        own = DirichletMixture().fit(index_of(2000), evidence)
        assert len(prior.weight) == 1 + joined * len(own.weight)
        assert prior.weight[0] == pytest.approx(0.8 if joined else 1)
    few = fit(index_of(1999), evidence[1:]).prior
    assert len(few.weight) == 1


def test_a_prior_of_few_votes_is_looked_at_as_a_cold_start():
    prior = Prior(index_of(0).labels, [[1.0, 0.5, 0.2]], [1.0])
    found = {}
    for name, fit in (
        ("many", FitVotes(prior)),
        ("few", FitVotes(prior, trusted=False)),
        ("cold", FitVotes()),
    ):
        policy = Allocation(index_of(5), Greedy(), fit=fit).policy
        found[name] = policy.least, policy.blend, policy.even
    assert found["many"][1:] != found["cold"][1:]
    assert found["few"][1:] == found["cold"][1:]
    assert found["few"][0] == found["many"][0] == 1, "a prior needs no second vote to begin"
