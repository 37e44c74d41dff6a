"""The overview of a study that people are answering right now: kept, and renewed with care."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from threading import Lock

from softlabel.serve.monitor.overview import Insight, Overview, combined, insight
from softlabel.serve.monitor.pace import Pace
from softlabel.serve.monitor.standing import Standing, standing
from softlabel.serve.monitor.window import Window
from softlabel.store import Store
from softlabel.study import Study

COUNTED_EVERY = 4.0  # seconds; a page asks every five
AT_MOST = 0.05  # of the time is spent counting, however large the study
COMPUTED_EVERY = 15.0
TRUE_FOR = 60.0  # without a new answer: how many came in the latest hour changes all the same
SHARE = 0.25  # of one core, at most, for what is computed while people wait for the server


class Watch:
    """Safe to use from many threads, however many pages are open: each number is made once.

    ``overview`` answers quickly, with the insight there is.  ``renew`` makes a new one, if the
    last one is old enough; it is called when nobody waits for it.
    """

    def __init__(self, study: Study, store: Store, now: Callable[[], float]) -> None:
        self.study, self.store, self.now = study, store, now
        self._window = Window(study, store)
        self._counting, self._computing = Lock(), Lock()
        self._standing: Standing | None = None
        self._count_at = -math.inf
        self._insight: Insight | None = None

    def overview(self) -> Overview:
        return combined(self.study, self.standing(), self._insight)

    def standing(self) -> Standing:
        """Counted by the database a few seconds ago at most, or longer if counting takes long."""
        with self._counting:
            if self._standing is None or self.now() >= self._count_at:
                begin = time.perf_counter()
                self._standing = standing(self.study, self.store)
                took = time.perf_counter() - begin
                self._count_at = self.now() + max(COUNTED_EVERY, took / AT_MOST)
            return self._standing

    def renew(self) -> None:
        """Compute what is out of date, slowly; does nothing while somebody else does it."""
        if not self._computing.acquire(blocking=False):
            return
        try:
            if self._is_old():
                pace = Pace(SHARE)
                sample = self._window.refresh(pace)
                self._insight = insight(self.study, sample, self.now(), pace)
        finally:
            self._computing.release()

    def _is_old(self) -> bool:
        if self._insight is None:
            return True
        age = self.now() - self._insight.at
        if age < COMPUTED_EVERY:
            return False
        return age >= TRUE_FOR or self.standing().stored != self._insight.stored
