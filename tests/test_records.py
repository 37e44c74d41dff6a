"""The record of one answer: which records count, which mode reads each, and the way back."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from softlabel import Annotations, FileError, study
from softlabel import io as files
from softlabel.construct import Clamp
from softlabel.elicit import MODES, Chips, Classic, Hard
from softlabel.labelling import Plan, label_file
from softlabel.records import (
    KEYS,
    LISTS,
    SCHEMA,
    SENT,
    SKIPS,
    LabelLists,
    describe_left_out,
    dump_json,
    join_lists,
    record_of_stored,
    records_of_statements,
    votes_to_statements,
)
from softlabel.testing import example_votes

LABELS = ["cat", "dog", "bird/owl", "bird/tit"]
CLASSIC = {"top": "cat", "p1": 80, "second": "dog", "p2": 20, "impossible": ["bird/owl"]}


def response(answer=CLASSIC, item="i", annotator="w", kind="target", mode="classic", **more):
    """One line of an export, with everything that the server writes."""
    shown = {
        "kind": kind,
        "repeat_of": None,
        "position": 7,
        "batch": "b1",
        "mode": mode,
        "mode_version": 1,
        "frame": "self",
        "label_order": LABELS[::-1],
        "suggestion_arm": None,
    }
    return {
        "schema": "softlabel.response/1",
        "response_uuid": more.pop("uuid", f"{item}-{annotator}-{kind}"),
        "project": "p1",
        "session": "s9",
        "annotator": annotator,
        "item": item,
        "labels": LABELS,
        "supersedes": None,
        "presentation": shown | more.pop("shown", {}),
        "answer": answer,
        "touched": True,
        "skip": None,
        "timing": {"first_input_ms": 1240, "submit_ms": 2310, "fields": {"top": 1240}},
        "events": [[1240, "key", "Digit3", "cat"]],
        "client": {"viewport": [1280, 800]},
        "delivery": {"attempt": 1, "queued_ms": 0},
        "received_at": "2026-01-01T00:00:00Z",
        "late": False,
    } | more


def written(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_practice_checks_skips_and_replaced_answers_are_left_out_and_counted(tmp_path):
    rows = [
        *(response(item=f"t{i}", kind="training") for i in range(3)),
        response(item="g", kind="gold"),
        response(item="a", kind="attention"),
        response(item="i"),
        response(item="i", kind="repeat"),
        response(None, item="j", skip="cannot_judge"),
        response(None, item="k", skip="media_broken"),
        response(item="l", uuid="old"),
        response(CLASSIC | {"top": "dog", "second": "cat"}, item="l", uuid="new", supersedes="old"),
    ]
    source = files.read_answers(written(tmp_path / "r.jsonl", *rows))
    assert source.left_out == {"practice": 3, "checks": 2, "skipped": 2, "superseded": 1}
    assert source.facts == {"left out": "3 practice, 2 checks, 2 skipped, 1 superseded"}
    said = source.answers
    assert said.index.items[said.item].tolist() == ["i", "l", "i"], "repeats come after targets"
    assert [source.line_of(row) for row in range(3)] == [6, 11, 7]
    assert said.index.labels[said.named[:, 0]].tolist() == ["cat", "dog", "cat"]


def test_an_answer_that_was_replaced_by_a_skip_is_gone(tmp_path):
    rows = [
        response(item="i", uuid="one"),
        response(None, item="i", uuid="two", supersedes="one", skip="not_in_list"),
        response(item="j"),
    ]
    source = files.read_answers(written(tmp_path / "r.jsonl", *rows))
    assert source.answers.index.items.tolist() == ["j"]
    assert describe_left_out(source.left_out) == "1 skipped, 1 superseded"


def test_left_out_answers_are_not_read_but_must_be_responses(tmp_path):
    rows = [response(), response({"anything": "goes"}, item="t", kind="training")]
    assert len(files.read_answers(written(tmp_path / "r.jsonl", *rows)).answers) == 1
    rows[1]["labels"] = ["other"]
    with pytest.raises(FileError, match="line 2, column 'labels'"):
        files.read_answers(written(tmp_path / "r.jsonl", *rows))


def test_a_file_without_anything_to_label_says_what_it_holds(tmp_path):
    path = written(
        tmp_path / "r.jsonl", response(kind="training"), response(None, skip="not_in_list")
    )
    with pytest.raises(
        FileError, match="holds no answers to label; left out: 1 practice, 1 skipped"
    ):
        files.read_answers(path)


WRONG = [
    ({"skip": "So bored"}, "skip", "must be null or the name of a reason, such as media_broken"),
    ({"skip": "cannot_judge"}, "answer", "must be null, as it was skipped"),
    ({"answer": None}, "answer", "skip does not say why"),
    ({"supersedes": 3}, "supersedes", "must be text or null"),
    ({"response_uuid": ["x"]}, "response_uuid", "must be text or null"),
    ({"shown": {"kind": ["target"]}}, "presentation.kind", "must be one of target, repeat"),
    ({"shown": {"mode_options": [1]}}, "presentation.mode_options", "must be an object"),
    ({"shown": {"mode_options": {"strikt": 1}}}, "presentation.mode_options", "called 'strikt'"),
    ({"shown": {"mode_options": {"strict": 3}}}, "presentation.mode_options", "not true or false"),
    ({"shown": {"mode_options": {"strict": "a,b"}}}, "presentation.mode_options", "no option"),
    ({"shown": {"mode": "klassic"}}, "presentation.mode", "did you mean 'classic'"),
    ({"shown": {"mode_version": True}}, "presentation.mode_version", "in version 1 only"),
]


@pytest.mark.parametrize(("change", "column", "words"), WRONG)
def test_what_is_wrong_is_said_with_its_place(tmp_path, change, column, words):
    rows = [response(), response(item="j", **change)]
    with pytest.raises(FileError) as error:
        files.read_answers(written(tmp_path / "r.jsonl", *rows))
    assert (error.value.line, error.value.column) == (2, column)
    assert words in str(error.value)


# ── by which mode ────────────────────────────────────────────────────────────────────────────

QUICK = {
    "top": "cat",
    "certainty": 3,
    "alternatives": [],
    "excluded": ["dog"],
    "rest": "possible",
}


def test_answers_of_an_earlier_version_are_still_read(tmp_path):
    """Version 2 of quick records whether the rest was repeated; what it says is read as before."""
    versions = [(1, QUICK), (2, QUICK), (2, QUICK | {"repeated": True})]
    rows = [
        response(said, annotator=f"w{n}", mode="quick", shown={"mode_version": version})
        for n, (version, said) in enumerate(versions)
    ]
    probs = Clamp()(files.read_answers(written(tmp_path / "r.jsonl", *rows)).answers).soft()
    assert probs == pytest.approx(np.array([[0.8, 0.0, 0.1, 0.1]] * 3))
    rows.append(response(QUICK, item="j", mode="quick", shown={"mode_version": 3}))
    with pytest.raises(FileError, match="are read in versions 1 and 2 only"):
        files.read_answers(written(tmp_path / "r.jsonl", *rows))


TEN = {"n": 10, "chips": {"cat": 7, "dog": 3}, "unallocated": 0, "excluded": [], "rest": "unsaid"}


def test_answers_are_read_as_they_were_asked_for(tmp_path):
    ten = response(TEN, mode="chips", shown={"mode_options": {"n": 10}})
    source = files.read_answers(written(tmp_path / "r.jsonl", ten))
    assert source.answers.percent.tolist() == [[70, 30]]
    some = TEN | {"chips": {"cat": 7}, "unallocated": 3}
    options = {"n": 10, "allow_unallocated": True}
    rows = [response(some, mode="chips", shown={"mode_options": options})]
    source = files.read_answers(written(tmp_path / "r.jsonl", *rows))
    assert source.answers.percent.tolist() == [[70]]
    with pytest.raises(FileError, match=r"'answer\.n', value 10: must be a whole number, 20"):
        files.read_answers(written(tmp_path / "r.jsonl", response(TEN, mode="chips")))
    falling = {"mode_options": {"certainty": "60+40+100"}}
    with pytest.raises(FileError, match=r"line 1, .*presentation\.mode_options.*must be rising"):
        files.read_answers(written(tmp_path / "r.jsonl", response(mode="quick", shown=falling)))
    seven = response(TEN, mode="chips", shown={"mode_options": {"n": 7}})
    with pytest.raises(FileError, match=r"presentation\.mode_options.*no choice for .* '7'"):
        files.read_answers(written(tmp_path / "r.jsonl", seven))


def test_a_mode_that_is_given_overrides_the_options(tmp_path):
    strict = response(CLASSIC | {"impossible": ["cat"]}, shown={"mode_options": {"strict": True}})
    path = written(tmp_path / "r.jsonl", strict)
    with pytest.raises(FileError, match=r"answer\.impossible"):
        files.read_answers(path)
    assert len(files.read_answers(path, mode=Classic()).answers) == 1
    with pytest.raises(FileError, match="no answers to label; left out: 1 asked through another"):
        files.read_answers(path, mode=Chips())  # is not the mode of these answers


@pytest.mark.parametrize("name", MODES)
def test_what_simulated_people_send_is_read_from_a_file(tmp_path, name):
    rng, mode = np.random.default_rng(0), MODES[name]()
    beliefs = rng.dirichlet([0.5] * len(LABELS), 30)
    rows = [
        response(mode.simulate(belief, LABELS, rng), item=f"i{i}", mode=name)
        for i, belief in enumerate(beliefs)
    ]
    said = files.read_answers(written(tmp_path / "r.jsonl", *rows)).answers
    assert len(said) == 30
    assert isinstance(said, Annotations) == (name == "hard")


def test_modes_may_be_mixed(tmp_path):
    rows = [
        response(item="i"),
        response({"label": "dog"}, item="j", mode="hard"),
        response({"top": "dog", "certainty": 5, "rest": "ruled_out"}, item="k", mode="quick"),
        response(TEN | {"n": 20, "chips": {"cat": 20}}, item="l", mode="chips"),
        response({"n": 20, "picks": [{"node": "bird", "chips": 20}]}, item="m", mode="search"),
    ]
    said = files.read_answers(written(tmp_path / "r.jsonl", *rows)).answers
    assert said.named.tolist() == [[0, 1], [1, -1], [1, -1], [0, -1], [2, 3]]
    assert np.nansum(said.percent, axis=1).tolist() == [100] * 5


def test_late_answers_count_and_are_told(tmp_path):
    rows = [response(item="i"), response(item="i", annotator="v") | {"late": True}]
    source = files.read_answers(written(tmp_path / "r.jsonl", *rows))
    assert (len(source.answers), source.late) == (2, 1)
    assert source.facts == {"late": "1 answers came after their time was over; they count"}


# ── rows that are parsed already ─────────────────────────────────────────────────────────────


def test_rows_are_read_as_the_lines_of_a_file_would_be(tmp_path):
    rows = [response(item="i"), response(item="t", kind="training"), response(item="j")]
    one = files.read_answers(written(tmp_path / "r.jsonl", *rows))
    other = files.collect_records(iter(rows))
    np.testing.assert_array_equal(one.answers.percent, other.answers.percent)
    assert one.answers.index.items.tolist() == other.answers.index.items.tolist()
    assert one.left_out == other.left_out == {"practice": 1}


def test_no_rows_are_an_empty_table_if_the_classes_are_known():
    source = files.collect_records([], LABELS)
    assert len(source.answers) == 0
    assert source.answers.index.labels.tolist() == LABELS
    assert len(files.collect_records([response(kind="training")]).answers) == 0
    with pytest.raises(FileError, match="study birds: there are no responses"):
        files.collect_records([], where="study birds")


def test_rows_that_cannot_be_read_are_named_by_their_number():
    with pytest.raises(FileError, match=r"study birds, line 2, .*must be answered"):
        files.collect_records(
            [response(), response(CLASSIC | {"top": ""}, item="j")], where="study birds"
        )
    with pytest.raises(FileError, match="responses, line 1, value 3: a response must be an object"):
        files.collect_records([3])


# ── CIFAR-10S ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("strict", [False, True])
def test_a_classic_study_as_json_of_cifar10s_gives_the_same_labels(tmp_path, strict):
    """As collected, as the JSON of CIFAR-10S: the label of every item is the same, bit for bit."""
    rng, mode = np.random.default_rng(0), Classic(strict=strict)
    rows = [
        response(
            mode.simulate(rng.dirichlet([0.4] * 4), LABELS, rng) | {"violations": []},
            item=f"i{i}",
            annotator=f"w{w}",
            shown={"mode_options": {"strict": strict}},
        )
        for w in range(6)
        for i in rng.permutation(12)
    ]
    if not strict:
        rows[0]["answer"] = {"top": "dog", "p1": "8p", "second": "dog", "p2": "", "impossible": []}
        rows[1]["answer"] = {"top": "dog", "p1": 0, "impossible": ["dog"]}
    source = files.read_answers(written(tmp_path / "r.jsonl", *rows))
    files.write_answers(source.answers, tmp_path / "r.json")
    record = json.loads((tmp_path / "r.json").read_text())["i3"][0]
    assert list(record) == [
        "Most Probable Class",
        "Most Probable Class Prob",
        "Second Most Probable Class",
        "Second Most Probable Class Prob",
        "Impossible Class(es)",
    ]
    for name in ("r.jsonl", "r.json"):
        label_file(tmp_path / name, tmp_path / f"{name}.csv", labels=LABELS)
    assert (tmp_path / "r.jsonl.csv").read_text() == (tmp_path / "r.json.csv").read_text()


def test_the_time_an_answer_took_is_kept_where_the_page_measured_it(tmp_path):
    odd = [None, {}, {"active_ms": None}, {"active_ms": "2"}, {"active_ms": True}]
    odd += [{"active_ms": -1}, {"active_ms": 10**400}, [1]]
    rows = [response(item="again", kind="repeat", timing={"active_ms": 1500})]
    rows += [response(item=f"i{n}", timing=timing) for n, timing in enumerate(odd)]
    rows += [response(item="last", timing={"active_ms": 2310.5})]
    found = files.read_answers(written(tmp_path / "r.jsonl", *rows))
    items = found.answers.index.items[found.answers.item].tolist()
    times = dict(zip(items, found.seconds, strict=True))
    assert (times["again"], times["last"]) == (1.5, 2.3105)
    assert all(np.isnan(times[f"i{n}"]) for n in range(len(odd)))


def test_branch_answers_are_told_and_written_beside_the_label(tmp_path):
    def picks(*pairs):
        return {"n": 20, "picks": [{"node": node, "chips": chips} for node, chips in pairs]}

    rows = [
        response(picks(("bird", 20)), annotator="a", mode="search"),
        response(picks(("bird", 5), ("cat", 15)), annotator="b", mode="search"),
        response(picks(("cat", 20)), annotator="b", kind="repeat", mode="search"),
        response(picks(("dog", 20)), annotator="a", item="j", mode="search"),
    ]
    path = written(tmp_path / "r.jsonl", *rows)
    facts = label_file(path, tmp_path / "labels.csv")
    assert facts["branch answers"] == "2; a branch is shared evenly by the classes in it"
    with (tmp_path / "labels.csv").open(newline="") as file:
        labels = {row["item"]: row for row in csv.DictReader(file)}
    assert (labels["i"]["branch"], labels["j"]["branch"]) == ("0.625", "0.0")
    label_file(path, tmp_path / "mean.npz", Plan(repeats="mean"))
    with np.load(tmp_path / "mean.npz") as held:
        assert held["branch"].tolist() == [0.5625, 0], "with the repeat"
    label_file(written(tmp_path / "few.jsonl", rows[3]), tmp_path / "few.csv")
    assert "branch" not in (tmp_path / "few.csv").read_text()


# ── long lists of labels ─────────────────────────────────────────────────────────────────────

MANY = [f"group {n // 50}/kind {n}" for n in range(1000)]


def many(item, order, **more):
    shown = {"kind": "target", "mode": "hard", "mode_version": Hard.version, "label_order": order}
    made = {"schema": SCHEMA, "item": item, "annotator": "w", "labels": MANY}
    return made | {"presentation": shown, "answer": {"label": MANY[7]}} | more


def test_a_list_of_a_thousand_labels_is_written_once(tmp_path):
    orders = [MANY[::-1], MANY, MANY[::-1]]
    records = [many(f"i{n}", order) for n, order in enumerate(orders)]
    lists = LabelLists()
    lines = [line for record in records for line in lists.split(record)]
    assert [line["schema"] for line in lines] == [LISTS, LISTS, SCHEMA, SCHEMA, SCHEMA]
    text = "".join(f"{dump_json(line)}\n" for line in lines)
    assert text.count("kind 999") == 2, "the labels, and the one other order"
    assert len(text) < 3 * len(dump_json(MANY))
    read = [record for _, record in join_lists("r", enumerate(map(json.loads, text.splitlines())))]
    assert read == records
    assert records[0]["labels"] is MANY, "what was given stays as it was"
    old = files.read_answers(written(tmp_path / "old.jsonl", *records))
    new = files.read_answers(written(tmp_path / "new.jsonl", *lines))
    both = files.read_answers(written(tmp_path / "both.jsonl", *lines, many("x", [])))
    assert new.answers.label.tolist() == old.answers.label.tolist() == [7, 7, 7]
    assert new.answers.index.labels.tolist() == MANY
    assert len(both.answers) == 4, "records with and without a list of their own"


def test_few_labels_stay_in_the_record():
    record = response()
    assert list(LabelLists().split(record)) == [record]


def test_a_list_that_is_missing_is_told_with_its_line(tmp_path):
    lines = list(LabelLists().split(many("i", None)))
    with pytest.raises(FileError, match=r"line 1, column 'labels'.*no line above holds this list"):
        files.read_answers(written(tmp_path / "r.jsonl", *lines[1:]))
    with pytest.raises(FileError, match=r"line 1, column 'labels', value 3: must be a list"):
        files.read_answers(written(tmp_path / "r.jsonl", lines[0] | {"labels": 3}, lines[1]))


# ── writing ──────────────────────────────────────────────────────────────────────────────────

STATIC = Path(__file__).parent.parent / "src" / "softlabel" / "serve" / "static"


def stored(answer, mode, **more):
    """A study and one stored answer to it, as ``softlabel.store`` returns it."""
    sent = {"answer": answer, "touched": True, "skip": None, "timing": {"active_ms": 1500}}
    row = {
        "id": "r1",
        "session": "s9",
        "annotator": "w",
        "item": "i",
        "kind": "target",
        "repeat_of": None,
        "position": 7,
        "batch": "b1",
        "label_order": tuple(LABELS),
        "mode": mode.name,
        "mode_version": mode.version,
        "mode_options": "{}",
        "frame": "self",
        "arm": None,
        "propensity": None,
        "payload": json.dumps(sent | more.pop("sent", {})),
        "supersedes": None,
        "late": False,
        "received_at": 1.5,
        "simulated": False,
        "excluded": None,
        "partial": False,
    }
    about = {"labels": tuple(LABELS), "ordered": more.pop("ordered", False)}
    study = SimpleNamespace(name="p1", mode=mode, frame="self", **about)
    return study, SimpleNamespace(**row | more)


@pytest.mark.parametrize("name", MODES)
def test_a_stored_answer_is_written_and_read_again(name):
    mode = MODES[name]()
    answer = mode.simulate(np.array([0.7, 0.2, 0.1, 0.0]), LABELS, np.random.default_rng(3))
    record = record_of_stored(*stored(answer, mode))
    assert set(KEYS) | set(SENT) <= set(record)
    source = files.collect_records([json.loads(dump_json(record))])
    expected = mode.read(answer, LABELS)
    assert source.seconds.tolist() == [1.5]
    assert source.answers.index.annotators.tolist() == ["w"]
    if isinstance(source.answers, Annotations):
        assert source.answers.label.tolist() == [expected.named[0]]
    else:
        assert source.answers.named[0].tolist() == list(expected.named)
        assert source.answers.percent[0] == pytest.approx(np.array(expected.percent), nan_ok=True)
        assert source.answers.possible[0].tolist() == expected.possible.tolist()


def test_labels_that_are_a_scale_stay_one():
    """From the study to the record, the table of answers, the soft labels and back from a file."""
    mode = MODES["hard"]()
    given = stored({"label": LABELS[1]}, mode, ordered=True)
    record = json.loads(dump_json(record_of_stored(*given)))
    assert record["ordered"] is True
    source = files.collect_records([record])
    assert source.answers.index.ordered
    plain = record_of_stored(*stored({"label": LABELS[1]}, mode))
    assert "ordered" not in plain
    assert not files.collect_records([plain]).answers.index.ordered
    with pytest.raises(FileError, match="'ordered', value 'yes': must be true or false"):
        files.collect_records([record | {"ordered": "yes"}])


def test_statements_of_a_scale_are_written_as_such(tmp_path):
    answers = votes_to_statements(example_votes()[0])
    scale = replace(answers, index=replace(answers.index, ordered=True))
    files.write_answers(scale, tmp_path / "answers.jsonl")
    assert files.read_answers(tmp_path / "answers.jsonl").answers.index.ordered
    files.write_answers(answers, tmp_path / "plain.jsonl")
    assert not files.read_answers(tmp_path / "plain.jsonl").answers.index.ordered


def test_options_that_were_not_stored_are_those_of_the_study():
    mode = Chips(n=10)
    record = record_of_stored(*stored(TEN, mode, frame=None))
    assert record["presentation"]["mode_options"] == {"n": 10}
    assert record["presentation"]["frame"] == "self"
    assert files.collect_records([record]).answers.percent.tolist() == [[70, 30]]
    other = record_of_stored(*stored(TEN, mode, frame=None, mode_version=99))
    assert "mode_options" not in other["presentation"], "the mode is no longer the same"


def test_a_skip_is_written_and_counted():
    skip = {"answer": None, "skip": "not_in_list"}
    source = files.collect_records([record_of_stored(*stored(None, Classic(), sent=skip))])
    assert source.left_out == {"skipped": 1}
    assert source.skips == {"w": {"not_in_list": 1}}


def test_statements_are_written_and_read_again():
    rows = [response(), response(item="j"), response(item="i", kind="repeat")]
    rows[1]["answer"] = CLASSIC | {"p1": "8p"}  # is repaired on reading
    read = files.collect_records(rows)
    again = files.collect_records(list(records_of_statements(read.answers)))
    np.testing.assert_array_equal(read.answers.named, again.answers.named)
    np.testing.assert_array_equal(read.answers.percent, again.answers.percent)
    np.testing.assert_array_equal(read.answers.possible, again.answers.possible)
    assert read.answers.repairs.keys() == again.answers.repairs.keys() != set()
    assert again.repeats == "first", "the repeat is still one that the study asked for"


def test_half_a_character_stays_escaped():
    assert dump_json({"a": "é"}) == '{"a": "é"}'
    assert dump_json({"a": "\ud800"}) == '{"a": "\\ud800"}'


def test_every_usual_reason_has_words_in_every_language():
    assert study.SKIPS == SKIPS
    for path in (STATIC.parent / "locale").glob("*.json"):
        assert tuple(json.loads(path.read_text("utf-8"))["task"]["skips"]) == SKIPS


def test_the_browser_sends_what_is_kept():
    text = (STATIC / "record.js").read_text()
    (body,) = re.findall(r"const envelope = \{\n(.*?)\n  \};", text, re.DOTALL)
    keys = set(re.findall(r"^    (\w+)[:,]", body, re.MULTILINE))
    assert "envelope, delivery }" in (STATIC / "server.js").read_text(), "added whenever it is sent"
    assert keys | {"delivery"} == {"response_uuid", "position", "supersedes", *SENT}
