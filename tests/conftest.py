"""Shared by all tests: a small table of names, and real data where the user has them."""

from __future__ import annotations

import fcntl
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from softlabel import Index

# Read when torch is first imported, by whichever test comes first.  Workers train with one
# thread, and bits are promised for a fixed number of threads only.
os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

# no wall-clock judgements on shared machines; the same examples in every run
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

SLOW = Path(__file__).with_name("slow.txt")  # written by tools/slow.py from a measured run


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", action="store_true", help="leave out the tests that tests/slow.txt lists"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With ``--quick``, deselect slow tests: a line names a file, or a test in it."""
    if not config.getoption("--quick"):
        return
    slow = set(SLOW.read_text(encoding="utf-8").split("\n"))
    kept, left_out = [], []
    for item in items:
        name = item.nodeid.partition("[")[0]
        is_slow = name in slow or name.partition("::")[0] in slow
        (left_out if is_slow else kept).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


CIFAR = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets; tests that need it are skipped, and counted, without it."""
    folder = os.environ.get("SOFTLABEL_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("SOFTLABEL_DATA names no folder: real-data test not run")
    return Path(folder)


@pytest.fixture
def birds() -> Index:
    """Twelve items, four annotators, three classes."""
    return Index(
        [f"bird-{i}" for i in range(12)],
        ["ann", "bob", "cleo", "dan"],
        ["sparrow", "wren", "finch"],
    )


@pytest.fixture(scope="session")
def cifar() -> Index:
    """One image, one person, the ten classes of CIFAR-10."""
    return Index(["405"], ["someone"], CIFAR)


CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIETLY = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


@pytest.fixture(scope="module")  # while it lives, asyncio cannot be used in the same thread
def chromium() -> Iterator[Any]:
    """A real browser, the machine's own or Playwright's; without one its tests are skipped, and
    counted."""
    from playwright.sync_api import Error, sync_playwright

    found = next((path for path in map(shutil.which, CHROMIUM) if path), None)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found, args=list(QUIETLY))
        except Error as error:
            pytest.skip(f"no Chromium, so this browser test is not run ({error.message:.80})")
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    """A real PostgreSQL of this test run's own, stopped and removed at its end."""
    with warnings.catch_warnings():  # it asks for a runtime folder and then does without
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        import pgserver
    # not in pytest's folder, which the next run closes to the user that PostgreSQL runs as
    folder = tempfile.mkdtemp(prefix="softlabel-postgres-")
    server = pgserver.get_server(folder, cleanup_mode="delete")
    # what the tests ask of it is not whether the disk of the test machine works
    server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")
    yield server
    server.cleanup()


@pytest.fixture(scope="session")
def new_postgres(postgres_server: Any) -> Callable[[], str]:
    """Makes fresh and empty PostgreSQL databases, which go with their server."""
    import psycopg

    def make() -> str:
        name = f"test_{next(_databases)}"
        with psycopg.connect(postgres_server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return str(postgres_server.get_uri(name))

    return make


@pytest.fixture
def postgres_url(new_postgres: Callable[[], str]) -> str:
    """A fresh and empty PostgreSQL database."""
    return new_postgres()


_databases = count()


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one demo with seed 0, made once for all workers of a test run.

    What it printed is in ``output.txt`` beside the folder.
    """
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # common to all workers
    output = base / "demo" / "output.txt"
    output.parent.mkdir(exist_ok=True)
    folder = output.with_name("report")
    with (output.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the others wait for the first
        if not output.is_file():
            done = subprocess.run(
                [sys.executable, "-m", "softlabel", "demo", str(folder)],
                capture_output=True,
                text=True,
                check=False,
                timeout=1200,
            )
            assert done.returncode == 0, done.stderr
            output.write_text(done.stdout, encoding="utf-8")
    return folder


class Served:
    """A server process of its own: where it listens, and ways to end it."""

    def __init__(self, words: list[str], log: Path) -> None:
        self.log = log
        with log.open("a") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "softlabel", "serve", *words],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.url = self._wait()

    def _wait(self, seconds: float = 60) -> str:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        line = self.process.stdout.readline() if ready else ""
        found = re.fullmatch(r"softlabel serves \S+ at (http://\S+)/\n", line)
        if found is None:
            self.end(signal.SIGKILL)
            raise AssertionError(f"the server said {line!r} and {self.log.read_text()!r}")
        return found[1]

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Send the signal and wait; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@pytest.fixture
def serve_study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Served]]:
    """Real server processes on free ports: ``serve_study(folder, "--db", url)``.

    The same log file takes what each says on stderr; whatever still runs after the test is ended.
    """
    log = tmp_path_factory.mktemp("served") / "log.txt"
    started: list[Served] = []

    def start(folder: Path, *options: object, port: int = 0) -> Served:
        words = [str(folder), "--port", str(port), *map(str, options)]
        started.append(Served(words, log))
        return started[-1]

    yield start
    for served in started:
        served.end(signal.SIGKILL)
