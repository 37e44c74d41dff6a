"""A process that makes runs: a job per line comes in, how it ended goes out, a line each.

It works with one thread: two such processes make a quarter more runs an hour than one process with
two threads.  It ends when nobody sends jobs any longer, or when whoever started it is gone.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

import torch

from softlabel.errors import SoftlabelError
from softlabel.train.recipes.jobs import Job
from softlabel.train.runs import Run

ONE_THREAD = {
    name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
} | {"NUMBA_NUM_THREADS": "1"}


def done(text: str) -> dict[str, str]:
    """Make the run of this job."""
    return made(Job.of(text).completed)


def made(completed: Callable[[], Run]) -> dict[str, str]:
    """How a run ended; the user's mistakes and divergence are answers, ours are not."""
    torch.set_num_threads(1)
    try:
        run = completed()
    except SoftlabelError as error:
        return {"state": "failed", "note": str(error)}
    return {"state": "finished", "note": "", "name": run.name}


def main(done: Callable[[str], dict[str, str]] = done) -> None:
    """Work through what comes on stdin."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started us
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing else may speak there
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()
    for line in sys.stdin:
        answers.write(json.dumps(done(line)) + "\n")
        answers.flush()


def _watch(parent: int) -> None:
    """Nobody would hear of what an orphan finds."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == "__main__":
    main()
