"""A server process of our own, for as long as it is needed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from softlabel.errors import SoftlabelError

PATIENCE = 60.0  # seconds to start, or to stop
LISTENS = re.compile(r" at (http://\S+?)/?\s")


@dataclass(frozen=True, eq=False)
class Server:
    """A running ``softlabel serve``: its address, its process, and what it printed."""

    url: str
    process: subprocess.Popen[bytes]
    _output: IO[bytes]

    def read_output(self) -> str:
        return _read_all(self._output)


@contextmanager
def run_server(folder: Path, *options: str, before: Sequence[str] = ()) -> Iterator[Server]:
    """Serve a study on a free loopback port, and stop when it is no longer needed.

    ``options`` go to ``softlabel serve``; ``before`` are words before the whole command, for
    instance ``("taskset", "-c", "0")``.
    """
    command = [*before, sys.executable, "-m", "softlabel", "serve", str(folder), "--port", "0"]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([*command, *options], stdout=output, stderr=subprocess.STDOUT)
        try:
            yield Server(_wait_for_address(process, output), process, output)
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for_address(process: subprocess.Popen[bytes], output: IO[bytes]) -> str:
    """Wait until the server prints where it listens."""
    end = time.monotonic() + PATIENCE
    while True:
        running = process.poll() is None  # looked at first, so that its last words are read
        printed = _read_all(output)
        if address := LISTENS.search(printed):
            return address[1]
        if not running or time.monotonic() > end:
            raise SoftlabelError("the server did not start: " + " ".join(printed.split("\n")[-5:]))
        time.sleep(0.02)


def _read_all(output: IO[bytes]) -> str:
    """Read without moving the writer's place in the file, which is shared."""
    number = output.fileno()
    return os.pread(number, os.fstat(number).st_size, 0).decode(errors="replace")
