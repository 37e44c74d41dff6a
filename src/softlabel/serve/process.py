"""The process that serves a study: one study, one store, one port."""

import asyncio
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from softlabel import study as studies
from softlabel.errors import SoftlabelError
from softlabel.serve import databases, recruit
from softlabel.serve.app import LOOPBACK, check_url, make_app
from softlabel.serve.connections import ConnectionLimits, Gate, fit_to_system
from softlabel.serve.databases import Choice
from softlabel.serve.secret import Handover, open_secret, open_with_token
from softlabel.serve.site import Clock

MINUTE = 60.0
LOCAL = ("127.0.0.1", "localhost", "::1")
Ready = Callable[[str], object]


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
    """Serve a study folder until the process is stopped; no acknowledged answer is lost."""
    if url is not None:
        check_url(url)
    study, token = studies.read(folder), token or Handover()
    if study.recruit.signed and url is None and host not in LOCAL:
        raise SoftlabelError(
            "study.toml, recruit.signed = true: signed links are made for one host, so serve needs "
            "--url with the public address, such as https://birds.example.org"
        )
    with (
        listen(host, port) as listener,
        databases.open_checked(folder, study.name, database) as store,
    ):
        now = Clock(store.newest())
        if now.behind > MINUTE:
            _print_error(
                f"the clock of this machine is {now.behind / MINUTE:.0f} minutes behind the newest "
                "entry of the database: times go on from that entry"
            )
        databases.put_study(study, store, now())
        token.check()
        # last of all that can fail: a token that was made but never shown is lost for good, and
        # so is the old one that it replaced
        if token.wanted:
            secret, made = open_with_token(folder, renew=token.renew)
            if made is not None:
                _print_error(token.deliver(made))
        else:
            secret = open_secret(folder)
        databases.remember(folder, study.name, store, secret, now())
        for line in databases.warnings(store):
            _print_error(line)
        # a foreign page whose name resolves to this machine must not reach a local server
        hosts = LOOPBACK if host in LOCAL else None
        app = make_app(study, store, secret, now=now, url=url, hosts=hosts)
        asking = recruit.submissions.keep_asking(study, store, secret)
        with ignore_signals(), asking, app.state.beside:
            Server(configure(app), study.name, url, ready).run([listener])


def configure(app: object, limits: ConnectionLimits | None = None) -> uvicorn.Config:
    """Return uvicorn's configuration: few log lines, and limits on connections."""
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=Gate(fit_to_system(limits or ConnectionLimits())),  # type: ignore[arg-type]  # a factory
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_keep_alive=75,  # s; people think longer than the 5 s that uvicorn would wait
        timeout_graceful_shutdown=10,
    )


def _print_error(text: str) -> None:
    """Print a line on stderr; stdout holds nothing but the address."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as wrong:
        raise SoftlabelError(
            f"cannot listen at {host}, port {port}: {wrong.strerror or wrong}; "
            "another --port may be free, and 0 takes any that is"
        ) from wrong
    # connections inherit it; asyncio does not set it on those of such a socket, and then the second
    # part of a reply waits 40 ms until the first is acknowledged
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


class Server(uvicorn.Server):
    """Print the address as soon as the server listens."""

    def __init__(self, config: uvicorn.Config, name: str, url: str | None, ready: Ready | None):
        super().__init__(config)
        self.name, self.url, self.ready = name, url, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        assert sockets, "the socket is opened before the server"
        host, port = sockets[0].getsockname()[:2]
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
        opened = self.announce(address)
        if self.ready is not None:
            asyncio.get_running_loop().run_in_executor(None, self.ready, opened)

    def announce(self, address: str) -> str:
        """Print the address; return the one to open."""
        _print_error(f"the researcher's pages: {(self.url or address).rstrip('/')}/research")
        sys.stdout.write(f"softlabel serves {self.name} at {address}\n")
        sys.stdout.flush()
        return address


@contextmanager
def ignore_signals() -> Iterator[None]:
    """Ignore the signal that uvicorn raises again after it has shut down."""
    both = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, frame: None) for number in both]
    try:
        yield
    finally:
        for number, handler in zip(both, before, strict=True):
            signal.signal(number, handler)
