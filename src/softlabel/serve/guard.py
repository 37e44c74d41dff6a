"""The door: every request passes here first, and every response leaves by it.

One plain ASGI layer, because it runs for every answer of every annotator.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from softlabel.serve import headers
from softlabel.serve.buckets import Buckets, Rate

LARGEST_BODY = 64 * 1024
SAFE = {"GET", "HEAD", "OPTIONS"}
# cheap to send; a page asks for many of them at once
FREE = ("/static/", "/media/", "/health", "/ready")
LOGIN = "/research/login"

log = logging.getLogger("softlabel.serve")
Refuse = Callable[[Scope, int, dict[str, str]], ASGIApp]


@dataclass(frozen=True)
class Limits:
    """How much one may send.  A whole crowd can arrive from one address, a person cannot."""

    body: int = LARGEST_BODY
    session: Rate = field(default_factory=lambda: Rate(burst=500, per_second=50))
    address: Rate = field(default_factory=lambda: Rate(burst=8000, per_second=400))
    login: Rate = field(default_factory=lambda: Rate(burst=10, per_second=0.2))


class Guard:
    """Refuses what is too large, too often, or sent by a foreign page; sets the headers.

    ``token_of`` finds the session's token in the cookies if it is one that we know;
    ``refuse`` makes the response that says no.  ``hosts`` are the names we answer to, if given.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        refuse: Refuse,
        token_of: Callable[[dict[bytes, bytes]], str | None],
        limits: Limits,
        secure: bool = False,
        hosts: frozenset[str] | None = None,
    ) -> None:
        self.app, self.refuse, self.token_of, self.hosts = app, refuse, token_of, hosts
        self.limits = limits
        self.always = headers.raw(headers.ALWAYS | (headers.HTTPS_ONLY if secure else {}))
        self.by_session, self.by_address = Buckets(limits.session), Buckets(limits.address)
        self.by_login = Buckets(limits.login)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def guarded_send(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = headers.with_security(message["headers"], self.always)
            await send(message)

        try:
            app, read = self._admit(scope, receive)
            await app(scope, read, guarded_send)
        except ClientDisconnect:
            log.debug("%s %s: whoever asked has gone", scope["method"], scope["path"])
        except Exception:
            log.exception("%s %s", scope["method"], _loggable(scope["path"]))
            if started:
                raise  # half a page cannot be taken back; the connection is closed
            await self.refuse(scope, 500, {})(scope, receive, guarded_send)

    def _admit(self, scope: Scope, receive: Receive) -> tuple[ASGIApp, Receive]:
        """The app and what it may read; or the refusal."""
        found: dict[bytes, bytes] = dict(scope["headers"])
        if self.hosts is not None and _host_name(found) not in self.hosts:
            return self.refuse(scope, 421, {}), receive
        if scope["method"] not in SAFE and not is_ours(found):
            return self.refuse(scope, 403, {}), receive
        if seconds := self._wait(scope, found):
            return self.refuse(scope, 429, {"retry-after": str(math.ceil(seconds))}), receive
        if scope["method"] in SAFE:
            return self.app, receive
        length = found.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.limits.body:
            return self.refuse(scope, 413, {"connection": "close"}), receive
        return self.app, self._measured(receive)

    def _wait(self, scope: Scope, found: dict[bytes, bytes]) -> float:
        path, now = scope["path"], time.monotonic()
        if path.startswith(FREE):
            return 0.0
        address = scope["client"][0] if scope["client"] else ""
        if path == LOGIN and scope["method"] not in SAFE:
            return self.by_login.wait(address, now)
        if token := self.token_of(found):
            return self.by_session.wait(token, now)
        return self.by_address.wait(address, now)

    def _measured(self, receive: Receive) -> Callable[[], Awaitable[Message]]:
        """What is received, counted: a body sent in pieces does not say its length before."""
        size = 0

        async def measured() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self.limits.body:
                raise HTTPException(413, headers={"connection": "close"})
            return message

        return measured


def is_ours(found: dict[bytes, bytes]) -> bool:
    """Whether a request that changes something comes from our own page, or from a program.

    Browsers say where a request comes from in ``Sec-Fetch-Site`` or ``Origin``.  The header
    ``X-Softlabel`` is for programs: a foreign page cannot send it without our permission.
    """
    if b"x-softlabel" in found:
        return True
    site = found.get(b"sec-fetch-site")
    if site is not None:
        return site in (b"same-origin", b"none")
    try:
        origin = urlsplit(found.get(b"origin", b"").decode("latin-1"))
        return bool(origin.netloc) and origin.netloc == found.get(b"host", b"").decode("latin-1")
    except ValueError:
        return False


def _loggable(path: str) -> str:
    """A path without what opens a session."""
    return "/i/…" if path.startswith("/i/") else path


def _host_name(found: dict[bytes, bytes]) -> str:
    host = found.get(b"host", b"").decode("latin-1").lower()
    name, _, port = host.rpartition(":")
    return name if name and port.isdigit() else host
