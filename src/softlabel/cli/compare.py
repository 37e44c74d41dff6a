"""``compare-modes``: what an answer of each way of asking is worth, and how long it takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from softlabel.cli import shared
from softlabel.cli.status import open_study

if TYPE_CHECKING:
    from softlabel.allocate import modes as arms
    from softlabel.io import Progress, Source


@shared.command()
def compare_modes(
    source: str,
    out: Path | None = None,
    db: str | None = None,
    draws: int = 400,
) -> None:
    """Compare ways of asking: what a rich answer tells, and whether it is worth its time.

    The answers are those of a study that compares modes or wordings (the table [compare] in
    study.toml), or any export with answers in several modes. Prints for each arm the seconds of an
    answer, what one answer tells about the answers of other people (in nats, and per second), how
    many votes it is worth, and the seconds that it may take to be as good a buy as votes; all with
    95 % intervals over people and items.
    """
    from softlabel.allocate import modes

    with shared.progress() as tell:
        asked = modes.read_asked(_read(source, db, tell))
        tell("comparing")
        found = modes.compare(asked, draws=draws)
    _show(found)
    if out is not None:
        _write(found, out)


def _read(source: str, db: str | None, tell: Progress) -> Source:
    """Read the answers of a study folder, or of an export of them."""
    from softlabel import io
    from softlabel.errors import SoftlabelError
    from softlabel.records import record_of_stored

    if not Path(source).is_dir():
        if db is not None:
            raise SoftlabelError(f"--db {db}: {source} is no study folder, so it has no database")
        return shared.open_source(source, None, tell)
    with open_study(Path(source), db) as (study, store):
        tell("reading answers")
        rows = (record_of_stored(study, row) for row in store.responses(study.name))
        return io.collect_records(rows, study.labels, where=source)


def _show(found: arms.Comparison) -> None:
    from softlabel.allocate import modes

    describe = modes.describe
    rows = [
        {
            "arm": arm.name,
            "people": f"{arm.people:,}",
            "answers": f"{arm.answers:,}",
            "seconds: median, mean": f"{arm.median.value:.1f}, {arm.mean.value:.1f}",
            "about": kind,
            "nats": describe(arm.gain[kind]),
            "nats per second": describe(arm.per_second[kind], 3),
            f"worth in {found.unit}": describe(arm.worth[kind]),
            "break-even seconds": describe(arm.break_even[kind], 1),
        }
        for arm in found.arms
        for kind in found.kinds
    ]
    shared.show_table(f"{found.items:,} items, {len(found.arms)} arms", rows, len(rows), rich=True)
    typer.echo()
    for sentence in found.verdicts():
        typer.echo(sentence)


def _write(found: arms.Comparison, out: Path) -> None:
    from softlabel.allocate import modes
    from softlabel.report import standalone_svg

    out.mkdir(parents=True, exist_ok=True)
    shared.write_text(out / "compare-modes.json", f"{shared.json_text(found.to_dict())}\n")
    shared.write_text(out / "compare-modes.svg", standalone_svg(modes.draw_comparison(found)))
    typer.echo(f"wrote {out / 'compare-modes.json'} and compare-modes.svg")
