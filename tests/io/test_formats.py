"""Files of other programs: the examples of their documentation, every trap, and round trips.

The examples are as the programs write them (Label Studio 1.23, Potato 2.12), as their source says,
or as they stand in public repositories.  Counts are made by hand.
"""

from __future__ import annotations

import gzip
import json
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel import FileError, SoftlabelError, labelling, registry, study
from softlabel import io as files
from softlabel.io import formats
from softlabel.tables import Annotations, Index, Statements, names

EXPORTS = Path(__file__).parent / "exports"


def write(tmp_path, content, name="in.dat"):
    """A file with a name that says nothing about its content."""
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def read(path, how=None, labels=None, **more):
    given = None if how is None else registry.parse("format", how)
    return files.read_answers(path, labels, reading=files.Reading(given, **more))


def votes(source) -> list[tuple[str, str | None, str]]:
    answers, index = source.answers, source.answers.index
    people = [*index.annotators.tolist(), None]
    return [
        (index.items[i], people[w], index.labels[c])
        for i, w, c in zip(answers.item, answers.annotator, answers.label, strict=True)
    ]


def beliefs(source) -> list[tuple[str, str | None, dict[str, float]]]:
    answers, index = source.answers, source.answers.index
    people = [*index.annotators.tolist(), None]
    return [
        (index.items[i], people[w], dict(zip(index.labels.tolist(), row, strict=True)))
        for i, w, row in zip(
            answers.item, answers.annotator, answers.probs.round(6).tolist(), strict=True
        )
    ]


def count(source) -> int:
    """Rows out and left out; must be the rows in."""
    return len(source.answers) + sum(source.left_out.values())


# ── Label Studio ─────────────────────────────────────────────────────────────────────────────

LABEL_STUDIO = """
[{"id": 1, "inner_id": 1, "project": 1,
  "data": {"image": "x.png", "item": "i1"}, "meta": {},
  "annotations": [
    {"id": 1, "completed_by": 1, "was_cancelled": false, "ground_truth": false,
     "created_at": "2026-11-16T18:44:36.020862Z", "updated_at": "2026-11-16T18:44:36.020906Z",
     "draft_created_at": null, "lead_time": 3.2, "unique_id": "78518643-…", "result_count": 1,
     "prediction": {}, "parent_prediction": null, "parent_annotation": null, "last_action": null,
     "task": 1, "project": 1, "updated_by": 1, "import_id": null, "bulk_created": false,
     "last_created_by": null,
     "result": [
       {"from_name": "animal", "to_name": "img", "type": "choices", "value": {"choices": ["cat"]}},
       {"from_name": "sure", "to_name": "img", "type": "rating", "value": {"rating": 4}},
       {"from_name": "p", "to_name": "img", "type": "number", "value": {"number": 80}}]},
    {"id": 2, "completed_by": 2, "was_cancelled": false, "lead_time": 5.0,
     "result": [{"from_name": "animal", "to_name": "img", "type": "choices",
                 "value": {"choices": ["dog"]}}]},
    {"id": 3, "completed_by": 1, "was_cancelled": true, "lead_time": null, "result": []}],
  "drafts": [], "predictions": [],
  "total_annotations": 2, "cancelled_annotations": 1, "total_predictions": 0,
  "allow_skip": true, "comment_count": 0, "unresolved_comment_count": 0, "comment_authors": [],
  "created_at": "…", "updated_at": "…", "updated_by": 1}]
"""
MINIMAL = [
    {"image": "x.png", "item": "i1", "id": 1, "animal": "dog", "sure": [{"rating": 2}],
     "p": [{"number": 55}], "annotator": 2, "annotation_id": 2, "created_at": "…",
     "updated_at": "…", "lead_time": 5.0},
    {"image": "x.png", "item": "i1", "id": 1, "animal": "cat", "sure": [{"rating": 4}],
     "p": [{"number": 80}], "annotator": 1, "annotation_id": 1, "created_at": "…",
     "updated_at": "…", "lead_time": 3.2},
]  # fmt: skip
FLAT = (
    '"animal","annotation_id","annotator","created_at","id","image","item","lead_time","p","sure",'
    '"updated_at"\n'
    '"dog","2","2","…","1","x.png","i1","5.0","[{""number"": 55}]","[{""rating"": 2}]","…"\n'
    '"cat","1","1","…","1","x.png","i1","3.2","[{""number"": 80}]","[{""rating"": 4}]","…"\n'
)


def test_label_studio(tmp_path):
    source = read(write(tmp_path, LABEL_STUDIO))
    assert votes(source) == [("1", "1", "cat"), ("1", "2", "dog")]
    assert source.read_as == "label-studio"
    assert source.seconds.tolist() == [3.2, 5.0]
    assert source.left_out["to other questions"] == 2
    assert source.left_out["skipped"] == 1
    assert count(source) == 5, "four results and one cancelled annotation"
    assert source.contents == {"1": {"image": "x.png", "item": "i1"}}
    assert read(tmp_path / "in.dat", "label-studio:item=item").answers.index.items.tolist() == [
        "i1"
    ]


def test_label_studio_with_confidence(tmp_path):
    """Top choice and p: 80 of 100 are said of the cat, and the rest of nobody."""
    source = read(write(tmp_path, LABEL_STUDIO), "label-studio:confidence=p")
    said = source.answers
    assert isinstance(said, Statements)
    np.testing.assert_array_equal(said.stated, [[0.8, np.nan], [np.nan, np.nan]])
    assert said.named[:, 0].tolist() == [0, 1]
    rated = read(tmp_path / "in.dat", "label-studio:confidence=sure,confidence_max=5")
    assert rated.answers.stated[0, 0] == 0.8
    with pytest.raises(FileError, match=r"value 80.0: .* is more than confidence_max=5"):
        read(tmp_path / "in.dat", "label-studio:confidence=p,confidence_max=5")
    assert votes(read(tmp_path / "in.dat", "label-studio:task=sure")) == [("1", "1", "4")]


@pytest.mark.parametrize("content", [MINIMAL, FLAT, FLAT.replace('","', '"\t"')])
def test_label_studio_with_a_row_per_annotation(tmp_path, content):
    source = read(write(tmp_path, content))
    assert votes(source) == [("1", "2", "dog"), ("1", "1", "cat")]
    assert (source.read_as, source.seconds.tolist()) == ("label-studio", [5.0, 3.2])
    assert count(source) == 6
    assert source.contents["1"] == {"image": "x.png", "item": "i1"}


def test_label_studio_cannot_guess_the_tag_of_choices(tmp_path):
    path = write(tmp_path, MINIMAL[:1])
    with pytest.raises(FileError, match="image, item, animal holds the choices cannot be told"):
        read(path)
    assert votes(read(path, "label-studio:task=animal")) == [("1", "2", "dog")]


def test_label_studio_traps(tmp_path):
    one = json.loads(LABEL_STUDIO)[0]
    choice = one["annotations"][1]["result"][0]
    person = {"id": 7, "email": "ann@example.org", "first_name": "Ann", "last_name": "A"}
    gold = {"id": 9, "completed_by": 3, "ground_truth": True, "result": [choice]}
    drawn = {"from_name": "box", "value": {"x": 1, "rectanglelabels": ["cat"]}}
    boxes = {"id": 8, "completed_by": 3, "result": [choice, drawn]}
    again = {"id": 4, "completed_by": person, "lead_time": None, "result": [choice]}
    guess = {"model_version": "m1", "score": 0.93, "result": [choice]}
    task = one | {
        "annotations": [gold, again, again | {"id": 5}, boxes],
        "predictions": [guess],
        "drafts": [{"result": []}],
    }
    source = read(write(tmp_path, [task]))
    assert source.answers.index.annotators.tolist() == ["7", "3"], "an id, never an address"
    where = r"\(entry 1, annotation 4, animal\) and again \(entry 1, annotation 5, animal\)"
    with pytest.raises(SoftlabelError, match=f"'7' answered item '1' {where}; say what to do"):
        source.refuse_repeats()
    assert source.left_out == {
        "gold": 1,
        "drafts": 1,
        "by machines": 1,
        "results that are no labels": 1,
    }
    assert count(source) == 7
    assert votes(read(tmp_path / "in.dat", "label-studio:who=machines")) == [("1", "m1", "dog")]
    old = {key: value for key, value in one.items() if key != "annotations"}
    path = write(tmp_path, [old | {"completions": one["annotations"]}], "old")
    assert len(read(path).answers) == 2


def test_tasks_of_label_studio_without_annotations(tmp_path):
    """As we write them: what they hold are predictions, and the name of the item is in the data."""
    path = write(tmp_path, "item,annotator,label\na,x,cat\na,y,cat\nb,x,dog\n", "v.csv")
    labels = labelling.pool_source(read(path), labelling.Plan())
    formats.LabelStudio(task="animal").write(labels, tmp_path / "tasks.json", {})
    said = r"no answers by people \(left out: 2 tasks without annotations\); for the others say --"
    with pytest.raises(FileError, match=said):
        read(tmp_path / "tasks.json")
    guesses = votes(read(tmp_path / "tasks.json", "label-studio:who=machines"))
    assert [(item, label) for item, _, label in guesses] == [("a", "cat"), ("b", "dog")]
    path = write(tmp_path, [{"id": 1, "data": {"text": "…"}}], "tasks.json")
    with pytest.raises(FileError, match="left out: 1 tasks without annotations"):
        read(path)


def test_exports_that_label_studio_wrote():
    """Version 1.23.2 with: an answer with rating and number, another one by the same person, a
    skip, a gold answer and a plain one; a prediction that the export holds by its number."""
    source = read(EXPORTS / "label_studio.json")
    assert votes(source) == [("1", "1", "cat"), ("1", "1", "dog"), ("2", "1", "dog")]
    assert source.left_out == {
        "skipped": 1,
        "gold": 1,
        "to other questions": 4,
        "by machines": 1,
    }
    assert votes(read(EXPORTS / "label_studio.json", "label-studio:who=machines")) == [
        ("1", "m1", "cat")
    ]
    for name in ("label_studio_min.json", "label_studio.csv"):
        flat = read(EXPORTS / name)
        assert sorted(votes(flat)) == sorted([*votes(source), ("2", "1", "dog")]), (
            "gold is unmarked"
        )
        assert count(flat) == 8
        assert sorted(flat.seconds) == [1.5, 1.5, 3.2, 5.0]
    tasks = json.loads((EXPORTS / "label_studio.json").read_text())
    tasks[0]["predictions"] = [99]
    path = EXPORTS / "label_studio.json"
    head = formats.base.Head(path, "json", tasks)
    left_out = formats.read_table(formats.label_studio.LabelStudio(), head).left_out
    assert left_out["predictions that the export does not hold"] == 1


def test_several_labels_are_refused_or_asked_one_by_one(tmp_path):
    task = json.loads(LABEL_STUDIO)[0]
    task["annotations"][0]["result"][0]["value"]["choices"] = ["cat", "dog"]
    path = write(tmp_path, [task])
    with pytest.raises(FileError, match="entry 1, annotation 1, animal: names 2 labels"):
        read(path)
    source = read(path, "label-studio:multilabel=true,task=animal/cat")
    assert votes(source) == [("1", "1", "yes"), ("1", "2", "no")]


# ── Potato ───────────────────────────────────────────────────────────────────────────────────

STATE = """
{"user_id": "ann", "instance_id_ordering": ["a1", "a2"],
 "instance_id_to_label_to_value": {
   "a1": [[{"schema": "belief", "name": "cat"}, "70"], [{"schema": "belief", "name": "dog"}, "15"],
          [{"schema": "belief", "name": "frog"}, "15"],
          [{"schema": "animal", "name": "cat"}, "cat"], [{"schema": "sure", "name": "4"}, "4"]]},
 "instance_id_to_behavioral_data": {"a1": {"instance_id": "a1", "session_start": 1794852912.88,
   "session_end": 1794852913.79, "total_time_ms": 2915, "interactions": [
     {"event_type": "click", "timestamp": 1794852912.859, "target": "label:animal:cat"}]}},
 "phase_to_page_to_label_to_value": {}, "training_state": {}, "crowd_metadata": {}, "origin": {}}
"""
EXPORTED = (
    '{"instance_id": "a1", "user_id": "ann", "labels": {"belief": {"cat": "70", "dog": "15", '
    '"frog": "15"}, "animal": {"cat": "cat"}, "sure": {"4": "4"}}, "spans": {}, "links": {}}'
)
POTATO_CSV = (
    "instance_id,user_id,belief.cat,belief.dog,belief.frog,animal.cat,sure.4\n"
    "a1,ann,70,15,15,cat,4\n"
)


@pytest.mark.parametrize("content", [STATE, EXPORTED, f"{EXPORTED}\n{EXPORTED}".replace(
    'ann"', 'bob"', 1), POTATO_CSV])  # fmt: skip
def test_potato(tmp_path, content):
    path = write(tmp_path, content)
    source = read(path)
    assert source.read_as == "potato"
    assert ("a1", "ann", {"cat": 0.7, "dog": 0.15, "frog": 0.15}) in beliefs(source)
    people = len(source.answers)
    assert count(source) == 3 * people, "three schemas each"
    assert votes(read(path, "potato:task=animal"))[-1] == ("a1", "ann", "cat")
    assert votes(read(path, "potato:task=sure"))[-1] == ("a1", "ann", "4")


def test_potato_keeps_the_time_and_reads_nested_objects(tmp_path):
    assert read(write(tmp_path, STATE)).seconds.tolist() == [2.915]
    nested = json.loads(STATE)
    nested["instance_id_to_label_to_value"] = {
        "a1": {"belief": {"cat": "70", "dog": "15", "frog": "15"}, "animal": {"cat": True}}
    }
    assert votes(read(write(tmp_path, nested), "potato:task=animal")) == [("a1", "ann", "cat")]
    old = {"user": "ann", "instance_id": "a1", "displayed_text": "…",
           "label_annotations": {"animal": {"cat": "true"}}, "behavioral_data": {}}  # fmt: skip
    source = read(write(tmp_path, old))
    assert votes(source) == [("a1", "ann", "cat")]
    assert source.contents == {"a1": {"text": "…"}}


def test_potato_in_a_folder_with_every_trap(tmp_path):
    def state(user, pairs, **more):
        labels = [[{"schema": s, "name": n}, v] for s, n, v in pairs]
        return {"user_id": user, "instance_id_to_label_to_value": {"a1": labels}, **more}

    everybody = {
        "ann": state("ann", [("animal", "cat", "cat"), ("animal", "dog", "dog")]),
        "bob": state("bob", [("animal", "cat", "cat"), ("why", "text", "fur")]),
        "eve": state(
            "eve", [], phase_to_page_to_label_to_value={"consent": {"page": [[{}, "yes"]]}}
        ),
    }
    for user, content in everybody.items():
        (tmp_path / "out" / user).mkdir(parents=True)
        write(tmp_path / "out" / user, content, "user_state.json")
    change = {"instance_id": "a1", "action_type": "add_label", "schema_name": "animal",
              "metadata": {"ip": "10.0.0.1"}}  # fmt: skip
    history = "\n".join(json.dumps(change | {"label_name": name}) for name in ("cat", "dog"))
    write(tmp_path / "out" / "ann", history, "annotation_history.jsonl")
    with pytest.raises(FileError, match="user 'ann', instance 'a1', animal: names 2 labels"):
        read(tmp_path / "out")
    source = read(tmp_path / "out", "potato:single=animal")
    assert votes(source) == [("a1", "ann", "dog"), ("a1", "bob", "cat")]
    assert source.left_out == {
        "replaced by a later change": 1,
        "free text": 1,
        "without an answer": 1,
        "on pages before and after the items": 1,
    }
    assert count(source) == 6, "four labels, one empty state, one page"


def test_potato_machines_and_spans(tmp_path):
    """A state with an origin that is not human is a machine's, even if it cannot be read."""
    machine = json.loads(STATE) | {"origin": {"kind": "llm", "id": "m"}, "user_id": "m",
                                   "instance_id_to_span_to_value": {"a1": [[{}, "x"]]}}  # fmt: skip
    (tmp_path / "out" / "m").mkdir(parents=True)
    (tmp_path / "out" / "ann").mkdir()
    write(tmp_path / "out" / "m", machine, "user_state.json")
    write(tmp_path / "out" / "ann", STATE, "user_state.json")
    source = read(tmp_path / "out")
    assert source.answers.index.annotators.tolist() == ["ann"]
    assert source.left_out == {"spans": 1, "by machines": 3, "to other questions": 2}
    csv = POTATO_CSV.replace("user_id", "user_id,annotator_origin").replace("ann,", "ann,tool,")
    with pytest.raises(FileError, match="holds no answers by people"):
        read(write(tmp_path, csv))


def test_potato_beliefs(tmp_path):
    def line(user, value):
        labels = {"belief": {"value": json.dumps(value)}}
        return json.dumps({"instance_id": "a", "user_id": user, "labels": labels})

    source = read(write(tmp_path, line("u", {"report": 70}) + "\n" + line("v", {"report": 0})))
    assert [row[2] for row in beliefs(source)] == [{"no": 0.3, "yes": 0.7}, {"no": 1, "yes": 0}]
    source = read(write(tmp_path, line("u", {"bins": [10, 40, 50]})))
    assert beliefs(source)[0][2] == {"bin 1": 0.1, "bin 2": 0.4, "bin 3": 0.5}
    equal = "instance_id,user_id,p.a,p.b\ni,u,50,50\nj,u,30,70\n"
    source = read(write(tmp_path, equal))
    assert "1 answers to 'p' give every label the same number" in source.facts["note"]
    with pytest.raises(FileError, match="row 2, p: the numbers sum to 90, not to 100"):
        read(write(tmp_path, equal.replace("30,70", "30,60")))


# ── Prodigy ──────────────────────────────────────────────────────────────────────────────────

PRODIGY = """
{"text": "…", "options": [{"id": "cat", "text": "cat"}, {"id": "dog", "text": "dog"}],
 "config": {"choice_style": "single"},
 "accept": ["cat"], "answer": "accept", "_view_id": "choice", "_input_hash": 1231,
 "_task_hash": -889, "_timestamp": 1690289516, "_annotator_id": "mydata-ann",
 "_session_id": "mydata-ann"}
"""


def test_prodigy(tmp_path):
    one = json.loads(PRODIGY)
    lines = [
        one,
        one | {"answer": "ignore"},
        one | {"answer": "reject"},
        one | {"accept": [], "_annotator_id": "mydata-bob"},
        one | {"accept": ["dog"], "_annotator_id": None, "_session_id": "d-2024-01-02_10-11-12"},
        one | {"meta": {"id": "i1"}, "_annotator_id": "mydata-bob"},
    ]
    source = read(write(tmp_path, "\n".join(map(json.dumps, lines))))
    assert votes(source) == [
        ("1231", "mydata-ann", "cat"),
        ("1231", "d-2024-01-02_10-11-12", "dog"),
        ("i1", "mydata-bob", "cat"),
    ]
    assert source.read_as == "prodigy"
    assert count(source) == len(lines)
    assert "1 sessions name nobody" in source.facts["note"]
    assert votes(read(write(tmp_path, PRODIGY))) == [("1231", "mydata-ann", "cat")]


def test_prodigy_single_labels_are_a_question_each(tmp_path):
    one = {"text": "…", "_input_hash": 1, "_task_hash": 2, "_annotator_id": "a"}
    lines = [one | {"label": label, "answer": answer}
             for label, answer in (("A", "accept"), ("B", "reject"))]  # fmt: skip
    path = write(tmp_path, "\n".join(map(json.dumps, lines)))
    with pytest.raises(FileError, match=r"several questions: 'A' .1 answers., 'B'"):
        read(path)
    assert votes(read(path, "prodigy:task=B")) == [("1", "a", "reject")]
    cats = one | {"answer": "accept", "cats": {"A": 1.0, "B": 0.0}}
    assert votes(read(write(tmp_path, cats))) == [("1", "a", "A")]


# ── Argilla ──────────────────────────────────────────────────────────────────────────────────

ARGILLA = """
[{"id": "i1", "fields": {"text": "…"}, "metadata": {}, "vectors": {}, "status": "completed",
  "_server_id": "…uuid…",
  "suggestions": {"animal": {"value": "cat", "score": 0.93, "agent": "gpt-x"}},
  "responses": {"animal": [{"value": "cat", "user_id": "u1"}, {"value": "dog", "user_id": "u2"}]}}]
"""
RECORDS = {
    "id": "i1", "status": "completed", "_server_id": "…", "text": "…",
    "animal.responses": ["cat", "dog", "cat"], "animal.responses.users": ["u1", "u2", "u3"],
    "animal.responses.status": ["submitted", "draft", "discarded"], "animal.suggestion": "cat",
    "animal.suggestion.score": 0.93, "animal.suggestion.agent": "gpt-x",
}  # fmt: skip


def test_argilla(tmp_path):
    source = read(write(tmp_path, ARGILLA))
    assert votes(source) == [("i1", "u1", "cat"), ("i1", "u2", "dog")]
    assert source.left_out["by machines"] == 1
    assert "does not say which answers are drafts" in source.facts["note"]
    assert votes(read(tmp_path / "in.dat", "argilla:who=all"))[-1] == ("i1", "gpt-x", "cat")


def test_argilla_flat_records(tmp_path):
    import polars as pl

    source = read(write(tmp_path, RECORDS))
    assert votes(source) == [("i1", "u1", "cat")]
    assert source.left_out == {
        "draft": 1,
        "discarded": 1,
        "by machines": 1,
    }
    assert source.contents == {"i1": {"text": "…"}}
    pl.DataFrame([RECORDS]).write_parquet(tmp_path / "records.parquet")
    assert votes(read(tmp_path / "records.parquet")) == [("i1", "u1", "cat")]
    short = RECORDS | {"animal.responses.users": ["u1"]}
    with pytest.raises(FileError, match="3 answers, 1 users and 3 states"):
        read(write(tmp_path, short))


# ── doccano ──────────────────────────────────────────────────────────────────────────────────

DOCCANO = '{"id": 7, "text": "…", "label": ["positive"], "Comments": []}'


def test_doccano(tmp_path):
    path = write(tmp_path, DOCCANO, "ann.jsonl")
    assert votes(read(path)) == [("7", "ann", "positive")]
    with pytest.raises(FileError, match=r"'all.jsonl' does not say who annotated"):
        read(write(tmp_path, DOCCANO, "all.jsonl"))
    assert votes(read(tmp_path / "all.jsonl", "doccano:anonymous=true")) == [
        ("7", None, "positive")
    ]
    image = DOCCANO.replace("text", "filename").replace("…", "x.png")
    assert votes(read(write(tmp_path, image, "bob.jsonl"))) == [("7", "bob", "positive")]


def test_doccano_archives(tmp_path):
    empty = '{"id": 8, "text": "…", "label": [], "Comments": []}'
    with zipfile.ZipFile(tmp_path / "export", "w") as box:
        box.writestr("ann.jsonl", f"{DOCCANO}\n{empty}")
        box.writestr("bob.csv", "id,text,label\n7,…,negative\n8,…,positive#negative\n")
    with pytest.raises(FileError, match="line 3: names 2 labels, 'positive', 'negative'"):
        read(tmp_path / "export")
    source = read(tmp_path / "export", "doccano:multilabel=true,task=negative")
    assert votes(source) == [("7", "ann", "no"), ("7", "bob", "yes"), ("8", "bob", "yes")]
    assert source.left_out["without a label (not annotated, or nothing applies)"] == 1


def test_a_table_of_doccano_and_one_of_votes(tmp_path):
    single = "id,text,label\n7,…,negative\n8,…,\n9,…,positive\n"
    found = read(write(tmp_path, single, "bob.csv"))
    assert (found.read_as, found.left_out) == (
        "doccano", {"without a label (not annotated, or nothing applies)": 1},
    )  # fmt: skip
    assert votes(found) == [("7", "bob", "negative"), ("9", "bob", "positive")]
    image = single.replace("text", "filename").replace("label", "label,Comments")
    image = image.replace("e\n", "e,\n").replace(",…,\n", ",…,,\n")
    assert votes(read(write(tmp_path, image, "ann.csv")))[0] == ("7", "ann", "negative")
    path = write(tmp_path, single.replace("8,…,", "8,…,positive#negative"), "bob.csv")
    said = r"value 'positive#negative': line 3: could be several labels \(say --from doccano:multi"
    for how in (None, "doccano"):
        with pytest.raises(FileError, match=said):
            read(path, how)
    both = read(path, "doccano:multilabel=true,task=negative")
    assert votes(both) == [("7", "bob", "yes"), ("8", "bob", "yes"), ("9", "bob", "no")]
    table = read(path, columns={"item": "id", "label": "label"})
    assert votes(table)[1] == ("8", None, "positive#negative")
    for text, name in (
        ("id,text,label\n7,…,a\n7,…,b\n", "votes.csv"),  # of several people
        ("id,text,label\n7,…,a\n8,…,b\n", "all.csv"),
        ("id,text,label,topic\n7,…,a,x\n8,…,b,x\n", "bob.csv"),
    ):
        assert [who for _, who, _ in votes(read(write(tmp_path, text, name)))] == [None, None]


def test_a_study_folder_is_nobodys_export(tmp_path):
    """Its secret is not even looked at, and a file of settings is no record."""
    (tmp_path / ".softlabel").mkdir()
    (tmp_path / ".softlabel" / "secret.json").write_text('{"key": "s"}')
    assert formats.find_format(tmp_path) is None
    (tmp_path / "settings.json").write_text('{"key": "s"}')
    assert formats.find_format(tmp_path) is None


# ── LeWiDi ───────────────────────────────────────────────────────────────────────────────────

LEWIDI_2023 = """
{"1": {"text": "…", "annotation task": "hate speech detection", "number of annotations": 6,
  "annotations": "0,0,1,0,0,0", "annotators": "Ann1,Ann2,Ann3,Ann4,Ann5,Ann6", "lang": "en",
  "hard_label": "0", "soft_label": {"0": 0.83, "1": 0.17}, "split": "train",
  "other_info": {"annotators group": "group1,group1,group1,group2,group2,group2",
                 "other annotations": {"offensive language detection": "1,1,1,0,0,1"}}}}
"""
LEWIDI_2025 = """
{"3944": {"annotation task": "sarcasm detection", "text": {"context": "…", "response": "…"},
  "number of annotators": 4, "annotators": "Ann844,Ann845,Ann846,Ann847",
  "number of annotations": 4,
  "annotations": {"Ann844": "1", "Ann845": "1", "Ann846": "1", "Ann847": "2"},
  "soft_label": {"1": 0.75, "2": 0.25, "3": 0.0, "4": 0.0, "5": 0.0, "6": 0.0},
  "split": "dev", "lang": "en", "other_info": {"context+speaker": "232_2089"}}}
"""


def test_lewidi(tmp_path):
    source = read(write(tmp_path, LEWIDI_2023))
    assert [vote[2] for vote in votes(source)] == ["0", "0", "1", "0", "0", "0"]
    assert source.read_as == "lewidi"
    assert source.left_out["to other questions"] == 6
    other = read(tmp_path / "in.dat", "lewidi:task=offensive language detection")
    assert other.answers.counts().tolist() == [[2, 4]]
    source = read(write(tmp_path, LEWIDI_2025))
    assert source.answers.index.labels.tolist() == list("123456"), "nobody chose 3 to 6"
    assert votes(source)[-1] == ("3944", "Ann847", "2")
    assert source.contents["3944"]["text"] == {"context": "…", "response": "…"}


def test_lewidi_traps(tmp_path):
    abuse = {"text": json.dumps({"user": "…"}), "annotations": "1,-2,0", "annotators": "A,B,C",
             "soft_label": {"0": 0.67, "1": 0.33}}  # fmt: skip
    path = write(tmp_path, {"7": abuse})
    source = read(path)
    assert [vote[2] for vote in votes(source)] == ["0", "1", "0"], "below 0 is abuse"
    assert source.contents["7"]["text"] == {"user": "…"}
    assert [vote[2] for vote in votes(read(path, "lewidi:raw=true"))] == ["1", "-2", "0"]
    several = {"annotations": {"A": "neutral", "B": "contradiction,neutral"},
               "annotators": "A,B,B", "soft_label": {"neutral": {"0": 0.0, "1": 1.0}}}  # fmt: skip
    path = write(tmp_path, {"1": several})
    with pytest.raises(FileError, match="item '1', B: names 2 labels"):
        read(path)
    source = read(path, "lewidi:multilabel=true,task=contradiction")
    assert votes(source) == [("1", "A", "no"), ("1", "B", "yes")]
    points = {"annotations": {"Ann0": "0", "Ann1": "1"}, "annotators": "Ann0,Ann1",
              "soft_label": {"0.0": 0.5, "1.0": 0.5}}  # fmt: skip
    assert [vote[2] for vote in votes(read(write(tmp_path, {"1": points})))] == ["0.0", "1.0"]
    short = abuse | {"annotations": "1,-2"}
    with pytest.raises(FileError, match=r"item '7': has 2 annotations .* and 3 annotators"):
        read(write(tmp_path, {"7": short}))
    off = points | {"soft_label": {"0": 0.9, "1": 0.1}}
    assert "the soft labels of 1 items are not" in read(write(tmp_path, {"1": off})).facts["note"]


# ── people and models ────────────────────────────────────────────────────────────────────────


def test_alt_test(tmp_path):
    people = {"annotator1": {"item1": "A", "item2": "B"}, "annotator2": {"item1": "A"}}
    source = read(write(tmp_path, people))
    assert votes(source) == [
        ("item1", "annotator1", "A"),
        ("item2", "annotator1", "B"),
        ("item1", "annotator2", "A"),
    ]
    assert source.read_as == "alt-test"


JUDGES = {
    "dataset": "x",
    "annotations": [{"metric": "safety", "category": "categorical",
                     "labels_list": ["No", "Yes", "Unsure"], "prompt": "…"}],
    "instances": [
        {"id": 173, "instance": {"text": "…"},
         "annotations": {"safety": {"majority_human": "No",
                                    "individual_human_scores": ["No", "Yes"]}}},
        {"id": 174, "instance": {"text": "…"},
         "annotations": {"safety": {"majority_human": "No",
                                    "individual_human_scores": ["No", None]}}},
    ],
}  # fmt: skip


def test_judge_bench(tmp_path):
    path = write(tmp_path, JUDGES)
    source = read(path)
    assert votes(source) == [("173", None, "No"), ("173", None, "Yes"), ("174", None, "No")]
    assert source.answers.index.labels.tolist() == ["No", "Yes", "Unsure"]
    assert count(source) == 4
    named = read(path, "judge-bench:positions_are_annotators=true")
    assert votes(named)[1:] == [("173", "r2", "Yes"), ("174", "r1", "No")]
    JUDGES["instances"][1]["annotations"]["safety"]["individual_human_scores"].append("No")
    with pytest.raises(FileError, match="instance 2: has 3 answers and the first instance has 2"):
        read(write(tmp_path, JUDGES), "judge-bench:positions_are_annotators=true")
    JUDGES["instances"][1]["annotations"]["safety"]["individual_human_scores"].pop()


def test_chaosnli(tmp_path):
    line = {"uid": "x", "label_counter": {"e": 76, "n": 20, "c": 4},
            "label_dist": [0.76, 0.2, 0.04], "label_count": [76, 20, 4],
            "example": {"premise": "…"}, "old_labels": []}  # fmt: skip
    source = read(write(tmp_path, line))
    assert source.answers.counts().tolist() == [[76, 20, 4]]
    assert source.answers.anonymous
    assert source.answers.index.labels.tolist() == ["entailment", "neutral", "contradiction"]


# ── tables of crowdsourcing ──────────────────────────────────────────────────────────────────

TOLOKA = (
    "INPUT:image\tINPUT:note\tOUTPUT:result\tGOLDEN:result\tASSIGNMENT:assignment_id\t"
    "ASSIGNMENT:worker_id\tASSIGNMENT:status\tASSIGNMENT:started\tASSIGNMENT:submitted\n"
    "x.png\t\tcat\t\ts1\tw1\tACCEPTED\t2020-01-01T00:00:00\t2020-01-01T00:00:10\n"
    "y.png\t\tdog\tdog\ts1\tw1\tACCEPTED\t2020-01-01T00:00:00\t2020-01-01T00:00:10\n"
    "\n"
    "x.png\t\tdog\t\ts2\tw2\tREJECTED\t\t\n"
    "x.png\t\t\t\ts3\tw3\tAPPROVED\t\t\n"
)


def test_toloka(tmp_path):
    path = write(tmp_path, TOLOKA)
    with pytest.raises(FileError, match=r"which field is the item is not clear; .* image, note"):
        read(path)
    source = read(path, "toloka:item=image,keep_ids=true")
    assert votes(source) == [("x.png", "w1", "cat")]
    assert source.seconds.tolist() == [5.0], "two tasks share ten seconds"
    assert count(source) == 4
    hidden = read(path, "toloka:item=image").answers.index.annotators.tolist()
    assert hidden != ["w1"]


def test_cleanlab(tmp_path):
    path = write(tmp_path, "item,ann,bob\ni,0,1\nj,,1.0\nk,NaN,0\n", "wide.csv")
    source = read(path, "cleanlab")
    assert votes(source) == [
        ("i", "ann", "0"), ("i", "bob", "1"), ("j", "bob", "1"), ("k", "bob", "0"),
    ]  # fmt: skip
    assert count(source) == 6
    assert votes(read(path, "cleanlab", labels=["0", "1", "2"]))[0][2] == "0"
    with pytest.raises(FileError, match=r"value '0.5': row 1: must be the number of a class"):
        read(write(tmp_path, "item,ann\ni,0.5\n"), "cleanlab")


def test_what_cleanlab_was_written_is_not_taken_for_counts(tmp_path):
    path = write(tmp_path, "item,annotator,label\na,x,cat\na,y,dog\nb,y,dog\n", "v.csv")
    formats.Cleanlab().write(read(path).answers, tmp_path / "wide.csv", {})
    with pytest.raises(FileError, match=r"beside it is wide.classes.json.*say --from cleanlab"):
        read(tmp_path / "wide.csv")
    assert Counter(votes(read(tmp_path / "wide.csv", "cleanlab"))) == Counter(votes(read(path)))
    path = write(tmp_path, "item,x,y\na,0,1\nb,2,1\n", "wide.csv")
    assert read(path, labels=["x", "y"]).answers.counts().tolist() == [[0, 1], [2, 1]]


MTURK = (
    '"HITId","Title","Reward","AssignmentId","WorkerId","AssignmentStatus","WorkTimeInSeconds",'
    '"Input.text_0","Input.text_1","Answer.label_0","Answer.label_1","Approve","Reject"\n'
    '"H1","t","$0.05","A1","A2ABCDEFGHIJK","Approved","30","one","two","cat","dog","x",""\n'
    '"H1","t","$0.05","A2","A3ABCDEFGHIJK","Submitted","20","one","two","dog","","",""\n'
    '"H1","t","$0.05","A3","A4ABCDEFGHIJK","Rejected","5","one","two","cat","cat","","x"\n'
)


def test_mturk(tmp_path, monkeypatch):
    path = write(tmp_path, MTURK)
    monkeypatch.setenv("SOFTLABEL_PSEUDONYM_KEY", "one key")
    source = read(path)
    people = source.answers.index.annotators.tolist()
    assert [(vote[0], people.index(vote[1]), vote[2]) for vote in votes(source)] == [
        ("one", 0, "cat"), ("two", 0, "dog"), ("one", 1, "dog"),
    ]  # fmt: skip
    assert source.seconds.tolist() == [15, 15, 10]
    assert source.left_out == {"rejected": 1, "without an answer": 1}
    assert not any(name.startswith("A") for name in people)
    assert read(path).answers.index.annotators.tolist() == people, "the same key"
    monkeypatch.setenv("SOFTLABEL_PSEUDONYM_KEY", "another key")
    assert read(path).answers.index.annotators.tolist() != people
    kept = read(path, "mturk:keep_ids=true").answers.index.annotators.tolist()
    assert kept == ["A2ABCDEFGHIJK", "A3ABCDEFGHIJK"]


def test_mturk_with_a_column_per_option(tmp_path):
    text = (
        "HITId,WorkerId,AssignmentStatus,Input.url,Answer.animal.cat,Answer.animal.dog\n"
        "H,w1,Approved,x,true,false\nH,w2,Approved,x,false,true\n"
    )
    source = read(write(tmp_path, text), "mturk:keep_ids=true")
    assert votes(source) == [("x", "w1", "cat"), ("x", "w2", "dog")]


# ── Web Annotation ───────────────────────────────────────────────────────────────────────────

WEB = """
{"@context": ["http://www.w3.org/ns/anno.jsonld", {"softlabel": "https://example.org/ns/softlabel#"}],
 "id": "urn:softlabel:shapes:a1:i1", "type": "Annotation", "motivation": "classifying",
 "created": "2026-11-16T18:44:36Z", "creator": {"id": "urn:softlabel:shapes:annotator:a1", "type": "Person"},
 "body": [{"type": "TextualBody", "purpose": "classifying", "value": "cat", "softlabel:probability": 0.8},
          {"type": "TextualBody", "purpose": "classifying", "value": "dog", "softlabel:probability": 0.2}],
 "target": "https://example.org/shapes/i1.png"}
"""  # noqa: E501


def test_web_annotation(tmp_path):
    source = read(write(tmp_path, WEB))
    assert beliefs(source) == [
        (
            "https://example.org/shapes/i1.png",
            "urn:softlabel:shapes:annotator:a1",
            {"cat": 0.8, "dog": 0.2},
        )
    ]
    plain = json.loads(WEB)
    for body in plain["body"]:
        del body["softlabel:probability"]
    with pytest.raises(FileError, match="annotation 1: names 2 labels"):
        read(write(tmp_path, plain))
    machine = plain | {"creator": {"id": "m", "type": "Software"}, "body": plain["body"][:1]}
    path = write(tmp_path, [plain | {"body": plain["body"][0]}, machine])
    assert read(path).left_out["by machines"] == 1


# ── telling formats apart ────────────────────────────────────────────────────────────────────

EXAMPLES = {
    "label-studio": LABEL_STUDIO, "potato": STATE, "prodigy": PRODIGY, "argilla": ARGILLA,
    "doccano": DOCCANO, "lewidi": LEWIDI_2023, "judge-bench": json.dumps(JUDGES),
    "toloka": TOLOKA, "mturk": MTURK, "web-annotation": WEB,
    "alt-test": '{"a": {"i": "x"}}', "chaosnli": '{"uid": 1, "label_counter": {"e": 1}}',
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_claimed_by_its_format_only(tmp_path, name):
    head = formats.read_head(write(tmp_path, EXAMPLES[name]))
    assert [kind.name for kind in formats.ALL if kind.claims(head)] == [name]


def test_two_claims_stop(tmp_path):
    path = write(tmp_path, {"uid": "x", "label_counter": {"e": 1}, "answer": "accept",
                            "_task_hash": 1})  # fmt: skip
    with pytest.raises(FileError, match="looks like prodigy and chaosnli; say which with --from"):
        read(path)
    assert read(path, "chaosnli").read_as == "chaosnli"


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_file_that_only_looks_like_it_is_refused(tmp_path, name):
    for content in ("[]", "{}", '{"a": 1}', "[1, 2]", "a,b\n1,2\n", '{"annotations": 3}'):
        with pytest.raises(FileError):
            read(write(tmp_path, content), name)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda inner:
                    st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(
                        ["id", "data", "annotations", "result", "label", "labels", "instance_id",
                         "user_id", "responses", "fields", "soft_label", "annotators", "instances",
                         "annotation", "answer", "_task_hash", "options", "type", "body", "uid",
                         "label_counter", "value", "completed_by", "from_name"]), inner, max_size=4
                    ), max_leaves=12), st.sampled_from(sorted(EXAMPLES)))  # fmt: skip
def test_any_json_is_read_or_refused(tmp_path_factory, value, name):
    path, refusals = write(tmp_path_factory.mktemp("any"), value), []
    for how in (None, name):
        try:
            read(path, how)
        except FileError as error:
            refusals.append(str(error))
    assert all(str(path) in refusal for refusal in refusals)


# ── round trips ──────────────────────────────────────────────────────────────────────────────

NAMES = st.text("abc é'=@,\t-+0", min_size=1, max_size=4).filter(
    lambda name: name.strip() == name and name[0] not in "'"
)
TABLES = st.dictionaries(st.tuples(NAMES, NAMES), st.integers(0, 2), min_size=1, max_size=12)
BACK = {
    "lewidi": ("x.json", "lewidi"),
    "lewidi:edition=2023": ("x.json", "lewidi"),
    "alt-test": ("x.json", "alt-test"),
    "crowd-kit": ("x.csv", None),
    "cleanlab": ("x.csv", "cleanlab"),
    "judge-bench:positions_are_annotators=true": (
        "x.json",
        "judge-bench:positions_are_annotators=true",
    ),
    "web-annotation": ("x.json", None),
}


def table_of(cells, labels=("x", "y", "z"), probs=None) -> Annotations:
    items, people = (list(dict.fromkeys(key[j] for key in cells)) for j in (0, 1))
    index = Index(names(items), names(people), names(list(labels)))
    item = np.array([items.index(key[0]) for key in cells])
    who = np.array([people.index(key[1]) for key in cells])
    if probs is not None:
        return Annotations(index, item, who, probs=np.array(probs))
    return Annotations(index, item, who, label=np.array(list(cells.values())))


@pytest.mark.parametrize("to", BACK)
@settings(max_examples=20)
@given(cells=TABLES)
def test_votes_come_back(tmp_path_factory, to, cells):
    if to.startswith("lewidi"):
        cells = {(i, w.replace(",", ";")): c for (i, w), c in cells.items()}
    if to == "cleanlab":
        cells = {(i, f"w{w}"): c for (i, w), c in cells.items()}
    path = tmp_path_factory.mktemp("back") / BACK[to][0]
    answers = table_of(cells)
    source = files.Source("memory", answers)
    how = registry.parse("format", to)
    labelling.convert_source(source, path, how, labelling.Plan(), keep_ids=True)
    again = read(path, BACK[to][1], labels=["x", "y", "z"])
    if to.startswith("judge-bench"):  # names become positions
        people = answers.index.annotators.tolist()
        cells = {(i, f"r{people.index(w) + 1}"): c for (i, w), c in cells.items()}
    assert Counter(votes(again)) == Counter((i, w, "xyz"[c]) for (i, w), c in cells.items())


@settings(max_examples=20)
@given(weights=st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any),
                        min_size=1, max_size=5))  # fmt: skip
def test_distributions_come_back(tmp_path_factory, weights):
    path = tmp_path_factory.mktemp("back") / "x.jsonld"
    probs = np.array([np.array(row) / sum(row) for row in weights])
    answers = table_of({(f"i{n}", "w"): 0 for n in range(len(weights))}, probs=probs)
    how = registry.parse("format", "web-annotation")
    source = files.Source("memory", answers)
    labelling.convert_source(source, path, how, labelling.Plan(), keep_ids=True)
    again = read(path, labels=["x", "y", "z"]).answers
    np.testing.assert_allclose(again.probs, probs, atol=1e-12)


# ── real data ────────────────────────────────────────────────────────────────────────────────


def test_lewidi_soft_labels_are_the_shares_that_are_read(data_folder, tmp_path):
    for name in (
        "lewidi2023/HS-Brexit_dev",
        "lewidi2023/ConvAbuse_dev",
        "lewidi2025/Paraphrase_dev",
    ):
        path = data_folder / f"{name}.json.gz"
        source = read(path)
        printed = json.loads(gzip.decompress(path.read_bytes()))
        counts = source.answers.counts()
        shares = counts / counts.sum(axis=1, keepdims=True)
        labels = source.answers.index.labels.tolist()
        for item, row in zip(source.answers.index.items.tolist(), shares, strict=True):
            wanted = [printed[item]["soft_label"][label] for label in labels]
            np.testing.assert_allclose(row, wanted, atol=0.02)
        assert not any("are not the shares" in note for note in source.notes)


def test_other_real_files(data_folder):
    judged = read(data_folder / "dices/dices_350_crowdsourced.json.gz",
                  "judge-bench:positions_are_annotators=true")  # fmt: skip
    assert judged.answers.index.shape == (350, 123, 3)
    assert len(judged.answers) == 350 * 123
    people = read(data_folder / "alttest/wax.human.json.gz")
    assert people.answers.index.shape[:2] == (246, 8)
    chaos = read(data_folder / "chaosnli/chaosNLI_snli.jsonl.gz")
    assert set(chaos.answers.votes_per_item().tolist()) == {100}


def test_a_study_folder_is_no_export_and_its_secrets_are_not_read(tmp_path):
    study.write_new(tmp_path / "shapes")
    hidden = tmp_path / "shapes" / ".softlabel" / "secret.json"
    hidden.parent.mkdir()
    hidden.write_text('{"pseudonyms": "x"}', encoding="utf-8")
    assert formats.find_format(tmp_path / "shapes") is None
    assert not any("secret" in name for name in formats.read_head(tmp_path / "shapes").first)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "one.json").write_text('{"id": 1}', encoding="utf-8")
    assert formats.find_format(tmp_path / "other") is None


def test_a_folder_with_lines_that_are_no_objects_is_no_format(tmp_path):
    (tmp_path / "notes.jsonl").write_text('"only text"\n')
    assert formats.find_format(tmp_path) is None
