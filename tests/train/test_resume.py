"""A run that was killed goes on as if it had not been."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
import torch

RUN = """
import sys, time
from pathlib import Path
import numpy as np, torch
from softlabel.train import Config, fit

class Sampled:  # other labels in every epoch
    def labels_for(self, epoch, indices, rng):
        return np.eye(3)[(3 * rng.uniform(epoch, indices)).astype(int)]

def run(folder, every, tell):
    images = np.random.default_rng(0).integers(0, 256, (48, 16, 16, 3), dtype=np.uint8)
    config = Config(epochs=4, batch=16, augment="per_epoch", schedule="u20", ema=0.5, clip=1.0,
                    checkpoint_seconds=every)
    return fit(config, images, Sampled(), seed=3, folder=Path(folder), tell=tell)
"""
CHILD = """
def tell(doing, done, total):
    assert "torch._dynamo" not in sys.modules, "nothing is compiled: importing it takes a second"
    print(done, flush=True)
    if done == int(sys.argv[2]):
        time.sleep(600)  # to be killed here, in the middle of an epoch

torch.set_num_threads(1)
run(sys.argv[1], float(sys.argv[3]), tell)
"""
CASES = {  # killed after this step, seconds between checkpoints, first step after that; 3 an epoch
    "in its third epoch": (8, 0, 7),
    "with one checkpoint only, of the first": (11, 600, 4),
}


@pytest.fixture(scope="module")
def children(tmp_path_factory):
    """Both start at once: most of their time is torch's import."""
    started = {}
    for name, (stop, every, _) in CASES.items():
        folder = tmp_path_factory.mktemp("killed")
        words = [sys.executable, "-c", RUN + CHILD, str(folder), str(stop), str(every)]
        started[name] = folder, subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    yield started
    for _, child in started.values():
        if child.poll() is None:
            child.kill()


@pytest.fixture
def run():
    names: dict = {}
    exec(RUN, names)
    return names["run"]


@pytest.mark.parametrize("name", CASES)
def test_killed(tmp_path, children, run, name):
    stop, every, again_from = CASES[name]
    folder, child = children[name]
    while int(child.stdout.readline()) < stop:
        pass
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait(30) == -signal.SIGKILL
    child.stdout.close()

    undisturbed = run(tmp_path, 0, lambda *words: None)
    steps = []
    resumed = run(folder, every, lambda doing, done, total: steps.append(done))
    assert steps == list(range(again_from, 13))
    wanted, got = undisturbed.net.state_dict(), resumed.net.state_dict()
    assert all(torch.equal(got[key], wanted[key]) for key in wanted), "the same bits"
    assert [line["loss"] for line in resumed.log] == [line["loss"] for line in undisturbed.log]
    kept = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert kept == list(resumed.log), "every epoch stands in the log once"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["checkpoint.pt", "log.jsonl"], "and nothing half written is left"
