"""Parts hold every vote once, and an item in one of them only; what cannot be so is refused."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

from softlabel import Annotations, DataError, FileError, Index
from softlabel import io as files
from softlabel.engine import Partitions, open_folder, read_part, split_file, split_table
from softlabel.engine.partitions import ReadOptions, item_names
from softlabel.io.large import scan_votes


def told(partitions, reading=None) -> Counter:
    """Every (item, annotator, label) of all parts, by name."""
    people = partitions.people()["name"].to_list()
    rows = Counter()
    for number in range(len(partitions)):
        part = read_part(partitions, number, reading)
        items = item_names(partitions, number).to_list()
        for i, (low, high) in enumerate(zip(part.start[:-1], part.start[1:], strict=True)):
            for v in range(low, high):
                label = partitions.labels[part.label[v]]
                rows[items[i], people[part.annotator[v]], label] += 1
    return rows


def said_in(votes) -> Counter:
    index = votes.index
    columns = (index.items[votes.item], index.annotators[votes.annotator])
    return Counter(zip(*columns, index.labels[votes.label], strict=True))


def check_parts(partitions, items) -> None:
    names = [item_names(partitions, number).to_list() for number in range(len(partitions))]
    together = [name for part in names for name in part]
    assert sorted(together) == sorted(items), "every item is in one part only"


def test_a_table_in_parts_is_the_table(votes, partitions):
    assert len(partitions) == 5
    assert told(partitions) == said_in(votes)
    check_parts(partitions, votes.index.items.tolist())
    in_order = [name for n in range(5) for name in item_names(partitions, n).to_list()]
    assert in_order == votes.index.items.tolist()


@pytest.mark.parametrize("name", ["v.csv", "v.parquet"])
@pytest.mark.parametrize("parts", [1, 7])
def test_a_file_in_parts_is_the_file(votes, write_votes, tmp_path, name, parts):
    scan = scan_votes(write_votes(votes, tmp_path / name), name.partition(".")[2])
    partitions = split_file(scan, tmp_path / "parts", parts)
    assert 1 <= len(partitions) <= parts
    assert told(partitions) == said_in(votes)
    check_parts(partitions, votes.index.items.tolist())
    assert partitions.labels == ("c0", "c1", "c2", "c3")
    assert (partitions.votes, partitions.annotators) == (len(votes), 30)
    assert partitions.people()["name"].is_sorted()


def test_parts_can_be_opened_again_elsewhere(votes, tmp_path):
    made = split_table(votes, tmp_path / "here", 3)
    (tmp_path / "here").rename(tmp_path / "there")
    again = Partitions.open(tmp_path / "there")
    assert told(again) == said_in(votes)
    assert again.labels == made.labels
    with pytest.raises(FileError, match="is no list of parts"):
        Partitions.open(tmp_path)


def test_the_classes_that_a_file_declares_are_kept(tmp_path):
    kind = pl.Enum(["no", "maybe", "yes"])
    frame = pl.DataFrame({"item": [1, 2, 1], "worker": [7, 7, 8], "label": ["yes", "no", "yes"]})
    frame.with_columns(pl.col("label").cast(kind)).write_parquet(tmp_path / "v.parquet")
    scan = scan_votes(tmp_path / "v.parquet", "parquet")
    partitions = split_file(scan, tmp_path / "parts", 2)
    assert partitions.labels == ("no", "maybe", "yes")
    assert told(partitions) == Counter(
        {("1", "7", "yes"): 1, ("2", "7", "no"): 1, ("1", "8", "yes"): 1}
    )


@pytest.mark.parametrize(
    "text",
    [
        "item,annotator,label\ni,a,x\n,a,x\n",
        "item,annotator,label\ni,a,x\ni, ,x\n",
        'item,annotator,label\ni,a,"x"\n',
        "item,annotator,label\ni,a,x\n\ni,b,x\n",
        "item,annotator,label\ni,a,x\ni,b,NaN\n",
        "item,annotator,label\ni,a,x\ni,b\n",
        "item,annotator,label\ni,a,x\nj,a ,x\n",
        "item,annotator,label\n",
    ],
)
def test_what_is_odd_is_left_to_the_careful_reader(tmp_path, text):
    (tmp_path / "v.csv").write_text(text)
    scan = scan_votes(tmp_path / "v.csv", "csv")
    assert scan is None or split_file(scan, tmp_path / "parts", 2) is None


def test_only_the_first_answer_counts_if_that_is_wanted(tmp_path):
    index = Index(["i", "j"], ["a", "b"], ["x", "y"])
    rows = [(0, 0, 0), (0, 1, 1), (0, 0, 1), (1, 1, 0)]
    item, who, label = (np.array(column) for column in zip(*rows, strict=True))
    partitions = split_table(Annotations(index, item, who, label=label), tmp_path, 2)
    assert told(partitions)["i", "a", "y"] == 1
    first = told(partitions, ReadOptions(first=True))
    assert first == Counter({("i", "a", "x"): 1, ("i", "b", "y"): 1, ("j", "b", "x"): 1})


def test_gold_is_known_by_name(partitions):
    reading = ReadOptions(gold={"item 3": 2, "item 399": 0, "nothing": 1})
    known = {}
    for number in range(len(partitions)):
        part = read_part(partitions, number, reading)
        if part.gold is not None:
            items = item_names(partitions, number).to_list()
            known |= {items[i]: int(part.gold[i]) for i in np.flatnonzero(part.gold >= 0)}
    assert known == {"item 3": 2, "item 399": 0}


def test_soft_votes_keep_their_weights_and_are_counted_by_answer(soft_votes, soft_partitions):
    mass = np.zeros((400, 4))
    items = {name: code for code, name in enumerate(soft_votes.index.items.tolist())}
    for number in range(len(soft_partitions)):
        part = read_part(soft_partitions, number)
        where = [items[name] for name in item_names(soft_partitions, number)]
        row = np.repeat(where, np.diff(part.start))
        np.add.at(mass, (row, part.label), part.weight)
        np.testing.assert_array_equal(part.count, 6)
    np.testing.assert_allclose(mass, soft_votes.counts(), atol=1e-12)


# ── folders ──────────────────────────────────────────────────────────────────────────────────


def by_item(votes, folder, files) -> None:
    """The votes in files by the number of the item."""
    folder.mkdir()
    names = pl.DataFrame(
        {
            "item": votes.index.items[votes.item].tolist(),
            "annotator": votes.index.annotators[votes.annotator].tolist(),
            "label": votes.index.labels[votes.label].tolist(),
            "file": votes.item.astype(int) % files,
        }
    )
    for number in range(files):
        part = names.filter(pl.col("file") == number).drop("file")
        part.write_parquet(folder / f"{number}.parquet")


def test_a_partitioned_folder_is_read_where_it_lies(votes, tmp_path):
    by_item(votes, tmp_path / "votes", 3)
    partitions = open_folder(tmp_path / "votes", tmp_path / "work")
    assert told(partitions) == said_in(votes)
    check_parts(partitions, votes.index.items.tolist())
    assert len(list((tmp_path / "work").glob("part*"))) == 0, "nothing is copied"


def test_an_item_in_two_files_is_refused(votes, tmp_path):
    by_item(votes, tmp_path / "votes", 3)
    stray = pl.DataFrame(
        {"item": ["item 4", "new"], "annotator": ["a", "a"], "label": ["c0", "c1"]}
    )
    stray.write_parquet(tmp_path / "votes" / "more.parquet")
    with pytest.raises(DataError, match=r"item 'item 4' is in 1\.parquet and in more\.parquet"):
        open_folder(tmp_path / "votes", tmp_path / "work")


def test_what_is_wrong_in_a_file_of_a_folder_is_said_with_its_row(votes, tmp_path):
    by_item(votes, tmp_path / "votes", 2)
    bad = pl.DataFrame({"item": ["x", "y"], "annotator": ["a", None], "label": ["c0", "c1"]})
    bad.write_parquet(tmp_path / "votes" / "bad.parquet")
    with pytest.raises(FileError, match=r"bad\.parquet, column 'annotator'.*row 2"):
        open_folder(tmp_path / "votes", tmp_path / "work")
    (tmp_path / "votes" / "bad.parquet").unlink()
    with pytest.raises(FileError, match=r"value 'c3': no such class"):
        open_folder(tmp_path / "votes", tmp_path / "work", ["c0", "c1", "c2"])


def test_a_folder_without_votes_is_refused(tmp_path):
    with pytest.raises(FileError, match=r"holds no \.parquet files"):
        open_folder(tmp_path, tmp_path / "work")
    soft = pl.DataFrame({"item": ["i"], "annotator": ["a"], "x": [0.5], "y": [0.5]})
    soft.write_parquet(tmp_path / "soft.parquet")
    assert not files.read_answers(tmp_path / "soft.parquet").answers.hard
    with pytest.raises(FileError, match="hold hard votes"):
        open_folder(tmp_path, tmp_path / "work")


def test_no_parts_are_refused(votes, tmp_path):
    with pytest.raises(DataError, match="parts = 0"):
        split_table(votes, tmp_path, 0)
