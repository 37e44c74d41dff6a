"""Whether answers can be stored right now, told by storing something that changes nothing."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime

from starlette.responses import JSONResponse, Response

from softlabel.errors import StoreError
from softlabel.serve.site import written
from softlabel.store import Store

FRESH = 1.0  # seconds for which an answer is given again: strangers may ask as well
PATIENCE = 5.0  # seconds for one write
QUIET = 60.0  # seconds for which the same complaint is only counted
SHORT = {  # what the database says, and what everybody may know of it
    "full": "the disk is full",
    "locked": "the database is locked",
    "not the file that was opened": "the database file was moved, deleted or replaced",
    "onnect": "the database cannot be reached",
    "disk I/O": "the disk cannot be written",
}

log = logging.getLogger("softlabel.serve")


class Ready:
    """Handler of ``/ready``; however many ask, one write at a time is under way."""

    def __init__(self, store: Store, complaints: Complaints) -> None:
        self.store, self.complaints = store, complaints
        self._asking: asyncio.Task[str] | None = None
        self._trouble, self._until = "", 0.0

    async def answer(self) -> Response:
        """Whether answers can be stored: 200, or 503 and why not."""
        if time.monotonic() >= self._until:
            if self._asking is None or self._asking.done():
                self._asking = asyncio.create_task(self._ask())
            waiting = asyncio.shield(self._asking)
            try:
                self._trouble = await asyncio.wait_for(waiting, PATIENCE)
            except TimeoutError:
                self._trouble = f"the database did not answer within {PATIENCE:.0f} s"
            self._until = time.monotonic() + FRESH
        if not self._trouble:
            return JSONResponse({"ready": True})
        return JSONResponse({"ready": False, "reason": self._trouble}, 503, {"retry-after": "5"})

    async def _ask(self) -> str:
        try:
            await written(self.store.probe())
        except StoreError as error:
            self.complaints.tell(str(error))
            said = str(error).replace(self.store.name, "")
            known = (told for part, told in SHORT.items() if part in said)
            return next(known, "the database cannot be written")
        return ""


class Complaints:
    """Store errors on their way to the log, with the time; the same one once a minute, counted."""

    def __init__(self, quiet: float = QUIET) -> None:
        self.quiet = quiet
        self._more: dict[str, int] = {}

    def tell(self, text: str) -> None:
        """Log it now, or count it."""
        if text in self._more:
            self._more[text] += 1
            return
        self._more[text] = 0
        log.error("%s the store refused: %s", _now(), text)
        asyncio.get_running_loop().call_later(self.quiet, self._sum_up, text)

    def _sum_up(self, text: str) -> None:
        more = self._more.pop(text)
        if more:
            log.error("%s %d more times in %.0f s: %s", _now(), more, self.quiet, text)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
