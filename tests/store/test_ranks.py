"""Giving out items by rank: the order, the limits, and the chances, on both databases."""

from __future__ import annotations

import threading
from collections import Counter
from functools import partial

import pytest

from softlabel import store
from softlabel.store import Live, Plan, ranks
from softlabel.store.assign import draw

LIVE = Live(least=1, most=4)


@pytest.fixture
def ranked(scene):
    """Six birds, of which each has an answer; the last is done, and two are equally good."""
    scene.put(6, per_item=3)
    scene.db.put_ranking("birds", LIVE.most).result()
    plan = Plan(per_item=3, live=LIVE, batch_size=6)
    scene.answer_all(scene.enter("first"), Plan(per_item=3, live=LIVE, per_annotator=6))
    weights = {"bird-0": 1.0, "bird-1": 4.0, "bird-2": 4.0, "bird-3": 2.0, "bird-4": 0.5}
    scene.db.weigh("birds", weights | {"bird-5": 0.0}).result()
    return scene, plan


def pick(scene, wanted, seed=0):
    asked = ranks.Asked("birds", "nobody", LIVE, 3, partial(draw, seed))
    return scene.db._read(ranks.pick, asked, wanted)


def test_first_everybody_gets_the_least_taken_in_random_order(scene):
    scene.put(6)
    scene.db.put_ranking("birds", LIVE.most).result()
    firsts = Counter(next(iter(pick(scene, 1, seed))) for seed in range(120))
    assert set(firsts) == {f"bird-{n}" for n in range(6)}
    assert max(firsts.values()) < 40  # 20 each, give or take
    assert list(pick(scene, 6).values()) == [1 / 6, 1 / 5, 1 / 4, 1 / 3, 1 / 2, 1]


def test_then_items_come_by_priority_and_those_that_are_done_do_not(ranked):
    scene, _ = ranked
    chosen = pick(scene, 6)
    assert set(list(chosen)[:2]) == {"bird-1", "bird-2"}
    assert list(chosen)[2:] == ["bird-3", "bird-0", "bird-4"]
    assert list(chosen.values()) == [0.5, 1.0, 1.0, 1.0, 1.0]


def test_chances_are_how_often_items_are_chosen(ranked):
    scene, _ = ranked
    scene.db.report_ranking("birds", None, 0.4, {}).result()
    expected = {"bird-1": 0.6 / 2 + 0.4 / 5, "bird-2": 0.6 / 2 + 0.4 / 5}
    expected |= dict.fromkeys(("bird-0", "bird-3", "bird-4"), 0.4 / 5)
    assert sum(expected.values()) == pytest.approx(1)
    seen = Counter()
    for seed in range(400):
        ((item, chance),) = pick(scene, 1, seed).items()
        assert chance == pytest.approx(expected[item])
        seen[item] += 1
    spread = {item: (400 * p * (1 - p)) ** 0.5 for item, p in expected.items()}
    for item, p in expected.items():
        assert abs(seen[item] - 400 * p) < 4 * spread[item], seen


def test_a_place_that_is_taken_counts_at_once(ranked):
    """weight / (taken + 1)^2: a bird of weight 4 falls below one of weight 2 when one is out."""
    scene, _ = ranked
    shown = scene.lease(scene.enter("bob"), Plan(per_item=3, live=LIVE, per_annotator=2))
    assert {one.item for one in shown} == {"bird-1", "bird-2"}
    assert sorted(one.propensity for one in shown) == [0.5, 1.0]
    assert next(iter(pick(scene, 1))) == "bird-3"
    scene.db.withdraw(scene.db.session_of("birds", "bob").id, True, 0.0).result()
    assert next(iter(pick(scene, 1))) in {"bird-1", "bird-2"}
    assert scene.taken() == scene.held()


def test_nobody_gets_an_item_twice_nor_more_than_the_study_wants(ranked):
    scene, plan = ranked
    for name in ("bob", "cleo", "dan", "eve", "fay"):
        items = [one.item for one in scene.answer_all(scene.enter(name), plan)]
        assert len(items) == len(set(items))
    taken = scene.taken()
    assert taken["bird-5"] == 1  # it is done
    assert max(taken.values()) == LIVE.most
    assert sum(taken.values()) == min(6 * 3, 5 * LIVE.most + 1)
    assert not scene.db.has_room("birds", batches=False, live=LIVE)


def test_the_budget_bounds_all_items_together(ranked):
    scene, plan = ranked
    scene.db.report_ranking("birds", 8, 0.0, {"kl": 0.5}).result()
    assert scene.db.ranking("birds").report == {"kl": 0.5}
    assert len(pick(scene, 6)) == 2
    scene.answer_all(scene.enter("bob"), plan)
    assert sum(scene.taken().values()) == 8
    assert not scene.db.has_room("birds", batches=False, live=LIVE)


def test_items_that_are_not_ranked_yet_are_asked_about_all_the_same(scene):
    scene.put(4, per_item=2)
    scene.db.put_ranking("birds", 4).result()
    plan = Plan(per_item=2, live=LIVE)
    for name in ("ann", "bob", "cleo"):
        scene.answer_all(scene.enter(name), plan)
    assert scene.taken() == {f"bird-{n}": 2 for n in range(4)}


def test_one_process_ranks_at_a_time(ranked):
    scene, _ = ranked
    claims = [scene.db.claim_ranking("birds", now, 2.0).result() for now in (10, 11, 12, 13)]
    assert claims == [True, False, True, False]
    scene.db.put_ranking("birds", None).result()
    assert scene.db.ranking("birds") is None


def test_two_servers_never_give_out_more_than_there_is(place, scene_of):
    """Each has a connection and a writer of its own, as two processes have."""
    with store.open(place) as one, store.open(place) as other:
        scenes = [scene_of(one), scene_of(other)]
        scenes[0].put(8, per_item=3)
        one.put_ranking("birds", 5).result()
        plan = Plan(per_item=3, live=Live(1, 5), per_annotator=4, batch_size=2)

        def work(number):
            scene = scenes[number % 2]
            scene.answer_all(scene.enter(f"person {number}"), plan)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(10)]
        for thread in threads:
            thread.start()
        one.weigh("birds", {f"bird-{n}": 1.0 + n for n in range(8)}).result()
        for thread in threads:
            thread.join()
        taken = scenes[0].taken()
        assert taken == scenes[0].held()
        assert sum(taken.values()) == 24
        assert max(taken.values()) <= 5
