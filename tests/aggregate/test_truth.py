"""What all methods of this family share: gold, shards, odd tables, big ones.  ``tests/checks`` runs
the public checks."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest

from softlabel import Annotations, Index, SoftlabelError
from softlabel.aggregate import Catd, Glad, Kos, Mace, Wawa, ZenCrowd, ZeroBasedSkill
from softlabel.testing import example_soft, example_votes
from softlabel.testing.examples import reindex

MANY = [Glad, Mace, Wawa, ZeroBasedSkill, ZenCrowd, Catd]
ALL = [*MANY, Kos]


def example(kind, seed=0, items=40, right=0.7):
    """Votes with planted truth, in as many classes as the method takes."""
    if kind is not Kos:
        return example_votes(seed, items, right=right)
    said, truth = example_votes(seed, items, right=right)
    index = Index(said.index.items, said.index.annotators, said.index.labels[:2])
    return Annotations(index, said.item, said.annotator, label=np.minimum(said.label, 1)), (
        np.minimum(truth, 1)
    )


@pytest.mark.parametrize("kind", ALL)
def test_gold_stays_and_teaches(kind):
    """Gold contradicts everything one person says; it must cost that person skill."""
    said, truth = example(kind, 5)
    gold = np.full(40, -1)
    own = said.item[(said.annotator == 2) & (said.label == truth[said.item])][:12]
    for i in own:
        mine = said.label[(said.item == i) & (said.annotator == 2)][0]
        gold[i] = (mine + 1) % len(said.index.labels)
    before, after = kind()(said), kind()(said, gold=gold)
    known = np.flatnonzero(gold >= 0)
    np.testing.assert_array_equal(after.probs[known], np.eye(len(said.index.labels))[gold[known]])
    assert after.skill[2] < before.skill[2] - 0.1


@pytest.mark.parametrize("kind", ALL)
def test_gold_by_name_is_gold_by_code(kind):
    said, truth = example(kind)
    codes = np.where(np.arange(40) < 5, truth, -1)
    named = {f"item-{i}": f"class-{truth[i]}" for i in range(5)}
    np.testing.assert_array_equal(kind()(said, gold=named).probs, kind()(said, gold=codes).probs)


@pytest.mark.parametrize("kind", ALL)
def test_soft_annotations_are_weighted_votes(kind):
    """One-hot rows are votes; a half-sure person twice is a whole vote on each side."""
    votes, _ = example(kind)
    rows = Annotations(votes.index, votes.item, votes.annotator, probs=votes.soft())
    for name in ("probs", "skill"):
        hard, soft = getattr(kind()(votes), name), getattr(kind()(rows), name)
        np.testing.assert_allclose(soft, hard, atol=1e-9)
    half = np.full((2, len(votes.index.labels)), 0.0)
    half[:, :2] = 0.5
    person = votes.annotator[0]
    place = [int(votes.item[0])] * 2
    split = Annotations(
        votes.index,
        np.concatenate([rows.item, place]),
        np.concatenate([rows.annotator, [person] * 2]),
        probs=np.concatenate([rows.probs, half]),
    )
    whole = Annotations(
        votes.index,
        np.concatenate([votes.item, place]),
        np.concatenate([votes.annotator, [person] * 2]),
        label=np.concatenate([votes.label, [0, 1]]),
    )
    np.testing.assert_allclose(kind()(split).probs, kind()(whole).probs, atol=1e-9)


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("kind", ALL)
def test_a_pool_of_processes_gives_the_same(kind, processes):
    said, _ = example(kind)
    spread = kind()(said, map=processes.map, shards=3)
    here = kind()(said)
    np.testing.assert_allclose(spread.probs, here.probs, atol=1e-12)
    np.testing.assert_allclose(spread.skill, here.skill, atol=1e-12)


@pytest.mark.parametrize("kind", ALL)
def test_every_part_of_the_result_ignores_numbering(kind):
    said, _ = example(kind)
    rng = np.random.default_rng(0)
    before = kind()(said)
    people = rng.permutation(len(said.index.annotators))
    np.testing.assert_allclose(
        kind()(reindex(said, "annotators", people)).skill, before.skill[people], atol=1e-12
    )
    classes = rng.permutation(len(said.index.labels))
    after = kind()(reindex(said, "labels", classes))
    np.testing.assert_allclose(after.skill, before.skill, atol=1e-12)
    np.testing.assert_allclose(after.probs, before.probs[:, classes], atol=1e-12)


@pytest.mark.parametrize("kind", ALL)
def test_names_do_not_matter(kind):
    said, _ = example(kind)
    new = replace(
        said.index,
        items=[f"x{40 - i}" for i in range(40)],
        annotators=[f"y{9 - i}" for i in range(7)],
        labels=[f"z{5 - i}" for i in range(len(said.index.labels))],
    )
    np.testing.assert_array_equal(kind()(replace(said, index=new)).probs, kind()(said).probs)


@pytest.mark.parametrize("kind", ALL)
def test_the_smallest_tables(kind):
    one = Annotations(Index(["i"], ["p"], ["c"]), [0], [0], label=np.array([0]))
    np.testing.assert_array_equal(kind()(one).probs, [[1.0]])
    two = Annotations(Index(["i"], ["p"], ["c", "d"]), [0], [0], label=np.array([1]))
    found = kind()(two)
    assert found.probs[0, 1] > 0.5
    assert found.probs.sum() == pytest.approx(1)
    assert found.count[0] == 1


@pytest.mark.parametrize("kind", ALL)
def test_nobody_was_asked_anything(kind):
    empty = Annotations(Index(["i", "j"], ["p"], ["c", "d"]), [], [], label=np.zeros(0, int))
    found = kind()(empty)
    assert np.isnan(found.probs).all()
    assert np.isnan(found.skill).all()


@pytest.mark.parametrize("kind", ALL)
def test_unasked_people_and_unvoted_classes(kind):
    said, _ = example(kind)
    index = replace(
        said.index,
        annotators=[*said.index.annotators.tolist(), "nobody"],
        labels=[*said.index.labels.tolist(), *([] if kind is Kos else ["never"])],
    )
    found = kind()(replace(said, index=index))
    assert np.isnan(found.skill[-1])
    assert np.isfinite(found.skill[:-1]).all()
    if kind is not Kos:
        assert (found.probs[:, -1] < 0.2).all()


@pytest.mark.parametrize("kind", MANY)
def test_a_hundred_thousand_classes(kind):
    """The cost is of the classes that were named."""
    said, truth = example_votes(items=30)
    index = replace(said.index, labels=[f"c{j}" for j in range(100_000)])
    pooler = Mace(n_restarts=1) if kind is Mace else kind()
    found = pooler(replace(said, index=index))
    assert (found.probs.argmax(axis=1) == truth).mean() > 0.8


@pytest.mark.parametrize("kind", ALL)
def test_anonymous_votes_are_refused(kind):
    said, _ = example(kind)
    with pytest.raises(SoftlabelError, match=kind.name):
        kind()(replace(said, annotator=np.full(len(said), -1)))


@pytest.mark.parametrize("kind", ALL)
def test_a_start_from_another_method_is_refused(kind):
    said, _ = example(kind)
    other = Wawa() if kind is not Wawa else Catd()
    with pytest.raises(SoftlabelError, match=f"{kind.__name__} cannot start from"):
        kind()(said, start=other(said))


@pytest.mark.parametrize("kind", ALL)
def test_people_keep_their_skill_through_a_start(kind):
    """A newcomer joins people who are known: the start knows them by name, not by number."""
    said, _ = example(kind, items=80)
    known = said.take(said.annotator != 6)
    done = kind()(known)
    order = np.array([3, 6, 0, 5, 1, 4, 2])
    warm = kind()(reindex(said, "annotators", order), start=done)
    cold = kind()(said)
    np.testing.assert_allclose(warm.skill, cold.skill[order], atol=0.08)
    assert np.isfinite(warm.probs).all()


def test_wide_tables_that_do_not_fit_are_refused_by_name():
    names = [f"p{i}" for i in range(50_000)]
    labels = [f"c{i}" for i in range(100_000)]
    said = Annotations(Index(["i"], names, labels), [0], [0], label=np.array([7]))
    with pytest.raises(SoftlabelError, match="50,000 annotators with 100,000 classes"):
        Mace()(said)
    assert ZenCrowd()(said).probs[0, 7] > 0.5


@pytest.mark.parametrize("kind", [Glad, Mace, ZenCrowd])
def test_more_shards_and_soft_rows(kind):
    said = example_soft(2, 50)
    whole = kind()(said, shards=1)
    parts = kind()(said, shards=7)
    np.testing.assert_allclose(parts.trace, whole.trace, rtol=1e-12)
    np.testing.assert_allclose(parts.probs, whole.probs, atol=1e-12)
