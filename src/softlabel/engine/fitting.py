"""Which pools work on parts, and how they are fitted there, with a checkpoint if wanted."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from softlabel._util.progress import Tell, silent, steps
from softlabel.aggregate import (
    AGGREGATORS,
    Aggregate,
    Engine,
    Fitted,
    Parameters,
    Stopped,
    fit,
    watched,
)
from softlabel.engine.checkpoint import Checkpoint, leaves, like
from softlabel.errors import FileError, SoftlabelError
from softlabel.tables import Annotations, Index, names

MODEL = ("begin", "learn", "penalty", "step", "posterior")  # what softlabel.aggregate.em.Model has
ITEMWISE = ("mean", "share", "majority", "softmax", "log-pool")
WHOLE = {None, "rare", "trusted"}  # what is to be fitted, and ties that all items decide


ZERO = np.zeros(1, np.int32)
ONE_VOTE = Annotations(Index(names(["i"]), names(["a"]), names(["x", "y"])), ZERO, ZERO, label=ZERO)


def is_model(pooler: Aggregate | type[Aggregate]) -> bool:
    """True for methods whose steps are sums over parts."""
    return all(hasattr(pooler, name) for name in MODEL)


def is_itemwise(pooler: Aggregate) -> bool:
    """True for pools that look at one item at a time and learn nothing from the others."""
    given = [getattr(pooler, field.name) for field in fields(pooler)]  # type: ignore[arg-type]
    return pooler.name in ITEMWISE and not WHOLE.intersection(given)


def check_works(pooler: Aggregate) -> None:
    """Refuse a pool that cannot be worked out part by part, and name those that can."""
    if is_model(pooler) or is_itemwise(pooler):
        pooler(ONE_VOTE)  # its parameters are looked at when it is called
        return
    models = [name for name, kind in AGGREGATORS.items() if is_model(kind)]
    alone = [name for name in ITEMWISE if name in AGGREGATORS]
    fits = " with parameters learned from all" if pooler.name in ITEMWISE else ""
    raise SoftlabelError(
        f"--engine: {pooler.name}{fits} needs all items at once; on parts work "
        f"{', '.join(models)}, and with given parameters {', '.join(alone)}"
    )


def fitted(
    method: Any, engine: Engine, votes: int, keep: Path | None = None, tell: Tell = silent
) -> Fitted:
    """The parameters of a method.  With ``keep`` they are stored in that file after every step,
    and if it is there already the fit goes on from it."""
    hear = steps(method, votes, tell)
    if getattr(method, "n_restarts", 1) > 1:
        return _best(method, engine, keep, hear)
    start = None if keep is None or not keep.exists() else _stopped(method, engine, keep)
    trace = [] if start is None else list(start.trace)

    def hears(iteration: int, objective: float) -> None:
        trace.append(objective)
        hear(iteration, objective)

    def keeps(parameters: Parameters, iteration: int) -> None:
        if keep is not None:
            Checkpoint(tuple(trace), leaves(parameters)).save(keep)

    options = {"n_iter": method.n_iter, "tol": method.tol, "start": start}
    return fit(method, engine, **options, tell=hears, keep=keeps)


def _best(method: Any, engine: Engine, keep: Path | None, hear: Any) -> Fitted:
    """Of a method that starts several times."""
    if keep is not None:
        raise SoftlabelError(
            f"--checkpoint: {method.name} starts {method.n_restarts} times and keeps the best; "
            f"a checkpoint is of one start: {method.name}:n_restarts=1"
        )
    with watched(hear):
        best: Fitted = method.best(engine)
    return best


def _stopped(method: Any, engine: Engine, path: Path) -> Stopped:
    """Where an earlier fit was stopped; its first step is made again to learn the shapes."""
    kept = Checkpoint.load(path)
    template = method.learn(engine.sum(method.begin))
    shapes = [array.shape for array in leaves(template)]
    if [array.shape for array in kept.arrays] != shapes:
        raise FileError(
            path, "is a checkpoint of other data or another method; name another folder"
        )
    return Stopped(like(template, list(kept.arrays)), kept.trace)
