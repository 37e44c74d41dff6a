"""Search: branches are shared evenly, a scope bounds what is possible, thousands are quick."""

from __future__ import annotations

import time

import numpy as np
import pytest

from softlabel import SoftlabelError
from softlabel.elicit import Search
from softlabel.elicit.fields import build_tree, list_branches
from softlabel.elicit.search import split_evenly
from softlabel.errors import ResponseError

LABELS = ["animal/cat/tabby", "animal/cat/tiger", "animal/dog", "car", "plant/fern"]
TABBY, TIGER, DOG, CAR, FERN = range(5)


def answer(*picks, **fields):
    entries = [{"node": node, "chips": chips} for node, chips in picks]
    return {"n": 20, "picks": entries or [{"node": "car", "chips": 20}]} | fields


def test_a_class_has_its_chips():
    read = Search().read(answer(("car", 5), ("animal/dog", 15), rest="ruled_out"), LABELS)
    assert (read.named, read.percent) == ((DOG, CAR), (75, 25)), "the likeliest comes first"
    assert read.possible.tolist() == [False, False, True, True, False]
    assert Search().read(answer(), LABELS).possible.all()


def test_chips_on_a_branch_are_shared_by_the_classes_in_it():
    read = Search().read(answer(("animal", 15), ("car", 5), rest="ruled_out"), LABELS)
    assert (read.named, read.percent) == ((TABBY, TIGER, DOG, CAR), (25, 25, 25, 25))
    read = Search().read(answer(("animal/cat", 20)), LABELS)
    assert (read.named, read.percent) == ((TABBY, TIGER), (50, 50))


def test_a_branch_that_was_named_as_a_whole_is_told():
    read = Search().read(answer(("animal/cat", 12), ("car", 8)), LABELS)
    (branch,) = read.branches
    assert (branch.name, branch.percent, branch.classes.tolist()) == ("animal/cat", 60, [0, 1])
    assert Search().read(answer(("animal/dog", 12), ("car", 8)), LABELS).branches == ()


def test_equal_shares_that_nobody_chose_are_recorded():
    payload = answer(("car", 10), ("animal", 10)) | {"even": True}
    assert Search().read(payload, LABELS).percent[0] == 50
    belief = np.array([0.5, 0, 0, 0.5, 0])
    sent = Search().simulate(belief, LABELS, np.random.default_rng(0))
    assert sent["even"] is True
    assert split_evenly(20, 3) == [7, 7, 6]


def test_shares_that_do_not_divide_still_sum_to_exactly_a_hundred():
    labels = [f"group/c{i}" for i in range(7)] + ["other"]
    read = Search().read(answer(("group", 13), ("other", 7)), labels)
    assert sum(read.percent) == sum(reversed(read.percent)) == 100
    assert np.ptp(read.percent[1:]) < 1e-9


def test_a_branch_with_stop_may_hold_another_pick():
    picks = [{"node": "animal", "chips": 12, "stop": True}, {"node": "animal/dog", "chips": 8}]
    read = Search().read(answer() | {"picks": picks}, LABELS)
    assert read.named[0] == DOG
    assert read.percent == pytest.approx((60, 20, 20))
    with pytest.raises(ResponseError, match="'animal/dog' lies in 'animal'"):
        Search().read(answer(("animal", 12), ("animal/dog", 8)), LABELS)


def test_equal_classes_come_as_they_were_picked_and_then_by_name():
    picks = [
        {"node": "animal", "chips": 6, "stop": True},
        {"node": "car", "chips": 6},
        {"node": "animal/dog", "chips": 4},
        {"node": "plant", "chips": 4},
    ]
    read = Search().read(answer() | {"picks": picks}, LABELS)
    assert read.named == (DOG, CAR, FERN, TABBY, TIGER), "the dog is first picked as an animal"
    assert read.percent == pytest.approx((30, 30, 20, 10, 10))


def test_everything_outside_the_scope_is_impossible_and_everything_in_it_possible():
    for rest in ("ruled_out", "possible", "unsaid"):
        read = Search().read(answer(("animal/dog", 20), scope=["animal"], rest=rest), LABELS)
        assert read.possible.tolist() == [True, True, True, False, False]
    with pytest.raises(ResponseError, match="outside the branches that are still possible"):
        Search().read(answer(("animal", 20), scope=["animal/cat"]), LABELS)


def test_a_name_that_is_class_and_branch():
    labels = ["animal", "animal/cat", "car"]
    pick = {"node": "animal", "chips": 20}
    assert Search().read(answer(("animal", 20)), labels).named == (0,)
    read = Search().read(answer() | {"picks": [pick | {"stop": True}]}, labels)
    assert (read.named, read.percent) == ((0, 1), (50, 50))
    assert Search().read(answer(("animal", 12), ("animal/cat", 8)), labels).percent == (60, 40)


def test_the_path_can_be_written_with_another_sign_or_none():
    labels = ["w/o", "a > b", "a > c"]
    assert Search(path=" > ").read(answer(("a", 20)), labels).named == (1, 2)
    assert Search(path=" > ").rules() == {"n": 20, "picks": 5, "path": " > "}
    with pytest.raises(ResponseError, match="no such class or branch"):
        Search(path="").read(answer(("w", 20)), labels)
    assert Search(path="").read(answer(("w/o", 20)), labels).named == (0,)


@pytest.mark.parametrize(
    ("name", "found"),
    [("a", []), ("a/b", ["a"]), ("/a", []), ("a/", []), ("a//b", ["a", "a/"]), ("/", [])],
)
def test_odd_paths(name, found):
    assert list_branches(name, "/") == found
    tree = build_tree((name, "z"), "/")
    assert tree.below(tree.wholes[name]).tolist() == [0]


PICK = {"node": "car", "chips": 20}
REFUSED = [
    ("n", 10, "must be a whole number, 20"),
    ("picks", None, "must be answered"),
    ("picks", [], "1 to 5 classes"),
    ("picks", [PICK | {"chips": 4}] * 6, "1 to 5 classes"),
    ("picks", "car", "must be a list of picks"),
    ("picks", ["car"], "a pick has a node and chips"),
    ("picks", [{"node": "car"}], "a pick has a node and chips"),
    ("picks", [PICK | {"colour": 1}], "a pick has no 'colour'"),
    ("picks", [PICK | {"stop": 1}], "true or false"),
    ("picks", [PICK | {"node": "cra"}], "did you mean 'car'"),
    ("picks", [PICK | {"node": ["car"]}], "no such class or branch"),
    ("picks", [PICK | {"chips": 19}], "exactly 20 chips must lie on the picks, not 19"),
    ("picks", [PICK | {"chips": 0}, {"node": "plant", "chips": 20}], "from 1 to 20"),
    ("picks", [PICK | {"chips": "20"}], "whole number"),
    ("picks", [PICK | {"chips": 10}] * 2, "'car' is picked twice"),
    ("scope", ["anmal"], "did you mean 'animal'"),
    ("scope", ["car", "car"], "holds a class or branch twice"),
    ("scope", "car", "must be a list"),
    ("rest", 1, "must be one of"),
    ("queries", [1], "must be a list of texts"),
    ("even", "yes", "must be true or false"),
    ("top", "car", "no such field"),
]


@pytest.mark.parametrize(("field", "value", "reason"), REFUSED)
def test_what_cannot_be_is_refused_with_field_and_reason(field, value, reason):
    with pytest.raises(ResponseError, match=reason) as error:
        Search().read(answer() | {field: value}, LABELS)
    assert error.value.field == field


def test_what_was_typed_is_kept_and_not_interpreted():
    Search().read(answer(queries=["ta", "", "car"]), LABELS)


def test_other_numbers_of_chips_are_refused():
    with pytest.raises(SoftlabelError, match="no n of Search called '3'"):
        Search(3).rules()


def test_a_simulated_person_names_classes_where_they_can_and_branches_where_they_must():
    rng = np.random.default_rng(0)
    sent = Search().simulate(np.array([0.75, 0.25, 0, 0, 0]), LABELS, rng)
    assert [tuple(pick.values()) for pick in sent["picks"]] == [
        ("animal/cat/tabby", 15),
        ("animal/cat/tiger", 5),
    ]
    assert (sent["scope"], sent["rest"]) == ([], "ruled_out")
    many = [f"bird/b{i}" for i in range(40)] + ["car"]
    sent = Search().simulate(np.array([0.9 / 40] * 40 + [0.1]), many, rng)
    assert {pick["node"]: pick["chips"] for pick in sent["picks"]} == {"bird": 18, "car": 2}


def test_ten_thousand_classes_are_read_and_answered_at_once():
    """Ten times slower than measured would still pass: 0.3 ms to read, 2 ms to answer."""
    labels = [f"g{i // 1000}/h{i // 50}/c{i}" for i in range(10_000)]
    mode, rng = Search(), np.random.default_rng(0)
    beliefs = rng.dirichlet([0.001] * len(labels), 20)
    mode.simulate(beliefs[0], labels, rng)  # the first call builds the tree
    start = time.process_time()
    sent = [mode.simulate(belief, labels, rng) for belief in beliefs]
    middle = time.process_time()
    for payload in sent:
        assert sum(mode.read(payload, labels).percent) == 100
    end = time.process_time()
    assert (middle - start) / 20 < 0.02
    assert (end - middle) / 20 < 0.01
    with pytest.raises(
        ResponseError, match="no such class or branch; there are g0, g0/h0"
    ) as error:
        mode.read(answer(("c1", 20)), labels)
    assert len(str(error.value)) < 500
