"""The documentation is true: everything has its page, and every example runs."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import select
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import typer

from softlabel import datasets, errors, registry
from softlabel.cli import app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FOLDERS = {
    "mode": "modes",
    "construct": "constructions",
    "aggregate": "pools",
    "deliver": "deliver",
}
NEEDS_DATA = "<!-- needs: SOFTLABEL_DATA -->"
NEEDS_PACKAGE = re.compile(r"<!-- needs: ([a-z]+) -->")
BLOCK = re.compile(r"^```(\w+)( [^\n]*)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)(#[^)]*)?\)")

MEMBERS = [(family, name) for family in FOLDERS for name in registry.members(family)]


@pytest.mark.parametrize(("family", "name"), MEMBERS)
def test_every_strategy_has_a_page_with_all_its_parameters(family, name):
    page = (DOCS / FOLDERS[family] / f"{name}.md").read_text()
    assert page.startswith(f"# `{name}`")
    kind = registry.get(family, name)
    for parameter, (_, default) in registry.parameters(kind).items():
        assert f"`{parameter}`" in page, f"{name}: parameter {parameter} is not documented"
        assert f"`{default}`" in page, f"{name}: default {default} of {parameter} is not documented"
    assert kind.paper in page, f"{name}: the page does not name {kind.paper}"


@pytest.mark.parametrize("name", registry.members("mode"))
def test_every_field_of_a_mode_is_documented(name):
    page = (DOCS / "modes" / f"{name}.md").read_text()
    for field in registry.get("mode", name).fields:
        assert f"`{field.name}`" in page
        assert field.asks in page


def test_every_metric_is_documented():
    page = (DOCS / "metrics.md").read_text()
    missing = [name for name in registry.members("metric") if f"`{name}`" not in page]
    assert not missing


def test_the_page_of_commands_is_what_the_program_says():
    spec = importlib.util.spec_from_file_location("commands", ROOT / "tools" / "commands.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert (DOCS / "commands.md").read_text() == tool.page(), "run make docs"


def test_every_command_has_an_example():
    """Besides its help: it is written out, with words after it or not, on some other page."""
    pages = (page.read_text() for page in PAGES if page.name != "commands.md")
    written = "\n".join(pages)
    missing = [
        " ".join(words)
        for words in list_commands(typer.main.get_command(app))
        if not re.search(rf"(^\$ |`|^|; )softlabel {' '.join(words)}\b", written, re.MULTILINE)
    ]
    assert not missing


def list_commands(command, words=()):
    parts = getattr(command, "commands", None)
    if parts is None:
        return [words]
    return [found for name, part in parts.items() for found in list_commands(part, (*words, name))]


def test_every_error_is_documented():
    page = (DOCS / "errors.md").read_text()
    kinds = [*vars(errors).values(), *vars(datasets).values()]
    names = {kind.__name__ for kind in kinds if isinstance(kind, type)}
    wanted = {name for name in names if name.endswith(("Error", "Name", "Data"))}
    assert {"MissingData", "FileError", "UnknownName"} <= wanted
    missing = [name for name in wanted if f"`{name}`" not in page]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target, _ in LINK.findall(page.read_text()):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name}: no such file {target}"


def test_the_result_in_the_readme_is_computed():
    """Each number of "One result" is printed by the page that computes it."""
    said = (ROOT / "README.md").read_text().split("**One result.**")[1].split("\n\n")[0]
    printed = (DOCS / "frontier.md").read_text()
    numbers = re.findall(r"\d*\.\d+ \[[\d., -]+\]|\d*\.\d+", said)
    assert len(numbers) > 5
    for number in numbers:
        assert number in printed, f"README says {number}; docs/frontier.md does not"


def blocks(page):
    return [(language, text) for language, _, text in BLOCK.findall(page.read_text())]


RUN = [page for page in PAGES if any(kind in ("pycon", "console") for kind, _ in blocks(page))]
FILE = re.compile(r"# ([\w-]+\.py|[\w-]+/study\.toml)\n")  # the first line of a file to write


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page, tmp_path, monkeypatch, request, warm_path, start_softlabel):
    """``pycon`` blocks share one namespace, ``console`` blocks one folder, in order.

    A ``console NAME`` block is in a terminal of that name, where one command runs until the page
    ends.  ``$ export NAME=VALUE`` is for all terminals.  Ports are replaced by free ones.
    """
    text = page.read_text()
    skip_without(text, request)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for family, known in registry.families().items():  # what an example registers is forgotten
        monkeypatch.setitem(registry.FAMILIES, family, dict(known))
    names: dict[str, object] = {}
    for port in dict.fromkeys(re.findall(r"--port ([1-9]\d+)", text)):
        text = text.replace(port, str(find_port()))
    with ExitStack() as stack:
        terminals: dict[str, Terminal] = {}
        for number, (language, where, block) in enumerate(BLOCK.findall(text)):
            if language == "pycon":
                run_python(block, names, f"{page.name}, block {number}")
            elif language == "console" and where:
                open_terminal(terminals, where, stack, start_softlabel).show(block)
            elif language == "console":
                run_console(block, tmp_path, warm_path, monkeypatch.setenv)
            elif written := FILE.match(block):  # a file the reader is told to write
                (tmp_path / written[1]).write_text(block)


def open_terminal(terminals, name, stack, start):
    """Return the terminal of this name; a new one is closed with the stack."""
    if name not in terminals:
        terminals[name] = Terminal(start, Path(f"terminal-{len(terminals)}.log"))
        stack.callback(terminals[name].close)
    return terminals[name]


def find_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as door:
        return int(door.getsockname()[1])


class Terminal:
    """A terminal in which one command of softlabel runs until it is closed."""

    def __init__(self, start, log):
        self.start, self.log, self.process, self.said, self.shown = start, log, None, "", 0

    def show(self, text, seconds=60.0):
        """Start the ``$ command`` of a block, if it has one; the lines below must then appear,
        those of stderr first."""
        if text.startswith("$ softlabel "):
            command, _, text = text.removeprefix("$ softlabel ").partition("\n")
            with self.log.open("w") as errors:
                self.process = self.start(shlex.split(command), errors)
        end = time.monotonic() + seconds
        while (printed := self.read()).count("\n") < text.count("\n") and time.monotonic() < end:
            if select.select([self.process.stdout], [], [], 0.1)[0]:
                self.said += os.read(self.process.stdout.fileno(), 65536).decode()
        self.shown += len(printed)
        check_printed("", printed, text)

    def read(self):
        """What was printed and not yet shown."""
        return (self.log.read_text() + self.said)[self.shown :]

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self.process.stdout.close()


def skip_without(text, request):
    """Skip a page whose data or packages are not on this machine."""
    if NEEDS_DATA in text:
        request.getfixturevalue("data_folder")
    for package in NEEDS_PACKAGE.findall(text):
        pytest.importorskip(package)


FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_python(text, names, where):
    test = doctest.DocTestParser().get_doctest(text, names, where, None, 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    said: list[str] = []
    runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, "".join(said)


def run_console(text, folder, first="", export=None):
    """Each ``$ command`` runs; the lines under it must be what it prints (``...`` for anything)."""
    path = os.pathsep.join([str(first), str(Path(sys.executable).parent), os.environ["PATH"]])
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, wanted = part.partition("\n")
        exports = command.startswith("export ")
        done = subprocess.run(
            f"{command} && env -0" if exports else command,
            shell=True,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            env={**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"},
        )
        if exports:
            known = dict(line.split("=", 1) for line in done.stdout.split("\0") if line)
            for name in re.findall(r"(\w+)=", command.partition("$(")[0]):
                export(name, known[name])
        else:
            check_printed(command, done.stdout + done.stderr, wanted)


def check_printed(command, printed, wanted):
    assert doctest.OutputChecker().check_output(wanted, printed, FLAGS), (
        f"$ {command}\nprinted:\n{printed}\nthe page says:\n{wanted}"
    )


def test_the_harness_notices_a_wrong_example():
    with pytest.raises(AssertionError):
        run_python(">>> 1 + 1\n3\n", {}, "nowhere")
    with pytest.raises(AssertionError):
        run_console("$ echo two\nthree\n", Path.cwd())


def test_the_pages_of_results_are_what_the_stored_runs_say():
    spec = importlib.util.spec_from_file_location("results", ROOT / "tools" / "results.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    pages, pictures = tool.made()
    assert len(pages) == 5
    for name, text in pages.items():
        assert (DOCS / name).read_text() == text, "run make docs"
    kept = {path.name: path.read_text() for path in tool.PICTURES.glob("*.svg")}
    assert kept == pictures, "run make docs"
