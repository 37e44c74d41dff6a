"""Gheibi & Ghazizadeh 2026: the lessons, the identity, the claims, and a run end to end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel import Index, registry
from softlabel.deliver import SLS, Draws, Hard, Multipass
from softlabel.metrics import cross_entropy
from softlabel.papers import gheibi2026
from softlabel.papers.claims import Result, Results, findings
from softlabel.papers.claims.claims import judge
from softlabel.papers.gheibi2026.conditions import (
    CONDITIONS,
    LONG,
    POLICIES,
    SINGLE,
    VOTES,
    Condition,
    _cifar10h_votes,
    cifar10h,
    cifar10h_teaching,
    conditions,
    held_out,
    label_distances,
    learned_by_distance,
    teach,
)
from softlabel.papers.gheibi2026.facts import (
    PRINTED,
    drawn_loss,
    drawn_variance,
    extra_variance,
    round_gradient,
    round_loss,
)
from softlabel.papers.gheibi2026.numbers import (
    LOSS,
    MATCHED,
    PUBLISHED,
    compare_with_soft,
    count_significant,
)
from softlabel.sampling import votes_from_counts

RECIPES = ("paper", "cpu", "features")


def teaching(counts):
    """Votes alone, nobody held out."""
    counts = np.asarray(counts)
    index = Index(
        [f"i{i}" for i in range(len(counts))], [], [f"c{j}" for j in range(counts.shape[1])]
    )
    return teach(votes_from_counts(index, counts), np.zeros(len(counts), bool))


@pytest.fixture(scope="module")
def known():
    rng = np.random.default_rng(3)
    sizes = rng.integers(8, 14, 60)
    return teaching([rng.multinomial(n, rng.dirichlet([0.5] * 4)) for n in sizes])


def labels(deliver, known, epochs, seed=0):
    rng = Draws(seed)
    made = registry.parse("deliver", deliver)(known, rng)
    return np.stack([made.labels_for(epoch, np.arange(len(known)), rng) for epoch in range(epochs)])


# ── lessons and cells ────────────────────────────────────────────────────────────────────────


def test_one_in_five_of_each_class_is_held_out_whatever_their_order():
    items = np.array([f"item {i}" for i in range(100)], dtype=object)
    classes = np.arange(100) % 4
    held = held_out(items, classes)
    assert np.bincount(classes[held]).tolist() == [5, 5, 5, 5]
    order = np.random.default_rng(0).permutation(100)
    again = held_out(items[order], classes[order])
    assert set(items[order][again]) == set(items[held])


def test_the_split_of_cifar10h(data_folder):
    lesson = cifar10h()
    assert lesson.inputs.shape == (8000, 32, 32, 3)
    gold = [int(item) for item in lesson.index.items.tolist()]
    from softlabel import datasets

    truth = datasets.cifar10.load("test").gold
    assert np.bincount(truth[gold]).tolist() == [200] * 10
    learned = lesson.teaching.each.index.items.tolist()
    assert len({*learned, *lesson.index.items.tolist()}) == 10_000
    counts = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    first = int(learned[0])
    np.testing.assert_allclose(lesson.teaching.pooled[0], counts[first] / counts[first].sum())
    np.testing.assert_allclose(lesson.people.probs[0], counts[gold[0]] / counts[gold[0]].sum())
    np.testing.assert_array_equal(lesson.teaching.pooled, cifar10h_teaching().pooled)


@pytest.mark.parametrize("k", [2, 5])
def test_the_hard_label_is_the_majority_of_the_kept_votes(known, k):
    """Counted vote by vote, from what multipass delivers of the same run."""
    votes = labels(Condition("multipass", k).deliver, known, k, seed=4).sum(axis=0)
    hard = labels(Condition("majority", k).deliver, known, 1, seed=4)[0]
    np.testing.assert_array_equal(hard.argmax(axis=1), votes.argmax(axis=1))
    everybody = known.pooled.argmax(axis=1)
    assert (hard.argmax(axis=1) != everybody).any(), "few votes must sometimes be wrong"


def test_all_policies_keep_the_same_votes_and_fewer_are_among_more(known):
    five = labels(Condition("soft", 5).deliver, known, 1, seed=1)[0] * 5
    for policy in ("multipass", "control"):
        seen = labels(Condition(policy, 5).deliver, known, 5, seed=1).sum(axis=0)
        np.testing.assert_allclose(seen, five, atol=1e-12)
    two = labels(Condition("soft", 2).deliver, known, 1, seed=1)[0] * 2
    assert (five - two > -1e-9).all()
    assert (labels(Condition("soft", 5).deliver, known, 1, seed=2)[0] * 5 != five).any()


def test_with_one_vote_all_policies_are_one(known):
    soft, *others = (labels(Condition(policy, 1).deliver, known, 7) for policy in POLICIES)
    for other in others:
        np.testing.assert_array_equal(other, soft)


@pytest.mark.parametrize("recipe", RECIPES)
def test_cells_are_all_there_with_what_is_worth_most_first(recipe):
    cells = gheibi2026.cells(recipe)
    names = [cell.name for cell in cells]
    assert len(set(names)) == len(names)
    assert names[:2] == ["all/soft", "all/sls"]
    wanted = {f"k{k}/{policy}" for k in VOTES[1:] for policy in POLICIES} | {"k1/soft"}
    assert wanted <= set(names)
    assert {"all/shuffled", "all/stale-50", "all/control-sorted"} <= set(names)
    assert [CONDITIONS[name] for name in names] == conditions(recipe)
    long = [cell for cell in cells if CONDITIONS[cell.name].epochs == LONG]
    assert bool(long) == (recipe != "paper"), "200 epochs need no longer runs"
    assert all(cell.settings == {"epochs": 64} for cell in long)
    assert all(cell.name.startswith("all-64/") for cell in long)
    for cell in cells:
        assert registry.parse("deliver", cell.deliver)


# ── what was taught ──────────────────────────────────────────────────────────────────────────


def test_distances_of_what_is_taught(known):
    size = int(known.each.votes_per_item().max())
    found = label_distances("multipass", known, 0, size * 30)
    assert found["target/total-variation"] < 1e-12
    assert found["taught/total-variation"] < 0.02, "after many rounds nearly the shares"
    once = label_distances("stale-sls:every=50", known, 0, 20)
    p = known.pooled
    one = labels("sls", known, 1)[0]
    by_hand = np.abs(one - p).sum(axis=1).mean() / 2
    np.testing.assert_allclose(once["taught/total-variation"], by_hand)
    np.testing.assert_allclose(once["taught/kl"], -np.log((one * p).sum(axis=1)).mean())
    assert "target/kl" not in label_distances("smoothing", known, 0, 1)


def test_items_are_sorted_by_the_distance_of_their_kept_votes():
    full = np.array([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]])
    kept = np.array([[1.0, 0.0], [0.55, 0.45], [1.0, 0.0]])
    predicted = np.array([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]])
    found = learned_by_distance(full, kept, cross_entropy(full, predicted))
    assert set(found) == {"learned/0.4-1", "learned/0.02-0.1", "learned/0-0.02"}
    np.testing.assert_allclose(found["learned/0.4-1"], np.log(2))
    np.testing.assert_allclose(found["learned/0.02-0.1"], -np.log(0.25 * 0.75) / 2)
    assert found["learned/0-0.02"] == 0


# ── the identity ─────────────────────────────────────────────────────────────────────────────


@given(st.lists(st.tuples(*[st.integers(0, 6)] * 3).filter(any), min_size=1, max_size=8))
def test_a_round_of_votes_is_the_soft_label(counts):
    known = teaching(counts)
    assert round_loss(known).value < 1e-12
    assert round_gradient(known).value < 1e-14


def test_the_identity_would_see_what_breaks_it():
    known = teaching([[2, 1], [1, 3]])
    wrong = round_loss(known, Hard()).value
    assert wrong > 0.05
    assert round_loss(known, Multipass(seed=9)).value < 1e-12


def test_drawn_votes_agree_on_average(known):
    loss = drawn_loss(known)
    assert loss.low < 0 < loss.high
    assert loss.high - loss.low < 0.1
    noise = drawn_variance(known)
    assert noise.low < 0 < noise.high
    p = np.array([[0.7, 0.2, 0.1]])
    covariance = np.diag(p[0]) - p.T @ p
    np.testing.assert_allclose(extra_variance(p), np.trace(covariance))
    draws = labels(SLS.name, known, 400)
    per_item = ((draws - known.pooled) ** 2).sum(axis=2).mean(axis=0)
    np.testing.assert_allclose(per_item, extra_variance(known.pooled), atol=0.12)


def test_the_facts_hold_on_the_votes_themselves(data_folder):
    found = {claim.id: judge(claim, Results([])) for claim in gheibi2026.facts()}
    for id in ("round-loss", "round-gradient", "drawn-loss", "drawn-variance"):
        assert found[id].verdict == "holds", found[id].ours
    assert found["variance-entropy"].ours.value > 0.999
    assert found["variance-entropy"].verdict == "differs"  # .939 was heard of, of something else
    assert found["smallest-p"].ours.value == 1 / 32
    assert found["smallest-p"].verdict == found["holm"].verdict == "holds"


def test_facts_without_data_are_untested_and_say_why(monkeypatch, tmp_path):
    monkeypatch.setenv("SOFTLABEL_DATA", str(tmp_path))
    monkeypatch.setenv("SOFTLABEL_CACHE", str(tmp_path))
    for function in (_cifar10h_votes, cifar10h_teaching):
        function.cache_clear()
    found = {one.claim.id: one for one in findings.compute_facts(gheibi2026)}
    assert found["round-loss"].verdict == "untested"
    assert "cifar10h" in found["round-loss"].reason
    assert found["holm"].verdict == "holds"


# ── claims, tests, tables, figures ───────────────────────────────────────────────────────────


class Asked(Results):
    """Writes down which cells are asked for."""

    def __init__(self) -> None:
        super().__init__([])
        object.__setattr__(self, "wanted", set())

    def by_seed(self, cell, score):
        self.wanted.add(cell)
        return {}


@pytest.mark.parametrize("recipe", RECIPES)
def test_claims_speak_of_cells_that_are_run_and_nothing_is_first_hand(recipe):
    claims = gheibi2026.claims(recipe)
    assert len({claim.id for claim in claims}) == len(claims)
    asked = Asked()
    for claim in (*claims, *gheibi2026.facts()):
        assert claim.published is None or claim.published.secondhand
    for claim in claims:
        found = judge(claim, asked)
        assert found.verdict == "untested"
        assert found.reason
    assert asked.wanted <= {cell.name for cell in gheibi2026.cells(recipe)}
    values = [claim for claim in claims if claim.kind == "value" and claim.id.startswith("all/")]
    assert bool(values) == (recipe == "paper"), "printed values are of their network alone"


def invented(seeds, gain):
    """Runs in which single votes win by ``gain``, whatever their number."""
    rng = np.random.default_rng(5)
    found = []
    for cell in gheibi2026.cells("cpu"):
        for seed in range(seeds):
            won = gain if CONDITIONS[cell.name].policy in SINGLE else 0.0
            noise = rng.normal(0, 0.002)
            scores = {f"10h/{metric}": 0.5 for metric in ("kl", "accuracy", "entropy-spearman")}
            scores |= {LOSS: 0.6 - won + noise, "flat/lambda-max": 200.0 if not won else 100 + seed}
            scores |= {"target/total-variation": 1 / len(cell.name), "taught/total-variation": 0.1}
            scores |= {f"slice/{a:+.1f}": a * a for a in (-1.0, 0.0, 1.0)}
            scores |= {"learned/0-0.02": 0.3 - won, "between/sls/0.5": 1.0, "barrier/sls": 1.0}
            found.append(Result(cell.name, seed, scores))
    return Results(found, "gheibi2026", "cpu")


def test_verdicts_follow_the_runs():
    claims = {claim.id: claim for claim in gheibi2026.claims("cpu")}
    better, worse = invented(5, 0.05), invented(5, -0.05)
    assert judge(claims["k10-sls"], better).verdict == "holds"
    assert judge(claims["k10-sls"], worse).verdict == "contradicted"
    assert judge(claims["k10-sls"], invented(5, 0.005)).verdict == "smaller"
    assert judge(claims["k10-sls"], invented(5, 0.0)).verdict == "undecided"
    curved = judge(claims["lambda-max-sls"], better).ours
    np.testing.assert_allclose(
        curved.value, np.log([1.0, 1.01, 1.02, 1.03, 1.04]).mean() - np.log(2)
    )
    assert judge(claims["mixup"], better).reason == "mixup is not part of softlabel"
    assert judge(claims["barrier"], better).ours.n == 5, "soft and sls both keep it: one each"


def test_runs_of_different_settings_are_no_pair():
    """A pair differs in its policy alone; tuned arms may have chosen two weight decays."""
    (claim,) = (one for one in gheibi2026.claims("cpu-tuned") if one.id == "barrier")
    runs = invented(5, 0.05)
    for decay in (0.001, 0.003):
        settings = {"all/soft": 0.001, "all/sls": decay}
        every = [
            replace(one, about={"config": {"weight_decay": settings.get(one.cell, 0.001)}})
            for one in runs.all
        ]
        said = judge(claim, replace(runs, all=every)).verdict
        assert (said == "untested") == (decay == 0.003)


def test_single_votes_match_soft_labels_to_a_margin():
    claims = {one.id: one for one in gheibi2026.claims("cpu") if one.kind == "equivalence"}
    scores = ("cross-entropy", "entropy-spearman")
    assert set(claims) == {f"all-{way}-soft-{x}" for way in ("sls", "multipass") for x in scores}
    assert {(one.margin, one.direction) for one in claims.values()} == {(MATCHED, None)}
    for gain, said in ((0.25, "holds"), (1.0, "undecided"), (2.0, "contradicted")):
        for sign in (1, -1):
            runs = invented(5, sign * gain * MATCHED)
            assert judge(claims["all-sls-soft-cross-entropy"], runs).verdict == said


def test_gains_by_distance_are_orderings():
    """The notes print a range over cells: its lower end is what a correlation must come near."""
    claims = [one for one in gheibi2026.claims("cpu") if one.id.startswith("gain-by-distance")]
    assert len(claims) == 6
    for claim in claims:
        assert (claim.kind, claim.sign) == ("ordering", 1)
        assert claim.published.value == min(PUBLISHED["gain-by-distance"]) > 0


def test_what_is_only_arithmetic_stands_apart():
    groups = {one.id: findings.group_of(one) for one in gheibi2026.facts()}
    apart = {id for id, group in groups.items() if group == findings.DERIVED}
    assert apart == {"smallest-p", "holm"}


def test_five_pairs_cannot_survive_twelve_comparisons():
    five, ten = compare_with_soft(invented(5, 0.05)), compare_with_soft(invented(10, 0.05))
    assert len(five) == len(ten) == 12
    assert {one.p for one in five} == {1 / 32}
    assert {one.adjusted for one in five} == {12 / 32}
    assert all(one.adjusted == 12 / 1024 for one in ten)
    assert count_significant(np.full(12, 1 / 32)) == 0
    assert count_significant(np.full(12, 1 / 1024)) == 12
    assert (PRINTED < 0.05).sum() == 9
    assert count_significant(PRINTED) == 0


def test_tables_and_figures_show_what_there_is():
    results = invented(3, 0.05)
    tables = {table.title: table for table in gheibi2026.tables(results)}
    for table in tables.values():
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert "(0.586)" in str(tables["Soft NLL by votes kept per image"].rows)
    assert "242.2" in str(tables["Flatness"].rows)
    # eigenvalues 100, 101 and 102: two digits of the interval, and as many of the mean
    (curved,) = (row[1] for row in tables["Flatness"].rows if row[0] == "k5/sls")
    assert curved == "101.0 ±2.5"  # t(.975; 2) / sqrt(3) = 2.484
    drawn = {figure.name: figure.draw(640) for figure in gheibi2026.figures(results)}
    assert {"gain-by-distance", "slices", "between"} <= set(drawn)
    assert all(text.startswith("<svg") and "NaN" not in text for text in drawn.values())
    empty = Results([], "gheibi2026", "cpu")
    assert gheibi2026.tables(empty) == []
    assert gheibi2026.figures(empty) == []


def test_published_differences_are_those_of_the_notes():
    claims = {claim.id: claim for claim in gheibi2026.claims("cpu")}
    assert claims["k5-sls"].published.value == -0.0261
    assert claims["all-soft-majority-cross-entropy"].published.value == -0.2188
    assert claims["stale"].published.value == 0.1662
