"""The commands, from the draft to the last bonus."""

from __future__ import annotations

import io

import pytest

from softlabel.cli import main
from softlabel.serve.fake_prolific import Fault


@pytest.fixture
def study(announce):
    return announce(
        pay='screenout = 0.4\nbonus = "All get it."\nbonus_rule = "fixed"\nbonus_amount = 0.25\n'
    )


@pytest.fixture
def run(study, capsys):
    """``run("approve", "--yes")``: what ``softlabel prolific approve DIR --yes`` prints."""

    def run(*words, code=0):
        name, *rest = words
        line = [name] if name == "pay" else ["prolific", name]
        capsys.readouterr()
        assert main([*line, str(study.running.folder), *rest]) == code
        printed = capsys.readouterr()
        return printed.out if code == 0 else printed.err

    return run


def test_the_whole_loop(study, run, fake):
    url = study.running.url
    assert run("draft", "--url", url).startswith(f"unchanged: study {study.id}, ACTIVE")
    assert run("pause") == "PAUSED\n"
    assert run("publish", "--yes") == "ACTIVE\n"
    done, out, gone = study.finish(), study.fail_quiz(), study.come()[0]
    fake.change(gone.id, "RETURNED")
    stranger, _ = fake.take_place(study.id)
    fake.complete(stranger.id, "DONE1")
    printed = run("approve", "--yes")
    assert f"{stranger.id}  not in the database" in printed
    assert "people who were turned away are paid by: softlabel prolific screenout" in printed
    assert "approved 1 of 1" in printed
    assert f"turned away here, paid by softlabel prolific screenout {study.running.folder}:" in run(
        "reconcile"
    )
    assert run("screenout", "--yes") == "paid 1 person\n"
    assert run("screenout", "--yes") == "nobody to screen out\n"
    assert "no bonus is approved" in run("bonus", "--yes")
    run("pay", "--plan")
    assert f"next: softlabel prolific bonus {study.running.folder}, or --send" in run(
        "pay", "--approve", "Ann", "--yes"
    )
    assert "sent 1 bonus, 0.25 GBP" in run("bonus", "--yes")
    printed = run("reconcile")
    assert "payments confirmed  1" in printed
    assert "approved            1" in printed
    assert f"1 finished on Prolific, not in the database:\n  id\n  {stranger.id}" in printed
    assert fake.rewards == {done.id: 150}
    assert fake.paid == {done.person: 25, out.person: 40}


def test_a_complete_study_that_still_takes_people_is_noticed(study, capsys, fake):
    """Each of them would be turned away, be paid for it, and make room for the next."""
    folder = str(study.running.folder)
    assert main(["prolific", "reconcile", folder]) == 0
    assert "note:" not in capsys.readouterr().err
    while (progress := study.desk.store.progress("birds")).answered < progress.wanted:
        study.finish()
    assert main(["prolific", "reconcile", folder]) == 0
    assert f"stop that first with: softlabel prolific pause {folder}" in capsys.readouterr().err
    assert main(["prolific", "pause", folder]) == 0
    assert main(["prolific", "reconcile", folder]) == 0
    assert "note:" not in capsys.readouterr().err


def test_commands_are_listed_in_the_order_of_their_use(capsys):
    assert main(["prolific", "--help"]) == 0
    said = capsys.readouterr().out.partition("Commands:")[2]
    names = [line.split()[0] for line in said.splitlines() if line[:3].strip()]
    assert names[:4] == ["draft", "publish", "pause", "approve"]


def test_a_cut_payment_is_shown_until_it_is_settled(study, run, fake):
    study.finish()
    run("pay", "--plan")
    run("pay", "--approve", "Ann", "--yes")
    fake.faults.append(Fault("/pay/", 0))
    assert "it is not known whether Prolific did this" in run("bonus", "--yes", code=1)
    printed = run("reconcile")
    assert "sent, and not shown as paid" in printed
    (transfer,) = {word for word in printed.split() if word.startswith("prolific:bonus:")}
    error = run("reconcile", "--release", transfer, "--yes", code=1)
    assert "may still be paying it" in error
    assert "nobody" not in error
    assert "no open transfer" in run("reconcile", "--release", "x", "--yes", code=1)
    assert sum(fake.paid.values()) == 0


def test_nothing_happens_without_a_yes(study, run, fake, monkeypatch):
    study.finish()
    monkeypatch.setattr("sys.stdin", io.StringIO("n\nn\n"))
    assert "Approve 1 person, to be paid 1.50 GBP in all?" in run("approve", code=1)
    assert "5 places at 1.50 GBP, 7.50 GBP" in run("publish", code=1)
    assert not fake.rewards


def test_the_token_is_asked_for(study, run, monkeypatch):
    monkeypatch.delenv("PROLIFIC_TOKEN")
    assert "PROLIFIC_TOKEN is not set" in run("reconcile", code=1)


def test_a_wrong_token_is_refused(study, run, monkeypatch):
    monkeypatch.setenv("PROLIFIC_TOKEN", "wrong")
    assert "Prolific refused GET" in run("reconcile", code=1)
    assert "wrong" not in run("reconcile", code=1)


def test_other_studies_have_nothing_to_announce(running, monkeypatch, capsys):
    monkeypatch.setenv("PROLIFIC_TOKEN", "any")
    assert main(["prolific", "pause", str(running.folder)]) == 1
    assert 'kind = "prolific" in study.toml' in capsys.readouterr().err


def test_a_study_without_pay_cannot_be_announced(serving, monkeypatch, capsys):
    monkeypatch.setenv("PROLIFIC_TOKEN", "any")
    running = serving(recruit='kind = "prolific"\ncompletion_code = "A"\nscreenout_code = "B"')
    assert main(["prolific", "pause", str(running.folder)]) == 1
    assert "does not say what people are paid" in capsys.readouterr().err


def test_an_address_for_no_messages_creates_nothing(serving, fake, capsys):
    running = serving(
        recruit='kind = "prolific"\ncompletion_code = "A"\nscreenout_code = "B"\n'
        '[pay]\ncurrency = "GBP"\nminutes = 5\nper_session = 1.0\n'
    )
    words = ["prolific", "draft", str(running.folder), "--url", "http://birds.example.org"]
    assert main(words) == 1
    assert "Prolific sends messages to https:// addresses only" in capsys.readouterr().err
    assert not fake.studies
