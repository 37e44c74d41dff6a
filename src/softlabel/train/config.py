"""The configuration of training, with a reason for each default, and ``key=value`` changes."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from inspect import unwrap
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import torch

from softlabel.errors import SoftlabelError, UnknownName
from softlabel.train.data import AUGMENTS
from softlabel.train.losses import CROWD_LAYERS, LOSSES
from softlabel.train.schedules import SCHEDULES

Fields = TypeVar("Fields")
VALIDATED = ("cross-entropy", "accuracy")  # what is logged of validation items after every epoch


def leave_uncompiled(kind: type[torch.optim.Optimizer]) -> Callable[..., torch.optim.Optimizer]:
    """Return the same optimiser without the wrappers that keep torch's compiler away from it.

    They import the compiler first, which takes as long as importing torch itself, in every process
    that trains.  Only networks are compiled here, never an optimiser.
    """
    names = ("add_param_group", "zero_grad", "state_dict", "load_state_dict")
    plain = {name: unwrap(getattr(kind, name)) for name in names}
    plain["step"] = torch.no_grad()(unwrap(kind.step))
    return type(kind.__name__, (kind,), plain)


OPTIMISERS = {
    name: leave_uncompiled(kind)
    for name, kind in {
        "sgd": torch.optim.SGD,
        "adam": torch.optim.Adam,
        "adamw": torch.optim.AdamW,
    }.items()
}


@dataclass(frozen=True)
class Config:
    """How a network is trained.  The defaults are those of the small network, which learns
    CIFAR-10H in under a minute on two cores; the papers' recipes are other values of the fields."""

    net: str = "small"  # see networks.NETS; options as in "mlp:hidden=128"
    epochs: int = 20  # the papers' ordering of labels is there after 20, with 65 it is only wider
    batch: int = 64  # smaller than 128: more steps in an epoch of 7,000
    optimiser: str = "sgd"
    lr: float = 0.1  # the papers' rate
    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 1e-4  # the papers'; the tuned scales of the papers search it
    schedule: str = "one-cycle"  # needs no tuning at 20 epochs
    loss: str = "cross-entropy"
    reduction: str = "mean"  # "sum" with clip = 1 is U20's: every step has the same length
    clip: float = 0.0  # largest norm of the whole gradient; 0: any
    augment: str = "frozen"  # as published; "per_epoch" is usual elsewhere, and overfits less
    objective: str = "labels"  # or a crowd layer on single votes: "mw", "vw", "vb", "vw+b", "sw"
    crowd_on: str = "logits"
    crowd_transposed: bool = False
    ema: float = 0.0  # decay of a running average of the weights, per step; 0: none
    amp: bool = True  # half precision on a GPU
    amp_on_cpu: bool = False  # bfloat16 on a CPU that computes in it: large networks gain
    keep: str = "last"  # the epoch kept: or the best on validation items, by one of these scores
    compile: bool = False  # on a CPU it costs minutes and gains nothing
    channels_last: bool = True
    device: str = "auto"  # "cuda" if there is one, else "cpu"
    dtype: str = "float32"  # "float64" to check that two ways of computing agree
    checkpoint_seconds: float = 30.0  # a checkpoint after every epoch, but not more often than this

    def __post_init__(self) -> None:
        for name, known in (
            ("optimiser", tuple(OPTIMISERS)),
            ("schedule", tuple(SCHEDULES)),
            ("loss", tuple(LOSSES)),
            ("reduction", ("mean", "sum")),
            ("augment", AUGMENTS),
            ("objective", ("labels", *CROWD_LAYERS)),
            ("crowd_on", ("logits", "probs")),
            ("dtype", ("float32", "float64")),
            ("keep", ("last", *VALIDATED)),
        ):
            if getattr(self, name) not in known:
                raise UnknownName(name, getattr(self, name), known)
        for name, least in (("epochs", 1), ("batch", 1), ("lr", 0), ("clip", 0), ("ema", 0)):
            if not getattr(self, name) >= least:
                raise SoftlabelError(f"{name} = {getattr(self, name)} must be at least {least}")
        if self.ema >= 1:
            raise SoftlabelError(f"ema = {self.ema} must be below 1: it is a share of the past")

    def identity(self) -> dict[str, object]:
        """Return the fields that the result depends on: all but how often it is saved."""
        return {key: value for key, value in asdict(self).items() if key != "checkpoint_seconds"}


# ── key=value ────────────────────────────────────────────────────────────────────────────────


def change_settings(config: Fields, settings: Mapping[str, Any], where: str = "--set") -> Fields:
    """Return the configuration with these values, each checked against the type of its field."""
    hints = get_type_hints(type(config))
    known = [field.name for field in fields(config)]  # type: ignore[arg-type]
    checked = {}
    for key, value in settings.items():
        if key not in known:
            raise UnknownName("setting", key, known)
        checked[key] = _convert(hints[key], value, f"{where} {key}")
    return replace(config, **checked)  # type: ignore[type-var]


def parse_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Read ``["lr=0.1", "augment=frozen"]``; values are written as in TOML, text without quotes.

    >>> parse_settings(["lr=0.1", "net=small", "ema=none", "nesterov=true"])
    {'lr': 0.1, 'net': 'small', 'ema': 'none', 'nesterov': True}
    """
    table: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals:
            raise SoftlabelError(f"--set {pair!r} is not of the form key=value")
        if key in table:
            raise SoftlabelError(f"--set {key} is given twice")
        try:
            table[key] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            table[key] = text
    return table


def _convert(kind: Any, value: Any, where: str) -> Any:
    """Return the value in the field's type: whole numbers are floats too, ``none`` is None."""
    for part in (kind,) if get_origin(kind) in (Literal, tuple) else get_args(kind) or (kind,):
        if get_origin(part) is Literal and value in get_args(part):
            return value
        if part is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if part is NoneType and value in (None, "none"):
            return None
        if get_origin(part) is tuple and isinstance(value, list | tuple):
            return tuple(value)
        if isinstance(part, type) and type(value) is part:
            return value
    if get_origin(kind) is Literal:
        raise UnknownName(f"choice for {where}", str(value), map(str, get_args(kind)))
    right = getattr(kind, "__name__", str(kind)).replace("NoneType", "none")
    raise SoftlabelError(f"{where} = {value!r} is of the wrong type; it is of type {right}")
