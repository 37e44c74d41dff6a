"""A browser's side of HTTP/1.1 on bare asyncio: one kept-alive connection, its cookies, and
requests that are sent again while the server cannot take them."""

import asyncio
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

from softlabel.errors import SoftlabelError

FORM, JSON = "application/x-www-form-urlencoded", "application/json"
ANSWERS = "/api/answers"
PATIENCE = 60.0  # seconds for which a request is sent again
SLOWER, LATER = 429, 503  # the server asks for fewer requests, or for another time
FIRST_WAIT, LONGEST_WAIT = 0.05, 5.0

Request = Literal["page", "plan", "media", "answer"]
KINDS: dict[str, Request] = {ANSWERS: "answer", "/api/plan": "plan", "/media": "media"}
Progress = Callable[[int, int], None]  # answers acknowledged, answers expected so far


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
    """One browser.  All network failures are an ``OSError``; ``headers`` go with every request."""

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
        return await self._send(lambda: self._encode("GET", path))

    async def post_form(self, path: str, fields: Mapping[str, str]) -> Reply:
        body = urlencode(fields).encode()
        return await self._send(lambda: self._encode("POST", path, body, FORM))

    async def post_json(self, path: str, value: Any) -> Reply:
        return await self._send(lambda: self.encode_json(path, value))

    def encode_json(self, path: str, value: Any) -> bytes:
        """Return a POST as it goes over the wire."""
        return self._encode("POST", path, json.dumps(value).encode(), JSON)

    async def send_partly(self, path: str, value: Any, share: float) -> None:
        """POST only this share of a request, wait for nothing, and drop the connection."""
        data = self.encode_json(path, value)
        async with asyncio.timeout(self._timeout):
            writer = self._writer or (await self._connect())[1]
            writer.write(data[: round(share * len(data))])
            await writer.drain()
        await self.close()

    async def close(self) -> None:
        writer, self._reader, self._writer = self._writer, None, None
        if writer is not None:
            writer.close()
            with suppress(OSError):  # the other side was faster
                await writer.wait_closed()

    def _encode(self, method: str, path: str, body: bytes = b"", kind: str = "") -> bytes:
        host = self.origin.partition("://")[2]
        lines = [f"{method} {path} HTTP/1.1", f"host: {host}", *self._headers]
        if self._cookies:
            lines.append("cookie: " + "; ".join(f"{k}={v}" for k, v in self._cookies.items()))
        if method == "POST":
            lines += [f"origin: {self.origin}", "sec-fetch-site: same-origin"]
            lines += [f"content-type: {kind}", f"content-length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + body

    async def _send(self, encode: Callable[[], bytes]) -> Reply:
        return await self._send_once(encode())

    async def _send_once(self, data: bytes) -> Reply:
        """Send one request and return its reply.  It is sent again if the connection had been idle
        and the server closed it meanwhile."""
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
        reader, writer = self._reader, self._writer
        if reader is None or writer is None:
            reader, writer = await self._connect()
        writer.write(data)
        await writer.drain()
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").rstrip().split("\r\n")
            status = int(first.split(" ", 2)[1])
        except (asyncio.LimitOverrunError, IndexError, ValueError) as error:
            raise ConnectionError(f"{self.origin} does not speak HTTP/1.1") from error
        pairs = [line.partition(":")[::2] for line in lines]
        headers = {name.lower(): value.strip() for name, value in pairs}
        for text in (value for name, value in pairs if name.lower() == "set-cookie"):
            pair, *attributes = (part.strip() for part in text.split(";"))
            name, _, value = pair.partition("=")
            if value and "max-age=0" not in map(str.lower, attributes):
                self._cookies[name] = value
            else:
                self._cookies.pop(name, None)
        return status, headers, await _read_body(reader, status, headers)


async def _read_body(reader: asyncio.StreamReader, status: int, headers: dict[str, str]) -> bytes:
    if status in (204, 304):
        return b""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        parts = []
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            parts.append(await reader.readexactly(size))
            await reader.readexactly(2)
        while await reader.readuntil(b"\r\n") != b"\r\n":
            pass  # trailers hold nothing we need
        return b"".join(parts)
    if "content-length" in headers:
        return await reader.readexactly(int(headers["content-length"]))
    return await reader.read()


@dataclass
class Log:
    """What all visits at the same time met: seconds of requests by kind, what went wrong, how often
    the server asked somebody to slow down, and how many answers arrived."""

    progress: Progress | None = None
    latencies: defaultdict[Request, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    waits: int = 0
    expected: int = 0
    answered: int = 0

    def acknowledge(self) -> None:
        self.answered += 1
        if self.progress is not None:
            self.progress(self.answered, max(self.expected, self.answered))


class Refused(SoftlabelError):
    """The server refused something that people may do."""


class RetryingClient(Client):
    """Sends requests again while network or server cannot take them; logs times and failures."""

    def __init__(self, url: str, log: Log) -> None:
        super().__init__(url)
        self._log = log

    async def deliver(self, answer: dict[str, Any]) -> None:
        """Send an answer, under one id, until it is acknowledged."""
        begin = time.monotonic()

        def encode() -> bytes:
            answer["delivery"]["attempt"] += 1
            answer["delivery"]["queued_ms"] = round(1000 * (time.monotonic() - begin))
            return self.encode_json(ANSWERS, answer)

        reply = await self._send(encode)
        if reply.json()["acknowledged"] != answer["response_uuid"]:
            raise Refused(f"POST {ANSWERS} acknowledged another answer: {reply.text[:200]}")

    async def deliver_partly(self, answer: dict[str, Any], share: float) -> None:
        """Send this share of an answer, and lose the connection."""
        answer["delivery"]["attempt"] += 1
        with suppress(OSError):  # then the other side lost it first
            await self.send_partly(ANSWERS, answer, share)

    async def _send(self, encode: Callable[[], bytes]) -> Reply:
        begin, wait = time.monotonic(), FIRST_WAIT
        while True:
            late = time.monotonic() - begin > PATIENCE
            data = encode()
            method, path = data.split(b" ", 2)[:2]  # reported without what differs each time
            short = "/media" if path.startswith(b"/media/") else path.partition(b"?")[0].decode()
            what = f"{method.decode()} {short}"
            try:
                reply = await self._send_once(data)
            except OSError as error:
                self._log.errors[f"{what}: {type(error).__name__}"] += 1
                if late:
                    raise
            else:
                if reply.status < 400:
                    self._log.latencies[KINDS.get(short, "page")].append(reply.seconds)
                    return reply
                if reply.status == SLOWER:
                    self._log.waits += 1
                else:
                    self._log.errors[f"{what}: {reply.status}"] += 1
                if late or reply.status not in (SLOWER, LATER):
                    raise Refused(f"{what}: {reply.status} {reply.text[:200]}")
                wait = max(wait, float(reply.headers.get("retry-after", 0)))
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)
