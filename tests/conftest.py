"""Shared by all tests: a small table of names, and real data where the user has them."""

from __future__ import annotations

import fcntl
import gc
import inspect
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from importlib.util import module_from_spec, spec_from_file_location
from itertools import count
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Read when numpy and torch are first imported, so before anything of ours is.  Workers train with
# one thread, and bits are promised for a fixed number of threads only; there are more workers than
# cores, and threads that wait for each other only take them away.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

from softlabel import Index

# A client reads the list of authorities when it is made, which takes longer than what most tests
# ask of it; none of them has a list of its own.
ssl.create_default_context = cache(ssl.create_default_context)

# FastAPI asks where each handler of an application is written; applications of tests share theirs.
_find_source = inspect.getsourcelines
_find_source_once = cache(_find_source)


def find_source(thing: Any) -> tuple[list[str], int]:
    """Return what ``inspect.getsourcelines`` does; the second time for a piece of code at once."""
    code = getattr(inspect.unwrap(thing), "__code__", None)
    return _find_source_once(code) if isinstance(code, CodeType) else _find_source(thing)


inspect.getsourcelines = find_source

MEMORY, ROOM = Path("/dev/shm"), 6 * 2**30  # bytes; a whole run writes less than half of that


def has_room(folder: Path) -> bool:
    """Return whether the folders of a whole run can be kept there, in memory."""
    try:
        told = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        space = os.statvfs(folder)
    except OSError:
        return False
    left = 1024 * int(told["MemAvailable"].split()[0])
    return os.access(folder, os.W_OK) and min(left, space.f_bavail * space.f_frsize) > ROOM


# Where pytest puts the folders of tests: databases in them wait thousands of times until the disk
# has written, and what the tests ask is not whether the disk works.
if "PYTEST_DEBUG_TEMPROOT" not in os.environ and has_room(MEMORY):
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY)

# no wall-clock judgements on shared machines; the same examples in every run
settings.register_profile(
    "steady",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("steady"), max_examples=25)
settings.load_profile("steady")

_spec = spec_from_file_location("warm", Path(__file__).with_name("warm.py"))
assert _spec is not None
assert _spec.loader is not None
warm = module_from_spec(_spec)
_spec.loader.exec_module(warm)

GARBAGE = (200_000, 50, 100)  # thresholds of the collector; Python's are (700, 10, 10)
SLOW = Path(__file__).with_name("slow.txt")  # written by tools/slow.py from a measured run


# fixtures that start programs, which takes seconds in every worker
SERVICES = ("launch_chromium", "postgres_server", "cluster_client")
POSTGRES = "postgres"  # as a parameter: a fixture that is asked for only then


def needs_service(item: pytest.Item) -> bool:
    """Return True if a test is run with one of ``SERVICES``."""
    if not isinstance(item, pytest.Function):
        return False
    case = item.callspec.params if hasattr(item, "callspec") else {}
    postgres = any(isinstance(one, str) and one == POSTGRES for one in case.values())
    return postgres or not set(SERVICES).isdisjoint(item.fixturenames)


def pytest_xdist_auto_num_workers() -> int:
    """Return half as many again as there are cores, because tests wait for their programs."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (3 * (cores or 1) + 1) // 2


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick",
        action="store_true",
        help="leave out the tests that tests/slow.txt lists, and those with a real browser, "
        "PostgreSQL or cluster",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--quick"):
        settings.load_profile("quick")  # half of the examples, where a test does not say


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """No module or test is garbage while tests are collected, nor later: do not look for it.

    Then look seldom.  What tests leave is small, and what they import meanwhile is not.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*GARBAGE)
        gc.enable()


def _list_slow(config: pytest.Config) -> set[str]:
    """With ``--quick``, the lines of the list: files, and tests in other files."""
    return set(SLOW.read_text("utf-8").split("\n")) if config.getoption("--quick") else set()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import a file whose tests are slow."""
    name = collection_path.relative_to(config.rootpath).as_posix()
    return True if name in _list_slow(config) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the slow tests of the other files, and those that need one of ``SERVICES``."""
    slow = _list_slow(config)
    kept, left_out = [], []
    for item in items:
        long = item.nodeid.partition("[")[0] in slow or (bool(slow) and needs_service(item))
        (left_out if long else kept).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


CIFAR = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


@pytest.fixture(scope="session")
def unpack_once() -> Iterator[None]:
    """A worker unpacks a file of CIFAR-10 once: its compression takes a second and a half."""
    from softlabel.datasets import cifar10

    read = cifar10.read_npz

    @cache
    def read_file(path: Path, inode: int, changed: int, *wanted: str) -> dict[str, Any]:
        arrays = read(path, *wanted)
        for array in arrays.values():
            array.flags.writeable = False
        return arrays

    def read_again(path: Path, *wanted: str) -> dict[str, Any]:
        about = path.stat()
        return dict(read_file(path, about.st_ino, about.st_mtime_ns, *wanted))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cifar10, "read_npz", read_again)
        yield


@pytest.fixture(scope="session")
def data_folder(unpack_once: None) -> Path:
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


CHROMIUM = (
    "chromium-headless-shell",  # the same pages without a window around them, which costs as much
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
)
QUIETLY = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
    *("--process-per-site", "--renderer-process-limit=1"),  # tabs of a context share a process
)


@pytest.fixture(scope="session")
def launch_chromium() -> Callable[[], AbstractContextManager[Any]]:
    """Starts a real browser, the machine's own or Playwright's; without one its tests are skipped,
    and counted.  While it runs, asyncio cannot be used in the same thread."""

    @contextmanager
    def launch() -> Iterator[Any]:
        from playwright.sync_api import Error, expect, sync_playwright

        expect.set_options(timeout=60_000)  # as long as a test waits for anything else
        found = next((path for path in map(shutil.which, CHROMIUM) if path), None)
        with sync_playwright() as playwright:
            try:
                browser = playwright.chromium.launch(executable_path=found, args=list(QUIETLY))
            except Error as error:
                pytest.skip(f"no Chromium, so this browser test is not run ({error.message:.80})")
            yield browser
            browser.close()

    return launch


@pytest.fixture(scope="module")
def chromium(launch_chromium: Callable[[], AbstractContextManager[Any]]) -> Iterator[Any]:
    """A real browser."""
    with launch_chromium() as browser:
        yield browser


RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
OF_COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
RUN_AXE = """(rules) => axe
  .run({runOnly: rules, resultTypes: ["violations"]})
  .then((found) => found.violations.map((one) => [one.id, one.nodes.map((node) => node.html)]))"""


@pytest.fixture(scope="session")
def check() -> Callable[..., None]:
    """WCAG 2.2 AA: axe finds nothing on the page.

    With ``colours``, its rules about colours alone: the others judge a page the same by day and by
    night.
    """
    from axe_playwright_python.sync_playwright import Axe

    script = Axe().axe_script

    def look(page: Any, *, colours: bool = False, name: str = "") -> None:
        if page.evaluate("typeof axe") == "undefined":
            page.evaluate(script)
        found = page.evaluate(RUN_AXE, OF_COLOURS if colours else RULES)
        assert not found, (name or page.url, found)

    return look


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    """A real PostgreSQL of this test run's own, stopped and removed at its end."""
    with warnings.catch_warnings():  # it asks for a runtime folder and then does without
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        pgserver = pytest.importorskip(
            "pgserver", reason="no PostgreSQL: pgserver is not installed", exc_type=ImportError
        )
    # not in pytest's folder, which the next run closes to the user that PostgreSQL runs as; in
    # memory if possible, because every database has hundreds of files to write and to remove
    place = MEMORY if has_room(MEMORY) else None
    folder = tempfile.mkdtemp(prefix="softlabel-postgres-", dir=place)
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
def run_demo_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make the folder of a demo with seed 0, once for all workers of a test run.

    What it printed is in ``output.txt`` beside the folder.
    """
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # common to all workers

    def run(name: str, before: str, prepare: Callable[[Path], object] | None = None) -> Path:
        """``before`` is a line of Python; ``prepare`` is called with the folder."""
        folder = base / name / "report"
        output = folder.with_name("output.txt")
        output.parent.mkdir(exist_ok=True)
        with (output.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the others wait for the first
            if not output.is_file():
                if prepare is not None:
                    prepare(folder)
                program = f"import sys; {before}; from softlabel.cli import main; sys.exit(main())"
                done = subprocess.run(
                    [sys.executable, "-c", program, "demo", str(folder)],
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=1200,
                )
                assert done.returncode == 0, done.stderr
                output.write_text(done.stdout, encoding="utf-8")
        return folder

    return run


@pytest.fixture(scope="session")
def demo_folder(run_demo_once: Callable[..., Path]) -> Path:
    """The folder of the demo with half of its epochs, after which networks differ as clearly."""
    load = "from softlabel.cli.demo import load_demo as load"
    names = "demo, findings = load('demo'), load('findings')"
    epochs = "demo.EPOCHS = findings.EPOCHS = findings.EPOCHS // 2"
    return run_demo_once("demo", f"{load}; {names}; {epochs}")


class Served:
    """A server process of its own: where it listens, and ways to end it."""

    def __init__(self, start: Callable[..., Any], words: list[str], log: Path) -> None:
        self.log = log
        with log.open("a") as errors:
            self.process = start(["serve", *words], errors)
        self.url = self._wait()

    def _wait(self, seconds: float = 60) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline() if warm.wait(self.process.stdout, seconds) else ""
        found = re.fullmatch(r"softlabel serves \S+ at (http://\S+)/\n", line)
        if found is None:
            self.end(signal.SIGKILL)
            raise AssertionError(f"the server said {line!r} and {self.log.read_text()!r}")
        return found[1]

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Send the signal and wait; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@pytest.fixture(scope="session")
def start_softlabel() -> Iterator[Callable[..., Any]]:
    """Start ``softlabel`` with these words, in a process that is forked from a warm one."""
    with tempfile.TemporaryDirectory(prefix="softlabel-warm-") as folder:  # a short name
        place = Path(folder) / "socket"
        process = warm.start(place)
        yield partial(warm.Fork, place)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(30)


@pytest.fixture(scope="session")
def warm_path(start_softlabel: Callable[..., Any]) -> Path:
    """A folder for PATH, whose ``softlabel`` is forked from a warm process, too."""
    (place,) = start_softlabel.args  # type: ignore[attr-defined]
    command = place.with_name("softlabel")
    command.write_text(
        warm.COMMAND.format(python=sys.executable, place=str(place)), encoding="utf-8"
    )
    command.chmod(0o700)
    return Path(command.parent)


@pytest.fixture(scope="session")
def run_softlabel(
    start_softlabel: Callable[..., Any],
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``softlabel`` with these words in a process of its own, and wait for its end."""

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        typed = [str(word) for word in words]
        with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
            process = start_softlabel(typed, errors)
            with process.stdout:
                printed = process.stdout.read()
            code = process.wait(600)
            errors.seek(0)
            return subprocess.CompletedProcess(typed, code, printed, errors.read())

    return run


@pytest.fixture
def serve_study(
    tmp_path_factory: pytest.TempPathFactory, start_softlabel: Callable[..., Any]
) -> Iterator[Callable[..., Served]]:
    """Real server processes on free ports: ``serve_study(folder, "--db", url)``.

    The same log file takes what each says on stderr; whatever still runs after the test is ended.
    """
    log = tmp_path_factory.mktemp("served") / "log.txt"
    started: list[Served] = []

    def start(folder: Path, *options: object, port: int = 0) -> Served:
        words = [str(folder), "--port", str(port), *map(str, options)]
        started.append(Served(start_softlabel, words, log))
        return started[-1]

    yield start
    for served in started:
        served.end(signal.SIGKILL)
