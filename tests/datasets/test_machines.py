"""Sets with labels of models, and sets of people whom models are compared with."""

from __future__ import annotations

import gzip
import json

import numpy as np
import polars as pl
import pytest

from softlabel import datasets
from softlabel.cli import main
from softlabel.errors import FileError

MODELS = {"gemini_flash", "gemini_pro", "gpt-4o", "gpt-4o-mini", "llama-31", "mistral-v03"}


@pytest.mark.parametrize(
    ("part", "items", "people", "labels", "classes"),
    [
        ("summeval", 6400, 3, 19_200, 5),
        ("10k_prompts", 1698, 13, 3844, 5),
        ("lgbteen", 880, 4, 2560, 5),
        ("cebab_stars", 711, 10, 2193, 5),
        ("wax", 246, 8, 1380, 16),
        ("mtbench", 120, 3, 246, 3),
    ],
)
def test_alttest(part, items, people, labels, classes, released, data_folder):
    data = released(f"alttest/{part}")
    said, machines = data.annotations, data.machines
    assert data.index.shape[:2] == (items, people)
    assert len(said) == labels
    assert (said.counts().sum(axis=0) > 0).sum() == classes
    assert len(machines) == 6 * items
    assert set(machines.index.annotators.tolist()) == MODELS
    assert np.array_equal(machines.index.items, data.index.items)
    assert np.array_equal(machines.index.labels, data.index.labels)
    path = data_folder / "alttest" / f"{part}.llm.json.gz"
    with gzip.open(path) as file:
        model = json.load(file)["gpt-4o-mini"]
    rows = machines.annotator == machines.index.annotators.tolist().index("gpt-4o-mini")
    got = zip(machines.item[rows], machines.label[rows], strict=True)
    assert {data.index.items[i]: data.index.labels[k] for i, k in got} == {
        item: str(label) for item, label in model.items()
    }


def test_alttest_never_mixes_models_with_people(released):
    data = released("alttest/lgbteen")
    assert data.index.annotators.tolist() == ["1", "2", "3", "4"]  # no ids, no models
    assert data.notes[1:] == ("Only models gave Ignore.", "Only people gave No response.")
    assert released("alttest/cebab_stars").index.labels.tolist() == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    ("part", "items", "empty", "outside"),
    [("offensiveness", 1500, 4923, 28), ("politeness", 3718, 2767, 0)],
)
def test_popquorn_models(part, items, empty, outside, released):
    data = released(f"popquorn_models/{part}")
    assert data.annotations is None
    assert data.statements is None
    assert data.index.shape == (items, 54, 5)
    assert len(data.machines) == 54 * items - empty - outside
    assert f"no rating {empty} times" in data.notes[0]
    assert sum(f"{outside} ratings are not" in note for note in data.notes) == bool(outside)
    assert len(set(data.arrays["annotator_model"].tolist())) == 9
    assert data.arrays["annotator_persona"].tolist()[:2] == ["base", "male"]


@pytest.mark.parametrize("part", ["offensiveness", "politeness"])
def test_popquorn_models_join_the_people_by_name(part, released, data_folder):
    """The source prints each item's mean vote; it is close to ours only if the join is right."""
    people, models = released(f"popquorn/{part}"), released(f"popquorn_models/{part}")
    assert np.array_equal(people.index.items, models.index.items)
    file = {"offensiveness": "offensive", "politeness": "polite"}[part]
    path = data_folder / "popquorn_models" / f"{file}_results_w2.tsv.gz"
    frame = pl.read_csv(path, separator="\t", columns=["instance_id", "label", "gpt4_base"])
    votes = people.annotations.counts()
    mean = votes @ np.arange(1, 6) / votes.sum(axis=1)
    assert np.corrcoef(mean, frame.sort("instance_id")["label"].to_numpy())[0, 1] > 0.9
    rows = models.machines.annotator == models.index.annotators.tolist().index("gpt4_base")
    assert models.machines.label[rows].tolist() == [
        int(value) - 1 for value in frame["gpt4_base"] if value is not None
    ]


def test_models_are_not_pooled_as_if_they_were_people(released, tmp_path, capsys):
    released("popquorn_models/politeness")
    out = tmp_path / "labels.csv"
    assert main(["label", "dataset:popquorn_models/politeness", str(out)]) == 1
    assert "has labels of models only" in capsys.readouterr().err
    assert not out.exists()


def test_dices_positions_are_raters(released):
    """Their means vary 75 times as much as those of answers that anybody may have given."""
    data = released("dices")
    assert data.index.shape == (350, 123, 3)
    assert data.index.labels.tolist() == ["No", "Yes", "Unsure"]
    assert len(data.annotations) == 43_050
    assert data.annotations.counts().sum(axis=0).tolist() == [26_292, 14_064, 2694]
    safe = (data.annotations.label == 1).reshape(350, 123)
    chance = safe.var(axis=1, ddof=1).mean() / 350  # shuffled within each conversation
    assert round(safe.mean(axis=0).var(ddof=1) / chance) == 75
    assert "19 of the 123" in data.notes[1]


def test_dices_with_lists_of_different_lengths(own_folder):
    (own_folder / "dices").mkdir()
    rows = [
        {"id": i, "instance": {}, "annotations": {"s": {"individual_human_scores": ["No"] * i}}}
        for i in (2, 1)
    ]
    whole = {"annotations": [{"metric": "s", "labels_list": ["No"]}], "instances": rows}
    (own_folder / "dices" / "dices_350_crowdsourced.json").write_text(json.dumps(whole))
    with pytest.raises(FileError, match="lists of answers differ in length at 1, so their posit"):
        datasets.load("dices")


def test_model_vs_human(released, data_folder):
    released("model_vs_human/edge")
    frame = pl.read_csv(data_folder / "model_vs_human" / "trials.csv.gz")
    parts = datasets.DATASETS["model_vs_human"].INFO.parts
    assert (len(frame), sorted(frame["experiment"].unique())) == (85_120, list(parts))
    frame = frame.filter(pl.col("object_response") != "na")
    assert len(frame) == 85_120 - 597
    for part, items, people in (("edge", 160, 10), ("colour", 1280, 4), ("sketch", 800, 7)):
        data = released(f"model_vs_human/{part}")
        own = frame.filter(pl.col("experiment") == part)
        said, index = data.annotations, data.index
        assert index.shape == (items, people, 16)
        assert index.labels[said.label].tolist() == own["object_response"].to_list()
        assert index.labels[data.gold[said.item]].tolist() == own["category"].to_list()
        assert data.arrays["condition"][said.item].tolist() == own["condition"].to_list()
        assert np.allclose(data.arrays["rt_ms"], own["rt"].to_numpy() * 1000)
        assert own["imagename"].str.split("_").list.slice(3).list.join("_").to_list() == (
            index.items[said.item].tolist()
        )
