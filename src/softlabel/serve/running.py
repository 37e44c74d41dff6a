"""How the study is being run, as a server sees it: looked up in the store again and again.

Actions may come from another process, a command or a second server.  Whether items are given out
is decided in the store, within the transaction that gives them out; what is remembered here
chooses pages, and brings in items that were added, without a restart.
"""

import asyncio
import logging
import threading
import time
from dataclasses import replace
from pathlib import Path

from softlabel import study as studies
from softlabel.errors import SoftlabelError, StoreError
from softlabel.serve.site import Site
from softlabel.store import Control, Portion
from softlabel.study import Item, Study

EVERY = 1.0  # seconds for which the last look still counts

log = logging.getLogger("softlabel.serve")


class Running:
    """The state, quota and cap of a study; brings the site up to date with them."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._per_item = site.study.per_item  # as in the study file
        self._tables: tuple[Path, ...] | None = None  # None: those that the study was read with
        self._control: Control | None = None
        self._at = 0.0
        self._lock = threading.Lock()

    async def look(self, *, now: bool = False) -> Control:
        """Return how the study is run, as of a second ago at most."""
        if (known := self._recent(now)) is not None:
            return known
        return await asyncio.to_thread(self.read, now=now)

    def read(self, *, now: bool = False) -> Control:
        """Do the same in the calling thread."""
        with self._lock:
            if (known := self._recent(now)) is not None:
                return known
            begin = time.monotonic()
            control = self.site.store.control(self.site.study.name)
            if self._control is None or control.revision != self._control.revision:
                self._follow(control)
            self._control, self._at = control, begin
            return control

    def expire(self) -> None:
        """Look again the next time: somebody has met something else."""
        self._at = 0.0

    async def know(self, portion: Portion) -> None:
        """Make sure that the items of a portion can be shown: they may have been added just now."""
        if self._strangers(portion):
            await asyncio.to_thread(self._reread)
            if lost := self._strangers(portion):
                raise StoreError(
                    f"item {lost[0]!r} was added, but {self.site.study.folder} lacks it"
                )

    def _strangers(self, portion: Portion) -> list[str]:
        study = self.site.study
        return [s.item for s in portion.showings if s.state == "open" and not study.has(s.item)]

    def _recent(self, now: bool) -> Control | None:
        fresh = not now and self._at and time.monotonic() - self._at < EVERY
        return self._control if fresh else None

    def _follow(self, control: Control) -> None:
        """Bring the study up to date: its quota, and items that were added."""
        study = self.site.study
        tables = studies.list_added(study.folder)
        if self._tables is None:  # the study was read a moment ago
            self._tables = tables
        elif tables != self._tables:
            self._reread()
            study = self.site.study
        quota = control.per_item_set or self._per_item
        if quota != study.per_item:
            self.site.adopt(replace(study, per_item=quota))

    def _reread(self) -> None:
        """Take in the items that were added; a folder with mistakes changes nothing."""
        study = self.site.study
        try:
            tables = studies.list_added(study.folder)
            fresh = studies.read(study.folder)
        except SoftlabelError as error:
            log.error("%s was not read again: %s", study.folder, error)
            return
        self._tables = tables
        self.site.adopt(extend(study, fresh))


def extend(study: Study, fresh: Study) -> Study:
    """Return the study with the target items of a fresh reading that it does not have yet.  All
    else stays as it is until the next start, when it is compared with what people have seen."""
    new: tuple[Item, ...] = tuple(item for item in fresh.items if not study.has(item.id))
    names = {item.id for item in new}
    batches = {name: tuple(ids) for name, ids in study.batches.items()}
    for name, ids in fresh.batches.items():
        batches[name] = (*batches.get(name, ()), *(one for one in ids if one in names))
    return replace(study, items=(*study.items, *new), batches=batches if study.batches else {})
