"""The recipes for files that must be made by hand, run on releases rebuilt from what they make."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from softlabel import datasets


@pytest.fixture
def follow(own_folder, monkeypatch):
    """Do what the message of a data set says, in the folder where its files belong."""

    def run(name):
        monkeypatch.chdir(own_folder / name)
        lines = datasets.DATASETS[name].INFO.by_hand.splitlines()
        code = "\n".join(line[4:] for line in lines if line.startswith("    "))
        exec(compile(code, f"{name} by hand", "exec"), {})
        return datasets.verify(name)

    return run


@pytest.fixture
def release(data_folder, own_folder):
    """A data set as it was released, and an empty folder for what is made of it."""

    def get(name):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SOFTLABEL_DATA", str(data_folder))
            data = datasets.load(name)
        place = own_folder / data.info.name
        place.mkdir()
        return data, place

    return get


def test_cifar10n(follow, release, monkeypatch):
    data, _ = release("cifar10n")
    labels = data.arrays
    pickled = {f"{key}_label": labels[key].astype(int) for key in ("clean", "aggre", "worse")}
    pickled |= {f"random_label{i + 1}": labels["random"][:, i] for i in range(3)}
    torch = SimpleNamespace(load=lambda name, weights_only: pickled)
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert follow("cifar10n") == []


def test_labelme(follow, release):
    data, place = release("labelme")
    answers = np.full((1000, 77), -1)  # 18 people gave no answer
    answers[data.annotations.item, data.annotations.annotator + 9] = data.annotations.label
    np.savetxt(place / "answers.txt", answers, fmt="%d")
    gold = {part: data.arrays.get(f"y_{part}", data.gold) for part in ("train", "valid", "test")}
    for part, values in gold.items():
        np.savetxt(place / f"LabelMe_Z_{part}.txt", values, fmt="%d")
        np.save(place / f"LabelMe_VGG_avg_{part}.npy", data.arrays[f"x_{part}"])
    assert follow("labelme") == []


def test_sentiment(follow, release):
    data, place = release("sentiment")
    answers = np.full((4999, 203), -1)
    answers[data.annotations.item, data.annotations.annotator] = data.annotations.label
    np.savetxt(place / "answers.txt", answers, fmt="%d")
    np.savetxt(place / "Sentiment_Z_train.txt", data.gold, fmt="%d")
    np.savetxt(place / "Sentiment_Z_test.txt", data.arrays["test_gold"], fmt="%d")
    for part, key in (("train", "text"), ("test", "test_text")):
        text = " \n".join(data.texts[key].tolist())
        (place / f"Sentiment_text_{part}.txt").write_bytes(text.encode())
    assert follow("sentiment") == []


def test_pos(follow, release, data_folder):
    data, place = release("pos")
    said, tags = data.annotations, data.index.labels.tolist()
    votes = [[""] * 177 for _ in data.gold]
    for token, who, label in zip(said.item, said.annotator, said.label, strict=True):
        votes[token][who] = tags[label]
    numbers = pl.read_csv(data_folder / "pos" / "gimpel_tokens.csv.gz", columns=["id"])["id"]
    with (place / "gimpel_crowdsourced-tf.tsv").open("w", encoding="utf-8", newline="\n") as file:
        for i, number in enumerate(numbers):
            word, gold = data.texts["word"][i], tags[data.gold[i]]
            file.write(f"{number:06d}\t{word}\t{','.join(votes[i])}\t{gold}\n\n")
    assert follow("pos") == []


def test_rte(follow, release, data_folder):
    _, place = release("rte")
    said = pl.read_csv(data_folder / "rte" / "annotations.csv.gz")
    said.select(
        pl.int_range(pl.len()).alias("!amt_annotation_ids"),
        ("W" + pl.col("worker").cast(str)).alias("!amt_worker_ids"),
        orig_id="item",
        response="label",
        gold="gold",
    ).write_csv(place / "rte.standardized.tsv", separator="\t")
    rows = pl.read_ndjson(data_folder.joinpath("rte", "text.jsonl.gz")).to_dicts()
    with (place / "rte1.tsv").open("w", encoding="utf-8", newline="\n") as file:
        file.write("id\tvalue\ttask\ttext\thypothesis\n")
        for row in [*rows, {**rows[0], "item": 99_999}]:  # one pair that nobody labelled
            keys = ("item", "gold", "task", "premise", "hypothesis")
            file.write("\t".join(str(row[key]) for key in keys) + "\n")
    assert follow("rte") == []


def test_model_vs_human(follow, release, data_folder):
    _, place = release("model_vs_human/edge")
    trials = pl.read_csv(data_folder / "model_vs_human" / "trials.csv.gz", infer_schema=False)
    for (experiment, who), rows in trials.group_by("experiment", "subj"):
        folder = place / "raw-data" / experiment
        folder.mkdir(parents=True, exist_ok=True)
        rows = rows.drop("experiment").rename({"session": "Session"})  # as some of the files say
        rows.write_csv(folder / f"{experiment}_{who}_session_1.csv")
        (folder / f"{experiment}_resnet50_session-1.csv").write_text("subj\nresnet50\n")
    assert follow("model_vs_human") == []


def test_popquorn_politeness(follow, release):
    data, place = release("popquorn/politeness")
    said, index = data.annotations, data.index
    pl.DataFrame(
        {
            "instance_id": index.items[said.item].astype(int),
            "user_id": [f"who-{name}" for name in index.annotators[said.annotator].tolist()],
            "text": data.texts["text"][said.item].tolist(),
            "politeness": said.label + 1.0,
            "gender": "x",
        }
    ).write_csv(place / "raw_data.csv")
    assert follow("popquorn") == []
    again = datasets.load("popquorn/politeness")
    assert again.texts["text"].tolist() == data.texts["text"].tolist()
    assert np.array_equal(again.annotations.counts(), data.annotations.counts())
    assert "who-" not in (place / "politeness_annotations.csv").read_text()
    assert json.loads((place / "politeness_text.jsonl").read_text().split("\n")[0]).keys() == {
        "instance_id",
        "text",
    }
