"""The figures of the sets of texts, words and scenes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

# ── ChaosNLI ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("part", "items", "classes", "old_differs"),
    [("snli", 1514, 3, 378), ("mnli", 1599, 3, 508), ("alphanli", 1532, 2, 163)],
)
def test_chaosnli(part, items, classes, old_differs, released):
    data = released(f"chaosnli/{part}")
    assert data.index.shape == (items, 0, classes)
    assert data.annotations.anonymous
    assert set(data.annotations.votes_per_item().tolist()) == {100}
    assert np.array_equal(data.annotations.counts(), data.arrays["counts"])
    assert all(len(text) == items and (text != "").all() for text in data.texts.values())
    counts, majority = data.arrays["counts"], data.arrays["majority"]
    assert np.array_equal(counts[np.arange(items), majority], counts.max(axis=1))
    assert (majority != data.gold).sum() == old_differs


def test_chaosnli_has_464500_labels(released):
    parts = [released(f"chaosnli/{part}") for part in ("snli", "mnli", "alphanli")]
    assert sum(len(data.annotations) for data in parts) == 464_500
    old = [Counter(data.arrays["old_counts"].sum(axis=1).tolist()) for data in parts[:2]]
    assert old == [{5: 1507, 4: 7}, {5: 1599}]
    assert "old_counts" not in parts[2].arrays
    assert list(parts[2].texts) == ["obs1", "obs2", "hyp1", "hyp2"]


# ── POPQUORN ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("part", "labels", "items", "people", "per_item"),
    [
        ("offensiveness", 13_036, 1500, 262, (5, 10, 8.69)),
        ("politeness", 25_042, 3718, 506, (3, 8, 6.74)),
    ],
)
def test_popquorn(part, labels, items, people, per_item, released):
    data = released(f"popquorn/{part}")
    assert data.index.shape == (items, people, 5)
    assert data.index.labels.tolist() == ["1", "2", "3", "4", "5"]
    assert len(data.annotations) == labels
    per_text = data.annotations.votes_per_item()
    assert (per_text.min(), per_text.max(), round(per_text.mean(), 2)) == per_item
    assert data.gold is None
    assert (data.texts["text"] != "").all()
    assert len(data.texts["text"]) == items
    assert not any("repeat" in note for note in data.notes)


def test_popquorn_names_follow_the_file(released, data_folder):
    data = released("popquorn/offensiveness")
    file = pl.read_csv(data_folder / "popquorn" / "offensiveness_raw_data.csv.gz")
    said = data.annotations
    index = data.index
    assert index.items[said.item].tolist() == file["instance_id"].cast(str).to_list()
    assert index.annotators[said.annotator].tolist() == file["user_id"].cast(str).to_list()
    assert index.labels[said.label].tolist() == file["offensiveness"].cast(int).cast(str).to_list()
    assert data.texts["text"][said.item].tolist() == file["text"].to_list()
    for about in ("gender", "race", "age", "occupation", "education"):
        told = data.arrays[f"annotator_{about}"][said.annotator]
        assert told.tolist() == file[about].fill_null("").to_list()


def test_popquorn_politeness_texts_and_masks(released, data_folder):
    data = released("popquorn/politeness")
    file = pl.read_ndjson(data_folder.joinpath("popquorn", "politeness_text.jsonl.gz"))
    text = dict(zip(file["instance_id"].cast(str), file["text"], strict=True))
    assert data.texts["text"].tolist() == [text[name] for name in data.index.items.tolist()]
    assert set(file["source"]) == {"enron", "revised"}
    everything = "\n".join(file["text"])
    assert (everything.count("[email]"), everything.count("[phone]")) == (45, 41)


# ── LabelMe, sentence polarity, RTE ──────────────────────────────────────────────────────────


def test_labelme(released, accuracy):
    data = released("labelme")
    assert data.index.shape == (1000, 59, 8)
    assert len(data.annotations) == 2547
    per_image = data.annotations.votes_per_item()
    assert (per_image.min(), per_image.max(), per_image.mean()) == (1, 3, 2.547)
    assert round(accuracy.annotators(data), 3) == 0.692
    assert round(accuracy.labels(data), 3) == 0.740
    assert round(accuracy.majority(data), 3) == 0.766
    assert [data.arrays[f"x_{part}"].shape for part in ("train", "valid", "test")] == [
        (1000, 512),
        (500, 512),
        (1188, 512),
    ]
    assert (len(data.arrays["y_valid"]), len(data.arrays["y_test"])) == (500, 1188)


def test_sentiment(released, accuracy):
    data = released("sentiment")
    assert data.index.shape == (4999, 203, 2)
    assert len(data.annotations) == 27_746
    assert round(data.annotations.votes_per_item().mean(), 2) == 5.55
    assert round(accuracy.labels(data), 3) == 0.789
    assert len(data.texts["text"]) == 4999
    assert len(data.texts["test_text"]) == len(data.arrays["test_gold"]) == 3999


def test_sentiment_has_the_labels_of_crowd_sp(released):
    """The items of the two are numbered differently, so compare what does not depend on it."""
    one, two = released("sentiment"), released("crowd/sp")

    def rows(data):
        table = np.column_stack([data.annotations.counts().astype(int), data.gold])
        return Counter(map(tuple, table.tolist()))

    def people(data):
        said = data.annotations
        return Counter(np.bincount(said.annotator).tolist())

    assert rows(one) == rows(two)
    assert people(one) == people(two)


def test_rte(released, accuracy):
    data = released("rte")
    assert data.index.shape == (800, 164, 2)
    assert len(data.annotations) == 8000
    assert set(data.annotations.votes_per_item().tolist()) == {10}
    assert round(accuracy.labels(data), 3) == 0.729
    assert round(accuracy.majority(data), 3) == 0.897
    assert (data.gold >= 0).all()
    assert list(data.texts) == ["premise", "hypothesis", "task"]


def test_rte_gold_is_that_of_the_pairs(released, data_folder):
    data = released("rte")
    file = pl.read_ndjson(data_folder.joinpath("rte", "text.jsonl.gz")).sort("item")
    assert data.index.items.tolist() == file["item"].cast(str).to_list()
    assert data.gold.tolist() == file["gold"].to_list()
    assert data.texts["premise"].tolist() == file["premise"].to_list()


# ── parts of speech ──────────────────────────────────────────────────────────────────────────


def test_pos(released, accuracy):
    data = released("pos")
    said = data.annotations
    assert data.index.shape == (14_439, 177, 12)
    assert len(said) == 236_380
    per_word = said.votes_per_item()
    assert round(per_word.mean(), 2) == 16.37
    assert ((per_word == 5).sum(), (per_word == 177).sum()) == (13_474, 939)
    assert round(accuracy.majority(data), 3) == 0.796
    few = (per_word <= 10)[said.item]
    assert few.sum() == 67_406
    right = said.label == data.gold[said.item]
    assert round(right[few].mean(), 3) == 0.706
    people = np.bincount(said.annotator[few], right[few]) / np.bincount(said.annotator[few])
    assert round(people.mean(), 3) == 0.678
    assert "939 words have a label of all 177 annotators" in data.notes[0]


def test_pos_words_tweets_and_test_set(released, data_folder):
    data = released("pos")
    file = pl.read_csv(data_folder / "pos" / "tokens.csv.gz", infer_schema=False)
    sets = dict(file.group_by("set").len().iter_rows())
    assert sets == {"trn": 13_000, "dev": 1439, "hard-tst": 3064, "soft-tst": 7876}
    assert len(file) == 25_379
    gimpel = file.filter(pl.col("source") == "gimpel")
    assert data.texts["word"].tolist() == gimpel["word"].to_list()
    assert data.gold.tolist() == gimpel["gold"].cast(int).to_list()
    assert data.arrays["tweet"].tolist() == gimpel["id_sent"].cast(int).to_list()
    assert data.arrays["tweet"].max() + 1 == 1000
    assert data.arrays["is_dev"].tolist() == (gimpel["set"] == "dev").to_list()
    test = file.filter(pl.col("set") == "hard-tst")
    assert data.texts["test_word"].tolist() == test["word"].to_list()
    assert data.arrays["test_gold"].tolist() == test["gold"].cast(int).to_list()
    assert data.arrays["test_tweet"].tolist() == test["id_sent"].cast(int).to_list()
