"""A pre-trained text encoder trained further, whole: any that ``transformers`` opens by name.

For machines with a model hub and, but for small encoders, a GPU.  Rates and epochs are the usual
ones for such encoders (Devlin et al. 2019), not a paper's on soft labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from softlabel.train import Config
from softlabel.train.nets import NETS
from softlabel.train.nets.base import Net
from softlabel.train.recipes.base import Recipe
from softlabel.train.recipes.text_encoders import TOKENS, mean_state, opened, transformers

CONFIG = Config(
    net="hub",  # always changed to the name that ``known`` gives
    epochs=5,
    batch=16,
    optimiser="adamw",
    lr=2e-5,
    schedule="linear",
    nesterov=False,
    weight_decay=1e-2,
    clip=1.0,
    augment="none",
    channels_last=False,
)
HUB = Recipe("hub", "features", CONFIG, __file__)


class Hub(Net):
    """The mean of the tokens' last states, and one linear layer.

    Rows are numbers of tokens, one more than the tokenizer's: 0 is no token, and the tokens of a
    second text are negative.
    """

    def __init__(self, classes: int, inputs: int = TOKENS, *, place: str) -> None:
        super().__init__()
        library = transformers()
        self.place = place
        about = library.AutoConfig.from_pretrained(place)
        self.encoder = library.AutoModel.from_config(about)
        self.types = getattr(about, "type_vocab_size", 0) > 1
        self.filler = getattr(about, "pad_token_id", None) or 0
        self.head = nn.Linear(about.hidden_size, classes)

    def look(self, x: Tensor) -> None:
        """Weights are drawn when a network is made; what the encoder has learned comes after."""
        learned: Any = opened(self.place)[1].state_dict()
        self.encoder.load_state_dict(learned)

    def features(self, x: Tensor) -> Tensor:
        numbers = x.long()
        there = numbers != 0
        ids = torch.where(there, numbers.abs() - 1, self.filler)
        more = {"token_type_ids": (numbers < 0).long()} if self.types else {}
        states = self.encoder(input_ids=ids, attention_mask=there.long(), **more)
        return mean_state(states.last_hidden_state, there)


def known(place: str) -> str:
    """The name of the network for a configuration; made known in this process."""
    name = f"hub/{place}"
    NETS.setdefault(name, partial(Hub, place=place))
    return name


def rows(sides: Sequence[Sequence[str]], place: str) -> npt.NDArray[np.float32]:
    """(m, tokens) of one text, or of two joined as the encoder joins them."""
    tokenizer = opened(place)[0]
    found = tokenizer(*map(list, sides), truncation=True, max_length=TOKENS)
    types = found.get("token_type_ids")
    longest = max(map(len, found["input_ids"]))
    made = np.zeros((len(sides[0]), longest), dtype=np.float32)
    for item, ids in enumerate(found["input_ids"]):
        numbers = np.array(ids) + 1
        second = np.array(types[item]) == 1 if types is not None else np.zeros(len(ids), bool)
        made[item, : len(ids)] = np.where(second, -numbers, numbers)
    return made
