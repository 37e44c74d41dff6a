"""A line to the server that does not give up at once, as people and their browsers do not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any

from softlabel.errors import SoftlabelError
from softlabel.simulate.crowd.http import Client, Reply
from softlabel.simulate.crowd.log import Log, Request

ANSWERS = "/api/answers"
PATIENCE = 60.0  # seconds for which a request is sent again
SLOWER, LATER = 429, 503  # the server says: not so fast, or not now
FIRST_WAIT, LONGEST_WAIT = 0.05, 5.0


class Refused(SoftlabelError):
    """The server said no to something that people may do."""


class Line:
    """Requests that are sent again while the network or the server cannot take them; how long
    they took, and what went wrong on the way, goes into the log."""

    def __init__(self, url: str, log: Log) -> None:
        self._client, self._log = Client(url), log

    async def close(self) -> None:
        await self._client.close()

    async def get(self, kind: Request, path: str) -> Reply:
        return await self._ask(kind, f"GET {_short(path)}", lambda: self._client.get(path))

    async def post_form(self, path: str, fields: Mapping[str, str]) -> Reply:
        return await self._ask("page", f"POST {path}", lambda: self._client.post_form(path, fields))

    async def post_json(self, kind: Request, path: str, value: Any) -> Reply:
        return await self._ask(kind, f"POST {path}", lambda: self._client.post_json(path, value))

    async def deliver(self, answer: dict[str, Any]) -> None:
        """Send an answer, under one id, until it is acknowledged."""
        begin = time.monotonic()

        async def post() -> Reply:
            answer["delivery"]["attempt"] += 1
            answer["delivery"]["queued_ms"] = round(1000 * (time.monotonic() - begin))
            return await self._client.post_json(ANSWERS, answer)

        reply = await self._ask("answer", f"POST {ANSWERS}", post)
        if reply.json()["acknowledged"] != answer["response_uuid"]:
            raise Refused(f"POST {ANSWERS} acknowledged another answer: {reply.text[:200]}")

    def prepared(self, answer: Mapping[str, Any]) -> bytes:
        """An answer as it goes over the wire, for whoever sends many."""
        return self._client.prepared(ANSWERS, answer)

    async def break_off(self, answer: dict[str, Any], sent: float) -> None:
        """Send this share of an answer, and lose the connection."""
        answer["delivery"]["attempt"] += 1
        with suppress(OSError):  # then the other side lost it first
            await self._client.break_off(ANSWERS, answer, sent)

    async def _ask(
        self, kind: Request, what: str, send: Callable[[], Coroutine[Any, Any, Reply]]
    ) -> Reply:
        begin, wait = time.monotonic(), FIRST_WAIT
        while True:
            late = time.monotonic() - begin > PATIENCE
            try:
                reply = await send()
            except OSError as error:
                self._log.errors[f"{what}: {type(error).__name__}"] += 1
                if late:
                    raise
            else:
                if reply.status < 400:
                    self._log.latencies[kind].append(reply.seconds)
                    return reply
                self._object(reply, what, late)
                wait = max(wait, float(reply.headers.get("retry-after", 0)))
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    def _object(self, reply: Reply, what: str, late: bool) -> None:
        """Count a no; give up unless it means: later."""
        if reply.status == SLOWER:
            self._log.waits += 1
        else:
            self._log.errors[f"{what}: {reply.status}"] += 1
        if late or reply.status not in (SLOWER, LATER):
            raise Refused(f"{what}: {reply.status} {reply.text[:200]}")


def _short(path: str) -> str:
    """A path without what differs from request to request."""
    return "/media" if path.startswith("/media/") else path.partition("?")[0]
