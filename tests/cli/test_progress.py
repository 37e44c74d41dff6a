"""How far a command is: shown to people who wait, and to nobody else."""

from __future__ import annotations

import time

import pytest

from softlabel.cli import shared
from softlabel.cli.shared import progress


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(shared, "PATIENCE", 0.0)


def test_a_bar_and_the_time_left_where_they_are_known(terminal, capsys):
    """Each is waited for: how often the line is drawn depends on the machine."""
    seen = [""]

    def wait_for(text):
        end = time.monotonic() + 120
        while text not in seen[0] and time.monotonic() < end:
            time.sleep(0.02)
            seen[0] += capsys.readouterr().err
        assert text in seen[0], text

    with progress() as tell:
        tell("opening")
        wait_for("opening")
        for done in range(1, 6):
            tell(f"reading v.csv: {done} votes", done, 100)
            wait_for(f"reading v.csv: {done} votes")
        wait_for("━")
        wait_for(" left")
        tell("writing [s.csv]")
        wait_for("writing [s.csv]")  # names are not markup


def test_quick_work_shows_nothing(terminal, capsys, monkeypatch):
    monkeypatch.setattr(shared, "PATIENCE", 60.0)
    with progress() as tell:
        tell("reading", 1, 2)
    assert capsys.readouterr().err == ""


def test_programs_that_read_stderr_see_nothing(capsys, monkeypatch):
    monkeypatch.setattr(shared, "PATIENCE", 0.0)
    with progress() as tell:
        tell("reading", 1, 2)
        time.sleep(0.1)
    assert capsys.readouterr().err == ""
