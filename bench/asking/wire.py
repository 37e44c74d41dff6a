"""A connection that costs next to nothing: prepared bytes out, whole replies in."""

from __future__ import annotations

import asyncio
import re
from typing import cast
from urllib.parse import urlsplit

LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)
END = b"\r\n\r\n"


class Wire(asyncio.Protocol):
    """One request at a time; anything but ``200`` is an error."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[bytes] | None = None
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop has classes of its own

    def data_received(self, data: bytes) -> None:
        self._read += data
        head = self._read.find(END)
        if head < 0:
            return
        length = LENGTH.search(self._read, 0, head)
        whole = head + len(END) + (int(length[1]) if length else 0)
        if len(self._read) < whole or self._waiting is None:
            return
        reply, self._read = self._read[:whole], self._read[whole:]
        waiting, self._waiting = self._waiting, None
        if reply.startswith(b"HTTP/1.1 200"):
            waiting.set_result(reply[head + len(END) :])
        else:
            waiting.set_exception(ConnectionError(reply[:300].decode("latin-1")))

    def connection_lost(self, error: Exception | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error or ConnectionResetError("closed in the middle"))

    async def ask(self, request: bytes) -> bytes:
        """Send a request; the body of the reply."""
        assert self._transport is not None, "connected"
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiting

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


async def connect(url: str) -> Wire:
    parts = urlsplit(url)
    loop = asyncio.get_running_loop()
    _, wire = await loop.create_connection(Wire, parts.hostname, parts.port)
    return wire
