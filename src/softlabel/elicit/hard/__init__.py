"""The plain vote: one class, no more."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from softlabel.elicit.fields import label_keys, number_classes, read_class, refuse_unknown_keys
from softlabel.elicit.mode import Answer, Field, Labels, Payload, Rng, Seconds
from softlabel.tables import Floats


@dataclass(frozen=True)
class Hard:
    """One class is picked; it is read as stated with 100 %, and nothing as ruled out."""

    name: ClassVar[str] = "hard"
    version: ClassVar[int] = 1
    paper: ClassVar[str] = "Peterson et al. 2019, how CIFAR-10H asked"
    fields: ClassVar[tuple[Field, ...]] = (Field("label", "choice", True, "Which class is it?"),)
    seconds: ClassVar[Seconds] = Seconds(1.8, measured=True)  # the median of CIFAR-10H

    def rules(self) -> dict[str, Any]:
        return {}

    def read(self, payload: Payload, labels: Labels) -> Answer:
        refuse_unknown_keys(payload, self.fields)
        label = read_class("label", payload["label"], number_classes(labels))
        return Answer((label,), (100.0,), np.ones(len(labels), dtype=np.bool_))

    def simulate(self, belief: Floats, labels: Labels, rng: Rng) -> dict[str, Any]:
        """Draw the class from the belief (probability matching)."""
        return {"label": labels[int(rng.choice(len(labels), p=belief))]}

    def operate(self, page: Any, answer: Payload, labels: Labels) -> None:
        """Type the key of the class, which sends the answer at once."""
        page.keyboard.type(label_keys(answer["label"], labels))
