"""Heavy work beside a server: done in small steps, with rests between them."""

from __future__ import annotations

import time

STEP = 0.001  # seconds of work between two rests; shorter than the turn a thread takes by itself


class Pace:
    """Called between steps, rests so long that work takes at most ``share`` of the time.

    Threads of one program take turns.  A dashboard that worked without a rest would take every
    second turn from the people who are answering; with ``share`` 1 there is no rest.
    """

    def __init__(self, share: float = 1.0) -> None:
        self.share = share
        self._worked = time.thread_time()

    def __call__(self) -> None:
        worked = time.thread_time() - self._worked
        if self.share < 1 and worked >= STEP:
            time.sleep(worked * (1 / self.share - 1))
            self._worked = time.thread_time()
