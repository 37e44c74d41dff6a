"""A study that compares ways of asking, over HTTP: who is asked how, and what is kept of it."""

from __future__ import annotations

import csv
import json
import time
from collections import Counter

import pytest

from softlabel import annotations, io, label
from softlabel.cli import main
from softlabel.errors import StoreError
from softlabel.labelling import Plan, pool_source
from softlabel.registry import parse
from softlabel.serve.databases import put_study
from softlabel.serve.researcher import export
from softlabel.serve.researcher.overview import compute_overview
from softlabel.study import read

COMPARE = """
[compare]
modes = ["hard", "quick"]
[compare.wordings]
plain = "Which bird is this?"
crowd = "What would most people say?"
"""
VOTE = {"label": "wren"}


def add_compare(folder, text=COMPARE):
    path = folder / "study.toml"
    whole = path.read_text().replace('mode = "quick"\n', "")
    path.write_text(whole.replace('instructions = "instructions.md"\n', "") + text)


def answer_all(person):
    """Answer everything in the mode that the plan names; return the plan."""
    plan = person.plan()
    more = {"answer": VOTE} if plan["mode"]["name"] == "hard" else {}
    while positions := person.open_positions():
        for position in positions:
            reply = person.give(position, **more)
            assert reply.status_code == 200, reply.text
    return plan


@pytest.fixture
def two(serving):
    """Two servers, each with its own connection to one database."""
    first = serving(edit=add_compare, per_item=8)
    return first, serving(edit=add_compare, per_item=8, db=first.folder / ".softlabel/answers.db")


def test_people_are_asked_in_arms_that_are_kept(two, tmp_path):
    arms = {}
    for number in range(8):
        person = two[number % 2].person().to_task()
        plan = answer_all(person)
        arms[number] = plan["arm"]
        assert plan["mode"]["name"] == plan["arm"].split("/")[0]
        asked = {"plain": "Which bird is this?", "crowd": "What would most people say?"}
        assert plan["question"] == asked[plan["arm"].split("/")[1]]
        other = two[1 - number % 2].person()
        other.cookies = person.cookies  # the page is loaded again, from the other server
        assert other.plan()["arm"] == plan["arm"]
    counts = Counter(arms.values())
    assert counts == dict.fromkeys(counts, 2), "each arm is given once to four people in a row"
    assert len(counts) == 4
    running = two[0]
    number_of = {one.annotator: one.number for one in running.store.sessions("birds")}
    for row in running.responses():
        assert row.arm == arms[number_of[row.annotator]]
        assert row.mode == row.arm.split("/")[0]
    check_exports(running, tmp_path, arms)


def check_exports(running, tmp_path, arms):
    path = tmp_path / "answers.jsonl"
    export.export_answers(running.study, running.store, path)
    shown = [json.loads(line)["presentation"] for line in path.read_text().splitlines()]
    assert {one["arm"] for one in shown} == set(arms.values())
    for one in shown:
        mode, wording = one["arm"].split("/")
        assert (one["mode"], one["wording"]) == (mode, wording)
        assert one["question"].startswith("Which" if wording == "plain" else "What would")
    table = tmp_path / "answers.csv"
    export.export_answers(running.study, running.store, table)
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert {row["arm"] for row in rows} == set(arms.values())
    assert {row["answer_label"] for row in rows if row["mode"] == "hard"} == {"wren"}
    assert {row["answer_top"] for row in rows if row["mode"] == "quick"} == {"wren"}
    check_labels(path)


def check_labels(path):
    source = io.read_answers(path)
    assert source.facts["arms"].count("/") == 4
    with pytest.raises(Exception, match=r"asked for in 4 ways .* --arm NAME"):
        pool_source(source, Plan())
    with pytest.raises(Exception, match=r"--arm hard/plane: no such arm .did you mean"):
        source.take_arm("hard/plane")
    votes = pool_source(source.take_arm("hard/plain"), Plan())
    assert set(votes.probs[:, 0]) == {1.0}, "votes for one class"
    assert votes.facts["construction"] == "none (votes)"
    assert label(path, "mean", arm="hard/plain").probs.tolist() == votes.probs.tolist()
    with pytest.raises(Exception, match=r"asked for in 4 ways .* arm=NAME"):
        label(path)
    with pytest.raises(Exception, match=r"arm=hard/plane: no such arm .did you mean"):
        label(path, arm="hard/plane")
    both = pool_source(source.take_arm("all"), Plan())
    assert label(path, "mean", arm="all").probs.tolist() == both.probs.tolist()
    assert len(annotations(path, arm="hard/plain")) < len(annotations(path, arm="all"))
    rich = pool_source(source.take_arm("quick/plain"), Plan())
    assert 0 < rich.probs[0, 0] < 1
    wrens = both.probs[:, 0]
    assert ((wrens > rich.probs[0, 0]) & (wrens < 1)).any(), "votes and rich answers together"
    pooled = pool_source(source.take_arm("all"), Plan(aggregate=parse("aggregate", "stack")))
    assert pooled.count.sum() == both.count.sum(), "stack gets both kinds apart"


def test_each_arm_explains_its_mode(serving):
    running = serving(
        edit=lambda folder: add_compare(folder, '[compare]\nmodes = ["hard", "quick"]')
    )
    seen = {}
    for _ in range(2):
        person = running.person()
        person.agree()
        text = person.get("/?page=3").text
        person.post("/instructions")
        person.post("/quiz", data={"q0": "0", "q1": "1"})
        page = person.get("/").text
        arm = person.plan()["arm"]
        seen[arm] = text
        assert f"/static/modes/{arm}.js" in page, "the right part of the page is loaded early"
    assert sorted(seen) == ["hard", "quick"]
    assert "how sure" in seen["quick"]
    assert "how sure" not in seen["hard"]


def test_an_answer_in_another_mode_is_refused(serving):
    running = serving(
        edit=lambda folder: add_compare(folder, '[compare]\nmodes = ["hard", "quick"]')
    )
    person = running.person().to_task()
    rich = person.plan()["arm"] == "quick"
    reply = person.give(person.open_positions()[0], **({"answer": VOTE} if rich else {}))
    assert reply.status_code == 422
    assert not running.responses()


def test_a_comparison_cannot_change_once_people_have_answered(serving):
    running = serving(edit=add_compare)
    person = running.person().to_task()
    hard = person.plan()["mode"]["name"] == "hard"
    person.give(person.open_positions()[0], **({"answer": VOTE} if hard else {}))
    add_compare(running.folder, "")
    path = running.folder / "study.toml"
    path.write_text(path.read_text().replace("What would most people say?", "Which one?"))
    with pytest.raises(StoreError, match=r"comparing hard/plain, .* needs a new study name"):
        put_study(read(running.folder), running.store, 0.0)


def test_batches_are_assigned_where_the_study_says_so(serving):
    def edit(folder):
        add_compare(folder, '\n[compare]\nby = "batch"\n[compare.wordings]\na = "A?"\nb = "B?"\n')
        rows = [f"hidden-id-{n},secret-file-{n}.png,a bird,{n // 3}" for n in range(6)]
        (folder / "items.csv").write_text("\n".join(["id,image,alt,batch", *rows]) + "\n")
        path = folder / "study.toml"
        text = path.read_text().replace("per_annotator = 4\n", "")
        path.write_text(text.replace("batch_size = 3\n", ""))

    running = serving(edit=edit, per_item=2)
    for _ in range(4):
        answer_all(running.person().to_task())
    arm_of = {(row.batch, row.arm) for row in running.responses() if row.batch is not None}
    assert len(arm_of) == 2, "everybody with one batch is asked in the same way"
    assert {arm for _, arm in arm_of} == {"a", "b"}
    assert all(row.arm for row in running.responses()), "also about practice and checks"


def test_the_dashboard_compares_and_says_when_it_cannot(two, capsys):
    for _ in range(4):
        answer_all(two[0].person().to_task())
    overview = compute_overview(two[0].study, two[0].store, time.time())
    arms = overview.insight.arms
    assert [row[:2] for row in arms.rows] == [
        (name, "1") for name in ("hard/plain", "hard/crowd", "quick/plain", "quick/crowd")
    ]
    assert arms.verdicts[0].startswith("Undecided: fewer than 10 items have")
    person = two[0].person()
    person.post("/research/login", data={"token": two[0].token})
    page = person.get("/research", follow_redirects=True).text
    assert "Modes compared" in page
    assert "comparing hard/plain, hard/crowd" in page
    assert main(["compare-modes", str(two[0].folder)]) == 1
    assert "ask more people about the same items" in capsys.readouterr().err
