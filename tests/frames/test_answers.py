"""One table, held by every library: the same labels, bit by bit; what is ambiguous is refused."""

from __future__ import annotations

import json
import re
from collections import namedtuple

import numpy as np
import polars as pl
import pytest

import softlabel
from softlabel import DataError, LeftOutWarning, SoftlabelError, UnknownName

RNG = np.random.default_rng(7)
PAIRS = [(i, a) for i in range(40) for a in RNG.permutation(9)[: RNG.integers(2, 6)].tolist()]
CLASSES = ("cat", "dog", "owl")
ROWS = [(f"i{i}", f"a{a}", CLASSES[RNG.choice(3, p=(0.5, 0.3, 0.2))]) for i, a in PAIRS]
COLUMNS = {name: [row[j] for row in ROWS] for j, name in enumerate(("item", "annotator", "label"))}


def as_csv(folder):
    path = folder / "votes.csv"
    pl.DataFrame(COLUMNS).write_csv(path)
    return path


def as_parquet(folder):
    path = folder / "votes.parquet"
    pl.DataFrame(COLUMNS).write_parquet(path)
    return str(path)


def as_pandas(_):
    return pytest.importorskip("pandas").DataFrame(COLUMNS)


def as_arrow(_):
    return pytest.importorskip("pyarrow").table(COLUMNS)


def as_dataset(_):
    return pytest.importorskip("datasets").Dataset.from_dict(COLUMNS)


def as_named_index(_):
    return as_pandas(_).set_index(["item", "annotator"])["label"]


Row = namedtuple("Row", ("item", "annotator", "label"))
MAKERS = {
    "parquet": as_parquet,
    "pandas": as_pandas,
    "pandas, a series": as_named_index,
    "pandas, nullable": lambda _: as_pandas(_).convert_dtypes(),
    "pandas, categories": lambda _: as_pandas(_).astype("category"),
    "polars": lambda _: pl.DataFrame(COLUMNS),
    "polars, lazy": lambda _: pl.LazyFrame(COLUMNS),
    "polars, enum": lambda _: pl.DataFrame(COLUMNS).cast({"label": pl.Enum(CLASSES)}),
    "arrow": as_arrow,
    "arrow, a batch": lambda _: as_arrow(_).to_batches()[0],
    "hugging face": as_dataset,
    "dict of columns": lambda _: COLUMNS,
    "dict of arrays": lambda _: {name: np.array(values) for name, values in COLUMNS.items()},
    "records": lambda _: [Row(*row)._asdict() for row in ROWS],
    "named tuples": lambda _: [Row(*row) for row in ROWS],
    "tuples": lambda _: list(ROWS),
    "structured array": lambda _: np.array(ROWS, dtype=[(name, "U8") for name in COLUMNS]),
    "annotations": lambda folder: softlabel.annotations(as_csv(folder)),
}


def same(one, other):
    assert one.index.items.tolist() == other.index.items.tolist()
    assert one.index.labels.tolist() == other.index.labels.tolist()
    assert one.probs.tobytes() == other.probs.tobytes()
    assert one.count.tolist() == other.count.tolist()


@pytest.mark.parametrize("holder", MAKERS)
@pytest.mark.parametrize("pool", ["auto", "weighted"])
def test_every_holder_gives_the_labels_of_the_file(holder, pool, tmp_path):
    same(softlabel.label(MAKERS[holder](tmp_path), pool), softlabel.label(as_csv(tmp_path), pool))


def test_the_road_is_that_of_the_command_line(tmp_path):
    from softlabel.aggregate import Auto
    from softlabel.labelling import Plan, label_file

    facts = label_file(as_csv(tmp_path), tmp_path / "labels.csv", Plan(aggregate=Auto()))
    labels = softlabel.label(COLUMNS)
    assert labels.facts == facts
    written = pl.read_csv(tmp_path / "labels.csv")
    assert written.equals(labels.to_polars())


# ── names of columns ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "names",
    [
        ("task", "worker", "label"),
        ("Task ID", "workerId", "Label"),
        ("instance_id", "user", "choice"),
        ("example", "rater_id", "vote"),
        ("id", "participant", "response"),
        ("question", "judge", "rating"),
    ],
)
def test_usual_names_are_known(names):
    table = dict(zip(names, COLUMNS.values(), strict=True))
    same(softlabel.label(table, "mean"), softlabel.label(COLUMNS, "mean"))


def test_other_names_are_given():
    table = dict(zip(("x", "y", "z"), COLUMNS.values(), strict=True))
    named = softlabel.label(table, "mean", item="x", annotator="y", label="z")
    same(named, softlabel.label(COLUMNS, "mean"))
    # or the values themselves
    item, annotator, label = COLUMNS.values()
    same(softlabel.label(label, "mean", item=item, annotator=np.array(annotator)), named)


def test_further_columns_are_no_matter():
    table = COLUMNS | {"seconds": [1.0] * len(ROWS), "id": range(len(ROWS)), "text": ["x"] * 144}
    table["text"] = ["x"] * len(ROWS)
    same(softlabel.label(table, "mean"), softlabel.label(COLUMNS, "mean"))


# ── forms ────────────────────────────────────────────────────────────────────────────────────


def wide(classes=CLASSES):
    """Rows are items, columns annotators."""
    cells = np.full((40, 9), None, dtype=object)
    for item, annotator, label in ROWS:
        cells[int(item[1:]), int(annotator[1:])] = classes[CLASSES.index(label)]
    return cells


def test_wide_is_long():
    long = softlabel.label(COLUMNS)
    people = [f"a{a}" for a in range(9)]
    items = [f"i{i}" for i in range(40)]
    cells = wide()
    frame = pl.DataFrame({"item": items} | {p: cells[:, j].tolist() for j, p in enumerate(people)})
    same(softlabel.label(frame), long)
    same(softlabel.label(cells, item=items, annotator=people), long)
    pandas = pytest.importorskip("pandas")
    same(softlabel.label(pandas.DataFrame(cells, index=items, columns=people)), long)
    pivoted = pandas.DataFrame(COLUMNS).pivot(index="item", columns="annotator", values="label")
    found = softlabel.label(pivoted)
    assert {item: found[item] for item in found} == {item: long[item] for item in long}


def test_a_matrix_of_whole_numbers_with_gaps_is_wide():
    """The form of cleanlab: classes are 0, 1, …, gaps are NaN; numbers come back as numbers."""
    numbers = wide((0, 1, 2)).astype(np.float64)
    labels = softlabel.label(numbers, "mean")
    assert list(labels) == list(range(40))
    assert set(labels[3]) == {0, 1, 2}
    assert np.asarray(labels).tobytes() == softlabel.label(COLUMNS, "mean").probs.tobytes()


def test_arrays_of_scikit_activeml_are_wide():
    """Its missing label is NaN, of whole numbers often -1, of texts "nan"."""
    numbers = wide((0, 1, 2)).astype(np.float64)
    expected = softlabel.label(numbers, "mean").probs
    whole = np.where(np.isnan(numbers), -1, numbers).astype(int)
    texts = np.where(np.isnan(numbers), "nan", np.char.add("class ", whole.astype(str)))
    for array in (whole, texts):
        found = softlabel.label(array, "mean", form="wide", missing="drop")
        assert found.probs.tobytes() == expected.tobytes()


def test_a_row_can_list_all_votes_for_its_item():
    """In the order of the annotators, if they are listed; as Hugging Face holds them."""
    rows = list(zip(*COLUMNS.values(), strict=True))
    items = dict.fromkeys(COLUMNS["item"])
    votes, people = (
        [[row[place] for row in rows if row[0] == item] for item in items] for place in (2, 1)
    )
    table = {"id": list(items), "text": ["some words"] * len(items), "annotations": votes}
    full = table | {"annotators": people}
    ours = softlabel.annotations(COLUMNS)
    for holder in (dict, pl.DataFrame, lambda data: pl.DataFrame(data).to_arrow()):
        found = softlabel.annotations(holder(full))
        assert found.index.annotators.tolist() == ours.index.annotators.tolist()
        assert (found.counts() == ours.counts()).all()
        nobody = softlabel.annotations(holder(table))
        assert nobody.anonymous
        assert (nobody.counts() == ours.counts()).all()
    named = {"picture": list(items), "said": votes, "by": people}
    found = softlabel.annotations(named, item="picture", label="said", annotator="by")
    assert (found.counts() == ours.counts()).all()
    some = softlabel.label(table | {"annotations": [*votes[:-2], [], [None]]}, "mean")
    assert some.facts["left out"] == "2 without a vote"
    assert some.count.sum() == sum(map(len, votes[:-2]))


def test_an_item_without_a_label_keeps_its_row():
    numbers = np.array([[0, np.nan], [np.nan, np.nan], [1, 1]])
    labels = softlabel.label(numbers, "mean")
    assert list(labels) == [0, 1, 2]
    assert labels.count.tolist() == [1, 0, 2]
    assert np.isnan(list(labels[1].values())).all()


def test_counts_are_anonymous_votes():
    annotations = softlabel.annotations(COLUMNS)
    counts = annotations.counts().astype(int)
    votes = {"item": COLUMNS["item"], "label": COLUMNS["label"]}
    items = [f"i{i}" for i in range(40)]
    expected = softlabel.label(votes)
    table = {"item": items} | {name: counts[:, j] for j, name in enumerate(CLASSES)}
    same(softlabel.label(table, form="counts"), expected)
    same(softlabel.label(counts, form="counts", item=items, labels=CLASSES), expected)
    nested = {
        item: dict(zip(CLASSES, row.tolist(), strict=True))
        for item, row in zip(items, counts, strict=True)
    }
    same(softlabel.label(nested, form="counts"), expected)
    chaos = [
        {"uid": item, "label_counter": {k: v for k, v in nested[item].items() if v}}
        for item in items
    ]
    same(softlabel.label(chaos, labels=CLASSES), expected)
    long = [
        {"item": item, "label": name, "count": nested[item][name]}
        for item in items
        for name in CLASSES
    ]
    same(softlabel.label(long), expected)
    assert softlabel.annotations(table, form="counts").anonymous


def test_a_class_may_have_any_name_where_no_table_is_made():
    labels = softlabel.label([("a", "p", "count"), ("a", "q", "item")], "mean")
    assert labels["a"] == {"count": 0.5, "item": 0.5}
    with pytest.raises(DataError, match="'count', which is a column of the table itself; give"):
        labels.to_polars()


def soft_rows():
    probs = RNG.dirichlet(np.ones(3), len(ROWS))
    return probs / probs.sum(axis=1, keepdims=True)


def test_soft_votes_are_read_from_columns_arrays_and_lists():
    probs = soft_rows()
    item, annotator, _ = COLUMNS.values()
    by_item = {
        name: [row for row, one in zip(probs, item, strict=True) if one == name] for name in item
    }
    table = {"item": item, "annotator": annotator} | dict(zip(CLASSES, probs.T, strict=True))
    labels = softlabel.label(table, "mean")
    for name, rows in by_item.items():
        assert list(labels[name].values()) == pytest.approx(np.mean(rows, axis=0), abs=1e-12)
    same(softlabel.label(probs, "mean", item=item, annotator=annotator, labels=CLASSES), labels)
    lists = {"item": item, "annotator": annotator, "soft_label": probs.tolist()}
    same(softlabel.label(lists, "mean", labels=CLASSES), labels)
    same(softlabel.label(pl.DataFrame(lists), "mean", labels=CLASSES), labels)
    anonymous = {"item": item} | dict(zip(CLASSES, probs.T, strict=True))
    same(softlabel.label(anonymous, "mean", form="soft"), labels)


def test_what_a_study_collected_is_read_from_its_records(tmp_path):
    from softlabel import io
    from softlabel.testing import example_statements

    said = example_statements()
    whole = np.flatnonzero((said.named[:, 0] >= 0) & ~np.isnan(said.percent[:, 0]))
    io.write_answers(said.take(whole), tmp_path / "said.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "said.jsonl").read_text().splitlines()]
    same(softlabel.label(rows, "mean"), softlabel.label(tmp_path / "said.jsonl", "mean"))


def test_classes_that_a_type_declares_are_kept_though_nobody_chose_them():
    table = pl.DataFrame({"item": ["x"], "annotator": ["a"], "label": ["hi"]})
    declared = table.cast({"label": pl.Enum(["lo", "hi", "top"])})
    assert softlabel.label(declared, "mean")["x"] == {"lo": 0, "hi": 1, "top": 0}
    assert softlabel.label(table, "mean", labels=["hi", "no"])["x"] == {"hi": 1, "no": 0}


def test_steps_of_a_scale_are_known_by_option_or_type():
    assert not softlabel.annotations(TWO).index.ordered
    assert softlabel.annotations(TWO, ordered=True).index.ordered
    pandas = pytest.importorskip("pandas")
    steps = pandas.Categorical(TWO["label"], categories=["y", "x"], ordered=True)
    index = softlabel.annotations(pandas.DataFrame(TWO).assign(label=steps)).index
    assert index.ordered
    assert index.labels.tolist() == ["y", "x"]
    plain = pandas.DataFrame(TWO).astype({"label": "category"})
    assert not softlabel.annotations(plain).index.ordered


# ── refusals ─────────────────────────────────────────────────────────────────────────────────

SQUARE = np.array([[0, 1], [1, 1]])
TWO = {"item": [1, 2], "annotator": ["a", "b"], "label": ["x", "y"]}
REFUSED = [
    (SQUARE, {}, "could mean several things: say form='soft'"),
    ({"item": [1, 2], "x": [3, 0], "y": [0, 1]}, {}, "form='counts' if a row is an item"),
    (
        {"item": [1, 2], "mood": ["x", "y"]},
        {},
        "say which column is the label (label=), or form='w",
    ),
    ({"item": [1, 2], "mood": ["x", "y"], "text": ["a b", "c"]}, {}, "the label (label=), or form"),
    ({"item": [1, 2], "annotator": [1, 2], "mood": ["x", "y"]}, {}, "name it with label="),
    (np.array([[3, np.nan], [np.nan, 1]]), {}, "could mean several things"),  # counts without 0
    (SQUARE - 1, {"form": "wide"}, "a cell is -1: if it is no label, say missing='drop'"),
    (
        {"item": [1], "annotations": [["x", "y"]], "annotators": [["a"]]},
        {},
        "row 1: 'annotations' lists 2 votes and 'annotators' 1 annotators",
    ),
    ({"item": [1], "annotations": [[]]}, {}, "no list in 'annotations' holds a vote"),
    ({"item": [1], "annotator": ["a"], "label": [["x", "y"]]}, {}, "which can be no id"),
    (SQUARE + 0.5, {"form": "counts"}, "column 0, row 1: 0.5 is no number of votes"),
    (TWO | {"count": [1, 3]}, {}, "column 'count', row 2, value 3: must be 1, as the row names"),
    ({"item": [1], "label": ["x"], "n": [0]}, {}, "every 'n' is 0, so there are no votes"),
    ({"a": {"b": 1}}, {}, "say form='wide' for {item: {annotator: label}}"),
    ({"a": [1], "b": [1, 2]}, {}, "columns of equal length"),
    ([1, 2], {}, "name it with item="),
    ([[1, 2, 3]], {}, "must be a table of pandas"),
    (3, {}, "int is no table of answers"),
    ([], {}, "has no rows"),
    (np.zeros((2, 2, 2)), {}, "shape (2, 2, 2) is no table"),
    ({"q": [1], "annotator": [1], "label": [1]}, {}, "known to hold the item; name it with item="),
    ({"item": [1], "annotator": [1]}, {}, "known to hold the label"),
    ({"item": [1], "task": [1], "label": [1]}, {}, "both 'item' and 'task' are there"),
    (TWO | {"soft_label": [[1.0], [1.0]]}, {}, "has a label and 'soft_label'; say form='votes'"),
    (TWO, {"item": "itm"}, "no column for item called 'itm' (did you mean 'item'?)"),
    (TWO, {"item": [1, 2, 3]}, "3"),
    (TWO, {"labels": ["x"]}, "no such class"),
    (TWO, {"labels": "xy"}, "must be a list of all classes"),
    (TWO, {"form": "long"}, "no form called 'long'; there are: counts, soft, votes, wide"),
    (TWO, {"missing": "skip"}, "there are: drop, refuse"),
    (TWO, {"repeats": "latest"}, "no way with repeats called 'latest'"),
    (TWO, {"aggregate": "dirichlt"}, "did you mean 'dirichlet'?"),
    (TWO, {"aggregate": "softmax:tau=-1"}, "tau = -1.0 is not in"),
    (TWO, {"aggregate": 3}, "aggregate = 3 is no strategy"),
    (TWO, {"construct": "clmp"}, "did you mean 'clamp'?"),
    (TWO, {"aggregate": "mean", "gold": {1: "x"}}, "gold=: mean does not learn"),
    (TWO, {"aggregate": "dawid-skene", "intervals": True}, "intervals=True: DawidSkene("),
    (TWO, {"aggregate": "mean", "intervals": True}, "leave intervals=True out, or use aggregate="),
    (TWO, {"aggregate": "ordinal"}, "say ordered=True, and give their order with labels= if it"),
    (TWO | {"item": [1, 1], "annotator": ["a", "a"]}, {}, "repeats=first, last, mean or all"),
    (TWO | {"label": ["x", None]}, {}, "row 2 has no label"),
    (TWO | {"item": [1.0, float("nan")]}, {}, "row 2 has no item"),
    (TWO | {"annotator": ["a", " "]}, {}, "row 2 has no annotator"),
    (TWO | {"label": ["x", "NaN"]}, {}, "looks like a missing value"),
    (TWO | {"item": [1, "1"]}, {}, "both '1' and 1 are there"),
    (TWO | {"item": ["i", "i "]}, {}, "column 'item': 'i' and 'i ' differ by the space around"),
    (
        {"item": [1], "p": ["x"], "p ": ["x"]},
        {"form": "wide"},
        "column 'annotator': 'p' and 'p ' differ by the space around them only; say spelling=merge",
    ),
    (TWO | {"item": [1, True]}, {}, "stand for values that are equal"),
    (TWO | {"item": [[1], [2]]}, {}, "which can be no id"),
    (TWO | {"item": pl.Series([[1], [2]])}, {}, "which can be no id"),
    (TWO | {"label": ["x", "X"]}, {}, "spelling="),
    (TWO, {"spelling": "mend"}, "no way with spellings (spelling=) called 'mend'"),
    ("votes.csv", {"form": "wide"}, "form = 'wide' is for tables in memory, not for files"),
    ("votes.csv", {}, "there is no such file"),
]


@pytest.mark.parametrize(("data", "options", "words"), REFUSED)
def test_refused(data, options, words):
    with pytest.raises(SoftlabelError) as error:
        softlabel.label(data, **options)
    assert words in str(error.value)


def test_missing_values_are_dropped_and_counted():
    table = COLUMNS | {"label": [*COLUMNS["label"][:-3], None, "", float("nan")]}
    with pytest.warns(LeftOutWarning, match="left out rows: 3 without label"):
        labels = softlabel.label(table, "mean", missing="drop")
    assert "3 without label" in labels.facts["left out"]
    kept = {name: values[:-3] for name, values in COLUMNS.items()}
    same(labels, softlabel.label(kept, "mean"))
    with pytest.warns(LeftOutWarning):
        assert len(softlabel.annotations(table, missing="drop")) == len(ROWS) - 3


def test_a_file_takes_the_same_options(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("x,y,z\ni,a,cat\ni,b,\nj,a,Cat\n")
    named = {"item": "x", "annotator": "y", "label": "z"}
    with pytest.warns(LeftOutWarning, match="1 without z"):
        labels = softlabel.label(path, "mean", **named, missing="drop", spelling="merge")
    assert len(labels) == 2
    table = pl.read_csv(path)
    with pytest.warns(LeftOutWarning, match="1 without label"):
        same(softlabel.label(table, "mean", **named, missing="drop", spelling="merge"), labels)


def test_gold_is_a_dict_a_series_a_table_or_a_file(tmp_path):
    gold = {"i0": "owl", "i1": "cat", "elsewhere": "dog"}
    expected = softlabel.label(COLUMNS, "dawid-skene", gold=gold)
    assert expected["i0"]["owl"] == 1
    pl.DataFrame({"item": [*gold], "label": [*gold.values()]}).write_csv(tmp_path / "gold.csv")
    same(softlabel.label(COLUMNS, "dawid-skene", gold=tmp_path / "gold.csv"), expected)
    table = {"task": [*gold], "true_label": [*gold.values()]}
    same(softlabel.label(COLUMNS, "dawid-skene", gold=table), expected)
    with pytest.raises(SoftlabelError, match="no label 'emu'"):
        softlabel.label(COLUMNS, "dawid-skene", gold={"i0": "emu"})
    with pytest.raises(DataError, match="names none of the items"):
        softlabel.label(COLUMNS, "dawid-skene", gold={"elsewhere": "cat"})
    series = pytest.importorskip("pandas").Series(gold)
    same(softlabel.label(COLUMNS, "dawid-skene", gold=series), expected)


def test_an_unknown_keyword_is_refused():
    with pytest.raises(TypeError, match="aggregat"):
        softlabel.label(COLUMNS, aggregat="mean")
    with pytest.raises(UnknownName, match=re.escape("option of aggregate 'softmax' called 'taw'")):
        softlabel.label(COLUMNS, "softmax:taw=1")


def test_what_there_is_can_be_seen():
    assert {"label", "annotations", "aggregate", "SoftLabels"} <= set(dir(softlabel))
    assert all(hasattr(softlabel, name) for name in dir(softlabel) if name != "train")
