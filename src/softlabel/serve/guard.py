"""The guard: every request passes it first, and every response gets its security headers here.

One plain ASGI layer, because it runs for every answer of every annotator.
"""

import ipaddress
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE = {"GET", "HEAD", "OPTIONS"}
# not limited: cheap to send, and a page requests many of them at once
FREE = ("/static/", "/media/", "/health", "/ready")
LOGIN = "/research/login"
HOOKS = "/hooks/"  # messages of a recruiter's server, which prove their origin by a signature
UPLOAD = "/research/run/add"
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; media-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

log = logging.getLogger("softlabel.serve")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
RequestHeaders = dict[bytes, bytes]
Refuse = Callable[[Scope, int, dict[str, str]], ASGIApp]


@dataclass(frozen=True)
class Rate:
    """``burst`` requests at once, and ``per_second`` more as time passes."""

    burst: float
    per_second: float


@dataclass(frozen=True)
class Limits:
    """Limits per client.  Many people can arrive from one address, but only one from a session."""

    body: int = 64 * 1024  # bytes
    upload: int = (5 * 1024 + 64) * 1024  # bytes, of a table with the form around it
    session: Rate = Rate(burst=500, per_second=50)
    address: Rate = Rate(burst=8000, per_second=400)
    login: Rate = Rate(burst=10, per_second=0.2)


class Buckets:
    """Token buckets, one per key, in bounded memory: the key unused for longest is dropped."""

    def __init__(self, rate: Rate, most: int = 50_000) -> None:
        self.rate, self.most = rate, most
        self._left: OrderedDict[object, tuple[float, float]] = OrderedDict()

    def wait(self, key: object, now: float) -> float:
        """Return 0 if the request may go on, otherwise the seconds until one may."""
        left, since = self._left.pop(key, (self.rate.burst, now))
        left = min(self.rate.burst, left + (now - since) * self.rate.per_second)
        allowed = left >= 1
        self._left[key] = (left - 1 if allowed else left, now)
        if len(self._left) > self.most:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self.rate.per_second

    def __len__(self) -> int:
        return len(self._left)


class Guard:
    """Refuse requests that are too large, too frequent or sent by a foreign page; set headers.

    ``token_of`` returns the session token in the request's cookies if it is a known one;
    ``refuse`` makes the error response.  ``hosts`` are the accepted host names; None accepts any.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        refuse: Refuse,
        token_of: Callable[[RequestHeaders], str | None],
        limits: Limits,
        secure: bool = False,
        hosts: frozenset[str] | None = None,
    ) -> None:
        self.app, self.refuse, self.token_of = app, refuse, token_of
        self.limits, self.hosts = limits, hosts
        always = HEADERS | ({"strict-transport-security": "max-age=31536000"} if secure else {})
        self.always = [(name.encode(), value.encode()) for name, value in always.items()]
        self.by_session, self.by_address = Buckets(limits.session), Buckets(limits.address)
        self.by_login = Buckets(limits.login)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                own = message["headers"]
                cached = any(name == b"cache-control" for name, _ in own)
                no_store = [] if cached else [(b"cache-control", b"no-store")]
                message["headers"] = own + self.always + no_store
            await send(message)

        try:
            app, read = self._admit(scope, receive)
            await app(scope, read, send_with_headers)
        except ClientDisconnect:
            log.debug("%s %s: whoever asked has gone", scope["method"], scope["path"])
        except Exception:
            path = scope["path"]  # a personal link opens a session, so it is not logged
            log.exception("%s %s", scope["method"], "/i/…" if path.startswith("/i/") else path)
            if started:
                raise  # part of the response is sent already, so the connection is closed
            await self.refuse(scope, 500, {})(scope, receive, send_with_headers)

    def _admit(self, scope: Scope, receive: Receive) -> tuple[ASGIApp, Receive]:
        """Return the app and what it may read, or the refusal."""
        headers: RequestHeaders = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name, _, port = host.rpartition(":")
        name = name if name and port.isdigit() else host
        if self.hosts is not None and name not in self.hosts:
            return self.refuse(scope, 421, {}), receive
        safe = scope["method"] in SAFE
        if not safe and not is_ours(headers) and not scope["path"].startswith(HOOKS):
            return self.refuse(scope, 403, {}), receive
        if seconds := self._wait(scope, headers):
            return self.refuse(scope, 429, {"retry-after": str(math.ceil(seconds))}), receive
        if safe:
            return self.app, receive
        length = headers.get(b"content-length", b"0")
        most = self.limits.upload if scope["path"] == UPLOAD else self.limits.body
        if not length.isdigit() or int(length) > most:
            return self.refuse(scope, 413, {"connection": "close"}), receive
        size = 0

        async def receive_counted() -> Message:
            """Count the bytes: a body that is sent in chunks does not announce its length."""
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > most:
                raise HTTPException(413, headers={"connection": "close"})
            return message

        return self.app, receive_counted

    def _wait(self, scope: Scope, headers: RequestHeaders) -> float:
        path, now = scope["path"], time.monotonic()
        if path.startswith(FREE):
            return 0.0
        address = scope["client"][0] if scope["client"] else ""
        if path == LOGIN and scope["method"] not in SAFE:
            return self.by_login.wait(address, now)
        if token := self.token_of(headers):
            return self.by_session.wait(token, now)
        return self.by_address.wait(address, now)


def is_ours(headers: RequestHeaders) -> bool:
    """Whether a request that changes something comes from our own page, or from a program.

    Browsers send the origin of a request in ``Sec-Fetch-Site`` or ``Origin``.  The header
    ``X-Softlabel`` is for programs: a foreign page cannot send it without our permission.
    """
    if b"x-softlabel" in headers:
        return True
    if b"sec-fetch-site" in headers:
        return headers[b"sec-fetch-site"] in (b"same-origin", b"none")
    try:
        origin = urlsplit(headers.get(b"origin", b"").decode("latin-1"))
        return bool(origin.netloc) and origin.netloc == headers.get(b"host", b"").decode("latin-1")
    except ValueError:
        return False


def parse_address(host: str) -> Address | None:
    """Return the IP address, IPv4 if it is mapped into IPv6; None for the path of a socket."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def network_of(address: Address) -> str:
    """Return what one subscriber has: an IPv4 address, or an IPv6 network of 64 bits."""
    if address.version == 4:
        return str(address)
    return str(ipaddress.ip_network((int(address), 64), strict=False))
