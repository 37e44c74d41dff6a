"""The commands of the training tutorial on CIFAR-10H, cut to one epoch, where the data are."""

from __future__ import annotations

import re
from pathlib import Path

from softlabel.cli import main
from softlabel.train import runs

PAGE = Path(__file__).parent.parent.parent / "docs" / "tutorials" / "train.md"


def commands() -> list[list[str]]:
    """The lines of the page's shell block."""
    (block,) = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [line.removeprefix("softlabel ").split() for line in block.splitlines()]


def test_the_commands_on_cifar10h_run(data_folder, tmp_path, monkeypatch, capsys):
    """In this process: torch is there, and the pictures are unpacked once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    *train, evaluate = commands()
    for words in train:
        place = words.index("--seeds") + 1
        assert main([*words[:place], "1", *words[place + 1 :], "--set", "epochs=1"]) == 0
    found = runs.find("runs")
    assert {run.config["deliver"] for run in found} == {"hard", "aggregate"}
    assert all(run.predictions.probs.shape == (3000, 10) for run in found)
    capsys.readouterr()
    assert main(evaluate) == 0
    said = capsys.readouterr().out
    assert "trained from scratch, 3,000 items" in said
    assert "difference from deliver=hard" in said
