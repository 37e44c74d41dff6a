"""MACE: the formulas by loops, spammers found, an objective that climbs, real restarts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import digamma, gammaln

from softlabel import Annotations, Index, SoftlabelError
from softlabel.aggregate import Mace, ZenCrowd
from softlabel.testing import example_soft, example_votes


def table(rows, items, people, labels):
    """Hard votes from (item, person, label) triples."""
    item, person, label = np.array(rows).T
    index = Index(
        [f"i{i}" for i in range(items)],
        [f"p{i}" for i in range(people)],
        [f"c{i}" for i in range(labels)],
    )
    return Annotations(index, item, person, label=label)


def evidence(said):
    """(item, person, label, weight) of every vote, soft annotations as several."""
    rows = []
    for n in range(len(said)):
        for label, weight in enumerate(said.soft()[n]):
            if weight > 0:
                rows.append((int(said.item[n]), int(said.annotator[n]), label, float(weight)))
    return rows


def normalised(counts, vb):
    """The weights of an M-step, and of the variational one, for one distribution."""
    if vb:
        return [math.exp(digamma(c) - digamma(sum(counts))) for c in counts]
    return [c / sum(counts) for c in counts]


def log_beta(counts):
    return sum(gammaln(c) for c in counts) - gammaln(sum(counts))


def divergence(found, prior):
    """KL between two Dirichlet distributions."""
    inside = sum(
        (f - p) * (digamma(f) - digamma(sum(found))) for f, p in zip(found, prior, strict=True)
    )
    return log_beta(prior) - log_beta(found) + inside


def e_step(said, meant, guessed):
    """Posterior and log-likelihood at these chances."""
    m, _, k = said.index.shape
    joint = [[1 / k] * k for _ in range(m)]
    for item, person, label, weight in evidence(said):
        for t in range(k):
            chance = meant[person] * (label == t) + guessed[person][label]
            joint[item][t] *= chance**weight
    posterior = [[j / sum(row) for j in row] for row in joint]
    return posterior, sum(math.log(sum(row)) for row in joint)


def counted(said, posterior, meant, guessed):
    """Votes that were meant, and the others by label, expected of each person."""
    _, a, k = said.index.shape
    know, spam = [0.0] * a, [[0.0] * k for _ in range(a)]
    for item, person, label, weight in evidence(said):
        knew = meant[person] / (meant[person] + guessed[person][label])
        know[person] += weight * posterior[item][label] * knew
        spam[person][label] += weight * (1 - posterior[item][label] * knew)
    return know, spam


def m_step(know, spam, vb):
    """New chances of one person, and what their prior adds to the objective."""
    k = len(spam)
    least = 0.01 / k
    few, many = ([0.5, 0.5], [10.0] * k) if vb else ([least] * 2, [least] * k)
    two = [know + few[0], sum(spam) + few[1]]
    all_k = [spam[j] + many[j] for j in range(k)]
    meant, careless = normalised(two, vb)
    guess = normalised(all_k, vb)
    if vb:
        penalty = -divergence(two, few) - divergence(all_k, many)
    else:
        penalty = least * sum(math.log(x) for x in [meant, careless, *guess])
    return meant, [careless * g for g in guess], penalty


def mace_by_loops(said, steps, vb):
    """Hovy et al. 2013, every sum written out: posterior and trace."""
    _, a, k = said.index.shape
    meant, guessed = [0.5] * a, [[0.5 / k] * k for _ in range(a)]
    posterior, _ = e_step(said, meant, guessed)
    trace = []
    for _ in range(steps):
        know, spam = counted(said, posterior, meant, guessed)
        new = [m_step(know[p], spam[p], vb) for p in range(a)]
        meant, guessed, penalties = zip(*new, strict=True)
        posterior, loglik = e_step(said, meant, guessed)
        trace.append(loglik + sum(penalties))
    return np.array(posterior), np.array(trace)


@pytest.mark.parametrize("method", ["vb", "em"])
@pytest.mark.parametrize(
    "make", [lambda: example_votes(items=12)[0], lambda: example_soft(items=9)]
)
def test_by_loops(method, make):
    said = make()
    expected, trace = mace_by_loops(said, 6, method == "vb")
    found = Mace(method=method, n_restarts=1, n_iter=6, tol=0)(said)
    np.testing.assert_allclose(found.probs, expected, atol=1e-10)
    np.testing.assert_allclose(found.trace, trace, rtol=1e-10)


def spam_filled(seed=0, items=120):
    """Five people who know 80 % of the answers and seven who always say the first class."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, items)
    knows = rng.random((items, 5)) < 0.8
    honest = np.where(knows, truth[:, None], rng.integers(0, 4, (items, 5)))
    said = np.concatenate([honest, np.zeros((items, 7), int)], axis=1)
    rows = [(i, p, said[i, p]) for i in range(items) for p in range(12)]
    return table(rows, items, 12, 4), truth


@pytest.mark.parametrize("method", ["vb", "em"])
def test_spammers_in_the_majority_are_found_out(method):
    said, truth = spam_filled()
    found = Mace(method=method)(said)
    assert (said.counts().argmax(axis=1) == truth).mean() < 0.5
    assert (found.probs.argmax(axis=1) == truth).mean() > 0.95
    assert (found.skill[5:] < 0.05).all()
    np.testing.assert_allclose(found.skill[:5], 0.8, atol=0.12)
    assert (found.confusion[5:, 1:, 0] > 0.75).all()  # whatever is true


@pytest.mark.parametrize("method", ["vb", "em"])
@given(seed=st.integers(0, 10_000), soft=st.booleans())
def test_the_objective_never_falls(method, seed, soft):
    said = example_soft(seed, 15) if soft else example_votes(seed, 15, right=0.5)[0]
    trace = Mace(method=method, n_restarts=2, n_iter=15, tol=0)(said).trace
    assert len(trace) == 15
    assert (np.diff(trace) >= -1e-9 * abs(trace[1:])).all()


def test_restarts_differ_and_the_best_one_stays():
    """Votes little better than chance, on which the usual start ends beside the best."""
    said, _ = example_votes(27, 30, right=0.4)
    alone = Mace("em", n_restarts=1)(said).trace[-1]
    few = {
        round(float(Mace("em", n_restarts=3, seed=seed)(said).trace[-1]), 3) for seed in range(5)
    }
    many = Mace("em", n_restarts=12)(said).trace[-1]
    assert many > alone + 1
    assert few == {round(float(alone), 3), round(float(many), 3)}  # other seeds, other restarts


def test_numbers_of_people_do_not_matter():
    """A peer takes its counts in sorted order and its parameters in order of appearance."""
    said, _ = spam_filled(items=40)
    order = np.random.default_rng(5).permutation(12)
    index = Index(said.index.items, said.index.annotators[order], said.index.labels)
    again = Annotations(index, said.item, np.argsort(order)[said.annotator], label=said.label)
    one, other = Mace()(said), Mace()(again)
    np.testing.assert_allclose(other.probs, one.probs, atol=1e-12)
    np.testing.assert_allclose(other.skill, one.skill[order], atol=1e-12)


def test_names_do_not_matter_even_to_the_restarts():
    said, _ = example_votes(27, 30, right=0.4)
    index = Index(
        [f"x{i}" for i in range(30)], [f"y{9 - i}" for i in range(7)], ["red", "green", "blue"]
    )
    renamed = Annotations(index, said.item, said.annotator, label=said.label)
    np.testing.assert_array_equal(Mace("em", 12)(renamed).probs, Mace("em", 12)(said).probs)


@pytest.mark.parametrize("method", ["vb", "em"])
def test_a_warm_start_is_there_already(method):
    said, _ = spam_filled()
    done = Mace(method)(said)
    again = Mace(method, n_iter=1, tol=0)(said, start=done)
    np.testing.assert_allclose(again.probs, done.probs, atol=1e-9)
    assert again.trace[0] == pytest.approx(done.trace[-1], rel=1e-12)


def test_a_start_of_another_kind_is_refused():
    said, _ = example_votes()
    with pytest.raises(SoftlabelError, match="Mace cannot start from what ZenCrowd made"):
        Mace()(said, start=ZenCrowd()(said))


def test_parameters_are_looked_at():
    said, _ = example_votes()
    for wrong in ({"n_restarts": 0}, {"n_iter": 0}, {"smoothing": 0.0}, {"alpha": -1.0}):
        with pytest.raises(SoftlabelError, match=next(iter(wrong))):
            Mace(**wrong)(said)
    with pytest.raises(SoftlabelError, match="method"):
        Mace(method="gibbs")(said)
