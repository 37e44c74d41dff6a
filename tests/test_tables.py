"""Tables check themselves once, at birth, and are defined at every edge."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from softlabel import (
    Annotations,
    DataError,
    EstimandWarning,
    Index,
    Predictions,
    Score,
    SoftLabels,
    Statements,
)
from softlabel.aggregate import Mean, Share
from softlabel.tables import ANONYMOUS


def said(index, item=(0, 0, 1), annotator=(0, 1, 0), named=((0, 1), (0, -1), (2, 0)), **columns):
    n, k = len(item), len(index.labels)
    percent = np.where(np.array(named) >= 0, 50.0, np.nan)
    columns = {"percent": percent, "possible": np.ones((n, k), bool)} | columns
    return Statements(index, np.array(item), np.array(annotator), np.array(named), **columns)


# ── what is refused, and with which words ────────────────────────────────────────────────────


def test_names_are_unique_text():
    with pytest.raises(DataError, match=r"Index\.items holds 'a' more than once"):
        Index(["a", "b", "a"], [], ["x"])
    with pytest.raises(DataError, match="names must be text, not 3"):
        Index(["a", 3], [], ["x"])
    with pytest.raises(DataError, match="labels is empty"):
        Index(["a"], [], [])


REFUSED_ANNOTATIONS = {
    "item code outside 0..11": {"item": [0, 12], "annotator": [0, 0], "label": [0, 0]},
    "annotator code outside -1..3": {"item": [0, 1], "annotator": [0, 4], "label": [0, 0]},
    "label code outside 0..2": {"item": [0, 1], "annotator": [0, 0], "label": [0, 3]},
    "must hold integer codes, not float64": {"item": [0.5], "annotator": [0], "label": [0]},
    "has shape": {"item": [0, 1], "annotator": [0], "label": [0, 0]},
    "not both": {"item": [0], "annotator": [0], "label": [0], "probs": [[1, 0, 0]]},
    "sum to 1": {"item": [0], "annotator": [0], "probs": [[0.5, 0.4, 0]]},
    "negative": {"item": [0], "annotator": [0], "probs": [[1.2, -0.2, 0]]},
    "not a finite number": {"item": [0], "annotator": [0], "probs": [[np.nan, 1, 0]]},
}


@pytest.mark.parametrize("words", REFUSED_ANNOTATIONS)
def test_annotations_refuse(birds, words):
    columns = {key: np.array(value) for key, value in REFUSED_ANNOTATIONS[words].items()}
    with pytest.raises(DataError, match=words):
        Annotations(birds, **columns)


def test_an_error_names_first_row_value_and_how_many(birds):
    probs = np.full((6, 3), 1 / 3)
    probs[[2, 4]] = [0.5, 0.4, 0.3]
    with pytest.raises(DataError) as error:
        Annotations(birds, np.arange(6), np.zeros(6, int), probs=probs)
    assert "row 2" in str(error.value)
    assert "1.2" in str(error.value)
    assert "2 of 6 rows" in str(error.value)


def test_statements_refuse(birds):
    with pytest.raises(DataError, match="a chance without a class"):
        said(birds, percent=np.full((3, 2), 50.0))
    with pytest.raises(DataError, match="from 0 to 1e\\+06"):
        said(birds, percent=np.array([[-1, 50], [50, np.nan], [50, 50]]))
    with pytest.raises(DataError, match=r"possible has shape \(3, 2\), expected \(3, 3\)"):
        said(birds, possible=np.ones((3, 2), bool))


def test_soft_labels_refuse(birds):
    probs = np.full((12, 3), 1 / 3)
    with pytest.raises(DataError, match="nobody answered must have no label"):
        SoftLabels(birds, probs, np.array([0] + [1] * 11))
    with pytest.raises(DataError, match="whole numbers"):
        SoftLabels(birds, probs, np.ones(12) * 1.5)
    with pytest.raises(DataError, match="'wish': distribution or truth"):
        SoftLabels(birds, probs, np.ones(12, int), "wish")


def test_predictions_and_scores_refuse(birds):
    with pytest.raises(DataError, match="sum to 1"):
        Predictions(birds, np.full((12, 3), 0.3))
    with pytest.raises(DataError, match="low 2 above high 1"):
        Score(1.5, 2, 1, 3)
    assert len(Predictions(birds, np.full((12, 3), 1 / 3))) == 12


# ── frozen ───────────────────────────────────────────────────────────────────────────────────


def test_tables_are_frozen_but_the_callers_array_is_not(birds):
    label = np.array([0, 1])
    votes = Annotations(birds, np.array([0, 1]), np.array([0, 0]), label=label)
    with pytest.raises(ValueError, match="read-only"):
        votes.label[0] = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        votes.label = label
    label[0] = 2  # still ours


def test_no_table_changes_through_the_array_it_was_made_of(birds):
    item, who = np.arange(12, dtype=np.int16), np.zeros(12, dtype=np.int16)
    probs, possible = np.full((12, 3), 1 / 3), np.ones((12, 3), bool)
    named, percent = np.zeros((12, 1), dtype=np.int16), np.full((12, 1), 50.0)
    mended = np.zeros(12, bool)
    each = Annotations(birds, item, who, probs=probs)
    said = Statements(birds, item, who, named, percent, possible, {"p-is-0": mended})
    soft = SoftLabels(birds, probs, np.ones(12, int))
    for array in (item, who, probs, possible, named, percent, mended):
        array[...] = 1
    assert each.item.tolist() == said.item.tolist() == list(range(12))
    assert each.probs.max() == soft.probs.max() == 1 / 3
    assert said.percent.max() == 50
    assert not said.repairs["p-is-0"].any()


# ── edges ────────────────────────────────────────────────────────────────────────────────────


def test_items_nobody_answered_have_no_label(birds):
    soft = Mean()(Annotations(birds, np.array([3, 3]), np.array([0, 1]), label=np.array([0, 1])))
    assert soft.answered.tolist() == [i == 3 for i in range(12)]
    assert np.isnan(soft.probs[0]).all()
    assert soft.probs[3].tolist() == [0.5, 0.5, 0]


def test_annotators_without_answers_and_classes_never_used_stay(birds):
    votes = Annotations(birds, np.array([0]), np.array([2]), label=np.array([1]))
    assert votes.counts().shape == (12, 3)
    assert votes.counts().sum(axis=0).tolist() == [0, 1, 0]
    assert len(votes.index.annotators) == 4


def test_one_item_one_class_one_person():
    index = Index(["only"], ["one"], ["thing"])
    votes = Annotations(index, np.array([0]), np.array([0]), label=np.array([0]))
    assert Share()(votes).probs.tolist() == [[1.0]]


def test_no_rows_at_all(birds):
    none = np.zeros(0, int)
    soft = Mean()(Annotations(birds, none, none, label=none))
    assert soft.count.sum() == 0
    assert np.isnan(soft.probs).all()
    assert len(said(birds, item=none, annotator=none, named=np.zeros((0, 2), int))) == 0


def test_repeated_answers_of_one_person_are_two_rows(birds):
    votes = Annotations(birds, np.array([0, 0]), np.array([1, 1]), label=np.array([0, 2]))
    assert votes.votes_per_item()[0] == 2


def test_anonymous_votes_say_so(birds):
    votes = Annotations(birds, np.array([0, 1]), np.array([ANONYMOUS] * 2), label=np.array([0, 1]))
    assert votes.anonymous
    assert not Annotations(birds, np.array([0]), np.array([0]), label=np.array([0])).anonymous


def test_items_are_one_column(birds):
    with pytest.raises(DataError, match=r"item has shape \(2, 2\)"):
        Annotations(birds, np.zeros((2, 2), int), np.zeros(2, int), label=np.zeros(2, int))


def test_codes_are_small(birds):
    votes = Annotations(birds, np.arange(12), np.zeros(12, int), label=np.zeros(12, int))
    assert votes.item.itemsize + votes.annotator.itemsize + votes.label.itemsize <= 10


# ── what tables know ─────────────────────────────────────────────────────────────────────────


def test_stated_takes_the_first_mention_and_leaves_the_rest_unsaid(birds):
    table = said(birds, named=((0, 0), (1, -1), (2, 0)), percent=[[80, 20], [70, np.nan], [0, 5]])
    expected = [[0.8, np.nan, np.nan], [np.nan, 0.7, np.nan], [0.05, np.nan, 0.0]]
    np.testing.assert_array_equal(table.stated, expected)


def test_contradictory_is_named_and_ruled_out(birds):
    possible = np.array([[False, True, True], [True, False, False], [True, True, True]])
    assert said(birds, possible=possible).contradictory.tolist() == [True, False, False]


def test_take_keeps_the_index_and_cuts_every_column(birds):
    mended = {"p-is-0": np.array([True, False, True])}
    cut = said(birds, repairs=mended).take([2, 0])
    assert cut.item.tolist() == [1, 0]
    assert cut.repairs["p-is-0"].tolist() == [True, True]
    assert cut.index is birds


def test_soft_and_hard_votes_count_alike(birds):
    rng = np.random.default_rng(0)
    item, who, label = (rng.integers(0, size, 60) for size in (12, 4, 3))
    hard = Annotations(birds, item, who, label=label)
    soft = Annotations(birds, item, who, probs=np.eye(3)[label])
    np.testing.assert_array_equal(hard.counts(), soft.counts())
    np.testing.assert_array_equal(hard.soft(), soft.probs)


def test_soft_labels_survive_a_file(birds, tmp_path):
    probs = np.full((12, 3), 1 / 3)
    probs[0] = np.nan
    soft = SoftLabels(birds, probs, np.array([0] + [4] * 11), "truth", "by hand")
    soft.save(tmp_path / "labels.npz")
    again = SoftLabels.load(tmp_path / "labels.npz")
    np.testing.assert_array_equal(again.probs, soft.probs)
    assert again.count.tolist() == soft.count.tolist()
    assert (again.estimand, again.made_by) == ("truth", "by hand")
    assert again.index.items.tolist() == birds.items.tolist()
    assert again.probs.dtype == np.float64
    with np.load(tmp_path / "labels.npz") as file:  # the columns other programs rely on
        np.testing.assert_array_equal(file["wren"], soft.probs[:, 1])


def test_a_class_cannot_take_the_name_of_a_column(tmp_path):
    soft = SoftLabels(Index(["a"], [], ["count", "x"]), np.array([[1.0, 0]]), np.array([1]))
    with pytest.raises(DataError, match="a class is called 'count'"):
        soft.save(tmp_path / "labels.npz")
    soft = SoftLabels(Index(["a"], [], ["x", "x.npy"]), np.array([[1.0, 0]]), np.array([1]))
    with pytest.raises(DataError, match=r"called 'x\.npy'"):
        soft.save(tmp_path / "labels.npz")


def test_a_class_may_have_a_name_that_numpy_uses_itself(tmp_path):
    labels = ["file", "allow_pickle", "arr_0", "a/b"]
    soft = SoftLabels(Index(["a"], [], labels), np.array([[0.4, 0.3, 0.2, 0.1]]), np.array([1]))
    soft.save(tmp_path / "labels.npz")
    assert SoftLabels.load(tmp_path / "labels.npz").index.labels.tolist() == labels


def test_loading_something_else_says_what_is_missing(tmp_path):
    (tmp_path / "text.npz").write_text("no arrays at all")
    with pytest.raises(DataError, match=r"is no \.npz file"):
        SoftLabels.load(tmp_path / "text.npz")
    np.savez(tmp_path / "other.npz", item=np.array(["a"]))
    with pytest.raises(DataError, match=r"has the arrays item; .*'labels' is missing"):
        SoftLabels.load(tmp_path / "other.npz")


@given(hnp.arrays(np.float64, (3, 3), elements=st.floats(allow_nan=True, allow_infinity=True)))
def test_annotations_hold_the_simplex_or_refuse(probs):
    index = Index(["a", "b", "c"], ["x"], ["k", "l", "m"])
    try:
        table = Annotations(index, np.arange(3), np.zeros(3, int), probs=probs)
    except DataError:
        return
    assert (table.probs >= 0).all()
    np.testing.assert_allclose(table.probs.sum(axis=1), 1, atol=1e-6)


# ── two estimands ────────────────────────────────────────────────────────────────────────────


def labelled(estimand):
    probs = np.array([[0.7, 0.2, 0.1], [1, 0, 0], [np.nan] * 3])
    index = Index(["a", "b", "c"], [], ["x", "y", "z"])
    return SoftLabels(index, probs, np.array([5, 2, 0]), estimand, "Planted()")


@pytest.mark.parametrize("estimand", ["distribution", "truth"])
def test_entropy_of_what_the_label_estimates(estimand):
    by_hand = -(0.7 * np.log(0.7) + 0.2 * np.log(0.2) + 0.1 * np.log(0.1))
    np.testing.assert_allclose(labelled(estimand).entropy(estimand), [by_hand, 0, np.nan])


@pytest.mark.parametrize(
    ("has", "wanted", "words"),
    [
        ("truth", "distribution", "their entropy says how sure of the true class, not how people"),
        ("distribution", "truth", "their entropy says how people split, not how sure of the true"),
    ],
)
def test_the_entropy_of_one_estimand_read_as_the_other_warns(has, wanted, words):
    soft = labelled(has)
    with pytest.warns(EstimandWarning, match=r"Planted\(\)") as caught:
        found = soft.entropy(wanted)
    assert words in str(caught[0].message)
    assert caught[0].filename == __file__, "the warning points at whoever asked"
    np.testing.assert_array_equal(found, soft.entropy(has))


def test_people_split_is_what_entropy_means_unless_told():
    assert labelled("distribution").entropy()[0] > 0
    with pytest.warns(EstimandWarning):
        labelled("truth").entropy()
    with pytest.raises(DataError, match="entropy of 'doubt'"):
        labelled("truth").entropy("doubt")


def test_more_arrays_can_be_saved_beside_a_label(tmp_path):
    soft = labelled("distribution")
    soft.save(tmp_path / "labels.npz", {"gain": np.array([0.1, 0.2, np.nan])})
    with np.load(tmp_path / "labels.npz") as file:
        np.testing.assert_array_equal(file["gain"], [0.1, 0.2, np.nan])
    np.testing.assert_array_equal(SoftLabels.load(tmp_path / "labels.npz").probs, soft.probs)
    odd = SoftLabels(Index(["a"], [], ["gain"]), np.array([[1.0]]), np.array([1]))
    with pytest.raises(DataError, match="called 'gain'"):
        odd.save(tmp_path / "odd.npz", {"gain": np.array([0.1])})
