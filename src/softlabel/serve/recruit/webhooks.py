"""Messages of Prolific: proved by a signature, taken in once, in whatever order they come.

A message only says that a submission has changed.  If it is lost, asking finds out: the server
does so every ten minutes (``submissions.keep_asking``).
"""

import asyncio
import base64
import hmac
import json
import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256

from fastapi import FastAPI, Request
from starlette.responses import Response

from softlabel.errors import SoftlabelError
from softlabel.serve.recruit.link import read_link
from softlabel.serve.recruit.prolific import spell_status
from softlabel.serve.recruit.submissions import make_news
from softlabel.serve.site import Site

PATH = "/hooks/prolific"
WINDOW = 300.0  # seconds between the sender's clock and ours
EVENT = "submission.status.change"
SIGNATURE, SENT_AT = "x-prolific-request-signature", "x-prolific-request-timestamp"
ID, TRUE_AT = "x-event-id", "x-timestamp"

log = logging.getLogger("softlabel.serve")


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature of a message, over its bytes as they are sent."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, sha256).digest()
    return base64.b64encode(digest).decode()


def is_genuine(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> bool:
    """Whether Prolific sent this, and not long ago."""
    sent_at, given = headers.get(SENT_AT, ""), headers.get(SIGNATURE, "")
    right = sign(secret, sent_at, body)
    if not hmac.compare_digest(right.encode(), given.encode("utf-8", "replace")):
        return False
    moment = _read_time(sent_at)
    return moment is not None and abs(now - moment) <= WINDOW


class Hooks:
    """Handler of messages.  ``wall`` is the time of day, which the sender's clock shows as well."""

    def __init__(self, site: Site, wall: Callable[[], float] = time.time) -> None:
        self.site, self.wall = site, wall
        self._tasks: set[asyncio.Task[None]] = set()

    def add_to(self, app: FastAPI) -> None:
        app.add_api_route(PATH, self.receive, methods=["POST"], include_in_schema=False)

    async def receive(self, request: Request) -> Response:
        """Check the signature, answer at once, and take the message in afterwards."""
        body = await request.body()
        try:
            link = await asyncio.to_thread(read_link, self.site.study.folder)
        except SoftlabelError as error:
            log.error("%s", error)
            return Response(status_code=503)
        if link.secret is None:
            return Response(status_code=404)
        if not is_genuine(link.secret, request.headers, body, self.wall()):
            return Response(status_code=401)
        task = asyncio.create_task(self._take(dict(request.headers), body, link.study))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return Response(status_code=202)

    async def _take(self, headers: Mapping[str, str], body: bytes, ours: str | None) -> None:
        """Store what a genuine message says; what goes wrong is found by asking later."""
        try:
            message = json.loads(body)
            if message.get("event_type", EVENT) != EVENT:
                return
            named = message.get("study_id")
            if named is not None and ours is not None and named != ours:
                return
            at = _read_time(headers.get(TRUE_AT, "")) or _read_time(headers[SENT_AT])
            news = make_news(
                self.site.study,
                self.site.secret,
                submission=str(message["resource_id"]),
                person=str(message["participant_id"]),
                status=spell_status(str(message["status"])),
                at=at or 0.0,
                now=self.site.now(),
            )
            id = headers.get(ID) or self.site.secret.sign(f"message:{body!r}")
            storing = self.site.store.record_message(id, news, is_ours=named is not None)
            await asyncio.wrap_future(storing)
        except (ValueError, KeyError, AttributeError, SoftlabelError) as error:
            log.error("a message of Prolific cannot be taken in: %s", type(error).__name__)


def _read_time(text: str) -> float | None:
    """Read seconds or milliseconds since 1970, or a date; None if it is neither."""
    try:
        number = float(text)
        return number / 1000 if number > 1e11 else number
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        return None
