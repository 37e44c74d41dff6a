"""What models said: every kind of answer, every kind of table, and what is wrong with a row."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest

import softlabel
from softlabel import Annotations, Index, SoftLabels, io, registry
from softlabel.errors import DataError, FileError, SoftlabelError
from softlabel.frames import join_judges, read_judges, read_models

SCALE = Index(["a", "b"], ["ann"], ["1", "2", "3", "4", "5"], ordered=True)
PETS = Index(["a", "b"], ["ann"], ["cat", "dog", "fox"])


def shares(said: Annotations) -> dict[tuple[str, str], list[float]]:
    """The distribution of each model and item, by name."""
    index = said.index
    return {
        (index.annotators[who], index.items[what]): [round(p, 9) for p in row]
        for who, what, row in zip(said.annotator, said.item, said.soft().tolist(), strict=True)
    }


# ── kinds of answers ─────────────────────────────────────────────────────────────────────────


def test_samples_become_shares_and_single_labels_stay_votes():
    said = [("cat", 1), ("dog", 2), ("cat", 3), ("cat", 4)]
    rows = [*(("a", "m", *one) for one in said), ("a", "n", "fox", 1)]
    said = read_judges(pd.DataFrame(rows, columns=["item", "model", "label", "sample"]), PETS)
    assert shares(said) == {("m", "a"): [0.75, 0.25, 0], ("n", "a"): [0, 0, 1]}
    once = read_judges([{"item": "a", "model": "m", "label": "dog"}], PETS)
    assert once.hard
    assert once.label.tolist() == [1]


def test_a_score_is_shared_by_the_steps_around_it():
    rng = np.random.default_rng(0)
    scores = rng.uniform(1, 5, 50)
    frame = pl.DataFrame({"item": [f"i{n}" for n in range(50)], "judge": "m", "score": scores})
    said = read_judges(frame, SCALE)
    assert said.soft() @ np.arange(1, 6) == pytest.approx(scores)
    assert (said.soft() > 0).sum(axis=1).max() <= 2
    whole = read_judges({"item": ["a"], "model": ["m"], "score": [4]}, SCALE)
    assert whole.soft().tolist() == [[0, 0, 0, 1, 0]]


def test_scores_know_a_scale_in_any_order():
    index = Index(["a"], ["p"], ["10", "0", "5"])
    said = read_judges([{"item": "a", "model": "m", "score": 2}], index)
    assert said.soft()[0] == pytest.approx([0, 0.6, 0.4])


def test_classes_without_a_log_probability_share_what_is_left():
    row = {"item": "a", "model": "m", "logprobs": {"cat": math.log(0.7)}}
    assert read_judges([row], PETS).soft()[0] == pytest.approx([0.7, 0.15, 0.15])
    all_there = {"cat": math.log(0.6), "dog": math.log(0.2), "fox": -math.inf}
    said = read_judges([{"item": "a", "model": "m", "logprobs": all_there}], PETS)
    assert said.soft()[0] == pytest.approx([0.75, 0.25, 0])


def test_columns_of_log_probabilities_and_of_probabilities(tmp_path):
    logs = tmp_path / "logs.csv"
    logs.write_text("item,model,logprob:dog,logprob:cat\na,m,-0.1,-3\nb,m,,-0.5\n")
    said = shares(read_judges(logs, PETS))
    left = 1 - math.exp(-0.1) - math.exp(-3)
    assert said["m", "a"] == pytest.approx([math.exp(-3), math.exp(-0.1), left])
    rest = (1 - math.exp(-0.5)) / 2
    assert said["m", "b"] == pytest.approx([math.exp(-0.5), rest, rest])
    probs = tmp_path / "probs.tsv"
    probs.write_text("item\tjudge\tdog\tcat\nb\tm\t.25\t.75\n")
    assert shares(read_judges(probs, PETS)) == {("m", "b"): [0.75, 0.25, 0]}
    listed = {"item": ["a"], "model": ["m"], "probs": [[0.2, 0.3, 0.5]]}
    assert shares(read_judges(listed, PETS)) == {("m", "a"): [0.2, 0.3, 0.5]}


# ── kinds of tables ──────────────────────────────────────────────────────────────────────────


def test_every_kind_of_file_and_table_says_the_same(tmp_path):
    rows = [
        {"item": "a", "model": "m", "label": "dog"},
        {"item": "b", "model": "m", "label": "cat"},
        {"item": "b", "model": "n", "label": "cat"},
    ]
    frame = pl.DataFrame(rows)
    frame.write_csv(tmp_path / "m.csv")
    frame.write_csv(tmp_path / "m.tsv", separator="\t")
    frame.write_parquet(tmp_path / "m.parquet")
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = {name: frame[name].to_list() for name in frame.columns}
    wanted = shares(read_judges(rows, PETS))
    files = [tmp_path / f"m.{kind}" for kind in ("csv", "tsv", "parquet", "jsonl")]
    for data in (*files, frame, frame.to_pandas(), columns, read_judges(rows)):
        assert shares(read_judges(data, PETS)) == wanted
    assert wanted["m", "a"] == [0, 1, 0]


def test_a_dictionary_of_another_program_is_read(tmp_path):
    path = tmp_path / "llm.json"
    path.write_text(json.dumps({"gpt": {"a": "dog", "b": "cat"}, "other": {"a": "fox"}}))
    said = shares(read_judges(path, PETS))
    assert said == {("gpt", "a"): [0, 1, 0], ("gpt", "b"): [1, 0, 0], ("other", "a"): [0, 0, 1]}


def test_the_output_of_a_batch(tmp_path):
    def line(item, *texts, status=200):
        choices = [{"message": {"content": text}} for text in texts]
        body = {"model": "gpt-4o", "choices": choices}
        return json.dumps({"custom_id": item, "response": {"status_code": status, "body": body}})

    path = tmp_path / "batch_output.jsonl"
    failed = json.dumps({"custom_id": "c", "response": None, "error": {"code": "expired"}})
    path.write_text("\n".join([line("a", "Dog.", "cat"), line("b", "I cannot say"), failed]))
    source = read_models(path, PETS)
    assert shares(source.answers) == {("gpt-4o", "a"): [0.5, 0.5, 0]}
    assert source.left_out == {"unreadable replies": 2}


def test_machines_of_a_data_set(data_folder):
    people = softlabel.datasets.load("popquorn/politeness").annotations
    models = softlabel.datasets.load("popquorn_models/politeness")
    said = read_judges(models, people.index)
    assert said.index.labels.tolist() == people.index.labels.tolist()
    known = people.index.items.tolist()
    assert said.index.items.tolist()[: len(known)] == known
    row = 1234
    name = said.index.items[said.item[row]]
    theirs = models.machines
    same = (theirs.index.items[theirs.item] == name) & (theirs.annotator == said.annotator[row])
    assert theirs.label[same].tolist() == [said.label[row]]


def test_ids_stay_what_they_were():
    people = softlabel.annotations({"item": [7, 8], "worker": ["x", "x"], "label": [1, 2]})
    models = [{"item": 9, "model": "m", "label": 2}, {"item": 7, "model": "m", "label": 1.0}]
    both, said = join_judges(people, read_judges(models, people.index))
    assert both.index.ids("items") == said.index.ids("items") == [7, 8, 9]
    assert said.index.ids("labels") == [1, 2]
    assert said.label.tolist() == [1, 0]


# ── what is wrong ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "index", "wrong"),
    [
        ("item,model,label\na,m,cat\na,m,cow\n", PETS, "line 3, column 'label', value 'cow'"),
        ("item,model,label\na,m,\n", PETS, "line 2, column 'label'.*: the cell is empty"),
        ("item,model,label\n,m,cat\n", PETS, "line 2, column 'item'.*: the cell is empty"),
        ("item,label\na,cat\n", PETS, "no column names the model"),
        ("model,label\nm,cat\n", PETS, "no column names the item"),
        ("item,model\na,m\n", PETS, "holds no answers: an answer is a label"),
        ("item,model,label,score\na,m,1,1\n", SCALE, "'label', 'score'; keep one kind"),
        ("item,model,score\na,m,6\n", SCALE, "line 2, .*value '6': must be from 1 to 5"),
        ("item,model,score\na,m,good\n", SCALE, "line 2, .*value 'good': is not a number"),
        ("item,model,score\na,m,1\n", PETS, "scores are for classes that are numbers"),
        ("item,model,cat,dog\na,m,.5,.4\n", PETS, "line 2: the probabilities sum to 0.9, not"),
        ("item,model,cat,dog\na,m,1.5,-.5\n", PETS, "the probability of 'dog' must be"),
        ("item,model,logprob:cat\na,m,2\n", PETS, "sum to 7.38.*no log-probabilities"),
        ("item,model,logprob:cow\na,m,-1\n", PETS, "'cow' is no class"),
        ("item,model,logprob:cat\na,m,\n", PETS, "no class has a log-probability"),
    ],
)
def test_errors_name_file_row_key_and_value(tmp_path, text, index, wrong):
    path = tmp_path / "models.csv"
    path.write_text(text)
    with pytest.raises(FileError, match=rf"models\.csv.*{wrong}"):
        read_judges(path, index)


def test_scores_between_steps_need_the_steps():
    with pytest.raises(FileError, match=r"value 3.5: scores between the steps.*row 1"):
        read_judges([{"item": "a", "model": "m", "score": 3.5}])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("v.csv", "item,model,label\na,gpt,cat\n"),
        ("v.csv", "item,annotator,label,kind\na,ann,cat,human\na,gpt,dog,LLM\n"),
        ("v.jsonl", '{"item": "a", "annotator": "g", "label": "cat", "kind": "model"}\n'),
    ],
)
def test_models_are_not_taken_for_people(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FileError, match=r"(model|kind)'.*give it with --judges"):
        io.read_answers(path)
    frame = pl.read_csv(path) if name == "v.csv" else pl.read_ndjson(path)
    with pytest.raises(DataError, match=r"(model|kind)'.*give it with judges="):
        softlabel.label(frame, "mean")


def test_people_may_judge_what_models_made(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("item,annotator,model,label\na,ann,gpt,good\na,bob,gpt,bad\n")
    assert io.read_answers(path).answers.index.annotators.tolist() == ["ann", "bob"]


# ── pools ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Half(registry.Options):
    """Half people, half models; of items that nobody answered, nothing."""

    name: ClassVar[str] = "half"
    paper: ClassVar[str] = "none"
    estimand: ClassVar[str] = "distribution"

    def __call__(self, annotations, map=map, shards=1, *, judges=None):
        count = annotations.votes_per_item()
        people = annotations.counts() / np.maximum(count, 1)[:, None]
        models = judges.counts() / np.maximum(judges.votes_per_item(), 1)[:, None]
        probs = np.where(count[:, None] > 0, (people + models) / 2, np.nan)
        return SoftLabels(annotations.index, probs, count, self.estimand, repr(self))


VOTES = {"item": ["a", "a", "b"], "worker": ["x", "y", "x"], "label": ["cat", "dog", "dog"]}
SAID = [("b", "cat"), ("a", "dog"), ("c", "dog")]


def test_a_pool_gets_what_models_said_of_the_same_items(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("item,model,label\n" + "".join(f"{item},m,{label}\n" for item, label in SAID))
    soft = softlabel.label(VOTES, Half(), judges=path)
    assert soft["a"] == {"cat": 0.25, "dog": 0.75}
    assert soft["b"] == {"cat": 0.5, "dog": 0.5}
    assert soft.count.tolist() == [2, 1, 0]
    assert soft.facts["models"] == "1, of 3 items, 1 of which nobody answered"


def test_a_pool_that_does_not_learn_from_models_refuses():
    with pytest.raises(SoftlabelError, match=r"^judges=: mean pools what people said"):
        softlabel.label(VOTES, "mean", judges=[])
