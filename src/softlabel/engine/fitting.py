"""Which pools work on parts, how they are fitted there, and checkpoints that continue a fit."""

import zipfile
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from softlabel._util.files import write_atomically
from softlabel._util.progress import Progress, report_steps, silent
from softlabel.aggregate import AGGREGATORS, Aggregate, em, watch_fit
from softlabel.errors import FileError, SoftlabelError
from softlabel.tables import Annotations, Index, names

MODEL = ("begin", "learn", "penalty", "step", "posterior")  # what softlabel.aggregate.em.Model has
ITEMWISE = ("mean", "share", "majority", "softmax", "log-pool")
WHOLE = {None, "rare", "trusted"}  # settings that need all items: to be fitted, ties they decide
ARRAY = "array"  # array0, array1, ...: the parameters in a checkpoint

ZERO = np.zeros(1, np.int32)
ONE_VOTE = Annotations(Index(names(["i"]), names(["a"]), names(["x", "y"])), ZERO, ZERO, label=ZERO)


def is_model(pooler: Aggregate | type[Aggregate]) -> bool:
    """Return whether the steps of a method are sums over parts."""
    return all(hasattr(pooler, name) for name in MODEL)


def check_works_on_parts(pooler: Aggregate) -> None:
    """Refuse a pool that cannot be computed part by part, and name those that can."""
    settings = [getattr(pooler, field.name) for field in fields(pooler)]  # type: ignore[arg-type]
    one_item_at_a_time = pooler.name in ITEMWISE and not WHOLE.intersection(settings)
    if is_model(pooler) or one_item_at_a_time:
        pooler(ONE_VOTE)  # its parameters are checked when it is called
        return
    models = [name for name, kind in AGGREGATORS.items() if is_model(kind)]
    fits = " with parameters learned from all" if pooler.name in ITEMWISE else ""
    raise SoftlabelError(
        f"--engine: {pooler.name}{fits} needs all items at once; on parts work "
        f"{', '.join(models)}, and with given parameters {', '.join(ITEMWISE)}"
    )


def fit_parts(
    method: Any,
    engine: em.Engine,
    votes: int,
    keep: Path | None = None,
    progress: Progress = silent,
) -> em.FitResult:
    """Fit the parameters of a method.  With ``keep`` they are stored in that file after every step,
    and if it exists the fit goes on from it."""
    report = report_steps(method, votes, progress)
    if getattr(method, "n_restarts", 1) > 1:
        if keep is not None:
            raise SoftlabelError(
                f"--checkpoint: {method.name} starts {method.n_restarts} times and keeps the best; "
                f"a checkpoint is of one start: {method.name}:n_restarts=1"
            )
        with watch_fit(report):
            return method.best(engine)  # type: ignore[no-any-return]
    start, trace = None, []
    if keep is not None and keep.exists():  # the first step is made again to learn the shapes
        kept = Checkpoint.load(keep)
        template = method.learn(engine.sum(method.begin))
        if [array.shape for array in kept.arrays] != [array.shape for array in flatten(template)]:
            reason = "is a checkpoint of other data or another method; name another folder"
            raise FileError(keep, reason)
        start = em.FitState(unflatten(template, list(kept.arrays)), kept.trace)
        trace = [*kept.trace]

    def note(iteration: int, objective: float) -> None:
        trace.append(objective)
        report(iteration, objective)

    def save(parameters: em.Parameters, iteration: int) -> None:
        if keep is not None:
            Checkpoint(tuple(trace), flatten(parameters)).save(keep)

    options = {"n_iter": method.n_iter, "tol": method.tol, "start": start}
    return em.fit(method, engine, **options, tell=note, keep=save)


@dataclass(frozen=True)
class Checkpoint:
    """The objective after every step so far, and the parameters, as arrays, for the next."""

    trace: tuple[float, ...]
    arrays: tuple[npt.NDArray[Any], ...]

    def save(self, path: Path) -> None:
        """Write plain arrays to one ``.npz``; it is either whole or the one before."""
        members: dict[str, Any] = {f"{ARRAY}{n}": array for n, array in enumerate(self.arrays)}
        with write_atomically(path) as part, part.open("wb") as file:
            np.savez(file, trace=np.array(self.trace), **members)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what ``save`` wrote; nothing in the file is ever executed."""
        if not zipfile.is_zipfile(path):
            raise FileError(path, "is no checkpoint, or a damaged one; remove it to begin anew")
        with np.load(path, allow_pickle=False) as file:
            kept = [file[f"{ARRAY}{number}"] for number in range(len(file.files) - 1)]
            return cls(tuple(file["trace"].tolist()), tuple(kept))


def flatten(parameters: Any) -> tuple[npt.NDArray[Any], ...]:
    """Return the arrays of parameters, which are an array, or a tuple or dataclass of such."""
    if is_dataclass(parameters):
        return flatten(tuple(getattr(parameters, field.name) for field in fields(parameters)))
    if isinstance(parameters, tuple):
        return tuple(array for entry in parameters for array in flatten(entry))
    return (np.asarray(parameters),)


def unflatten(template: Any, arrays: list[npt.NDArray[Any]]) -> Any:
    """Return parameters like ``template``, made of ``arrays``, which are taken from the front."""
    if is_dataclass(template) and not isinstance(template, type):
        members = [field.name for field in fields(template)]
        made = {name: unflatten(getattr(template, name), arrays) for name in members}
        return replace(template, **made)
    if isinstance(template, tuple):
        entries = [unflatten(entry, arrays) for entry in template]
        return type(template)(*entries) if hasattr(template, "_fields") else tuple(entries)
    array = arrays.pop(0)
    return array if isinstance(template, np.ndarray) else array.item()
