"""Learning with Disagreements: the counts of the release, and printed numbers computed again."""

from __future__ import annotations

import json

import numpy as np
import pytest

from softlabel import datasets
from softlabel.errors import FileError

SPLITS = {  # part: items of train, dev and test; annotators; answers
    "lewidi2023/armis": ((657, 141, 145), 3, 2829),
    "lewidi2023/convabuse": ((2398, 812, 840), 8, 12_168),
    "lewidi2023/hs-brexit": ((784, 168, 168), 6, 6720),
    "lewidi2023/md-agreement": ((6592, 1104, 3057), 819, 53_765),
    "lewidi2025/paraphrase": ((400, 50, 50), 4, 2000),
    "lewidi2025/varierr": ((388, 50, 50), 4, 1816),
}


@pytest.mark.parametrize("name", SPLITS)
def test_counts(name, released):
    data = released(name)
    items, people, answers = SPLITS[name]
    said = data.annotations or data.statements
    assert data.index.shape[:2] == (sum(items), people)
    assert len(said) == answers
    split = data.arrays["split"].tolist()
    assert tuple(split.count(part) for part in ("train", "dev", "test")) == items
    assert all(item.startswith(f"{s}/") for item, s in zip(data.index.items, split, strict=True))
    assert all(len(text) == sum(items) for text in data.texts.values())
    assert data.gold is None


@pytest.mark.parametrize("name", SPLITS)
def test_the_printed_shares_are_those_of_the_votes(name, released):
    data = released(name)
    if data.annotations is not None:
        votes = data.annotations.counts()
        shares = votes / votes.sum(axis=1, keepdims=True)
    else:
        people = np.bincount(data.statements.item)
        given = data.arrays["given"]
        shares = np.array([np.bincount(data.statements.item, column) for column in given.T]).T
        shares /= people[:, None]
    assert abs(shares - data.arrays["soft_label"]).max() <= 0.0051  # printed with two decimals


@pytest.mark.parametrize("part", ["armis", "convabuse", "hs-brexit", "md-agreement"])
def test_the_printed_majority_is_that_of_the_votes(part, released):
    data = released(f"lewidi2023/{part}")
    votes = data.annotations.counts()
    clear = votes[:, 0] != votes[:, 1]
    assert np.array_equal(votes.argmax(axis=1)[clear], data.arrays["majority"][clear])
    assert clear.mean() > 0.92  # HS-Brexit asked six people


def test_rows_follow_the_files(released, data_folder):
    data = released("lewidi2023/hs-brexit")
    assert data.index.annotators.tolist() == [f"Ann{i}" for i in range(1, 7)]
    assert np.array_equal(data.annotations.annotator, np.tile(np.arange(6), 1120))
    assert data.arrays["annotator_group"].tolist() == ["target group"] * 3 + ["control group"] * 3
    aggressive = data.arrays["question/aggressive"]
    assert [int((aggressive == value).sum()) for value in (0, 1)] == [5967, 753]
    offensive = data.arrays["question/offensive"]
    assert [int((offensive == value).sum()) for value in (0, 1, -1)] == [5239, 1478, 3]  # "No"
    groups = released("lewidi2023/armis").arrays["annotator_group"].tolist()
    assert groups == ["Moderate_Female", "Liberal_Female", "Conservative_Male"]
    people = released("lewidi2025/paraphrase").arrays
    assert people["annotator_age"].tolist() == ["26", "30", "26", "36"]


def test_convabuse_is_abuse_below_zero(released):
    data = released("lewidi2023/convabuse")
    severity = data.arrays["severity"]
    assert set(severity.tolist()) == {-3, -2, -1, 0, 1}
    assert np.array_equal(data.annotations.label, severity < 0)
    assert list(data.texts) == ["prev_agent", "prev_user", "agent", "user"]


def test_md_agreement_keeps_the_vote_that_somebody_cast_twice(released):
    data = released("lewidi2023/md-agreement")
    assert data.notes == ("1 rows repeat an item for the same annotator; all rows are kept.",)
    assert set(data.arrays["domain"].tolist()) == {"BLM", "Elections2020", "Covid-19"}


def test_paraphrase_most_frequent_answer_scores_as_printed(released):
    """.362: mean over items of |answer - each person's most frequent one| / 11 classes."""
    data = released("lewidi2025/paraphrase")
    said, train = data.annotations, (data.arrays["split"] == "train")
    usual = np.array(
        [
            np.bincount(said.label[(said.annotator == who) & train[said.item]], minlength=11)
            for who in range(4)
        ]
    ).argmax(axis=1)
    test = (data.arrays["split"] == "test")[said.item]
    error = abs(said.label - usual[said.annotator])[test] / 11
    assert round(float(error.reshape(50, 4).mean()), 3) == 0.362


def test_varierr_zeros_score_as_printed(released):
    """.345: share of people and classes for whom "not given" is wrong, mean over items."""
    data = released("lewidi2025/varierr")
    said, given = data.statements, data.arrays["given"]
    assert given.sum() == 1891
    assert np.array_equal((said.named >= 0).sum(axis=1), given.sum(axis=1))
    rows = np.arange(len(said))
    assert given[rows, said.named[:, 0]].all()
    people = np.bincount(said.item)
    wrong = np.bincount(said.item, given.sum(axis=1)) / (3 * people)
    assert round(float(wrong[data.arrays["split"] == "test"].mean()), 3) == 0.345
    assert np.array_equal(data.arrays["explanation"] != "", said.named >= 0)


def write(folder, **changes):
    """The smallest files of HS-Brexit that can be loaded, with a change in the one of dev."""
    item = {
        "text": "a",
        "annotations": "0,1",
        "annotators": "Ann2,Ann10",
        "soft_label": {"0": 0.5, "1": 0.5},
        "hard_label": "1",
        "other_info": {},
    }
    (folder / "lewidi2023").mkdir()
    for split in ("train", "dev", "test"):
        one = item | (changes if split == "dev" else {})
        path = folder / "lewidi2023" / f"HS-Brexit_{split}.json"
        path.write_text(json.dumps({"7": one}))


def test_people_are_in_the_order_of_their_numbers(own_folder):
    write(own_folder)
    data = datasets.load("lewidi2023/hs-brexit")
    assert data.index.annotators.tolist() == ["Ann2", "Ann10"]
    assert data.index.items.tolist() == ["train/7", "dev/7", "test/7"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"annotations": "0,1,1"}, "3 annotations of 2 annotators"),
        ({"annotations": "0,2"}, "no answer '2'"),
        ({"soft_label": {"0": 1.0}}, "'1'"),
        ({"other_info": None, "annotators": 3}, "split"),
    ],
)
def test_damage_names_the_file_and_the_item(change, told, own_folder):
    write(own_folder, **change)
    with pytest.raises(FileError, match=r"HS-Brexit_dev\.json: item '7' is not as in the rel") as e:
        datasets.load("lewidi2023/hs-brexit")
    assert told in str(e.value)
