"""What this machine could do at best: the two limits that throughput is held against."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import uvloop
from asking.wire import connect

from softlabel.simulate.client import Client

ECHO = """
import socket, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

async def echo(request):
    await request.body()
    return Response(b'{"acknowledged":"00000000-0000-4000-8000-000000000000"}')

app = Starlette(routes=[Route("/api/answers", echo, methods=["POST"])])
config = uvicorn.Config(app, log_level="warning", access_log=False)
uvicorn.Server(config).run([socket.socket(fileno=int(sys.argv[1]))])
"""
BODY = {
    "response_uuid": "00000000-0000-4000-8000-000000000000",
    "position": 3,
    "answer": {"top": "cat", "certainty": 4, "alternatives": ["dog"], "excluded": [], "rest": "x"},
    "timing": {"first_input_ms": 1200, "submit_ms": 2300, "active_ms": 2300, "hidden_ms": 0},
}


def echo(clients: int, seconds: float, core: int) -> float:
    """Replies per second of a bare uvicorn and Starlette that read a body and keep nothing."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen(1024)
        number = door.fileno()
        words = ["taskset", "-c", str(core), sys.executable, "-c", ECHO, str(number)]
        process = subprocess.Popen(words, pass_fds=[number])
        try:
            port = door.getsockname()[1]
            return uvloop.run(_flood(f"http://127.0.0.1:{port}", clients, seconds))
        finally:
            process.terminate()
            process.wait()


async def _flood(url: str, clients: int, seconds: float) -> float:
    request = Client(url).encode_json("/api/answers", BODY)

    async def one() -> int:
        wire, done = await connect(url), 0
        await wire.ask(request)
        await ready.wait()
        while time.perf_counter() < end:
            await wire.ask(request)
            done += 1
        wire.close()
        return done

    ready, end = asyncio.Event(), 0.0
    jobs = [asyncio.create_task(one()) for _ in range(clients)]
    await asyncio.sleep(1)
    end = time.perf_counter() + seconds
    ready.set()
    return sum(await asyncio.gather(*jobs)) / seconds


def commits(folder: Path, seconds: float, core: int) -> float:
    """Durable commits of one row per second, by SQLite alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    database = sqlite3.connect(folder / f"{time.time_ns()}.db", isolation_level=None)
    for setting in ("journal_mode=WAL", "synchronous=FULL"):
        database.execute(f"PRAGMA {setting}").fetchall()
    database.execute("CREATE TABLE response (id INTEGER PRIMARY KEY, payload TEXT)")
    row: tuple[Any, ...] = (json.dumps(BODY),)
    done, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        database.execute("INSERT INTO response (payload) VALUES (?)", row)
        done += 1
    database.close()
    os.sched_setaffinity(0, before)
    return done / seconds
