"""The plain vote: one class, no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from softlabel.elicit.base import Answer, Field, Payload
from softlabel.elicit.fields import codes_of, read_class, refuse_unknown_keys
from softlabel.tables import Floats


@dataclass(frozen=True)
class Hard:
    """One class is picked; it is read as stated with 100 %, and nothing as ruled out."""

    name: ClassVar[str] = "hard"
    version: ClassVar[int] = 1
    paper: ClassVar[str] = "Peterson et al. 2019, how CIFAR-10H asked"
    fields: ClassVar[tuple[Field, ...]] = (Field("label", "choice", True, "Which class is it?"),)

    def rules(self) -> dict[str, Any]:
        return {}

    def read(self, payload: Payload, labels: Sequence[str]) -> Answer:
        refuse_unknown_keys(payload, self.fields)
        label = read_class("label", payload["label"], codes_of(labels))
        return Answer((label,), (100.0,), np.ones(len(labels), dtype=np.bool_))

    def simulate(
        self, belief: Floats, labels: Sequence[str], rng: np.random.Generator
    ) -> dict[str, Any]:
        """Probability matching: the class is drawn from the belief."""
        return {"label": labels[int(rng.choice(len(labels), p=belief))]}
