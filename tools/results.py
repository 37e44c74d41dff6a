"""Store results in the repository, and generate the pages that show them.

python tools/results.py                    generate docs/results.md, docs/results/ and pictures
python tools/results.py collect RUNS ...   read finished runs of papers into the stored results;
                                           cells that have no run there stay as they are
python tools/results.py facts              compute the facts of the released data, and store them
python tools/results.py released           draw the figures of the released data, which need it
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path

from softlabel.papers import PAPERS
from softlabel.papers.claims.collecting import collect, list_started
from softlabel.papers.claims.findings import compute_facts, judge_shipped
from softlabel.papers.claims.pages import FOLDER, make_markdown
from softlabel.papers.claims.papers import find
from softlabel.papers.claims.results import (
    Result,
    Results,
    merge_results,
    read_shipped,
    write_facts,
    write_results,
)
from softlabel.papers.claims.tuning import AT, keep_chosen_items, list_chosen
from softlabel.report import WIDE, standalone_svg
from softlabel.train import Run

DOCS = Path(__file__).parent.parent / "docs"
PICTURES = DOCS / FOLDER
RELEASED = DOCS / "pictures" / "released"


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
        results = collect(folder, paper, scale)
        stored = read_shipped(paper).get(scale)
        if stored is not None:
            results = merge_results(results, stored)
        results = keep_chosen_items(describe_new(results, stored, folder))
        if results.all:
            print(f"{len(results.all)} runs: {write_results(results)}", file=sys.stderr)


def describe_new(results: Results, stored: Results | None, folder: str | Path) -> Results:
    """Return the results with the scores of single items, which take up to ten seconds a run:
    stored ones where they are of the same run, and none for settings that were not chosen."""
    describe_items = getattr(find(results.paper), "score_items", lambda run, cell: {})
    known = {(one.cell, one.run): one for one in stored.all if one.items} if stored else {}
    chosen = list_chosen(results)
    described = []
    for one in results.all:
        old, run = known.get((one.cell, one.run)), Run(Path(folder) / one.run)
        if old is not None and is_same(one, old):
            items = old.items
        elif run.finished and (AT not in one.cell or one.cell in chosen):
            items = describe_items(run, one.cell)
        else:
            items = one.items
        described.append(replace(one, items=items))
    return replace(results, all=described)


def is_same(one: Result, stored: Result) -> bool:
    """Return True if a stored run has the same scores, to its six digits: a run that was made again
    elsewhere has the same name."""
    return one.scores.keys() == stored.scores.keys() and all(
        math.isclose(value, stored.scores[name], rel_tol=1e-5) or value != value
        for name, value in one.scores.items()
    )


def facts() -> None:
    for name in PAPERS:
        computed = compute_facts(find(name))
        known = {one.claim.id: one.ours for one in computed if one.ours is not None}
        if known:
            print(f"{len(known)} facts: {write_facts(name, known)}", file=sys.stderr)


def draw_released() -> dict[str, str]:
    """Draw the figures of papers that need the released data and no runs, by name of file."""
    return {
        f"{name}-{one.name}.svg": standalone_svg(one.draw(WIDE))
        for name in PAPERS
        for one in getattr(find(name), "draw_released", list)()
    }


def write_released() -> None:
    RELEASED.mkdir(parents=True, exist_ok=True)
    pictures = draw_released()
    for name, picture in pictures.items():
        (RELEASED / name).write_text(picture, "utf-8")
    print(f"wrote {len(pictures)} pictures", file=sys.stderr)


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            write()
        case ["collect", *folders] if folders:
            for one in folders:
                gather(one)
        case ["facts"]:
            facts()
        case ["released"]:
            write_released()
        case _:
            sys.exit(__doc__)
