"""CIFAR-10S: the raw file against the released answers, an independent table, and the figures."""

from __future__ import annotations

import json
import shutil
from collections import Counter

import numpy as np
import polars as pl
import pytest

from softlabel.datasets import MissingData, cifar10, cifar10s, verify
from softlabel.elicit import Classic
from softlabel.errors import FileError, UnknownName
from softlabel.tables import Floats


@pytest.fixture(scope="module")
def everything(released):
    released("cifar10s")
    return cifar10s.load("all")


def said(data):
    return data.statements


def by_person(table, right):
    people: Floats = np.bincount(table.annotator, right) / np.bincount(table.annotator)
    return people


def test_counts(everything, data_folder):
    raw = pl.read_csv(data_folder / "cifar10s" / "raw_human_data.csv.gz", columns=["trial_type"])
    assert len(raw) == 8494
    rows, table = everything.arrays, said(everything)
    assert everything.index.shape == (1000, 248, 10)
    assert len(table) == 6723
    assert rows["duplicate"].sum() == 27
    assert (rows["is_repeat"].sum(), (~rows["is_repeat"]).sum()) == (498, 6225)
    assert (rows["is_repeat"] & ~rows["duplicate"]).sum() == 496
    assert (~rows["duplicate"]).sum() == 6696
    sessions = np.unique(table.annotator, return_counts=True)[1]
    assert Counter(sessions.tolist()) == {27: 247, 54: 1}
    per_image = Counter(np.bincount(table.item).tolist())
    assert per_image == {6: 459, 7: 391, 8: 124, 9: 21, 10: 4, 11: 1}
    assert len(np.unique(rows["batch"])) == 40


def test_first_presentations(everything):
    first = cifar10s.load()
    table = said(first)
    assert len(table) == 6200
    assert not first.arrays["is_repeat"].any()
    assert not first.arrays["duplicate"].any()
    assert len(np.unique(np.stack([table.item, table.annotator]), axis=1).T) == 6200
    assert Counter(np.bincount(table.annotator).tolist()) == {25: 248}
    assert Counter(np.bincount(table.item).tolist()) == {6: 800, 7: 200}
    people = np.unique(np.stack([first.arrays["batch"], table.annotator]), axis=1)[0]
    assert Counter(np.bincount(people).tolist()) == {6: 32, 7: 8}
    keep = ~everything.arrays["is_repeat"] & ~everything.arrays["duplicate"]
    for name in ("rt_ms", "trial_index", "elapsed_ms"):
        assert np.array_equal(first.arrays[name], everything.arrays[name][keep])
    assert np.array_equal(table.item, said(everything).item[keep])


def test_duplicated_rows_are_identical(everything):
    table, rows = said(everything), everything.arrays
    pairs = Counter(zip(table.annotator.tolist(), rows["trial_index"].tolist(), strict=True))
    assert sum(count == 2 for count in pairs.values()) == 27
    (person,) = np.unique(table.annotator[rows["duplicate"]])
    one, two = np.split(np.flatnonzero(table.annotator == person), 2)
    assert rows["duplicate"][two].all()
    for column in (table.item, table.named, table.percent, table.possible, rows["rt_ms"]):
        assert np.array_equal(column[one], column[two], equal_nan=column.dtype.kind == "f")


def test_figures(everything):
    table, rows, gold = said(everything), everything.arrays, everything.gold
    assert (gold >= 0).all()
    first, second = table.named.T
    assert round(100 * (second < 0).mean(), 1) == 46.3
    assert round(100 * (np.nansum(table.percent, axis=1) > 100).mean(), 1) == 10.0
    assert (first == second).sum() == 153
    assert round((~table.possible).sum(axis=1).mean(), 2) == 7.33
    truth = gold[table.item]
    assert round(by_person(table, first == truth).mean(), 4) == 0.8435
    either = by_person(table, (first == truth) | (second == truth)).mean()
    assert round(100 * either, 3) == 91.965
    assert round(rows["rt_ms"].mean() / 1000, 2) == 43.53
    assert round(float(np.median(rows["rt_ms"])) / 1000, 2) == 31.96
    assert round(float(np.median(rows["rt_ms"][~rows["is_repeat"]])) / 1000, 2) == 32.43
    assert {name: int(mask.sum()) for name, mask in table.repairs.items()} == {
        "p-is-0": 1,
        "zero-is-100": 6,
    }
    given = table.percent[~np.isnan(table.percent)]
    assert given.max() <= 100


def test_repeats_show_how_steady_people_are(everything):
    table, rows = said(everything), everything.arrays
    once: dict[tuple[int, int], int] = {}
    pairs = []
    for i in np.flatnonzero(~rows["duplicate"]):
        seen = once.setdefault((int(table.item[i]), int(table.annotator[i])), int(i))
        if rows["is_repeat"][i]:
            pairs.append((seen, i))
    before, after = np.array(pairs).T
    assert len(pairs) == 496
    same = table.named[before, 0] == table.named[after, 0]
    assert (~same).sum() == 34
    change = abs(table.percent[before, 0] - table.percent[after, 0])[same]
    assert (round(change.mean(), 2), np.median(change)) == (6.07, 0)


def test_equals_the_independent_table_row_by_row(everything, data_folder):
    table, rows = said(everything), everything.arrays
    other = pl.read_csv(
        data_folder / "cifar10s" / "annotations.csv.gz",
        schema_overrides={"impossible": pl.String, "first_prob": pl.Float64},
    )

    def column(name, missing=-1):
        return other[name].fill_null(missing).to_numpy()

    items = everything.index.items[table.item].astype(np.int64)
    assert np.array_equal(items, column("image"))
    assert np.array_equal(table.annotator, column("annotator"))
    assert everything.index.annotators[table.annotator].tolist() == other["subject"].to_list()
    for mine, theirs in (("batch", "batch"), ("trial_index", "trial_index"), ("rt_ms", "rt_ms")):
        assert np.array_equal(rows[mine], column(theirs))
    assert np.array_equal(rows["is_repeat"], column("is_repeat") == 1)
    assert np.array_equal(everything.gold[table.item], column("label"))
    assert np.array_equal(table.named[:, 0], column("first"))
    assert np.array_equal(table.percent[:, 0], column("first_prob"))
    assert np.array_equal(table.named[:, 1], column("second"))
    second = other["second_prob"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    assert np.array_equal(table.percent[:, 1], second, equal_nan=True)
    possible = np.ones((6723, 10), dtype=bool)
    for i, ruled_out in enumerate(other["impossible"].fill_null("").to_list()):
        possible[i, [int(code) for code in ruled_out.split()]] = False
    assert np.array_equal(table.possible, possible)


def test_equals_the_released_answers(everything):
    table = said(everything)
    labels = cifar10.CLASSES.tolist()
    released = cifar10s.released_answers()
    assert len(released) == 1000
    assert sum(map(len, released.values())) == 6723
    equal = 0
    for code, image in enumerate(everything.index.items.tolist()):
        rows = np.flatnonzero(table.item == code)
        mine = Counter(
            (tuple(table.named[i]), str(table.percent[i].tolist()), table.possible[i].tobytes())
            for i in rows
        )
        theirs: Counter[tuple[object, ...]] = Counter()
        for payload in released[image]:
            answer = Classic(repairs="none").read(payload, labels)  # the authors mended them
            percent = [*answer.percent, float("nan")][:2]
            named = (*answer.named, -1)[:2]
            theirs[named, str(percent), answer.possible.tobytes()] += 1
        equal += mine == theirs
    assert equal == 1000


def test_released_labels(released):
    released("cifar10s")
    labels, answers = cifar10s.released_labels(), cifar10s.released_answers()
    assert labels.keys() == answers.keys()
    assert all(value.shape == (len(answers[image]), 10) for image, value in labels.items())
    every = np.concatenate(list(labels.values()))
    assert abs(every.sum(axis=1) - 1).max() < 1e-6
    support = Counter((every > 0).sum(axis=1).tolist())
    assert [support[k] for k in range(1, 11)] == [2375, 1856, 760, 737, 298, 347, 70, 64, 77, 139]


def test_splits_and_batches(everything, data_folder):
    train, test = everything.arrays["train_indices"], everything.arrays["test_indices"]
    assert sorted([*train.tolist(), *test.tolist()]) == list(range(10_000))
    assert (len(train), len(test)) == (7000, 3000)
    images = everything.index.items.astype(np.int64)
    assert np.isin(images, train).all()
    batches = everything.arrays["batches"]
    assert batches.shape == (40, 25)
    interface = json.loads((data_folder / "cifar10s" / "batches.json").read_text())
    assert [sorted(interface[str(i)]) for i in range(40)] == batches.tolist()
    shown = images[said(everything).item]
    assert (batches[everything.arrays["batch"]] == shown[:, None]).any(axis=1).all()


def test_no_free_text_is_taken_in(everything):
    assert not everything.texts
    kinds = {array.dtype.kind for array in everything.arrays.values()}
    assert kinds <= set("biuf")


# ── when something is wrong ──────────────────────────────────────────────────────────────────


def test_the_answers_alone_do_not_do(own_folder):
    (own_folder / "cifar10s").mkdir()
    (own_folder / "cifar10s" / cifar10s.ANSWERS).write_text("{}")
    with pytest.raises(MissingData, match=r"raw_human_data\.csv.*\n.*data fetch cifar10s"):
        cifar10s.load()


def test_unknown_presentations():
    with pytest.raises(UnknownName, match="no choice of presentations called 'second'"):
        cifar10s.load("second")


def line(**changes):
    """One row of a raw file, as people made it up."""
    form = '"{""classSelect"":""mostProbDeer"",""prob"":""60"",""classSelect2"":""secondProbNo""}"'
    values = {
        "trial_type": "survey-html-form",
        "trial_index": "6",
        "subject": "a",
        "condition": "0",
        "rt": "1.5",
        "time_elapsed": "2",
        "response": form,
        "task": "spec_conf",
        "label": "Deer",
        "img_id": "12.0",
    } | changes
    return ",".join(values.get(name, "") for name in cifar10s.COLUMNS)


def raw(folder, *lines):
    path = folder / "cifar10s" / cifar10s.RAW
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([",".join(cifar10s.COLUMNS), *lines]) + "\n")
    return path


def test_rows_of_a_raw_file(own_folder):
    debriefing = line(trial_type="survey-text", task="", response='"my id is 123"', label="")
    path = raw(own_folder, line(), debriefing, line(task="rerun_spec_conf", trial_index="31"))
    first, again = cifar10s.raw_rows(path, Classic())
    assert (first.image, first.gold, first.is_repeat) == (12, 4, False)
    assert (first.answer.named, first.answer.percent) == ((4,), (60.0,))
    assert (again.is_repeat, again.trial_index) == (True, 31)


def test_a_form_that_cannot_be_read_is_named(own_folder):
    raw(own_folder, line(), line(response='"{""classSelect2"":""No""}"'))
    with pytest.raises(FileError, match=r"line 3, column 'response'.*must start with 'secondProb'"):
        cifar10s.load()


@pytest.mark.parametrize("cut", [5, 40, 200])
def test_a_truncated_raw_file(cut, own_folder):
    path = raw(own_folder, *[line()] * 5)
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(FileError):
        cifar10s.load()


def test_the_raw_file_is_verified_by_its_answers(data_folder, own_folder):
    shutil.copytree(data_folder / "cifar10s", own_folder / "cifar10s")
    own_folder.joinpath("cifar10s").chmod(0o755)
    assert verify("cifar10s") == []
    path = own_folder / "cifar10s" / "raw_human_data.csv.gz"
    text = pl.read_csv(path, infer_schema=False)
    rest, response = path.with_suffix(""), text["response"]
    path.unlink()
    changed = response.str.replace('"prob":"100"', '"prob":"99"', literal=True)
    text.with_columns(changed).rename({text.columns[0]: ""}).write_csv(rest)
    (wrong,) = verify("cifar10s")
    assert "are not those of human_soft_labels_data.json" in wrong
    text.with_columns(platform=pl.lit("x")).write_csv(rest)
    (wrong,) = verify("cifar10s")
    assert "other columns than the release without platform ids" in wrong
