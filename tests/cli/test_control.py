"""``softlabel pause``, ``quota``, ``add``, ``exclude`` and the like, on a study that is served."""

from __future__ import annotations

import getpass
import json

import pytest

from softlabel import store, study
from softlabel.cli import main
from softlabel.serve.secret import open_secret
from softlabel.store import ItemRow, NewResponse, Plan
from softlabel.study import write_new


@pytest.fixture
def run(capsys):
    def command(*words):
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    return command


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A new study whose database is open, as a server's would be, and one person's answer."""
    folder = tmp_path_factory.mktemp("control") / "shapes"
    write_new(folder)
    open_secret(folder)
    shapes = study.read(folder)
    with store.open(folder / ".softlabel" / "answers.db") as opened:
        rows = [ItemRow(i.id, i.kind, None, i.digest) for i in shapes.items]
        opened.put_study("shapes", shapes.toml, shapes.labels, rows, shapes.per_item, 1.0).result()
        entering = opened.enter(
            "shapes",
            "ann",
            "token",
            label_order_of=lambda number: shapes.labels,
            seed=0,
            recruiter_session=None,
            now=1.0,
        )
        ann = entering.result()
        opened.lease(ann.id, Plan(shapes.per_item, batch_size=2), 1.0).result()
        answer = {"top": shapes.labels[0], "certainty": 4}
        answer |= {"alternatives": [], "excluded": [], "rest": "possible"}
        opened.answer(
            ann.id,
            NewResponse(
                id="a",
                position=0,
                answer_json=json.dumps(answer),
                payload=json.dumps({"answer": answer}),
                mode="quick",
                mode_version=shapes.mode.version,
                digest="a",
            ),
            2.0,
        ).result()
        yield folder, opened


def test_every_command_says_what_it_did_and_is_in_the_audit_log(run, served, tmp_path):
    folder, opened = served
    table = tmp_path / "more.csv"
    table.write_text("id,text\nnew,A hexagon\n")
    for words, said in (
        (("pause",), "The study is paused."),
        (("resume",), "The study is open."),
        (("close",), "The study is closed."),
        (("reopen",), "The study is open."),
        (("quota", "7"), "Each item gets 7 answers."),
        (("cap", "12"), "At most 12 people."),
        (("cap", "none"), "There is no limit."),
        (("add", table), "1 item was added; their table is added/0001-more.csv."),
        (("end", "ann"), "The session of ann has ended."),
        (("exclude", "ann", "--reason", "spam"), "ann is left out; 1 item is wanted again."),
    ):
        name, *rest = words
        assert run(name, folder, *rest, "--yes") == (0, f"{said}\n", "")
    code, out, _ = run("audit", folder)
    lines = [line for line in out.splitlines() if getpass.getuser() in line]
    assert code == 0
    assert len(lines) == len(opened.audit("shapes")) == 10
    assert '"reason": "spam"' in lines[0]
    assert run("audit", folder, "--most", 2)[1].count(getpass.getuser()) == 2

    code, out, _ = run("status", folder)
    assert "left out" in out
    assert "people left out" in out
    assert "(7 needed)" in out
    assert json.loads(run("status", folder, "--json")[1])["progress"]["excluded"] == {"ann": "spam"}
    export, labels = tmp_path / "answers.jsonl", tmp_path / "labels.csv"
    assert run("export", folder, export)[0] == 0
    assert json.loads(export.read_text())["excluded"] == "spam"
    code, out, err = run("label", export, labels)
    assert "1 of people left out" in out + err
    assert run("include", folder, "ann", "--yes")[1] == "ann is back in; 1 answer counts again.\n"
    run("export", folder, export)
    code, out, err = run("label", export, labels)
    assert (code, err) == (0, "")
    assert "left out" not in out


def test_without_yes_it_asks_and_without_an_answer_nothing_happens(run, served):
    folder, opened = served
    before = opened.control("shapes")
    code, out, err = run("pause", folder)
    assert (code, out.strip()) == (1, "")
    assert "Nobody new can begin" in err
    assert "Pause the study?" in err
    assert opened.control("shapes") == before


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("resume",), "is open; resume needs a study that is paused"),
        (("quota", "some"), "answers per item = 'some': write a whole number from 1 on, or none"),
        (("exclude", "zed", "--reason", "x"), "has nobody called 'zed'"),
        (("exclude", "ann", "--reason", " "), "say why this person is left out"),
    ],
)
def test_what_cannot_be_done_is_refused(run, served, words, why):
    folder, _ = served
    name, *rest = words
    code, out, err = run(name, folder, *rest, "--yes")
    assert (code, out) == (1, "")
    assert why in err


def test_a_table_with_mistakes_is_refused_line_by_line(run, served, tmp_path):
    folder, _ = served
    table = tmp_path / "bad.csv"
    table.write_text("id,image\na,none.png\nb,../../x.png\n")
    code, out, err = run("add", folder, table, "--yes")
    assert (code, out) == (1, "")
    assert "bad.csv, line 2, image = 'none.png': no such file" in err
    assert "bad.csv, line 3, image = '../../x.png': leads out of the study folder" in err
