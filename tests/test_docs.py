"""The documentation is true: everything has its page, and every example runs."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from softlabel import datasets, errors, registry

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
    page = (DOCS / "pools" / "worth.md").read_text()
    printed = "".join(text for language, text in blocks(DOCS / "pools" / "worth.md"))
    numbers = re.findall(r"\d+\.\d|\[[\d., ]+\]", said)
    assert len(numbers) > 5
    assert NEEDS_DATA in page
    for number in numbers:
        assert number in printed, f"README says {number}; docs/pools/worth.md does not"


def blocks(page):
    return [(language, text) for language, _, text in BLOCK.findall(page.read_text())]


RUN = [page for page in PAGES if any(kind in ("pycon", "console") for kind, _ in blocks(page))]


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page, tmp_path, monkeypatch, request, warm_path):
    """``pycon`` blocks share one namespace, ``console`` blocks one folder, in order."""
    if NEEDS_DATA in page.read_text():
        request.getfixturevalue("data_folder")
    for package in NEEDS_PACKAGE.findall(page.read_text()):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for family, known in registry.families().items():  # what an example registers is forgotten
        monkeypatch.setitem(registry.FAMILIES, family, dict(known))
    names: dict[str, object] = {}
    for number, (language, text) in enumerate(blocks(page)):
        if language == "pycon":
            run_python(text, names, f"{page.name}, block {number}")
        elif language == "console":
            run_console(text, tmp_path, warm_path)
        elif language == "python" and text.startswith("# "):
            name = text.splitlines()[0].removeprefix("# ").strip()
            if re.fullmatch(r"[\w-]+\.py", name):  # a file the reader is told to write
                (tmp_path / name).write_text(text)


FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_python(text, names, where):
    test = doctest.DocTestParser().get_doctest(text, names, where, None, 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    said: list[str] = []
    runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, "".join(said)


def run_console(text, folder, first=""):
    """Each ``$ command`` runs; the lines under it must be what it prints (``...`` for anything)."""
    path = os.pathsep.join([str(first), str(Path(sys.executable).parent), os.environ["PATH"]])
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, wanted = part.partition("\n")
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            env={**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"},
        )
        printed = done.stdout + done.stderr
        checker = doctest.OutputChecker()
        assert checker.check_output(wanted, printed, FLAGS), (
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
