"""What mkdocs does not do by itself: pages from outside docs/, a page for every public name, and
parts of the navigation that list a folder.

``make docs`` builds the site; mkdocs.yml names this file as its hooks.
"""

from __future__ import annotations

import ast
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "softlabel"
# files of the repository that are pages or files of the site, too
OUTSIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "bench/RESULTS.md": "benchmarks.md",
    "src/softlabel/papers/results/README.md": "results/stored.md",
    "src/softlabel/train/cifar10s-held-out.txt": "files/cifar10s-held-out.txt",
    "examples/demo/demo.py": "files/demo.py",
    "LICENSE": "files/LICENSE.txt",
    "CITATION.cff": "files/CITATION.cff",
    "README.md": "README.md",
}
LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)#\s]+)")
TITLES = {"tables": "Tables", "io": "Files", "errors": "Errors"}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages from outside docs/ and the reference of the package."""
    for place, page in OUTSIDE.items():
        if page != "README.md":
            text = (ROOT / place).read_text("utf-8")
            files.append(File.generated(config, page, content=text))
    for room in list_rooms():
        page = File.generated(config, f"reference/{room}.md", content=describe_room(room))
        files.append(page)
    config.nav = fill_nav(config.nav, sorted(file.src_uri for file in files))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Point links that leave docs/ to the pages made of their targets."""
    origin = {page: place for place, page in OUTSIDE.items() if page != "README.md"}
    here = page.file.src_uri
    start = posixpath.dirname(origin.get(here, f"docs/{here}"))

    def turn(link: re.Match[str]) -> str:
        place = posixpath.normpath(posixpath.join(start, link[1]))
        if place.startswith("docs/"):
            target = place.removeprefix("docs/")
        else:
            target = OUTSIDE.get(place, "")
        return posixpath.relpath(target, posixpath.dirname(here) or ".") if target else link[1]

    return LINK.sub(turn, markdown)


# ── navigation ───────────────────────────────────────────────────────────────────────────────


def fill_nav(entry: Any, pages: list[str]) -> Any:
    """Replace ``folder/*`` by the pages of the folder, its README first."""
    if isinstance(entry, list):
        return [fill_nav(one, pages) for one in entry]
    if isinstance(entry, dict):
        return {title: fill_nav(inner, pages) for title, inner in entry.items()}
    folder, star, _ = entry.partition("*")
    if not star:
        return entry
    found = [page for page in pages if posixpath.dirname(page) + "/" == folder]
    found = [page for page in found if page.endswith(".md")]
    return sorted(found, key=lambda page: (not page.endswith("README.md"), page))


# ── the reference of the package ─────────────────────────────────────────────────────────────


def list_rooms() -> list[str]:
    """Return the rooms that ``softlabel.__all__`` shows, and those that need an extra."""
    shown = read_names(SOURCE / "__init__.py")
    rooms = [name for name in shown if find_file(name) is not None]
    return sorted({*rooms, "integrations", "engine", "labelling"})


def find_file(room: str) -> Path | None:
    for path in (SOURCE / f"{room}.py", SOURCE / room / "__init__.py"):
        if path.is_file():
            return path
    return None


def read_names(path: Path) -> list[str]:
    """Return ``__all__``; of a module without it, its public functions and classes."""
    body = ast.parse(path.read_text("utf-8")).body
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    kinds = (ast.FunctionDef, ast.ClassDef)
    names = [node.name for node in body if isinstance(node, kinds)]
    return [name for name in names if not name.startswith("_")]


def describe_room(room: str) -> str:
    """Return the page of a room: its docstring, and every name of its door."""
    path = find_file(room)
    assert path is not None, f"there is no room {room}"
    summary = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    lines = [f"# softlabel.{room}", "", summary, ""]
    for name in read_names(path):
        lines += [f"::: softlabel.{room}.{name}", ""]
    return "\n".join(lines)
