"""What a trained network predicts: arrays in, arrays out; and its weights in a run folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from softlabel._util.arrays import load_arrays
from softlabel._util.files import write_atomically
from softlabel.errors import DataError, FileError
from softlabel.io import Progress, silent
from softlabel.tables import Floats, Index, Predictions, names
from softlabel.train import data
from softlabel.train.data import CIFAR, Array, Model
from softlabel.train.encoders import ENCODERS, encode
from softlabel.train.networks import Net, make_network
from softlabel.train.splits import check_inputs

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


def refuse_objects(images: str) -> None:
    """Refuse a file whose items or features are Python objects, as columns of pandas often are:
    reading these would execute them."""
    for key, kind in (("items", "str"), ("features", "np.float32")):
        if images.endswith(".npz"):
            load_arrays(images, f"plain {key}, as of np.array({key}, dtype={kind})", (), (key,))


# ── weights in a run folder ──────────────────────────────────────────────────────────────────


class Trained(Protocol):
    """What is needed of a ``Run``."""

    @property
    def path(self) -> Path: ...
    @property
    def config(self) -> Mapping[str, Any]: ...
    @property
    def seed(self) -> int: ...
    @property
    def state(self) -> str: ...
    @property
    def predictions(self) -> Predictions: ...
    def value(self, key: str) -> Any: ...


def save_network(folder: Path, net: Net, classes: int, inputs: int) -> None:
    """Write ``weights.pt``, whole or not at all: for predictions, and for what needs gradients."""
    state = {"state": net.state_dict(), "classes": classes, "inputs": inputs}
    with write_atomically(folder / WEIGHTS) as part, part.open("wb") as file:
        torch.save(state, file)


def load_network(run: Trained) -> Net:
    """Return the network as it was when training ended, ready for use."""
    kept = _load_weights(run)
    net = make_network(run.config["net"], kept["classes"], run.seed, kept["inputs"])
    net.load_state_dict(kept["state"])
    return net.eval()


def _load_weights(run: Trained) -> dict[str, Any]:
    path = run.path / WEIGHTS
    if not path.exists():
        reason = f"is not there: the run is {run.state}"
        if run.state == "finished":
            reason += f", and its recipe, {run.config.get('recipe')}, does not keep a network"
        raise FileError(path, reason)
    return dict(torch.load(path, map_location="cpu", weights_only=True))


def predict_with_run(
    run: Trained, inputs: Array, items: Sequence[str] | None = None, tell: Progress = silent
) -> Predictions:
    """Return what the network of a run predicts for other ``inputs``: pictures, uint8 (m, h, w, 3),
    or features, float32 (m, d), as in training.  ``items`` are their names, by default 0, 1, 2 …

    The network of a run on features takes pictures, too: they are encoded as in training.
    """
    called = [str(item) for item in range(len(inputs))] if items is None else list(items)
    if len(called) != len(inputs):
        raise DataError(f"{len(inputs)} inputs and {len(called)} items do not go together")
    check_inputs("inputs", inputs)
    trained_on = run.value("encoder")
    if trained_on is not None and inputs.ndim == 4:
        made = {getattr(one, "name", ""): one for one in (make() for make in ENCODERS.values())}
        if trained_on not in made:
            raise DataError(
                f"the run was trained on features of {trained_on}, which is not installed; there "
                f"are {', '.join(made)}"
            )
        inputs = encode(inputs, made[trained_on], tell)
    takes = _load_weights(run)["inputs"]
    if inputs.shape[-1] != takes:
        raise DataError(
            f"inputs of the shape {inputs.shape}: the network was trained on inputs whose last "
            f"dimension is {takes}"
        )
    tell("predicting")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    index = Index(names(called), names([]), run.predictions.index.labels)
    return Predictions(index, predict_probs(load_network(run).to(device), inputs))
