"""Processes of softlabel that start at once: each is a fork of one that has imported everything.

    python tests/warm.py SOCKET

Importing what a server needs takes 20 times as long as starting it.  Ends when its stdin does.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

# what a shell finds as ``softlabel``: asks for a fork and waits for its end
COMMAND = """\
#!{python} -SE
import json, os, socket, sys

line = socket.socket(socket.AF_UNIX)
line.connect({place!r})
wanted = json.dumps(dict(words=sys.argv[1:], cwd=os.getcwd(), env=dict(os.environ))).encode()
socket.send_fds(line, [len(wanted).to_bytes(8, "big")], [1, 2, 0])
line.sendall(wanted)
pid, code = (line.recv(8, socket.MSG_WAITALL) for _ in range(2))
sys.exit(int.from_bytes(code, "big", signed=True))
"""


class Fork:
    """A running command, with the part of ``subprocess.Popen`` that tests use."""

    def __init__(self, place: Path, words: list[str], errors: IO[Any]) -> None:
        self.returncode: int | None = None
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(str(place))
        reader, writer = os.pipe()
        self.stdout = os.fdopen(reader, encoding="utf-8")
        wanted = json.dumps({"words": words, "cwd": os.getcwd(), "env": dict(os.environ)}).encode()
        socket.send_fds(self._line, [len(wanted).to_bytes(8, "big")], [writer, errors.fileno()])
        os.close(writer)
        self._line.sendall(wanted)
        self.pid = int.from_bytes(self._line.recv(8, socket.MSG_WAITALL), "big")

    def send_signal(self, how: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, how)

    def poll(self) -> int | None:
        return self._ask(0)

    def wait(self, timeout: float) -> int:
        code = self._ask(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("softlabel", timeout)
        return code

    def _ask(self, seconds: float) -> int | None:
        if self.returncode is None and wait(self._line, seconds):
            told = self._line.recv(8, socket.MSG_WAITALL)
            self.returncode = int.from_bytes(told, "big", signed=True)
            self._line.close()
        return self.returncode


def wait(file: Any, seconds: float) -> bool:
    """Return whether there is something to read; unlike select, for any number of open files."""
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(1000 * seconds))


def start(place: Path) -> subprocess.Popen[bytes]:
    """Start the process that forks, and wait until it listens."""
    words = [sys.executable, __file__, str(place)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    while not place.exists():
        assert process.poll() is None, "the process that forks has ended"
        time.sleep(0.02)
    return process


def fork_on_request(place: str) -> list[str]:
    """Return in every fork, with the words of its command."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{place}.new")
        listener.listen(64)
        os.rename(f"{place}.new", place)
        while True:
            ready, _, _ = select.select([listener, sys.stdin], [], [])
            if listener not in ready:
                os._exit(0)
            line, _ = listener.accept()
            if os.fork() == 0:
                break
            line.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, (out, errors, *given), _, _ = socket.recv_fds(line, 8, 3)
    wanted = json.loads(line.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
    if pid := os.fork():
        os.close(out)
        line.sendall(pid.to_bytes(8, "big"))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        line.sendall(code.to_bytes(8, "big", signed=True))
        os._exit(0)
    line.close()
    stdin = given[0] if given else os.open(os.devnull, os.O_RDONLY)
    for ours, its in ((stdin, 0), (out, 1), (errors, 2)):
        os.dup2(ours, its)
        os.close(ours)
    os.chdir(wanted["cwd"])
    os.environ.clear()
    os.environ.update(wanted["env"])
    return list(wanted["words"])


if __name__ == "__main__":
    import alembic.command  # noqa: F401  what a server imports when it starts
    import psycopg  # noqa: F401
    import uvicorn.loops.auto  # noqa: F401

    import softlabel.serve.process
    import softlabel.serve.recruit.prolific
    import softlabel.train.worker  # noqa: F401  torch, which takes longest
    from softlabel.cli import main

    main(["--version"])  # puts all commands together
    gc.freeze()  # or a fork would copy everything to look for garbage in it
    code = main(fork_on_request(sys.argv[1]))
    # end as the interpreter does, but leave what was imported to the system: to free it takes
    # longer than most commands
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with suppress(BrokenPipeError):
        sys.stdout.flush()
    os._exit(code)
