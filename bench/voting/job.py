"""One method on one file of votes, in this process: seconds, CPU seconds, peak extra memory.

Called with a JSON object: who, method, size, folder, save.  Prints one.  Reading the votes,
importing and compiling are done before the clock starts.
"""

from __future__ import annotations

import ctypes
import gc
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from voting.planted import COLUMNS, SIZES, Size

Codes = dict[str, np.ndarray]
Method = Callable[[Any], Any]


def ours(method: str) -> tuple[Method, Callable[[Codes, Size], Any], Callable[[Any], np.ndarray]]:
    from softlabel import registry
    from softlabel.tables import NAMES, Annotations, Index

    def table(codes: Codes, size: Size) -> Annotations:
        sizes = (size.items, size.annotators, size.classes)
        index = Index(*(np.arange(n).astype(NAMES) for n in sizes))
        return Annotations(index, codes["item"], codes["annotator"], label=codes["label"])

    return registry.parse("aggregate", method), table, lambda found: found.probs


def crowdkit(
    method: str,
) -> tuple[Method, Callable[[Codes, Size], Any], Callable[[Any], np.ndarray]]:
    """``DawidSkene:20`` is 20 iterations, with a tolerance that never stops it earlier."""
    warnings.simplefilter("ignore")
    import pandas
    from crowdkit import aggregation

    name, _, n_iter = method.partition(":")
    options: dict[str, Any] = {"n_iter": int(n_iter)} if n_iter else {}
    if name in ("DawidSkene", "OneCoinDawidSkene", "GLAD"):
        options["tol"] = -np.inf
    if name == "MACE":
        options |= {"n_restarts": 1, "method": "em", "random_state": 0}
    kind = getattr(aggregation, name)

    def table(codes: Codes, size: Size) -> Any:
        columns = ("task", "worker", "label")
        return pandas.DataFrame(dict(zip(columns, codes.values(), strict=True)))

    def probs(found: Any) -> np.ndarray:
        return found.sort_index()[sorted(found.columns)].to_numpy()

    return lambda votes: kind(**options).fit_predict_proba(votes), table, probs


MAKERS = {"softlabel": ours, "crowd-kit": crowdkit}
# rows of a first call that is not measured; ours have other kernels for many votes
WARM = {"softlabel": 600_000, "crowd-kit": 500}


def peak() -> float:
    """The most memory this process has had since the last ``forget_peak``, in megabytes."""
    return _status("VmHWM")


def forget_peak() -> float:
    """The memory of this process now, from which a new peak is counted; what earlier calls have
    left unused goes back first."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(key: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1000


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def run(who: str, method: str, size: str, folder: str, save: str = "") -> dict[str, float]:
    call, table, probs_of = MAKERS[who](method)
    codes = {name: np.load(Path(folder) / f"{name}.npy") for name in COLUMNS}
    warm = WARM[who]
    call(table({name: column[:warm] for name, column in codes.items()}, SIZES[size]))
    votes = table(codes, SIZES[size])
    del codes
    building = peak()
    before = forget_peak()
    begin, begin_cpu = time.perf_counter(), cpu()
    found = call(votes)
    made = {"wall": time.perf_counter() - begin, "cpu": cpu() - begin_cpu}
    made |= {"extra": peak() - before, "whole": max(building, peak())}
    probs = probs_of(found)
    if save:
        np.save(save, probs)
    truth = np.load(Path(folder) / "truth.npy")
    made["accuracy"] = float((probs.argmax(axis=1) == truth).mean())
    return made


if __name__ == "__main__":
    print(json.dumps(run(**json.loads(sys.argv[1]))))
