"""Every worked example of the constructions, and the rules behind them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel import DataError, Index, Statements
from softlabel.construct import Clamp, Flat, Hard, Random, Select, Smooth, Uniform
from softlabel.elicit import Classic
from softlabel.records import stack_answers

CIFAR = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
SHORT = {"plane": "airplane", "auto": "automobile"}
ANIMALS = ["bird", "cat", "deer", "dog", "frog", "horse"]


def but(*possible):
    """Every class except these is ruled out."""
    return [label for label in CIFAR if label not in possible]


def answer(top, p1, second=None, p2=None, impossible=()):
    """One answer as a table of one row; nothing is mended, so that zero stays zero."""
    payload = {"top": top, "p1": p1, "second": second, "p2": p2, "impossible": list(impossible)}
    index = Index(["405"], ["someone"], CIFAR)
    read = Classic(repairs="none").read(payload, CIFAR)
    return stack_answers(index, np.array([0]), np.array([0]), [read])


def vector(text, other=0.0):
    """``"deer .72 horse .18"``; every class not mentioned gets ``other``."""
    label = np.full(len(CIFAR), other)
    words = text.split()
    for name, value in zip(words[::2], words[1::2], strict=True):
        label[CIFAR.index(SHORT.get(name, name))] = float(value)
    return label


A = answer("truck", 70, "automobile", 20, ANIMALS)
B = answer("deer", 80, "horse", 20, but("deer", "horse", "cat", "dog"))
C = answer("deer", 90, "horse", 30, but("deer", "horse"))
C2 = answer("deer", 90, "horse", 30, but("deer", "horse", "cat", "dog"))
D = answer("deer", 60, None, None, but("deer"))
E = answer("deer", 60, "horse", None, but("deer", "horse"))
E2 = answer("deer", 100, "horse", None, but("deer", "horse"))
F1 = answer("deer", 95, "horse", 5, CIFAR)
F2 = answer("deer", 80, None, None, but("cat", "dog"))
F3 = answer("deer", 100, None, None, but("cat"))
F4 = answer("deer", 60, "horse", 40, but("cat"))
G = answer("deer", 80, "deer", 20, but("deer", "dog"))
H = answer("deer", 100, "horse", 0, but("deer", "horse"))
REAL = answer("deer", 95, "horse", 5, ["airplane", "automobile", "frog", "truck", "bird", "ship"])

T1, T2 = {"top": 1}, {"top": 2}
BOTH = ["strict", "reference"]
STRICT, REFERENCE = ["strict"], ["reference"]

EXAMPLES = [  # name, answer, construction, options, semantics, label
    ("A", A, Clamp, T2, BOTH, vector("truck .70 auto .20 plane .05 ship .05")),
    ("A", A, Uniform, T2, BOTH, vector("truck .70 auto .20", 0.0125)),
    ("A", A, Clamp, T1, BOTH, vector("truck .70 auto .10 plane .10 ship .10")),
    ("A", A, Uniform, T1, BOTH, vector("truck .70", 0.3 / 9)),
    ("B", B, Clamp, T2, BOTH, vector("deer .72 horse .18 cat .05 dog .05")),
    ("B", B, Uniform, T2, BOTH, vector("deer .80 horse .20")),
    ("C", C, Clamp, T2, BOTH, vector("deer .75 horse .25")),
    ("C", C, Uniform, T2, BOTH, vector("deer .75 horse .25")),
    ("C2", C2, Clamp, T2, BOTH, vector("deer .675 horse .225 cat .05 dog .05")),
    ("C2", C2, Uniform, T2, BOTH, vector("deer .75 horse .25")),
    ("D", D, Clamp, T2, BOTH, vector("deer 1")),
    ("D", D, Uniform, T2, BOTH, vector("deer .60", 0.4 / 9)),
    ("D", D, Clamp, T1, BOTH, vector("deer 1")),
    ("D", D, Uniform, T1, BOTH, vector("deer .60", 0.4 / 9)),
    ("E", E, Clamp, T2, BOTH, vector("deer .60 horse .40")),
    ("E", E, Uniform, T2, BOTH, vector("deer .60", 0.4 / 9)),
    ("E", E, Clamp, T1, BOTH, vector("deer .60 horse .40")),
    ("E2", E2, Clamp, T2, BOTH, vector("deer .90 horse .10")),
    ("E2", E2, Uniform, T2, BOTH, vector("deer 1")),
    ("F1", F1, Clamp, T2, BOTH, vector("deer .95 horse .05")),
    ("F2", F2, Clamp, T2, REFERENCE, vector("deer .666667 cat .166667 dog .166667")),
    ("F2", F2, Clamp, T2, STRICT, vector("deer .8 cat .1 dog .1")),
    ("F3", F3, Clamp, T2, REFERENCE, vector("deer 1")),
    ("F3", F3, Clamp, T2, STRICT, vector("deer .9 cat .1")),
    ("F4", F4, Clamp, T2, REFERENCE, vector("cat -.125 deer .675 horse .45")),
    ("F4", F4, Clamp, T2, STRICT, vector("deer .54 horse .36 cat .10")),
    ("G", G, Clamp, T2, REFERENCE, vector("deer .2 dog .8")),
    ("G", G, Clamp, T2, STRICT, vector("deer .8 dog .2")),
    ("H", H, Clamp, T2, BOTH, vector("deer .90 horse .10")),
    ("real", REAL, Clamp, T2, BOTH, vector("cat .05 deer .855 dog .05 horse .045")),
]
CASES = [
    pytest.param(said, kind(**options, mode=mode), label, id=f"{name}-{kind.name}{options}-{mode}")
    for name, said, kind, options, modes, label in EXAMPLES
    for mode in modes
]


@pytest.mark.parametrize(("said", "construct", "label"), CASES)
def test_worked_example(said, construct, label):
    np.testing.assert_allclose(construct.vectors(said)[0], label, atol=5e-7)


def test_a_negative_published_label_is_refused_not_passed_on():
    with pytest.raises(DataError, match="negative"):
        Clamp(mode="reference")(F4)
    Clamp()(F4)


def test_select_top_two():
    np.testing.assert_array_equal(Select()(A).soft()[0], vector("truck .5 auto .5"))
    np.testing.assert_array_equal(Select()(D).soft()[0], vector("deer 1"))
    np.testing.assert_array_equal(Select()(E).soft()[0], vector("deer .5 horse .5"))
    np.testing.assert_array_equal(Select()(G).soft()[0], vector("deer 1"))
    np.testing.assert_array_equal(Select("reference").vectors(G)[0], vector("deer .5"))
    with pytest.raises(DataError, match="sum to 1"):
        Select("reference")(G)


def test_hard_is_a_vote_for_the_class_named_first():
    each = Hard()(answer("deer", 20, "horse", 80))
    assert each.hard
    assert CIFAR[each.label[0]] == "deer"


def test_smoothing():
    np.testing.assert_allclose(Smooth()(A).soft()[0], vector("truck .955", 0.005))
    np.testing.assert_allclose(Smooth(beta=0)(A).soft()[0], vector("truck 1"))


def test_controls():
    np.testing.assert_allclose(Flat()(A).soft()[0], np.full(10, 0.1))
    first, second = Random(seed=1)(A).soft(), Random(seed=2)(A).soft()
    assert not np.allclose(first, second)
    np.testing.assert_array_equal(first, Random(seed=1)(A).soft())


def test_random_labels_are_shares_of_uniform_numbers_not_a_flat_dirichlet():
    """E of the largest of 10 shares: about .182 here, .293 (= H_10 / 10) for a flat Dirichlet."""
    n = 3000
    said = A.take(np.zeros(n, int))
    index = Index([str(i) for i in range(n)], ["someone"], CIFAR)
    said = Statements(index, np.arange(n), said.annotator, said.named, said.percent, said.possible)
    largest = Random()(said).soft().max(axis=1).mean()
    direct = np.random.default_rng(0).random((n, 10))
    assert abs(largest - (direct / direct.sum(axis=1, keepdims=True)).max(axis=1).mean()) < 0.003


NOBODY_NAMED = Statements(
    Index(["405"], ["someone"], CIFAR),
    np.array([0]),
    np.array([0]),
    np.zeros((1, 0), int),
    np.zeros((1, 0)),
    np.array([[label in ("cat", "dog") for label in CIFAR]]),
)


def test_a_plausible_set_is_shared_evenly_and_has_no_top_class():
    np.testing.assert_allclose(Clamp()(NOBODY_NAMED).soft()[0], vector("cat .5 dog .5"))
    for construct in (Hard(), Smooth(), Select()):
        with pytest.raises(DataError, match="no class is named"):
            construct(NOBODY_NAMED)


def test_nothing_said_and_nothing_possible_is_even_over_all():
    silent = answer("deer", 0, None, None, CIFAR)
    np.testing.assert_allclose(Clamp()(silent).soft()[0], np.full(10, 0.1))
    with pytest.raises(DataError, match="not a finite number"):
        Clamp(mode="reference")(silent)


THREE = Statements(
    Index(["405"], ["someone"], CIFAR),
    np.array([0]),
    np.array([0]),
    np.array([[CIFAR.index(name) for name in ("deer", "horse", "dog")]]),
    np.array([[50.0, 25.0, 15.0]]),
    np.array([[label in ("deer", "horse", "dog", "cat") for label in CIFAR]]),
)
BEYOND_THE_SECOND = [
    (Clamp(), vector("deer .5 horse .25 dog .15 cat .1")),
    (Clamp(top="all", mode="reference"), vector("deer .5 horse .25 dog .15 cat .1")),
    (Clamp(top=2), vector("deer .5 horse .25 dog .125 cat .125")),
    (Clamp(top=1), vector("deer .5 horse .1666666667 dog .1666666667 cat .1666666667")),
    (Uniform(), vector("deer .5 horse .25 dog .15", 0.1 / 7)),
    (Uniform(top=2), vector("deer .5 horse .25", 0.25 / 8)),
]


@pytest.mark.parametrize(("construct", "label"), BEYOND_THE_SECOND)
def test_a_third_class_counts_unless_told_otherwise(construct, label):
    np.testing.assert_allclose(construct(THREE).soft()[0], label, atol=1e-9)


def test_of_two_classes_all_and_two_are_the_same():
    for said in (A, B, C, C2, D, E, E2, F1, F2, F3, G, H, REAL):
        for kind in (Clamp, Uniform):
            for mode in BOTH:
                both = (kind(top, mode=mode).vectors(said) for top in ("all", 2))
                np.testing.assert_array_equal(*both)


def test_hundred_percent_is_compared_in_percent():
    """Every split of 100 into two whole numbers counts as 100, whatever its float sum."""
    for first in range(1, 100):
        said = answer("deer", first, "horse", 100 - first, but("deer", "horse", "cat"))
        assert Clamp()(said).soft()[0][CIFAR.index("cat")] == pytest.approx(0.1, abs=1e-12)


PERCENT = st.integers(1, 100)


@given(PERCENT, PERCENT, st.sets(st.sampled_from(CIFAR)))
def test_both_semantics_agree_on_well_formed_answers(p1, p2, impossible):
    said = answer("deer", p1, "horse", p2, impossible - {"deer", "horse"})
    for kind in (Clamp, Uniform):
        for top in (1, 2):
            strict, reference = (kind(top=top, mode=mode)(said).soft() for mode in BOTH)
            np.testing.assert_allclose(strict, reference, atol=1e-12)


@given(PERCENT, st.floats(0, 1), st.sets(st.sampled_from(CIFAR)))
def test_spread_acts_only_when_all_mass_is_named(p1, spread, impossible):
    said = answer("deer", p1, None, None, impossible - {"deer"})
    plain, spread_out = Clamp(spread=0.1)(said).soft(), Clamp(spread=spread)(said).soft()
    if p1 < 100:
        np.testing.assert_array_equal(plain, spread_out)
    elif len(impossible - {"deer"}) < 9:
        assert spread_out[0][CIFAR.index("deer")] == pytest.approx(1 - spread)
