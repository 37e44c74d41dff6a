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

    def said(self) -> str:
        return _read(self._output)


@contextmanager
def serving(folder: Path, *options: str, before: Sequence[str] = ()) -> Iterator[Server]:
    """Serve a study on a free loopback port, and stop when it is no longer needed.

    ``options`` go to ``softlabel serve``; ``before`` are words before the whole command, for
    instance ``("taskset", "-c", "0")``.
    """
    command = [*before, sys.executable, "-m", "softlabel", "serve", str(folder), "--port", "0"]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([*command, *options], stdout=output, stderr=subprocess.STDOUT)
        try:
            yield Server(_address(process, output), process, output)
        finally:
            _stop(process)


def _address(process: subprocess.Popen[bytes], output: IO[bytes]) -> str:
    """Where it listens, as soon as it says so."""
    end = time.monotonic() + PATIENCE
    while True:
        running = process.poll() is None  # looked at first: what it said last is read after
        said = _read(output)
        if found := LISTENS.search(said):
            return found[1]
        if not running or time.monotonic() > end:
            raise SoftlabelError("the server did not start: " + " ".join(said.split("\n")[-5:]))
        time.sleep(0.02)


def _read(output: IO[bytes]) -> str:
    """All that was written; the writer's place in the file is shared and must not move."""
    number = output.fileno()
    return os.pread(number, os.fstat(number).st_size, 0).decode(errors="replace")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
