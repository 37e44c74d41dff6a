"""A browser's side of HTTP/1.1 on bare asyncio: one kept-alive connection and its cookies."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from softlabel.errors import SoftlabelError

FORM, JSON = "application/x-www-form-urlencoded", "application/json"
BODILESS = (204, 304)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, and how long it took from the first byte sent to the last one read."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One browser.  Whatever the network does to it is raised as an ``OSError``; ``headers`` go
    with every request."""

    def __init__(
        self, address: str, *, timeout: float = 30.0, headers: Mapping[str, str] | None = None
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise SoftlabelError(f"{address!r} is no address; write it as http://127.0.0.1:8000")
        self._tls = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port or (443 if self._tls else 80)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self._timeout = timeout
        self._headers = [f"{name}: {value}" for name, value in (headers or {}).items()]
        self._cookies: dict[str, str] = {}
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def get(self, path: str) -> Reply:
        return await self._send(self._request("GET", path))

    async def post_form(self, path: str, fields: Mapping[str, str]) -> Reply:
        return await self._send(self._request("POST", path, urlencode(fields).encode(), FORM))

    async def post_json(self, path: str, value: Any) -> Reply:
        return await self._send(self.prepared(path, value))

    def prepared(self, path: str, value: Any) -> bytes:
        """A POST as it goes over the wire."""
        return self._request("POST", path, json.dumps(value).encode(), JSON)

    async def break_off(self, path: str, value: Any, sent: float) -> None:
        """POST only this share of a request, wait for nothing, and drop the connection."""
        data = self.prepared(path, value)
        async with asyncio.timeout(self._timeout):
            writer = self._writer or (await self._connect())[1]
            writer.write(data[: round(sent * len(data))])
            await writer.drain()
        await self.close()

    async def close(self) -> None:
        writer, self._reader, self._writer = self._writer, None, None
        if writer is not None:
            writer.close()
            with suppress(OSError):  # the other side was faster
                await writer.wait_closed()

    # ── the wire ─────────────────────────────────────────────────────────────────────────────

    def _request(self, method: str, path: str, body: bytes = b"", kind: str = "") -> bytes:
        host = self.origin.partition("://")[2]
        lines = [f"{method} {path} HTTP/1.1", f"host: {host}", *self._headers]
        if self._cookies:
            lines.append("cookie: " + "; ".join(f"{k}={v}" for k, v in self._cookies.items()))
        if method == "POST":
            lines += [f"origin: {self.origin}", "sec-fetch-site: same-origin"]
            lines += [f"content-type: {kind}", f"content-length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + body

    async def _send(self, data: bytes) -> Reply:
        """One request and its reply; sent again, once, if the connection had been idle and the
        server closed it meanwhile."""
        begin = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout):
                idle = self._writer is not None
                try:
                    status, headers, body = await self._exchange(data)
                except (ConnectionError, asyncio.IncompleteReadError) as error:
                    begun = isinstance(error, asyncio.IncompleteReadError) and error.partial
                    if begun or not idle:
                        raise
                    await self.close()
                    status, headers, body = await self._exchange(data)
        except asyncio.IncompleteReadError as error:
            await self.close()
            raise ConnectionResetError(f"{self.origin} closed the connection") from error
        except (OSError, asyncio.CancelledError):
            await self.close()
            raise
        if headers.get("connection", "").lower() == "close":
            await self.close()
        return Reply(status, headers, body, time.perf_counter() - begin)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        tls = True if self._tls else None
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port, ssl=tls)
        return self._reader, self._writer

    async def _exchange(self, data: bytes) -> tuple[int, dict[str, str], bytes]:
        if self._reader is None or self._writer is None:
            await self._connect()
        assert self._reader is not None
        assert self._writer is not None
        self._writer.write(data)
        await self._writer.drain()
        status, headers = await self._read_head(self._reader)
        return status, headers, await _read_body(self._reader, status, headers)

    async def _read_head(self, reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").rstrip().split("\r\n")
            status = int(first.split(" ", 2)[1])
        except (asyncio.LimitOverrunError, IndexError, ValueError) as error:
            raise ConnectionError(f"{self.origin} does not speak HTTP/1.1") from error
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            if name.lower() == "set-cookie":
                self._keep_cookie(value)
            headers[name.lower()] = value.strip()
        return status, headers

    def _keep_cookie(self, text: str) -> None:
        pair, *attributes = (part.strip() for part in text.split(";"))
        name, _, value = pair.partition("=")
        if not value or "max-age=0" in (attribute.lower() for attribute in attributes):
            self._cookies.pop(name, None)
        else:
            self._cookies[name] = value


async def _read_body(
    reader: asyncio.StreamReader, status: int, headers: Mapping[str, str]
) -> bytes:
    if status in BODILESS:
        return b""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return await _read_chunks(reader)
    if "content-length" in headers:
        return await reader.readexactly(int(headers["content-length"]))
    return await reader.read()


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers say nothing we need
    return b"".join(parts)
