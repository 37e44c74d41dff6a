"""Keeps results in the repository, and the page that is made of them.

python tools/results.py                    write docs/results.md, docs/results/ and pictures again
python tools/results.py collect RUNS ...   read finished runs of papers into the stored results
python tools/results.py facts              compute what the released data say, and store it
"""

from __future__ import annotations

import sys
from pathlib import Path

from softlabel.papers import PAPERS
from softlabel.papers.claims import findings, stored
from softlabel.papers.claims.collecting import begun, collect
from softlabel.papers.claims.markdown import FOLDER, markdown
from softlabel.papers.claims.papers import find

DOCS = Path(__file__).parent.parent / "docs"
PICTURES = DOCS / FOLDER


def made() -> tuple[dict[str, str], dict[str, str]]:
    """The pages and their pictures, from stored results alone."""
    return markdown([findings.shipped(find(name)) for name in PAPERS])


def write() -> None:
    pages, pictures = made()
    PICTURES.mkdir(parents=True, exist_ok=True)
    (DOCS / "results").mkdir(exist_ok=True)
    for old in PICTURES.glob("*.svg"):
        if old.name not in pictures:
            old.unlink()
    for name, text in pages.items():
        (DOCS / name).write_text(text, "utf-8")
    for name, picture in pictures.items():
        (PICTURES / name).write_text(picture, "utf-8")
    print(f"wrote {len(pages)} pages and {len(pictures)} pictures", file=sys.stderr)


def gather(folder: str) -> None:
    for paper, recipe in begun(folder):
        results = collect(folder, paper, recipe)
        if results.all:
            print(f"{len(results.all)} runs: {stored.write(results)}", file=sys.stderr)


def facts() -> None:
    for name in PAPERS:
        told = findings.facts(find(name))
        known = {one.claim.id: one.ours for one in told if one.ours is not None}
        if known:
            print(f"{len(known)} facts: {stored.write_facts(name, known)}", file=sys.stderr)


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            write()
        case ["collect", *folders] if folders:
            for one in folders:
                gather(one)
        case ["facts"]:
            facts()
        case _:
            sys.exit(__doc__)
