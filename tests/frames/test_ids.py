"""Ids of any type are taken as they are, and come back as they were."""

from __future__ import annotations

import datetime as dt
import pickle
from uuid import UUID

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softlabel
from softlabel import DataError, Index, SoftlabelError, SoftLabels
from softlabel.errors import UnknownId
from softlabel.frames import to_pandas

TEXT = st.text(min_size=1, max_size=8).filter(lambda text: text.strip() and "\0" not in text)
NAMES = TEXT.filter(lambda text: text.lower() not in ("nan", "<na>", "item", "annotator", "count"))
KINDS = {
    "text": NAMES,
    "numbers": st.integers(),
    "decimals": st.floats(allow_nan=False),
    "dates": st.dates(),
    "times": st.datetimes(),
    "uuids": st.uuids(),
    "tuples": st.tuples(st.integers(), st.text()),
}


def distinct(kind: str, least: int, most: int):
    return st.lists(KINDS[kind], min_size=least, max_size=most, unique=True)


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
@settings(max_examples=10, deadline=None)
def test_ids_come_back_as_they_were(kind, data):
    items = data.draw(distinct(kind, 1, 6))
    people = data.draw(distinct(kind, 1, 4))
    classes = data.draw(distinct(kind, 1, 4))
    rows = [(i, a, classes[(j + k) % len(classes)]) for j, i in enumerate(items)
            for k, a in enumerate(people)]  # fmt: skip
    said = softlabel.annotations(rows, spelling="keep")
    assert said.index.ids("items") == items
    assert said.index.ids("annotators") == people
    assert set(said.index.ids("labels")) == {label for _, _, label in rows}
    labels = softlabel.label(rows, "mean", spelling="keep")
    assert list(labels) == labels.keys() == items
    for item in items:
        votes = [label for one, _, label in rows if one == item]
        expected = {label: votes.count(label) / len(votes) for label in set(votes)}
        assert {label: p for label, p in labels[item].items() if p} == pytest.approx(expected)
    assert [type(one) for one in labels] == [
        int if isinstance(one, float) and one.is_integer() else type(one) for one in items
    ]


EXAMPLES = {
    "numbers": [17, -3, 2**70],
    "dates": [dt.date(2026, 11, 17), dt.date(1970, 1, 1), dt.date(2000, 2, 29)],
    "uuids": [UUID(int=5), UUID(int=6), UUID(int=2**127)],
    "tuples": [(1, "a"), (1, "b"), (2, "a")],
    "text": ["x", "17", "é"],
}


@pytest.mark.parametrize("kind", EXAMPLES)
def test_tables_have_the_ids_that_were_given(kind):
    pandas = pytest.importorskip("pandas")
    items = EXAMPLES[kind]
    table = pandas.DataFrame({"item": items, "annotator": [0, 0, 1], "label": [2, 10, 2]})
    labels = softlabel.label(table, "mean")
    frame = labels.to_pandas()
    assert frame["item"].tolist() == items
    assert list(frame.columns) == ["item", 2, 10, "count"]
    assert frame[10].tolist() == [0, 1, 0]
    assert labels.to_polars()["item"].to_list() == items
    assert labels.to_polars().columns == ["item", "2", "10", "count"]


def test_whole_numbers_stay_numbers_in_every_library():
    table = {"item": [17, 3], "annotator": [1, 2], "label": [0, 1]}
    labels = softlabel.label(pl.DataFrame(table), "mean")
    assert labels[17] == labels[np.int64(17)] == {0: 1, 1: 0}
    assert labels.to_polars()["item"].dtype == pl.Int64
    pandas = pytest.importorskip("pandas")
    assert labels.to_pandas()["item"].dtype == np.int64
    gaps = pandas.DataFrame(table).astype(float)  # as after a join with gaps
    assert softlabel.label(gaps, "mean")[17] == labels[17]
    assert gaps.astype("Int64").pipe(softlabel.label, "mean")[17] == labels[17]


def test_truth_values_are_classes():
    labels = softlabel.label([("x", "a", True), ("x", "b", False), ("x", "c", True)], "mean")
    assert labels["x"] == pytest.approx({False: 1 / 3, True: 2 / 3})
    assert labels.index.labels.tolist() == ["False", "True"]  # as in files


def test_an_unknown_item_is_refused_with_what_there_is():
    labels = softlabel.label({"item": [17, 3], "label": ["a", "b"]}, "mean")
    with pytest.raises(UnknownId) as error:
        labels["17"]
    assert str(error.value) == "no item '17'; there is 17 (int); the items are 17, 3"
    with pytest.raises(KeyError):
        labels[18]
    assert 17 in labels
    assert "17" not in labels
    with pytest.raises(SoftlabelError, match="did you mean 'horse'"):
        softlabel.label({"item": ["horse"], "label": ["a"]}, "mean")["hores"]


def test_labels_are_a_mapping_and_an_array():
    labels = softlabel.label({"item": [1, 2, 2], "label": ["a", "b", "a"]}, "mean")
    assert dict(labels) == {1: {"a": 1, "b": 0}, 2: {"a": 0.5, "b": 0.5}}
    assert len(labels) == 2
    assert np.asarray(labels).tolist() == [[1, 0], [0.5, 0.5]]
    assert np.asarray(labels, dtype=np.float32).dtype == np.float32
    copy = np.array(labels)
    copy[0] = 0
    assert labels[1]["a"] == 1


def test_ids_survive_pickling_pooling_on_parts_and_updates():
    from softlabel.aggregate import Mean, update

    first = softlabel.annotations({"item": [5, 6], "annotator": [1, 2], "label": [0, 1]})
    labels = Mean()(first, shards=2)
    assert list(labels) == list(pickle.loads(pickle.dumps(labels))) == [5, 6]
    new = softlabel.annotations({"item": [6, 7], "annotator": [3, 3], "label": [0, 1]})
    assert dict(update(labels, new)) == {5: {0: 1, 1: 0}, 6: {0: 0.5, 1: 0.5}, 7: {0: 0, 1: 1}}
    assert update(labels, new).index.ids("annotators") == [1, 2, 3]


def test_intervals_are_carried_and_written(tmp_path):
    table = {"item": [1, 1, 2], "annotator": ["a", "b", "a"], "label": ["x", "y", "y"]}
    labels = softlabel.label(table, "dirichlet", intervals=True)
    low, high = labels.more["low"], labels.more["high"]
    assert ((low < labels.probs) & (labels.probs < high)).all()
    assert labels.to_polars()["low:x"].to_list() == low[:, 0].tolist()
    pandas = pytest.importorskip("pandas")
    assert isinstance(labels.to_pandas(), pandas.DataFrame)
    assert labels.to_pandas()["high:y"].tolist() == high[:, 1].tolist()
    labels.save(tmp_path / "labels.npz")
    assert np.load(tmp_path / "labels.npz")["low"].tolist() == low.tolist()
    assert SoftLabels.load(tmp_path / "labels.npz").probs.tolist() == labels.probs.tolist()


def test_a_class_called_like_a_column_is_refused():
    labels = SoftLabels(Index(["i"], [], ["item", "b"]), [[0.5, 0.5]], [1])
    with pytest.raises(DataError, match="a class is called 'item'"):
        labels.to_polars()
    with pytest.raises(SoftlabelError):
        to_pandas(labels)


def test_a_dataset_holds_labels_and_its_answers_are_read_again():
    datasets = pytest.importorskip("datasets")
    table = {"item": [4, 4, 9], "annotator": ["a", "b", "a"], "label": ["x", "y", "y"]}
    made = softlabel.label(table, "dirichlet", intervals=True).to_dataset()
    assert made.features["label"].names == ["x", "y"]
    assert made.features["soft_label"].length == 2
    assert made["item"][:] == [4, 9]
    assert made["count"][:] == [2, 1]
    assert set(made.column_names) >= {"low", "high"}
    # classes that are numbers in the data are named by their feature; -1 is missing
    kinds = datasets.Features(
        {
            "item": datasets.Value("int64"),
            "annotator": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["no", "yes", "maybe"]),
        }
    )
    coded = datasets.Dataset.from_dict(table | {"label": [1, 0, 1]}, features=kinds)
    assert softlabel.label(coded, "mean")[4] == {"no": 0.5, "yes": 0.5, "maybe": 0}
    gap = datasets.Dataset.from_dict(table | {"label": [1, 0, -1]}, features=kinds)
    with pytest.raises(DataError, match="row 3 has no label"):
        softlabel.label(gap)
    with pytest.raises(DataError, match=r"several tables; take one: \['train'\]"):
        softlabel.label(datasets.DatasetDict(train=coded))
