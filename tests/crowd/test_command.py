"""``softlabel simulate``, as it is typed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from softlabel.crowd.server import serving


def simulate(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "softlabel", "simulate", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def facts(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    rows = [line.split("  ", 1) for line in done.stdout.splitlines() if "  " in line]
    return {name: value.strip() for name, value in rows}


def test_without_an_address_it_serves_the_study_itself(make_study, stored):
    study = make_study("hard", per_item=3, repeats=0)
    done = simulate(study.folder, "--seed", 4)
    assert (done.returncode, done.stderr) == (0, "")
    assert facts(done)["people finished"] == "3 of 3"  # as many as the study needs
    assert facts(done)["answers acknowledged"] == str(len(stored(study))) == "24"
    assert facts(done)["errors"] == "0"


def test_with_an_address_it_goes_there_also_by_browser(make_study, stored):
    study = make_study("quick", per_annotator=2, repeats=0)
    with serving(study.folder) as server:
        by_wire = simulate(study.folder, "--url", server.url, "--annotators", 2, "--faults", 0.5)
        by_hand = simulate(study.folder, "--url", server.url, "--annotators", 1, "--browser")
    assert (by_wire.returncode, by_wire.stderr) == (0, "")
    assert (by_hand.returncode, by_hand.stderr) == (0, "")
    assert facts(by_hand)["people finished"] == "1 of 1"
    assert len(stored(study)) == 6


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--url", "http://127.0.0.1:9"), "nobody answers there"),
        (("--url", "somewhere"), "is no address"),
    ],
)
def test_what_cannot_work_is_said_in_a_line(make_study, words, said):
    done = simulate(make_study().folder, *words)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
