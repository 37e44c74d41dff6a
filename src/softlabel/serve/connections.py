"""Limits of connections: how many may be open, and how much and how slowly one may send.

uvicorn limits none of this, and its parser copies a header again with every packet of it: one
header of 42 MB kept everybody else waiting for ten seconds.
"""

import asyncio
import ipaddress
import logging
import math
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from softlabel.serve.guard import network_of, parse_address

HEAD, BODY, PAST = "head", "body", "past"  # what a connection is sending, or a timer is set for
SPARE = 128  # files that are open for other things than connections
REMINDER = 60.0  # seconds between two lines of the log about refused connections
log = logging.getLogger("softlabel.serve")


def _reply(status: HTTPStatus, text: str) -> bytes:
    """Return a whole response, after which the connection is closed."""
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: text/plain; charset=utf-8"
    return f"{head}\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n{text}".encode()


BUSY = _reply(HTTPStatus.SERVICE_UNAVAILABLE, "There are too many connections.")
TOO_LARGE = _reply(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too large.")


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits of connections.  Behind a proxy, or at one institution, many people share one address,
    so ``per_address`` is high and does not apply to trusted proxies."""

    head: int = 32 * 1024  # bytes of the request line and headers; the same for trailers
    head_seconds: float = 20.0  # from the connection, or the first byte, to the end of the head
    body_seconds: float = 60.0  # from there to the end of the body
    stalled_seconds: float = 60.0  # during which a client takes nothing of what it asked for
    connections: int = 16_384
    per_address: int = 2_000


def fit_to_system(limits: ConnectionLimits) -> ConnectionLimits:
    """Raise the number of files that this process may open, and lower the limits to what it got."""
    if sys.platform == "win32":
        return limits
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted, endless = limits.connections + SPARE, resource.RLIM_INFINITY
    if soft == endless or soft >= wanted:
        return limits
    allowed = wanted if hard == endless else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    except (OSError, ValueError):  # some systems allow less than they say
        allowed = soft
    return replace(limits, connections=min(limits.connections, max(1, allowed - SPARE)))


class Gate:
    """Count the connections of one server, and make the protocol object of each."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.per_address: Counter[str] = Counter()
        # proxies whose X-Forwarded-For is believed
        self._trusted: list[ipaddress.IPv4Network | ipaddress.IPv6Network] | None = None
        self._trust_all = False
        self._logged_at = -REMINDER

    def __call__(self, *, config: Config, **options: Any) -> asyncio.Protocol:
        if self._trusted is None:
            self._trusted, allowed = [], config.forwarded_allow_ips
            for name in allowed.split(",") if isinstance(allowed, str) else allowed:
                self._trust_all |= name.strip() == "*"
                with suppress(ValueError):  # "*", or the path of a socket
                    self._trusted.append(ipaddress.ip_network(name.strip(), strict=False))
        return Connection(self, config=config, **options)

    def admit(self, host: str, total: int) -> str | None:
        """Return the key under which a connection is counted, or None if it is one too many of the
        ``total`` that are open, with this one."""
        address = parse_address(host)
        key = network_of(address) if address else host
        trusted = self._trust_all or any(address in net for net in self._trusted or () if address)
        few = trusted or self.per_address[key] < self.limits.per_address
        if total > self.limits.connections or not few:
            return None
        self.per_address[key] += 1
        return key

    def leave(self, key: str) -> None:
        self.per_address[key] -= 1
        if not self.per_address[key]:
            del self.per_address[key]

    def log_refusal(self, total: int, now: float) -> None:
        """Log that connections are refused, once a minute at most."""
        if now - self._logged_at >= REMINDER:
            self._logged_at = now
            log.warning("connections are refused: %d are open, or too many from one address", total)


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with limits.  Most requests arrive in one piece, and set no timer."""

    def __init__(self, gate: Gate, **options: Any) -> None:
        super().__init__(**options)
        self.gate, self.limits = gate, gate.limits
        self._key: str | None = None  # under which this connection is counted
        self._reading: str | None = HEAD
        self._timed: str | None = None  # what the timer is set for
        self._timer: asyncio.TimerHandle | None = None
        self._quiet = 0  # bytes since the last head or piece of a body
        self._moved = False  # whether the current piece ended a head or belonged to a body
        self._stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._key = self.gate.admit(self.client[0] if self.client else "", len(self.connections))
        if self._key is not None:
            self._set_timer()
        else:
            self.gate.log_refusal(len(self.connections) - 1, self.loop.time())
            transport.write(BUSY)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._key is not None:
            self.gate.leave(self._key)
        for timer in (self._timer, self._stalled):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        most = self.limits.head
        for start in range(0, len(data), most):
            if self.transport.is_closing():
                return
            piece = data[start : start + most] if len(data) > most else data
            self._moved = False
            super().data_received(piece)
            self._quiet = 0 if self._moved else self._quiet + len(piece)
            if self._quiet >= most:
                # the response to an earlier request must not be cut in two
                if self.cycle is None or self.cycle.response_complete:
                    self.transport.write(TOO_LARGE)
                self.transport.close()
                return
        if self._reading is None and self._quiet:
            self._reading = HEAD  # blank lines before a request are no request yet
        if self._reading != self._timed:
            self._set_timer()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._reading = HEAD

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._reading, self._timed, self._moved = BODY, PAST, True

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._moved = True

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._reading, self._timed, self._moved = None, PAST, True

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timed = self._reading
        if self._reading is not None:
            limits = self.limits
            seconds = limits.head_seconds if self._reading == HEAD else limits.body_seconds
            self._timer = self.loop.call_later(seconds, self._too_slow)

    def _too_slow(self) -> None:
        waiting = self.cycle is not None and not self.cycle.response_complete
        if self._timed == HEAD and waiting:  # the next request waits for our response
            self._set_timer()
        else:
            self.transport.abort()

    def timeout_keep_alive_handler(self) -> None:
        self.transport.abort()  # close would wait until the client has taken everything

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_stall()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _watch_stall(self, before: float = math.inf) -> None:
        """Keep waiting for a slow client, but not for one that takes nothing at all."""
        left = self.transport.get_write_buffer_size()
        if left < before:
            seconds = self.limits.stalled_seconds
            self._stalled = self.loop.call_later(seconds, self._watch_stall, left)
        else:
            self.transport.abort()

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: whoever asks for another protocol gets HTTP/1.1."""
