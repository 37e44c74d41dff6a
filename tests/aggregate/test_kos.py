"""KOS: messages by loops and by hand, two classes only, spammers silenced."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import Annotations, Index, SoftlabelError
from softlabel.aggregate import Kos
from softlabel.testing import example_votes


def index(items, people, labels=2):
    return Index(
        [f"i{i}" for i in range(items)],
        [f"p{p}" for p in range(people)],
        [f"c{j}" for j in range(labels)],
    )


def crowd(seed=0, items=60, people=12, share=0.4, soft=False):
    """People from coin-tossers to experts on some of the items."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, items)
    skill = np.concatenate([np.full(people // 3, 0.95), np.full(people - people // 3, 0.5)])
    item, person = np.nonzero(rng.random((items, people)) < share)
    right = rng.random(len(item)) < skill[person]
    label = np.where(right, truth[item], 1 - truth[item])
    if not soft:
        return Annotations(index(items, people), item, person, label=label), truth
    sure = rng.uniform(0.5, 1, len(item))
    probs = np.where(label[:, None] == np.arange(2), sure[:, None], 1 - sure[:, None])
    return Annotations(index(items, people), item, person, probs=probs), truth


def kos_by_loops(said, rounds):
    """Karger, Oh & Shah 2011 from y = 1, without scaling: the sum that decides, per item."""
    sign = {}
    for n in range(len(said)):
        first, second = said.soft()[n]
        edge = (int(said.item[n]), int(said.annotator[n]))
        sign[edge] = sign.get(edge, 0) + first - second
    answer = dict.fromkeys(sign, 1.0)
    for _ in range(rounds):
        told = {
            (i, a): sum(sign[e] * answer[e] for e in sign if e[0] == i and e[1] != a)
            for i, a in sign
        }
        answer = {
            (i, a): sum(sign[e] * told[e] for e in sign if e[1] == a and e[0] != i) for i, a in sign
        }
    return [sum(sign[e] * answer[e] for e in sign if e[0] == i) for i in range(60)]


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_by_loops(rounds, soft):
    said, _ = crowd(share=0.15, soft=soft)
    total = np.array(kos_by_loops(said, rounds))
    found = Kos(n_iter=rounds, tol=0)(said)
    decided = abs(total) > 1e-9
    assert decided.sum() > 40
    np.testing.assert_array_equal(found.probs[decided, 0], total[decided] > 0)


def test_by_hand():
    """Three items, three people.  p0 says + + +, p1 + + -, p2 - + -.

    Round 1: items tell each person the sum of the other two signs: i0 tells (0, 0, 2), i1
    (2, 2, 2), i2 (-2, 0, 0).  Answers: p0 without i0 hears 2 - 2 = 0, without i1 -2, without i2 2;
    p1 2, 0, 2; p2 2, -2, 0 (its sign turns what i0 told it).  Sums: i0 0 + 2 - 2 = 0; i1
    -2 + 0 - 2 = -4; i2 2 - 2 + 0 = 0.  So i1 is decided by messages against its three votes (each
    heard only of the other two, where they disagree), i0 and i2 by their own votes.
    """
    label = np.array([0, 0, 1, 0, 0, 0, 0, 1, 1])
    item, person = np.divmod(np.arange(9), 3)
    said = Annotations(index(3, 3), item, person, label=label)
    found = Kos(n_iter=1, tol=0)(said)
    np.testing.assert_array_equal(found.probs, [[1, 0], [0, 1], [0, 1]])


def test_experts_are_heard_above_the_noise():
    ours, vote = [], []
    for seed in range(5):
        said, truth = crowd(seed, items=400, people=30, share=0.3)
        found = Kos()(said)
        ours.append((found.probs.argmax(axis=1) == truth).mean())
        vote.append((said.counts().argmax(axis=1) == truth).mean())
        assert found.skill[:10].min() > 0.85
        assert found.skill[10:].max() < 0.7
    assert np.mean(ours) > np.mean(vote) + 0.05


def test_more_than_two_classes_are_refused_by_name():
    said, _ = example_votes()
    with pytest.raises(SoftlabelError, match=r"two classes and here are 3 \(class-0, class-1"):
        Kos()(said)
    assert Kos.classes == 2


def test_one_class_works():
    said = Annotations(index(4, 2, 1), np.arange(4), np.arange(4) % 2, label=np.zeros(4, int))
    np.testing.assert_array_equal(Kos()(said).probs, np.ones((4, 1)))


def test_where_no_message_comes_the_votes_decide():
    """Everybody has one item: nobody can say anything of anybody."""
    said = Annotations(index(2, 5), [0, 0, 0, 1, 1], np.arange(5), label=np.array([1, 1, 0, 0, 1]))
    np.testing.assert_array_equal(Kos()(said).probs, [[0, 1], [0.5, 0.5]])


def test_two_votes_of_one_person_are_added():
    said, _ = crowd(1, share=0.3)
    both = Annotations(
        said.index,
        np.concatenate([said.item, said.item[:1], said.item[:1]]),
        np.concatenate([said.annotator, said.annotator[:1], said.annotator[:1]]),
        label=np.concatenate([said.label, [0, 1]]),
    )
    np.testing.assert_array_equal(Kos()(both).probs, Kos()(said).probs)


def test_gold_teaches():
    """Two camps that contradict each other on everything: gold on one item decides for all."""
    label = np.tile([0, 0, 1, 1], 10)
    item, person = np.divmod(np.arange(40), 4)
    said = Annotations(index(10, 4), item, person, label=label)
    np.testing.assert_array_equal(Kos()(said).probs, np.full((10, 2), 0.5))
    found = Kos()(said, gold={"i3": "c1"})
    np.testing.assert_array_equal(found.probs, np.tile([0.0, 1.0], (10, 1)))
    np.testing.assert_array_equal(found.skill, [0, 0, 1, 1])


def test_renamed_and_renumbered_it_says_the_same():
    said, _ = crowd(2)
    swapped = Annotations(
        Index(said.index.items, said.index.annotators, said.index.labels[::-1]),
        said.item,
        said.annotator,
        label=1 - said.label,
    )
    np.testing.assert_array_equal(Kos()(swapped).probs[:, ::-1], Kos()(said).probs)


def test_a_warm_start_is_there_already():
    said, _ = crowd(3, items=200)
    done = Kos()(said)
    again = Kos(n_iter=1)(said, start=done)
    assert (again.probs == done.probs).all(axis=1).mean() > 0.97
