"""What this machine has, cores and memory, and work beside other work."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

GIGABYTE = 10**9
PATIENCE = 5.0  # seconds that work has to end in


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory() -> int:
    """Return the bytes of main memory; 16 GB where the system does not report them."""
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 16 * GIGABYTE


@contextmanager
def keep_doing(work: Callable[[], object], every: float, name: str) -> Iterator[None]:
    """Do ``work`` every so many seconds while the body runs, in a thread of this name."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(every):
            work()

    thread = threading.Thread(target=repeat, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(PATIENCE)


def end_with_parent() -> None:
    """End this process when the one that started it is gone, even if that was killed."""
    from multiprocessing import connection, parent_process  # few need it

    parent = parent_process()
    assert parent is not None, "a process that multiprocessing has started"

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="softlabel-parent", daemon=True).start()
