"""Two processes under torchrun do what one does."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from softlabel.errors import SoftlabelError
from softlabel.train import ranks

RUN = """
import sys
from pathlib import Path
import numpy as np, torch
from softlabel import Annotations, Index
from softlabel.deliver import TrainingLabels
from softlabel.train import Config, fit, ranks

rng = np.random.default_rng(0)
images = rng.integers(0, 256, (34, 16, 16, 3), dtype=np.uint8)
soft = rng.dirichlet(np.ones(3), 34)

class Fixed:
    def labels_for(self, epoch, indices, rng):
        return soft[indices]

index = Index([str(i) for i in range(34)], list("abcd"), list("xyz"))
item, who = (rng.random((34, 4)) < 0.4).nonzero()
said = Annotations(index, item, who, label=rng.integers(0, 3, len(item)))
known = TrainingLabels(soft.argmax(1), soft, said)

def run(out):
    long, short = {"epochs": 2, "dtype": "float64"}, {"epochs": 1, "lr": 0.01}
    found = {}
    for name, config, labels in (
        ("mean", Config(augment="per_epoch", batch=16, **long), Fixed()),
        ("summed and clipped", Config(reduction="sum", clip=1.0, batch=16, **long), Fixed()),
        ("votes", Config(objective="mw", batch=16, **long), known),
        ("single precision", Config(batch=16, **short), Fixed()),
    ):
        trained = fit(config, images, labels, seed=2, folder=Path(out) / name)
        found[name] = (trained.net.state_dict(), [line["loss"] for line in trained.log])
    return found
"""
CHILD = """
torch.set_num_threads(1)
found = run(sys.argv[1])
if ranks.rank() == 0:
    torch.save(found, Path(sys.argv[1]) / "found.pt")
"""
NEAR = {"single precision": 1e-4}  # the others are computed in double precision: 1e-9


def test_two_processes_give_the_result_of_one(tmp_path):
    """Batch statistics are those of the whole batch, gradients its sum; sums are added in another
    order, and that is all that differs: in double precision hardly anything does."""
    (tmp_path / "child.py").write_text(RUN + CHILD)
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [sys.executable, *torchrun, str(tmp_path / "child.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    two = torch.load(tmp_path / "found.pt", weights_only=True)
    names: dict = {}
    exec(RUN, names)
    one = names["run"](tmp_path / "alone")
    for name in one:
        near = NEAR.get(name, 1e-9)
        for key, value in one[name][0].items():
            other = two[name][0][key]
            assert torch.allclose(value.double(), other.double(), atol=near, rtol=near), (name, key)
        assert one[name][1] == pytest.approx(two[name][1], rel=near)
        assert not torch.equal(one[name][0]["head.weight"], two[name][0]["head.weight"]), "two ran"


def test_one_process_is_everything():
    assert (ranks.size(), ranks.rank(), ranks.own_part(7)) == (1, 0, slice(0, 7))
    assert ranks.broadcast("state") == "state"


def test_parts_of_a_batch_are_disjoint_and_all_of_it(monkeypatch):
    monkeypatch.setattr(ranks, "size", lambda: 3)
    parts = []
    for number in range(3):
        monkeypatch.setattr(ranks, "rank", lambda number=number: number)
        parts += list(range(17))[ranks.own_part(17)]
    assert parts == list(range(17))
    with pytest.raises(SoftlabelError, match="a batch of 2 cannot be divided among 3"):
        ranks.own_part(2)
