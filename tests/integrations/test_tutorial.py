"""The commands of the training tutorial on CIFAR-10H, cut to one epoch, where the data are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from softlabel.train import runs

PAGE = Path(__file__).parent.parent.parent / "docs" / "tutorials" / "train.md"


def commands() -> list[list[str]]:
    """The lines of the page's shell block."""
    (block,) = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [line.removeprefix("softlabel ").split() for line in block.splitlines()]


def softlabel(words: list[str], folder: Path) -> str:
    """What the command prints; one thread, because machines that test are shared."""
    done = subprocess.run(
        [sys.executable, "-m", "softlabel", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_commands_on_cifar10h_run(data_folder, tmp_path):
    *train, evaluate = commands()
    for words in train:
        place = words.index("--seeds") + 1
        softlabel([*words[:place], "1", *words[place + 1 :], "--set", "epochs=1"], tmp_path)
    found = runs.find(tmp_path / "runs")
    assert {run.config["deliver"] for run in found} == {"hard", "aggregate"}
    assert all(run.predictions.probs.shape == (3000, 10) for run in found)
    said = softlabel(evaluate, tmp_path)
    assert "trained from scratch, 3,000 items" in said
    assert "difference from deliver=hard" in said
