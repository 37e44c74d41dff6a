"""The trained network of a run, kept beside its predictions for what needs gradients."""

from __future__ import annotations

import torch

from softlabel._util.files import aside
from softlabel.errors import FileError
from softlabel.train import nets
from softlabel.train.runs import Run

WEIGHTS = "weights.pt"


def keep(run: Run, net: nets.Net, classes: int, inputs: int) -> None:
    """Write ``weights.pt``, whole or not at all."""
    state = {"state": net.state_dict(), "classes": classes, "inputs": inputs}
    with aside(run.path / WEIGHTS) as part, part.open("wb") as file:
        torch.save(state, file)


def network(run: Run) -> nets.Net:
    """The network as it was when training ended, ready for use."""
    path = run.path / WEIGHTS
    if not path.exists():
        raise FileError(path, f"is not there: the run is {run.state}")
    kept = torch.load(path, map_location="cpu", weights_only=True)
    net = nets.make(run.config["net"], kept["classes"], run.seed, kept["inputs"])
    net.load_state_dict(kept["state"])
    return net.eval()
