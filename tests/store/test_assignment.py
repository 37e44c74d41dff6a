"""Who gets which items, in what order."""

from __future__ import annotations

import json

import pytest

from softlabel import store
from softlabel.errors import Conflict, ItemChanged, StoreError
from softlabel.store import ItemRow, Plan

MIXED = [
    *(ItemRow(f"bird-{i}") for i in range(12)),
    ItemRow("easy", "training"),
    ItemRow("easier", "training"),
    ItemRow("robin", "gold"),
    ItemRow("press-4", "attention"),
]
WHOLE = Plan(
    per_item=2,
    per_annotator=6,
    repeats=2,
    repeat_positions=(1, 3),
    practice=("easy", "easier"),
    checks=("robin", "press-4"),
)


def batches(number: int, size: int) -> list[ItemRow]:
    return [ItemRow(f"bird-{i}-{j}", "target", f"b{i}") for i in range(number) for j in range(size)]


def test_practice_then_targets_with_checks_then_repeats(scene):
    scene.put(MIXED)
    ann = scene.enter("ann")
    shown = scene.lease(ann, WHOLE)
    assert [s.position for s in shown] == list(range(12))
    assert [s.item for s in shown[:2]] == ["easy", "easier"]
    assert {s.kind for s in shown[:2]} == {"training"}
    main, repeats = shown[2:10], shown[10:]
    assert sorted(s.kind for s in main) == ["attention", "gold", *["target"] * 6]
    assert len({s.item for s in main}) == 8
    targets = [s for s in main if s.kind == "target"]
    assert [(s.kind, s.item, s.repeat_of) for s in repeats] == [
        ("repeat", targets[1].item, targets[1].position),
        ("repeat", targets[3].item, targets[3].position),
    ]
    assert scene.db.showings(ann.id) == shown
    assert scene.db.missing(ann.id) == tuple(range(12))


def test_asking_again_changes_only_the_end_of_the_lease(scene):
    scene.put(MIXED)
    ann = scene.enter("ann")
    plan = Plan(per_item=2, per_annotator=10, batch_size=6, lease_seconds=60)
    first = scene.lease(ann, plan, now=10)
    scene.answer(ann, 0, now=20)
    again = scene.lease(ann, plan, now=30)
    assert [s[:6] for s in again] == [s[:6] for s in first]
    assert scene.db.session("token of ann").lease_end == 90


def test_a_person_holds_at_most_a_batch_and_gets_more_before_it_runs_out(scene):
    scene.put(20)
    ann = scene.enter("ann")
    plan = Plan(per_item=1, per_annotator=12, batch_size=5)
    for wanted in (5, 5, 7, 7, 9, 9, 11, 11, 12, 12, 12):
        shown = scene.lease(ann, plan)
        assert len(shown) == wanted
        waiting = scene.db.missing(ann.id)
        assert len(waiting) <= 5
        scene.answer(ann, waiting[0])
    assert len({s.item for s in scene.answer_all(ann, plan)}) == 12


def test_the_least_taken_items_come_first(scene):
    scene.put(10, per_item=4)
    plan = Plan(per_item=4, per_annotator=4)
    for number in range(10):
        scene.lease(scene.enter(f"ann-{number}"), plan)
        taken = scene.taken().values()
        assert max(taken) - min(taken) <= 1
    assert set(scene.taken().values()) == {4}
    assert scene.lease(scene.enter("late"), plan) == ()


def test_people_get_items_in_orders_of_their_own(scene):
    scene.put(40)
    plan = Plan(per_item=2, per_annotator=20, seed=3)
    orders = [[s.item for s in scene.lease(scene.enter(who), plan)] for who in ("ann", "bob")]
    by_name = sorted(orders[0], key=lambda name: int(name.removeprefix("bird-")))
    assert orders[0] != by_name
    assert not set(orders[0]) & set(orders[1])  # there were 20 that nobody had


def test_the_same_people_in_the_same_order_get_the_same(scene_of, tmp_path):
    found = []
    for name in ("one.db", "two.db"):
        with store.open(tmp_path / name) as db:
            scene = scene_of(db)
            scene.put(MIXED)
            people = [scene.enter(f"{name}-{i}") for i in range(4)]
            found.append([[s[1:] for s in scene.lease(who, WHOLE)] for who in people])
    assert found[0] == found[1]


def test_another_seed_gives_another_order(scene_of, tmp_path):
    found = []
    for seed in (1, 2):
        with store.open(tmp_path / f"{seed}.db") as db:
            scene = scene_of(db)
            scene.put(30)
            plan = Plan(per_item=1, per_annotator=10, seed=seed)
            found.append([s.item for s in scene.lease(scene.enter("ann"), plan)])
    assert found[0] != found[1]


def test_everybody_gets_one_batch_and_batches_stay_within_one(scene):
    scene.put(batches(5, 4), per_item=3)
    plan = Plan(per_item=3, batches=True, repeats=1, repeat_positions=(2,))
    for number in range(15):
        who = scene.enter(f"ann-{number}")
        shown = scene.lease(who, plan)
        targets = [s for s in shown if s.kind == "target"]
        assert len(targets) == 4
        assert len({s.batch for s in shown}) == 1
        assert [s.repeat_of for s in shown if s.kind == "repeat"] == [targets[2].position]
        if number % 2:
            scene.answer_all(who, plan)
        taken = scene.db.taken_per_batch("birds").values()
        assert max(taken) - min(taken) <= 1
        assert sum(taken) == number + 1
        assert len(scene.lease(who, plan)) == 5  # no second batch
    assert set(scene.taken().values()) == {3}
    assert scene.lease(scene.enter("too many"), plan) == ()


def test_a_batch_that_was_left_goes_to_the_next_without_what_is_full(scene):
    scene.put(batches(1, 3), per_item=1)
    plan = Plan(per_item=1, batches=True)
    ann, bob, cleo = (scene.enter(name) for name in ("ann", "bob", "cleo"))
    first = scene.lease(ann, plan)
    scene.answer(ann, 0)
    assert scene.lease(bob, plan) == ()
    scene.db.withdraw(ann.id, False, 1.0).result()
    assert scene.db.taken_per_batch("birds") == {"b0": 0}
    assert {s.item for s in scene.lease(cleo, plan)} == {s.item for s in first[1:]}
    assert set(scene.taken().values()) == {1}


def test_places_freed_in_a_full_batch_are_given_out_again(scene):
    scene.put(batches(2, 2), per_item=1)
    plan = Plan(per_item=1, batches=True)
    people = [scene.enter(name) for name in ("ann", "bob")]
    for who in people:
        scene.answer_all(who, plan)
    scene.db.forget("birds", "ann").result()
    shown = scene.lease(scene.enter("cleo"), plan)
    assert len(shown) == 2
    assert set(scene.taken().values()) == {1}


def test_without_a_number_per_person_everybody_may_do_everything(scene):
    scene.put(7, per_item=2)
    plan = Plan(per_item=2, batch_size=3, repeats=1, repeat_positions=(0,))
    for name in ("ann", "bob"):
        shown = scene.answer_all(scene.enter(name), plan)
        assert len({s.item for s in shown}) == 7
        assert [s.kind for s in shown] == ["target"] * 7 + ["repeat"]
    assert scene.lease(scene.enter("cleo"), plan) == ()


def test_repeats_beyond_what_a_person_saw_are_left_out(scene):
    scene.put(3)
    plan = Plan(per_item=1, per_annotator=5, repeats=2, repeat_positions=(1, 4))
    shown = scene.lease(scene.enter("ann"), plan)
    assert [s.kind for s in shown] == ["target", "target", "target", "repeat"]


def test_nobody_who_left_gets_items(scene):
    scene.put(5)
    ann = scene.enter("ann")
    scene.db.set_stage(ann.id, "screened-out", event="quiz", detail={}, now=1.0).result()
    with pytest.raises(Conflict, match="screened-out") as caught:
        scene.lease(ann, Plan(per_item=1))
    assert caught.value.reason == "left"


def test_a_check_the_study_does_not_have_is_named(scene):
    scene.put(5)
    with pytest.raises(StoreError, match="'robin' is no practice item or check"):
        scene.lease(scene.enter("ann"), Plan(per_item=1, checks=("robin",)))
    assert scene.held() == scene.taken()


def test_an_item_that_leaves_the_study_is_not_shown_again(scene):
    scene.put(4, per_item=2)
    ann = scene.enter("ann")
    plan = Plan(per_item=2, per_annotator=4)
    answered, unanswered, *_ = scene.lease(ann, plan)
    scene.answer(ann, answered.position)
    kept = [f"bird-{i}" for i in range(4)]
    kept = [name for name in kept if name not in (answered.item, unanswered.item)]
    scene.put([ItemRow(name) for name in kept], per_item=2)
    assert unanswered.position not in scene.db.missing(ann.id)
    assert {s.item for s in scene.lease(scene.enter("bob"), plan)} == set(kept)
    assert scene.db.progress("birds").items == 2
    scene.put(4, per_item=2)  # and it may come back
    assert scene.held() == scene.taken()
    assert scene.db.progress("birds").items == 4


def test_an_item_that_left_the_study_is_not_repeated(scene):
    scene.put(4, per_item=2)
    ann = scene.enter("ann")
    plan = Plan(per_item=2, per_annotator=4, batch_size=2, repeats=2, repeat_positions=(0, 1))
    first, second = scene.lease(ann, plan)
    for shown in (first, second):
        scene.answer(ann, shown.position)
    kept = {f"bird-{i}" for i in range(4)} - {first.item}
    scene.put([ItemRow(name) for name in sorted(kept)], per_item=2)
    shown = scene.answer_all(ann, plan)
    assert [s.item for s in shown if s.kind == "repeat"] == [second.item]


def put_text(scene, toml, now=0.0):
    scene.db.put_study("birds", toml, ("a", "b"), [ItemRow("bird-0")], 2, now).result()
    changes = scene.db.events("birds", "study-changed")
    return scene.db.study("birds").toml, [(each.detail["toml"], each.at) for each in changes]


def test_the_file_with_which_collecting_began_is_kept(scene):
    for text in ("one", "two"):
        assert put_text(scene, text) == (text, []), "nobody has answered yet"
    scene.answer_all(scene.enter("ann"), Plan(per_item=2))
    assert put_text(scene, "two") == ("two", [])
    for now in (5.0, 6.0):
        assert put_text(scene, "three", now) == ("two", [("three", 5.0)]), "once per change"
    assert put_text(scene, "two", 7.0) == ("two", [("three", 5.0), ("two", 7.0)])
    scene.db.forget("birds", "ann").result()
    assert put_text(scene, "four", 8.0)[0] == "four", "nobody has answered"
    scene.answer_all(scene.enter("bob"), Plan(per_item=2))
    assert put_text(scene, "four", 9.0)[1][2:] == [("four", 8.0)]


def test_who_comes_as_two_recruiter_sessions_at_once_is_let_in_once(scene, together):
    scene.put(2)

    def enter(visit, token):
        return scene.db.enter(
            "birds",
            "ann",
            token,
            label_order_of=lambda number: ("sparrow", "wren", "finch"),
            seed=7,
            recruiter_session=visit,
            now=0.0,
        )

    with together(scene.db):
        first, other, again = enter("one", "t1"), enter("two", "t2"), enter("one", "t3")
    assert first.result().id == again.result().id
    with pytest.raises(Conflict, match="with another recruiter session") as caught:
        other.result()
    assert caught.value.reason == "session"
    assert scene.db.session("t2") is None
    assert scene.db.session("t3") == first.result()


def test_putting_a_study_again_changes_nothing(scene):
    scene.put(MIXED)
    ann = scene.enter("ann")
    before = scene.lease(ann, WHOLE)
    scene.put(MIXED)
    assert scene.db.showings(ann.id) == before
    assert scene.db.study("birds").labels == ("sparrow", "wren", "finch")


def test_what_people_saw_may_not_change_its_kind(scene):
    scene.put(2)
    scene.lease(scene.enter("ann"), Plan(per_item=1))
    with pytest.raises(StoreError, match="'bird-0' was shown as target"):
        scene.put([ItemRow("bird-0", "gold"), ItemRow("bird-1")])


def test_an_item_is_in_a_study_once(scene):
    with pytest.raises(StoreError, match="'bird-0' is in the study 'birds' twice"):
        scene.put([ItemRow("bird-0"), ItemRow("bird-0", "gold")])


def test_labels_may_change_until_somebody_answered(scene):
    scene.put(2)
    items = [ItemRow("bird-0"), ItemRow("bird-1")]
    scene.db.put_study("birds", "", ("a", "b"), items, 2, 1.0).result()
    ann = scene.enter("ann")
    scene.answer_all(ann, Plan(per_item=1))
    with pytest.raises(StoreError, match="the labels of 'birds' are a, b"):
        scene.db.put_study("birds", "", ("a", "c"), items, 2, 1.0).result()
    assert scene.db.study("birds").labels == ("a", "b")


# ── what people were shown and how they were asked ───────────────────────────────────────────


def pictures(*digests):
    return [ItemRow(f"bird-{i}", digest=digest) for i, digest in enumerate(digests)]


def digests(scene):
    with scene.db._engines.read.connect() as connection:
        rows = connection.exec_driver_sql("SELECT digest FROM item ORDER BY id")
        return [digest for (digest,) in rows]


def test_what_people_saw_may_not_become_something_else(scene):
    scene.put(pictures("one", "two"), per_item=1)
    (shown,) = scene.lease(scene.enter("ann"), Plan(per_item=1, per_annotator=1))
    seen = int(shown.item.removeprefix("bird-"))
    changed = ["one", "two"]
    changed[1 - seen] = "three"
    scene.put(pictures(*changed), per_item=1)  # nobody has seen that one
    assert digests(scene) == changed
    changed[seen] = "four"
    with pytest.raises(ItemChanged, match=f"'bird-{seen}' was shown to people") as caught:
        scene.put(pictures(*changed), per_item=1)
    assert caught.value.item == shown.item
    assert digests(scene)[seen] == ("one", "two")[seen], "nothing was changed"


def test_an_item_that_left_and_comes_back_must_be_the_same(scene):
    scene.put(pictures("one"), per_item=1)
    scene.lease(scene.enter("ann"), Plan(per_item=1))
    scene.put([ItemRow("other", digest="x")])
    with pytest.raises(ItemChanged, match="'bird-0'"):
        scene.put(pictures("two"), per_item=1)
    scene.put(pictures("one"), per_item=1)
    assert digests(scene)[0] == "one"


def test_items_of_an_older_database_get_their_digests(scene):
    scene.put(2)
    scene.lease(scene.enter("ann"), Plan(per_item=1))
    assert digests(scene) == [None, None]
    scene.put(pictures("one", "two"))
    assert digests(scene) == ["one", "two"]
    scene.put(2)  # whoever does not know does not take it back
    assert digests(scene) == ["one", "two"]


QUICK = {"name": "quick", "version": 1, "options": {}, "frame": "self"}


def ask(scene, **changes):
    mode = None if changes.get("mode", 0) is None else {**QUICK, **changes}
    put = scene.db.put_study("birds", "[study]", ("a",), [ItemRow("bird-0")], 3, 4.0, mode)
    put.result()
    with scene.db._engines.read.connect() as connection:
        text = connection.exec_driver_sql("SELECT mode FROM study").scalar()
    return text and json.loads(text)


OTHERS = {
    "name": ({"name": "hard"}, "mode hard, frame self needs a new study name"),
    "options": ({"options": {"certainty": "30+60"}}, "mode quick:certainty=30\\+60, frame self"),
    "frame": ({"frame": "third_person"}, "asks by mode quick, frame self; mode quick, frame third"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_the_mode_may_change_until_somebody_answered(scene, other):
    changes, words = OTHERS[other]
    ask(scene)
    assert ask(scene, **changes) == {**QUICK, **changes}
    assert ask(scene) == QUICK
    scene.answer_all(scene.enter("ann"), Plan(per_item=3))
    assert ask(scene) == QUICK
    with pytest.raises(StoreError, match=words):
        ask(scene, **changes)
    assert ask(scene) == QUICK


def test_another_version_of_the_mode_is_written_down(scene):
    ask(scene)
    scene.answer_all(scene.enter("ann"), Plan(per_item=3))
    for _ in range(2):
        assert ask(scene, version=2)["version"] == 2
    (event,) = scene.db.events("birds", "mode-changed")
    assert (event.detail, event.at) == ({"from": 1, "to": 2}, 4.0)


def test_the_mode_of_an_older_database_is_filled_in(scene):
    assert ask(scene, mode=None) is None
    scene.answer_all(scene.enter("ann"), Plan(per_item=3))
    assert ask(scene) == QUICK
