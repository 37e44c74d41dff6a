"""Whether anything is left to give out, asked before people read nine pages for nothing."""

from __future__ import annotations

from softlabel.serve.site import Site, read, written

FRESH = 5.0  # seconds for which the last look still counts: many people arrive at once


class Vacancy:
    """Looks at the store every few seconds at most."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._full, self._seen = False, float("-inf")

    async def is_full(self) -> bool:
        """Whether every item is answered or held by somebody who is still at work."""
        now = self.site.now()
        if now - self._seen > FRESH:
            self._seen = now
            self._full = await self._look(now)
        return self._full

    async def _look(self, now: float) -> bool:
        store, name = self.site.store, self.site.study.name
        progress = await read(store.progress, name)
        if progress.full < progress.items:
            return False
        if not await written(store.release_expired(name, now)):
            return True
        progress = await read(store.progress, name)
        return progress.full >= progress.items
