"""Everything that decides how a network is trained, and why each default is what it is."""

from __future__ import annotations

from dataclasses import dataclass, fields

from softlabel.errors import SoftlabelError, UnknownName
from softlabel.train.crowd import KINDS
from softlabel.train.data import AUGMENTS
from softlabel.train.losses import LOSSES
from softlabel.train.schedules import SCHEDULES

OPTIMISERS = ("sgd", "adam", "adamw")


@dataclass(frozen=True)
class Config:
    """A recipe.  The defaults are the small network's, which learns CIFAR-10H in under a minute on
    two cores; the papers' recipes are other values of the same fields."""

    net: str = "small"  # see nets.NETS; options as in "mlp:hidden=128"
    epochs: int = 20
    batch: int = 64
    optimiser: str = "sgd"
    lr: float = 0.1
    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 1e-4
    schedule: str = "one-cycle"
    loss: str = "cross-entropy"
    reduction: str = "mean"  # "sum" with clip = 1 is U20's: steps of one length, whatever the loss
    clip: float = 0.0  # largest norm of the whole gradient; 0: any
    augment: str = "frozen"  # as published; "per_epoch" gains accuracy and hides what labels do
    objective: str = "labels"  # or a crowd layer on single votes: "mw", "vw", "vb", "vw+b", "sw"
    crowd_on: str = "logits"
    crowd_transposed: bool = False
    ema: float = 0.0  # decay of a running average of the weights, per step; 0: none
    amp: bool = True  # half precision on a GPU; on a CPU it is slower and never used
    compile: bool = False  # on a CPU it costs minutes and gains nothing
    channels_last: bool = True
    device: str = "auto"  # "cuda" if there is one, else "cpu"
    dtype: str = "float32"  # "float64" to check that two ways of computing are one
    checkpoint_seconds: float = 30.0  # a checkpoint after every epoch, but not more often than this

    def __post_init__(self) -> None:
        for name, known in (
            ("optimiser", OPTIMISERS),
            ("schedule", tuple(SCHEDULES)),
            ("loss", tuple(LOSSES)),
            ("reduction", ("mean", "sum")),
            ("augment", AUGMENTS),
            ("objective", ("labels", *KINDS)),
            ("crowd_on", ("logits", "probs")),
            ("dtype", ("float32", "float64")),
        ):
            if getattr(self, name) not in known:
                raise UnknownName(name, getattr(self, name), known)
        for name, least in (("epochs", 1), ("batch", 1), ("lr", 0), ("clip", 0), ("ema", 0)):
            if not getattr(self, name) >= least:
                raise SoftlabelError(f"{name} = {getattr(self, name)} must be at least {least}")
        if self.ema >= 1:
            raise SoftlabelError(f"ema = {self.ema} must be below 1: it is a share of the past")

    def decides(self) -> dict[str, object]:
        """The fields that the result depends on: all but how often it is saved."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != "checkpoint_seconds"
        }
