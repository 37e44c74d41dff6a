"""``report``: what came of runs, as a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softlabel.cli.evaluate import TITLES, base_group, by_kind
from softlabel.cli.shared import app
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.report import Section


@app.command()
def report(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="[RUNS] FILE.html",
            help="A folder of runs and the page to write; the page alone: the results that come "
            "with the package.",
        ),
    ],
) -> None:
    """Write one self-contained page about the four papers, or about runs of your own.

    Runs of papers ('softlabel reproduce PAPER --out RUNS') are shown claim by claim, with a
    verdict on each; other runs by what they scored, in what they differ, and how sure they are.
    """
    from softlabel._util.files import aside

    *folder, target = paths
    if len(folder) > 1 or target.suffix != ".html":
        raise SoftlabelError(
            "say 'softlabel report RUNS FILE.html', or 'softlabel report FILE.html'"
        )
    text = _of_runs(folder[0]) if folder else _shipped()
    with aside(target) as part:
        part.write_text(text, "utf-8")
    typer.echo(f"wrote {target}")


def _shipped() -> str:
    from softlabel.papers import PAPERS, document, findings, papers

    every = [findings.shipped(papers.find(name)) for name in PAPERS]
    return document([one for one in every if one.results])


def _of_runs(folder: Path) -> str:
    from softlabel.papers import PAPERS, begun, document, findings, papers

    names = dict.fromkeys(name for name, _ in begun(folder) if name in PAPERS)
    if names:
        return document([findings.in_folder(papers.find(name), folder) for name in names])
    from softlabel import __version__
    from softlabel.report import page

    lead = ["Predictions of finished runs, held against what people said of the same items."]
    return page(
        f"The runs in {folder}", lead, _sections(folder), f"Made by softlabel {__version__}."
    )


def _sections(folder: Path) -> list[Section]:
    from softlabel.report import section
    from softlabel.train import runs

    found = runs.find(folder)
    if not found:
        raise SoftlabelError(f"{folder}: has no finished run")
    made = []
    for kind, (keys, groups) in by_kind(found, None).items():
        people = next(iter(groups.values()))[0].people
        title = TITLES.get(kind, kind).capitalize()
        made.append(section(title, groups, people, base_group(None, keys, groups)))
    return made
