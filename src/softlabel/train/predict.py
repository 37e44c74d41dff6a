"""What a trained network predicts: arrays in, arrays out; and its weights in a run folder."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from softlabel._util.files import write_atomically
from softlabel.errors import DataError, FileError
from softlabel.tables import Floats
from softlabel.train import data
from softlabel.train.data import CIFAR, Array, Model
from softlabel.train.networks import Net, make_network
from softlabel.train.runs import Run

Singles = npt.NDArray[np.float32]

BATCH = 250  # of ODIN
WEIGHTS = "weights.pt"


def predict_logits(net: nn.Module, inputs: Array, batch: int = 500) -> Singles:
    """Return (m, k) scores, before softmax."""
    return _apply(net, net, inputs, batch)


def predict_probs(net: nn.Module, inputs: Array, batch: int = 500) -> Floats:
    """Return (m, k) on the simplex, in double precision."""
    scores = predict_logits(net, inputs, batch).astype(np.float64)
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def extract_features(net: Net, inputs: Array, batch: int = 500) -> Singles:
    """Return (m, d), the input of the last layer."""
    return _apply(net, net.features, inputs, batch)


def _apply(net: nn.Module, function: Model, inputs: Array, batch: int) -> Singles:
    some = next(net.parameters())
    with data.evaluation_mode(net), torch.inference_mode():
        table = data.to_device(inputs, some.device)
        parts = [function(data.prepare(part, some.dtype)) for part in table.split(batch)]
        return torch.cat(parts).float().cpu().numpy()


def odin(
    net: Model,
    images: Array,
    temperature: float = 1000.0,
    eps: float = 0.0014,
    *,
    normalise: Model | None = CIFAR,
) -> Floats:
    """Return (m,), the largest probability at this temperature after a small step towards
    confidence; higher means inside the distribution.

    Liang, Li & Srikant 2018, "Enhancing the Reliability of Out-of-distribution Image Detection in
    Neural Networks".  The step is made in pixel space, as the authors' division by the standard
    deviations does, and not clipped to [0, 1], as theirs is not.

    >>> net = torch.nn.Linear(1, 2, bias=False)
    >>> net.weight.data = torch.tensor([[1.0], [0.0]])  # logits x and 0, the step raises x
    >>> odin(net, np.array([[0.5]]), temperature=1, eps=0.1, normalise=None).round(4)
    array([0.6457])
    """
    if not temperature > 0:
        raise DataError(f"temperature = {temperature} is not above 0")
    pixels = data.as_pixels(images, data.first_parameter(net))

    def log_probs(x: Tensor) -> Tensor:
        # near 1/k at high temperatures: in single precision all items would be alike
        return torch.log_softmax(net(normalise(x) if normalise else x).double() / temperature, 1)

    scores = []
    with data.evaluation_mode(net):
        for x in torch.split(pixels, BATCH):
            at = x.detach().requires_grad_(True)
            with torch.enable_grad():
                best = log_probs(at).max(dim=1).values.sum()
                towards = torch.autograd.grad(best, at)[0].sign()
            with torch.no_grad():
                scores.append(log_probs(x + eps * towards).max(dim=1).values.exp())
    return np.asarray(torch.cat(scores).cpu().numpy(), dtype=np.float64)


# ── weights in a run folder ──────────────────────────────────────────────────────────────────


def save_network(run: Run, net: Net, classes: int, inputs: int) -> None:
    """Write ``weights.pt``, whole or not at all: for what needs gradients."""
    state = {"state": net.state_dict(), "classes": classes, "inputs": inputs}
    with write_atomically(run.path / WEIGHTS) as part, part.open("wb") as file:
        torch.save(state, file)


def load_network(run: Run) -> Net:
    """Return the network as it was when training ended, ready for use."""
    path = run.path / WEIGHTS
    if not path.exists():
        raise FileError(path, f"is not there: the run is {run.state}")
    kept = torch.load(path, map_location="cpu", weights_only=True)
    net = make_network(run.config["net"], kept["classes"], run.seed, kept["inputs"])
    net.load_state_dict(kept["state"])
    return net.eval()
