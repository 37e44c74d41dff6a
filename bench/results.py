"""What benchmarks print and keep: tables, and their section of RESULTS.md."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).parent / "RESULTS.md"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Markdown, the first row being the heading."""
    head, *body = rows
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def circumstances(*packages: str) -> str:
    """When, on what, and with which code and versions of packages."""
    today = datetime.datetime.now(datetime.UTC).date()
    words = ("git", "-C", str(RESULTS.parent), "rev-parse", "--short", "HEAD")
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    commit = found.stdout.strip() or "unknown"
    used = "".join(f", {package} {version(package)}" for package in packages)
    return (
        f"{today}, {os.cpu_count()} cores ({platform.machine()}), Python "
        f"{platform.python_version()}{used}, commit {commit}."
    )


def write_section(title: str, parts: Iterable[str]) -> None:
    """Put a section into RESULTS.md, in place of the one of the same title."""
    text = RESULTS.read_text("utf-8")
    head = f"## {title}\n"
    new = head + "\n" + "\n\n".join(parts) + "\n"
    before, found, rest = text.partition(head)
    after = rest.partition("\n## ")[2] if found else ""
    text = before.rstrip("\n") + "\n\n" + new + (f"\n## {after}" if after else "")
    RESULTS.write_text(text, "utf-8", newline="\n")


def write_block(page: Path, script: str, name: str, text: str) -> None:
    """Put text into a page, between the marks of this script and this name."""
    begin, end = f"<!-- {name}: written by bench/{script}.py -->", f"<!-- end of {name} -->"
    before, found, rest = page.read_text("utf-8").partition(begin)
    assert found, f"{page} has no place for {name}"
    after = rest.partition(end)[2]
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", "utf-8", newline="\n")
