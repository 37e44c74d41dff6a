"""A whole study on our own Prolific: everybody who is done is paid, once, and the books agree."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from softlabel import simulate, store
from softlabel import study as studies
from softlabel.cli import main
from softlabel.errors import SoftlabelError

PAID = """[recruit]
kind = "prolific"
completion_code = "DONE1"
screenout_code = "OUT22"
signed = true

[pay]
currency = "GBP"
minutes = 5
per_session = 1.0
screenout = 0.2
bonus = "Closer to the others, more."
bonus_rule = "score"
bonus_max = 0.5
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rehearse") / "birds"
    folder.mkdir()
    rows = "\n".join(f"b{n},bird number {n}" for n in range(6))
    (folder / "items.csv").write_text(f"id,text\n{rows}\n")
    (folder / "study.toml").write_text(
        '[study]\nlabels = ["wren", "finch", "owl"]\nframe = "third_person"\n'
        '[items]\nsource = "items.csv"\nper_item = 3\nper_annotator = 3\nrepeats = 0\n' + PAID
    )
    return folder


@pytest.fixture(scope="module")
def kept(folder):
    return folder.parent / "kept"


@pytest.fixture(scope="module")
def printed(folder, kept):
    """What the command prints; one rehearsal for all tests."""
    words = ["rehearse", str(folder), "--annotators", "6", "--seed", "3", "--keep", str(kept)]
    with redirect_stdout(io.StringIO()) as output, redirect_stderr(output):
        code = main(words)
    assert code == 0, output.getvalue()
    return output.getvalue()


@pytest.fixture(scope="module")
def facts(printed):
    lines = printed.partition("\n\n")[0].splitlines()
    return dict(re.split(r"  +", line, maxsplit=1) for line in lines)


@pytest.fixture(scope="module")
def bill(printed):
    """The lines of the bill: how many payments, and their sum in pence."""
    lines = printed.partition("the bill:\n")[2].splitlines()[1:]
    cells = [re.split(r"  +", line.strip()) for line in lines]
    return {what: (int(n), round(100 * float(total))) for what, n, total in cells}


def test_the_bill_adds_up(bill, facts):
    *parts, total = bill.values()
    assert total == (sum(n for n, _ in parts), sum(amount for _, amount in parts))
    assert bill["rewards"] == (int(facts["finished"]), 100 * int(facts["finished"]))
    assert bill["screened out"] == (int(facts["turned away"]), 20 * int(facts["turned away"]))
    assert 0 < bill["bonuses"][1] <= 50 * bill["bonuses"][0]


def test_people_leave_and_others_take_their_places(facts):
    ends = ("finished", "returned", "timed out", "turned away")
    assert int(facts["people"]) == sum(int(facts.get(end, 0)) for end in ends)
    assert int(facts["people"]) > 6 >= int(facts["finished"])
    given, wanted = map(int, facts["answers"].split(" of "))
    # people come at once, so the last places may be left to somebody who has seen those items
    assert wanted == 18
    assert 15 <= given <= 18


def test_the_ledger_of_the_copy_is_settled_and_its_people_are_simulated(printed, kept, bill):
    with store.open(kept / ".softlabel" / "rehearsal.db", read_only=True) as answers:
        name = studies.read(kept).name
        rows = answers.payments(name)
        assert {row.state for row in rows} == {"confirmed"}
        paid = sum(row.amount for row in rows)
        assert paid == bill["bonuses"][1] + bill["screened out"][1]
        assert all(session.simulated for session in answers.sessions(name))


def test_the_study_itself_is_not_touched(folder, printed):
    assert not (folder / ".softlabel").exists()
    assert "PROLIFIC_TOKEN" not in os.environ


def test_an_existing_folder_is_not_overwritten(folder, tmp_path):
    with pytest.raises(SoftlabelError, match="is there already"):
        simulate.rehearse(folder, keep=tmp_path)


def test_other_studies_are_told_what_to_write(folder, tmp_path, capsys):
    text = (folder / "study.toml").read_text().partition("[recruit]")[0]
    (tmp_path / "items.csv").write_text((folder / "items.csv").read_text())
    (tmp_path / "study.toml").write_text(text)
    assert main(["rehearse", str(tmp_path)]) == 1
    assert 'kind = "prolific"' in capsys.readouterr().err


def test_people_come_to_a_practice_platform_while_the_study_is_published(
    folder, tmp_path, monkeypatch, serve_study, start_softlabel, run_softlabel
):
    """Every command of a paid study can be tried by hand; the tutorial does it all."""
    log, ids = (tmp_path / "log.txt").open("w"), tmp_path / "ids.csv"
    words = ["prolific", "pretend", str(folder), "--port", "0", "--seed", "1", "--ids", str(ids)]
    platform = start_softlabel(words, log)
    try:
        assert "no money moves" in platform.stdout.readline()
        for pair in platform.stdout.readline().split()[1:]:
            monkeypatch.setenv(*pair.split("="))
        db = str(tmp_path / "practice.db")
        running = serve_study(folder, "--rehearsal", "--db", db, "--no-token")
        for step in (("draft", folder, "--url", running.url), ("publish", folder, "--yes")):
            assert run_softlabel("prolific", *step, "--db", db).returncode == 0
        said = platform.stdout.readline()
        assert re.match(r"6 people came: .*[1-9] finished", said), said
        with store.open(Path(db), read_only=True) as answers:
            sessions = answers.sessions(studies.read(folder).name)
        assert len(sessions) >= 6
        assert all(session.simulated for session in sessions)
    finally:
        platform.send_signal(signal.SIGTERM)
        platform.wait(30)
        platform.stdout.close()
        log.close()
        shutil.rmtree(folder / ".softlabel", ignore_errors=True)
    assert ids.read_text().startswith("Submission id,Participant id,Status,")
