"""The documentation site builds without a warning, and has every public name of the package."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

if find_spec("mkdocs") is None or find_spec("mkdocstrings") is None:
    pytest.skip("mkdocs and mkdocstrings are not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site as ``make docs`` builds it."""
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=1200
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def tool():
    """The hooks of the site."""
    spec = spec_from_file_location("site_hooks", ROOT / "tools" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_has_its_place(site, tool):
    rooms = tool.list_rooms()
    assert {"aggregate", "metrics", "tables", "train"} <= set(rooms)
    for room in rooms:
        page = (site / "reference" / f"{room}.html").read_text("utf-8")
        shown = set(re.findall(rf'id="softlabel\.{room}\.(\w+)"', page))
        assert set(tool.read_names(tool.find_file(room))) <= shown, room


def test_every_page_of_the_docs_is_in_the_navigation(site):
    home = (site / "index.html").read_text("utf-8")
    reached = set(re.findall(r'href="([\w/-]+\.html)', home)) | {"index.html"}
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert name.replace("README", "index") in reached, name


def test_the_search_knows_pages_and_names(site):
    entries = json.loads((site / "search" / "search_index.json").read_text("utf-8"))["docs"]
    titles = {re.sub("<[^>]*>", "", entry["title"]).strip() for entry in entries}
    assert {"dawid-skene", "DawidSkene  dataclass"} <= titles
    assert any("leave-one-out" in entry["text"] for entry in entries)


def test_nothing_is_loaded_from_elsewhere(site):
    for page in (site / "index.html", site / "reference" / "aggregate.html"):
        text = page.read_text("utf-8")
        assert not re.search(r'(src|href)="(https?:)?//(?!squidfunk)[^"]*\.(js|css|woff2?)"', text)
