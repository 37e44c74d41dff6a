"""The latest answers of a running study, read once each: a refresh reads only what is new."""

from __future__ import annotations

import json
import math
from collections import deque

from softlabel import registry
from softlabel.elicit import Answer, Mode, versions_read
from softlabel.errors import ResponseError, SoftlabelError
from softlabel.serve.monitor.pace import Pace
from softlabel.serve.monitor.sample import Sample, Seen
from softlabel.serve.monitor.seconds import steps
from softlabel.store import ResponseRow, Store, TimedAnswer
from softlabel.study import Study

MOST = 20_000  # answers
REMEMBERED = 5_000  # answers
CELLS = 2_000_000  # answers x labels: of a study with thousands of labels fewer are looked at


class Window:
    """Holds at most the latest ``size`` answers.  One thread at a time may use it."""

    def __init__(self, study: Study, store: Store, most: int = MOST) -> None:
        self.study, self.store = study, store
        self.size = max(1, min(most, CELLS // len(study.labels)))
        self._reader = Reader(study)
        self._rows: deque[tuple[str, Seen]] = deque(maxlen=self.size)  # with their session
        self._superseded: set[str] = set()
        self._after: int | None = None

    def refresh(self, pace: Pace) -> Sample:
        """The sample as of now, without the answers of people who were forgotten since."""
        stored = self.store.progress(self.study.name).responses
        if self._after is None:
            self._after = self.store.before_latest(self.study.name, self.size)
        for row in self.store.timings(self.study.name, after=self._after):
            self._rows.append((row.session, self._reader.seen(row)))
            if row.supersedes is not None:
                self._superseded.add(row.supersedes)
            self._after = row.seq
            pace()
        sessions = {session.id for session in self.store.sessions(self.study.name)}
        held = [seen for session, seen in self._rows if session in sessions]
        current = [seen for seen in held if seen.id not in self._superseded]
        return Sample(self.study.labels, current, len(held), max(stored, len(held)))


class Reader:
    """From stored rows to what was said, by the mode that asked.

    Many people say the same, word for word: what was read once is remembered for a while.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self._read: dict[tuple[str, int, str, str], Answer | None] = {}
        self._own = json.dumps(registry.settings(study.mode))
        self._modes: dict[tuple[str, str], Mode | None] = {(study.mode.name, self._own): study.mode}

    def seen(self, row: TimedAnswer | ResponseRow) -> Seen:
        """The row, read."""
        timing = row.timing
        return Seen(
            id=row.id,
            item=row.item,
            annotator=row.annotator,
            kind=row.kind,
            mode=row.mode,
            at=row.received_at,
            active=_seconds(timing.active_ms),
            first=_seconds(timing.first_input_ms),
            steps=steps(timing.fields, timing.active_ms),
            skip=row.skip,
            said=self.said(row),
        )

    def said(self, row: TimedAnswer | ResponseRow) -> Answer | None:
        """None where the item was skipped, or where the study as it is now cannot read it."""
        if row.answer_json is None:
            return None
        key = row.mode, row.mode_version, self._options(row), row.answer_json
        if key not in self._read:
            if len(self._read) >= REMEMBERED:
                self._read.clear()
            self._read[key] = self._said(*key)
        return self._read[key]

    def _options(self, row: TimedAnswer | ResponseRow) -> str:
        """As they were when it asked; where nobody wrote them down, as they are now."""
        if row.frame is not None:
            return row.mode_options
        return self._own if row.mode == self.study.mode.name else "{}"

    def _said(self, name: str, version: int, options: str, text: str) -> Answer | None:
        mode = self._mode(name, options)
        if mode is None or version not in versions_read(mode):
            return None
        try:
            return mode.read(json.loads(text), self.study.labels)
        except ResponseError:
            return None

    def _mode(self, name: str, options: str) -> Mode | None:
        if (name, options) not in self._modes:
            try:
                self._modes[name, options] = registry.make("mode", name, **json.loads(options))
            except SoftlabelError:
                self._modes[name, options] = None
        return self._modes[name, options]


def _seconds(ms: float | None) -> float:
    return math.nan if ms is None else ms / 1000
