"""Connections: how many there may be, and how much and how slowly one may send.

uvicorn limits none of this, and its parser copies a header anew with every packet of it: one
header of 42 MB kept everybody else waiting for ten seconds.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import sys
from collections import Counter
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD, BODY = "head", "body"  # what a connection is in the middle of sending
PAST = "past"  # of a timer: set for something that has ended
SPARE = 128  # files that are open for other things than connections
REMINDER = 60.0  # seconds between two lines of the log about refused connections
log = logging.getLogger("softlabel.serve")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _reply(status: HTTPStatus, text: str) -> bytes:
    """A whole response to somebody who is not listened to any further."""
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        "content-type: text/plain; charset=utf-8",
        f"content-length: {len(text)}",
        "connection: close",
    )
    return "\r\n".join((*head, "", text)).encode()


BUSY = _reply(HTTPStatus.SERVICE_UNAVAILABLE, "There are too many connections.")
TOO_LARGE = _reply(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too large.")


@dataclass(frozen=True)
class Wire:
    """Limits of connections.  Through a proxy, or from one institution, a whole crowd comes from
    one address, so that ``per_address`` is high and does not hold for trusted proxies."""

    head: int = 32 * 1024  # bytes of the request line and headers; the same for trailers
    head_seconds: float = 20.0  # from the connection, or the first byte, to the end of the head
    body_seconds: float = 60.0  # from there to the end of the body
    stalled_seconds: float = 60.0  # during which a client takes nothing of what it asked for
    connections: int = 16_384
    per_address: int = 2_000


def fitted(wire: Wire) -> Wire:
    """The limits with no more connections than this process may open files, after it has asked
    the system for as many as are needed."""
    if sys.platform == "win32":
        return wire
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted, endless = wire.connections + SPARE, resource.RLIM_INFINITY
    if soft == endless or soft >= wanted:
        return wire
    allowed = wanted if hard == endless else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    except (OSError, ValueError):  # some systems allow less than they say
        allowed = soft
    return replace(wire, connections=min(wire.connections, max(1, allowed - SPARE)))


class Gate:
    """Counts the connections of one server; makes the protocol that asks it."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.per_address: Counter[str] = Counter()
        self._trusted: tuple[Network, ...] = ()  # proxies that are believed whom they speak for
        self._everybody = False
        self._told = -REMINDER

    def __call__(self, *, config: Config, **given: Any) -> asyncio.Protocol:
        if not (self._trusted or self._everybody):
            self._everybody, self._trusted = _networks(config.forwarded_allow_ips)
        return Connection(self, config=config, **given)

    def admit(self, host: str, whole: int) -> str | None:
        """Under what a connection is counted, or None if it is one too many; ``whole`` are open,
        this one among them."""
        address = _address(host)
        key = _network_of(address) if address else host
        trusted = self._everybody or any(address in one for one in self._trusted if address)
        if whole > self.wire.connections or not (
            trusted or self.per_address[key] < self.wire.per_address
        ):
            return None
        self.per_address[key] += 1
        return key

    def leave(self, key: str) -> None:
        self.per_address[key] -= 1
        if not self.per_address[key]:
            del self.per_address[key]

    def tell(self, whole: int, now: float) -> None:
        """Say that connections are refused, but not for each of a flood of them."""
        if now - self._told >= REMINDER:
            self._told = now
            log.warning("connections are refused: %d are open, or too many from one address", whole)


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, with limits.  Honest requests mostly come in one piece, for which no
    timer is set."""

    def __init__(self, gate: Gate, **given: Any) -> None:
        super().__init__(**given)
        self.gate, self.wire = gate, gate.wire
        self._key: str | None = None  # under which this connection is counted
        self._reading: str | None = HEAD
        self._timed: str | None = None  # what the timer is set for
        self._timer: asyncio.TimerHandle | None = None
        self._quiet = 0  # bytes since the last that ended a head or belonged to a body
        self._moved = False  # whether the piece at hand did
        self._stalled: asyncio.TimerHandle | None = None

    # ── coming and going ─────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._key = self.gate.admit(self.client[0] if self.client else "", len(self.connections))
        if self._key is not None:
            self._set_timer()
        else:
            self.gate.tell(len(self.connections) - 1, self.loop.time())
            transport.write(BUSY)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._key is not None:
            self.gate.leave(self._key)
        for timer in (self._timer, self._stalled):
            if timer is not None:
                timer.cancel()

    # ── what is sent to us ───────────────────────────────────────────────────────────────────

    def data_received(self, data: bytes) -> None:
        most = self.wire.head
        for start in range(0, len(data), most):
            if self.transport.is_closing():
                return
            piece = data[start : start + most] if len(data) > most else data
            self._moved = False
            super().data_received(piece)
            self._quiet = 0 if self._moved else self._quiet + len(piece)
            if self._quiet >= most:
                self._refuse()
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

    def _refuse(self) -> None:
        """431, unless the reply to an earlier request would be cut in two by it."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(TOO_LARGE)
        self.transport.close()

    # ── time ─────────────────────────────────────────────────────────────────────────────────

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timed = self._reading
        if self._reading is not None:
            wire = self.wire
            seconds = wire.head_seconds if self._reading == HEAD else wire.body_seconds
            self._timer = self.loop.call_later(seconds, self._too_slow)

    def _too_slow(self) -> None:
        waiting = self.cycle is not None and not self.cycle.response_complete
        if self._timed == HEAD and waiting:  # it is we who keep the next request waiting
            self._set_timer()
        else:
            self.transport.abort()

    def timeout_keep_alive_handler(self) -> None:
        self.transport.abort()  # close would wait until everything written has been taken

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _watch(self, left: int) -> None:
        self._stalled = self.loop.call_later(self.wire.stalled_seconds, self._stall, left)

    def _stall(self, before: int) -> None:
        """Go on waiting for a slow client, and not for one that takes nothing at all."""
        left = self.transport.get_write_buffer_size()
        if left < before:
            self._watch(left)
        else:
            self.transport.abort()

    def _unsupported_upgrade_warning(self) -> None:
        """Whoever asks for another protocol gets HTTP/1.1; that is no news."""


def _address(host: str) -> Address | None:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None  # not an address but, for instance, the path of a socket
    return getattr(address, "ipv4_mapped", None) or address


def _network_of(address: Address) -> str:
    """An address as it is counted: with IPv6 one customer has a whole network of them."""
    if address.version == 4:
        return str(address)
    return str(ipaddress.ip_network((int(address), 64), strict=False))


def _networks(allowed: list[str] | str) -> tuple[bool, tuple[Network, ...]]:
    """Who is trusted, as uvicorn is told it: everybody, or these networks."""
    names = [name.strip() for name in (allowed.split(",") if isinstance(allowed, str) else allowed)]
    found: list[Network] = []
    for name in names:
        try:
            found.append(ipaddress.ip_network(name, strict=False))
        except ValueError:
            continue  # "*", or the path of a socket
    return "*" in names, tuple(found)
