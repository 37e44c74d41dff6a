"""What is in a wheel, and that the program works without the reproduced papers."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VOTES = "item,annotator,label\na,ann,cat\na,bob,dog\nb,ann,dog\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The contents of a wheel that was built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "-w", str(folder)]
    has_builder = importlib.util.find_spec("hatchling") is not None
    if has_builder:
        command.append("--no-build-isolation")
    done = subprocess.run(
        [*command, str(ROOT)], capture_output=True, text=True, check=False, timeout=600
    )
    if done.returncode and not has_builder:
        pytest.skip(f"hatchling is neither installed nor downloadable ({done.stderr[-80:]!r})")
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("softlabel-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def without_papers(installed, tmp_path_factory) -> Path:
    """The same, without the folder of the papers."""
    folder = tmp_path_factory.mktemp("bare") / "site"
    shutil.copytree(installed, folder, ignore=shutil.ignore_patterns("papers"))
    return folder


def run(site: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in ``folder`` with the packages of ``site`` before all others."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(site), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_wheel_has_the_demo(installed, tmp_path):
    ours = {path.name for path in (ROOT / "examples" / "demo").glob("*.py")}
    assert {path.name for path in (installed / "softlabel" / "_demo").iterdir()} == ours
    code = "from softlabel.cli.demo import load_demo; print(load_demo().__file__)"
    done = run(installed, tmp_path, "-c", code)
    assert done.stdout.strip() == str(installed / "softlabel" / "_demo" / "demo.py"), done.stderr


def test_the_program_works_without_the_papers(without_papers, tmp_path):
    (tmp_path / "votes.csv").write_text(VOTES)
    done = run(without_papers, tmp_path, "-m", "softlabel", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "reproduce" in done.stdout
    done = run(without_papers, tmp_path, "-m", "softlabel", "label", "votes.csv", "labels.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "labels.csv").read_text() == "item,cat,dog,count\na,0.5,0.5,2\nb,0.0,1.0,1\n"


def test_own_runs_can_be_reported_without_the_papers(without_papers, demo_folder, tmp_path):
    words = ("-m", "softlabel", "report", str(demo_folder / "runs"), "page.html")
    done = run(without_papers, tmp_path, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "per-annotator" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words", [("reproduce",), ("reproduce", "collins2022", "--quick"), ("report", "page.html")]
)
def test_without_the_papers_their_commands_say_so(without_papers, tmp_path, words):
    done = run(without_papers, tmp_path, "-m", "softlabel", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: the papers are not part of this installation")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "page.html").exists()
