"""Store results in the repository, and generate the pages that show them.

python tools/results.py                    generate docs/results.md, docs/results/ and pictures
python tools/results.py collect RUNS ...   read finished runs of papers into the stored results;
                                           cells that have no run there stay as they are
python tools/results.py facts              compute the facts of the released data, and store them
"""

from __future__ import annotations

import sys
from pathlib import Path

from softlabel.papers import PAPERS
from softlabel.papers.claims.collecting import collect, list_started
from softlabel.papers.claims.findings import compute_facts, judge_shipped
from softlabel.papers.claims.pages import FOLDER, make_markdown
from softlabel.papers.claims.papers import find
from softlabel.papers.claims.results import merge_results, read_shipped, write_facts, write_results
from softlabel.papers.claims.tuning import keep_chosen_items

DOCS = Path(__file__).parent.parent / "docs"
PICTURES = DOCS / FOLDER


def made() -> tuple[dict[str, str], dict[str, str]]:
    """Make the pages and their pictures from stored results alone."""
    return make_markdown([judge_shipped(find(name)) for name in PAPERS])


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
    for paper, scale in list_started(folder):
        describe_items = getattr(find(paper), "score_items", None)
        results = collect(folder, paper, scale, describe_items=describe_items)
        stored = read_shipped(paper).get(scale)
        if stored is not None:
            results = merge_results(results, stored)
        results = keep_chosen_items(results)
        if results.all:
            print(f"{len(results.all)} runs: {write_results(results)}", file=sys.stderr)


def facts() -> None:
    for name in PAPERS:
        computed = compute_facts(find(name))
        known = {one.claim.id: one.ours for one in computed if one.ours is not None}
        if known:
            print(f"{len(known)} facts: {write_facts(name, known)}", file=sys.stderr)


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
