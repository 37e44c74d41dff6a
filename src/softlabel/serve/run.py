"""The process: one study, one store, one port."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import uvicorn

from softlabel import study as studies
from softlabel.errors import SoftlabelError
from softlabel.serve import databases
from softlabel.serve.app import LOOPBACK, check_url, make_app
from softlabel.serve.clock import Clock
from softlabel.serve.databases import Choice
from softlabel.serve.people import put_study
from softlabel.serve.secret import Handover, open_secret, open_with_token
from softlabel.serve.wire import Gate, Wire, fitted

KEEP_ALIVE = 75  # seconds; people think longer than the 5 s after which uvicorn would hang up
BACKLOG = 2048
MINUTE = 60.0
Ready = Callable[[str], None]


def run(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    database: Choice = Choice(),  # noqa: B008  frozen
    url: str | None = None,
    token: Handover | None = None,
    ready: Ready | None = None,
) -> None:
    """Serve a study folder until the process is told to stop; what was acknowledged stays."""
    if url is not None:
        check_url(url)
    study, token = studies.read(folder), token or Handover()
    with (
        listening(host, port) as door,
        databases.opened(folder, study.name, database) as store,
    ):
        now = Clock(store.newest())
        if now.behind > MINUTE:
            tell(
                f"the clock of this machine is {now.behind / MINUTE:.0f} minutes behind the newest "
                "entry of the database: times go on from that entry"
            )
        put_study(study, store, now())
        token.check()
        # last of all that can fail: a token that was made but never shown is lost for good, and
        # so is the old one that it replaced
        if token.wanted:
            secret, made = open_with_token(folder, renew=token.renew)
        else:
            secret, made = open_secret(folder), None
        if made is not None:
            tell(token.give(made))
        databases.remember(folder, study.name, store, secret, now())
        for line in databases.remarks(store):
            tell(line)
        # a page elsewhere whose name is made to lead here must not reach a server of our own
        hosts = LOOPBACK if host in ("127.0.0.1", "localhost", "::1") else None
        app = make_app(study, store, secret, now=now, url=url, hosts=hosts)
        with stopping_quietly():
            Server(configured(app), study.name, url, ready).run([door])


def configured(app: object, wire: Wire | None = None) -> uvicorn.Config:
    """How uvicorn serves us: quietly, and with limits on connections."""
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=Gate(fitted(wire or Wire())),  # type: ignore[arg-type]  # makes protocols, as a class
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=10,
    )


def tell(text: str) -> None:
    """A line for whoever started us; stdout holds nothing but the address."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """An open door; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        door = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as wrong:
        raise SoftlabelError(
            f"cannot listen at {host}, port {port}: {wrong.strerror or wrong}; "
            "another --port may be free, and 0 takes any that is"
        ) from wrong
    with door:
        yield door


class Server(uvicorn.Server):
    """Says where it listens, once it does."""

    def __init__(
        self, config: uvicorn.Config, name: str, url: str | None, ready: Ready | None
    ) -> None:
        super().__init__(config)
        self.name, self.url, self.ready = name, url, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        assert sockets, "the door is opened before the server"
        host, port = sockets[0].getsockname()[:2]
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
        tell(f"the researcher's pages: {(self.url or address).rstrip('/')}/research")
        sys.stdout.write(f"softlabel serves {self.name} at {address}\n")
        sys.stdout.flush()
        if self.ready is not None:
            asyncio.get_running_loop().run_in_executor(None, self.ready, address)


@contextmanager
def stopping_quietly() -> Iterator[None]:
    """After it has shut down, uvicorn raises the signal again; by then it has done its work."""

    def ignore(number: int, frame: FrameType | None) -> None:
        pass

    before = {one: signal.signal(one, ignore) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
