"""Odd input to every registered pool: it works as documented, or is refused by name."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from softlabel import Annotations, DataError, Index, SoftlabelError, SoftLabels, UnknownName
from softlabel.aggregate import AGGREGATORS, takes
from softlabel.tables import ANONYMOUS
from softlabel.testing import example_soft, example_votes

PAGE = Path(__file__).parents[2] / "docs" / "pools" / "README.md"
EVERY = [pytest.param(kind(), id=name) for name, kind in AGGREGATORS.items()]
MANY = 100_000


def votes(*rows, items=3, people=2, labels=3):
    """Hard votes from (item, person, label) triples; person -1 is anonymous."""
    item, person, label = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    index = Index(
        [f"i{i}" for i in range(items)],
        [f"p{i}" for i in range(people)],
        [f"c{i}" for i in range(labels)],
    )
    return Annotations(index, item, person, label=label)


def classes(pooler):
    return getattr(pooler, "classes", 3)


def softened(said):
    return Annotations(said.index, said.item, said.annotator, probs=said.soft())


def sound(pooler, said):
    """The labels, which have checked themselves: on the simplex, or NaN where nobody answered."""
    made = pooler(said)
    assert isinstance(made, SoftLabels)
    np.testing.assert_array_equal(made.count, said.votes_per_item())
    np.testing.assert_array_equal(np.isnan(made.probs).any(axis=1), made.count == 0)
    return made


# ── the promise of the page ──────────────────────────────────────────────────────────────────


def promised():
    """pool -> (anonymous votes, very many classes), as the page says."""
    rows = re.findall(
        r"^\| \[?`([\w-]+)`[^|]*\| (works|refused) \| (works|refused) \|", PAGE.read_text(), re.M
    )
    return {name: promises for name, *promises in rows}


def test_the_page_speaks_of_every_pool():
    assert set(promised()) == set(AGGREGATORS)


def kept(pooler, said, promise, words):
    """Works, or is refused with these words, as promised."""
    if promise == "works":
        return sound(pooler, said)
    with pytest.raises(DataError) as refusal:
        pooler(said)
    assert re.search(words, str(refusal.value)), str(refusal.value)
    return None


@pytest.mark.parametrize("pooler", EVERY)
def test_anonymous_votes(pooler):
    rows = [(0, ANONYMOUS, 0), (0, ANONYMOUS, 0), (0, ANONYMOUS, 1), (1, ANONYMOUS, 1)]
    said = votes(*rows, items=2, people=0, labels=classes(pooler))
    made = kept(pooler, said, promised()[pooler.name][0], f"{pooler.name}.*no annotator")
    if made is not None:
        assert made.probs[0].argmax() == 0
        assert made.probs[1].argmax() == 1


@pytest.fixture(scope="module")
def very_many():
    rows = [(0, 0, 7), (0, 1, 7), (1, 0, 99_999), (1, 1, 99_999), (2, 0, 5), (2, 1, 5)]
    return votes(*rows, labels=MANY)


@pytest.mark.parametrize("pooler", EVERY)
def test_very_many_classes(pooler, very_many):
    """What is refused says how many classes there are, and what would do."""
    made = kept(pooler, very_many, promised()[pooler.name][1], r"100[,_]?000.*; (use|for|one)")
    if made is not None:
        assert made.probs.argmax(axis=1).tolist() == [7, 99_999, 5]


# ── refused at the door ──────────────────────────────────────────────────────────────────────


def test_a_class_that_does_not_exist_is_refused_by_the_table():
    with pytest.raises(DataError, match=r"row 1: label code outside 0\.\.2 \(value 3\)"):
        votes((0, 0, 0), (1, 0, 3))
    with pytest.raises(DataError, match=r"label code outside 0\.\.2 \(value -1\)"):
        votes((0, 0, -1))


@pytest.mark.parametrize("bad", [[np.nan, 0.5, 0.5], [np.inf, 0, 0], [-0.1, 0.6, 0.5], [0.5, 0, 0]])
def test_what_is_no_distribution_is_refused_by_the_table(bad):
    index = Index(["i"], ["p"], ["a", "b", "c"])
    with pytest.raises(DataError, match="Annotations, row 0: "):
        Annotations(index, np.array([0]), np.array([0]), probs=np.array([bad]))


GOLD = [pool for pool in EVERY if takes(pool.values[0], "gold")]


@pytest.mark.parametrize("pooler", GOLD)
def test_gold_that_names_nothing_is_refused_by_name(pooler):
    said = example_votes(labels=classes(pooler))[0]
    with pytest.raises(SoftlabelError, match="no-such-item"):
        pooler(said, gold={"no-such-item": "class-0"})
    with pytest.raises(UnknownName, match="klass-0"):
        pooler(said, gold={"item-0": "klass-0"})
    with pytest.raises(DataError, match=r"gold"):
        pooler(said, gold=np.zeros(3, int))


@pytest.mark.parametrize("pooler", EVERY)
def test_shards_below_one_are_refused(pooler):
    with pytest.raises(SoftlabelError, match="shards = 0"):
        pooler(example_votes(labels=classes(pooler))[0], shards=0)


# ── defined ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("pooler", EVERY)
def test_two_different_votes_of_one_person_on_one_item_are_two_votes(pooler):
    rows = [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 1, 0), (2, 0, 1), (2, 1, 1), (2, 1, 1)]
    said = votes(*rows, labels=classes(pooler))
    made = sound(pooler, said)
    assert made.count.tolist() == [2, 2, 3]
    turned = sound(pooler, said.take(np.arange(len(said))[::-1]))
    np.testing.assert_allclose(turned.probs, made.probs, atol=1e-12)
    if promised()[pooler.name][0] == "works":  # whoever cast them
        others = said.annotator.copy()
        others[1] = 1
        apart = Annotations(said.index, said.item, others, label=said.label)
        np.testing.assert_allclose(sound(pooler, apart).probs, made.probs, atol=1e-12)


@pytest.mark.parametrize("pooler", EVERY)
def test_a_class_that_nobody_ever_named_wins_nowhere(pooler):
    k = classes(pooler)
    rows = [(i, p, i % (k - 1)) for i in range(4) for p in range(3)]
    said = votes(*rows, items=4, people=3, labels=k)
    for each in (said, softened(said)):
        made = sound(pooler, each)
        assert (made.probs.argmax(axis=1) < k - 1).all()


@pytest.mark.parametrize("pooler", EVERY)
def test_no_votes_at_all(pooler):
    empty = votes(labels=classes(pooler))
    assert np.isnan(sound(pooler, empty).probs).all()
    nothing = votes(items=0, people=0, labels=classes(pooler))
    assert sound(pooler, nothing).probs.shape == (0, classes(pooler))


@pytest.mark.parametrize("pooler", EVERY)
def test_soft_annotations_of_nothing(pooler):
    said = example_soft(labels=classes(pooler)).take([])
    assert np.isnan(sound(pooler, said).probs).all()


@pytest.mark.parametrize("pooler", EVERY)
def test_one_vote(pooler):
    said = votes((1, 0, 1), people=1, labels=classes(pooler))
    for each in (said, softened(said)):
        made = sound(pooler, each)
        assert made.count.tolist() == [0, 1, 0]
        assert made.probs[1, 1] == made.probs[1].max()


@pytest.mark.parametrize("pooler", EVERY)
def test_one_annotator(pooler):
    said = votes((0, 0, 0), (1, 0, 1), (2, 0, 0), people=1, labels=classes(pooler))
    made = sound(pooler, said)
    tops = made.probs == made.probs.max(axis=1, keepdims=True)
    assert tops[np.arange(3), [0, 1, 0]].all(), "the only vote there is loses"


@pytest.mark.parametrize("pooler", EVERY)
def test_one_class(pooler):
    said = votes((0, 0, 0), (0, 1, 0), (1, 1, 0), labels=1)
    for each in (said, softened(said)):
        np.testing.assert_allclose(sound(pooler, each).probs, [[1], [1], [np.nan]])


@pytest.mark.parametrize("pooler", EVERY)
def test_annotators_who_never_voted_change_nothing(pooler):
    said = example_votes(labels=classes(pooler))[0]
    people = [*said.index.annotators.tolist(), "idle", "idler"]
    index = Index(said.index.items, people, said.index.labels)
    wider = Annotations(index, said.item, said.annotator, label=said.label)
    np.testing.assert_allclose(sound(pooler, wider).probs, sound(pooler, said).probs, atol=1e-12)


@pytest.mark.parametrize("pooler", EVERY)
def test_everybody_undecided(pooler):
    k = classes(pooler)
    index = Index(["i", "j"], ["p", "q"], [f"c{i}" for i in range(k)])
    item, who = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    said = Annotations(index, item, who, probs=np.full((4, k), 1 / k))
    made = sound(pooler, said)
    if pooler.name != "majority":  # whose ties go to the first class, as documented
        np.testing.assert_allclose(made.probs, 1 / k, atol=1e-9)
