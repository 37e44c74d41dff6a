"""The dashboard, served by a real server, and a researcher who knows the token."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
import uvicorn

from softlabel.serve.app import make_app
from softlabel.serve.guard import Limits
from softlabel.serve.secret import Secret, hash_token

TOKEN = "the-token-that-was-printed-once"


class Served:
    """A world behind an address; ``ahead`` moves the server's clock."""

    def __init__(self, world: Any, stack: ExitStack, limits: Limits | None = None) -> None:
        self.world, self.ahead = world, 0.0
        self.secret = Secret(b"k" * 32, hash_token(TOKEN))
        app = make_app(
            world.study, world.store, self.secret, now=lambda: world.now + self.ahead, limits=limits
        )
        door = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.url = f"http://127.0.0.1:{door.getsockname()[1]}"
        config = uvicorn.Config(
            app, log_level="critical", lifespan="off", timeout_graceful_shutdown=5
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([door],))
        thread.start()
        stack.callback(thread.join)
        stack.callback(setattr, server, "should_exit", True)
        while not server.started:
            time.sleep(0.005)
        self._stack = stack

    def browser(self, **headers: str) -> httpx.Client:
        """Somebody who has not logged in; comes from our own page unless told otherwise."""
        own = {"sec-fetch-site": "same-origin"} | headers
        return self._stack.enter_context(
            httpx.Client(base_url=self.url, headers=own, timeout=120, follow_redirects=False)
        )

    def researcher(self) -> httpx.Client:
        client = self.browser()
        assert client.post("/research/login", data={"token": TOKEN}).status_code == 303
        return client

    def computed(self, client: httpx.Client) -> str:
        """The overview, once everything on it is there."""
        for _ in range(200):
            page = client.get("/research").text
            if "being computed" not in page:
                return page
            time.sleep(0.02)
        raise AssertionError("the numbers were never computed")


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    with ExitStack() as stack:
        yield lambda world, **options: Served(world, stack, **options)
