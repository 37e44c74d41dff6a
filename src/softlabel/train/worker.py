"""A process that makes runs: a job per line comes in, the outcome of each goes out as a line.

It works with one thread: two such processes make a quarter more runs an hour than one process with
two threads.  It ends when no more jobs come, or when the process that started it is gone.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping

import torch

from softlabel.errors import SoftlabelError
from softlabel.train.jobs import Job

THREADS = tuple(f"{name}_NUM_THREADS" for name in ("OMP", "MKL", "OPENBLAS", "NUMBA"))
# Every step needs the same buffers.  glibc gives large ones back to the system, which must then
# find and clear them anew: keep them instead, in large pages.  Other libraries of C ignore this.
TUNABLES = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:glibc.malloc.hugetlb=1"


def make_environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process that makes runs: one thread, and memory that is kept
    between steps.  What the user tunes comes last, and wins.

    >>> made = make_environment({"GLIBC_TUNABLES": "glibc.malloc.mmap_max=9"})
    >>> made["OMP_NUM_THREADS"], made["GLIBC_TUNABLES"].rpartition(":")[2]
    ('1', 'glibc.malloc.mmap_max=9')
    """
    tunables = ":".join(filter(None, (TUNABLES, given.get("GLIBC_TUNABLES"))))
    return {**given, **dict.fromkeys(THREADS, "1"), "GLIBC_TUNABLES": tunables}


def complete_job(job: Job | str) -> dict[str, str]:
    """Make the run of a job and return how it ended.

    A mistake of the user and divergence are outcomes; a mistake of this package is an exception.
    """
    torch.set_num_threads(1)
    try:
        run = (Job.from_json(job) if isinstance(job, str) else job).complete_run()
    except SoftlabelError as error:
        return {"state": "failed", "note": str(error)}
    return {"state": "finished", "note": "", "name": run.name}


def main() -> None:
    """Work through the jobs that come on stdin."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing else may be written there
    parent = os.getppid()

    def end_with_parent() -> None:  # nobody would read the outcome
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    for line in sys.stdin:
        answers.write(json.dumps(complete_job(line)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
