"""``status``, and the export of a study folder."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softlabel.cli.serve import Database, Folder
from softlabel.cli.shared import Load, app, json_text, load_strategies, show_facts, show_table
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.annotators import Card
    from softlabel.serve import Insight, Overview
    from softlabel.store import Store
    from softlabel.study import Study

SHOWN = 20  # people
EVERY = 0.2  # seconds between two counts on a terminal


@app.command()
def status(
    folder: Folder,
    db: Database = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Write one row per person to this file, with their debriefing answers.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print everything as one JSON object.")
    ] = False,
    load: Load = None,
) -> None:
    """Report the progress of a study: answers, seconds, agreement, repeats, flags and cost.

    Works with and without a running server.
    """
    from softlabel import io
    from softlabel._util.files import write_atomically
    from softlabel.serve import compute_overview, write_roster

    load_strategies(load)
    if output is not None:
        io.check_output(output, ("csv",), str(folder))
    with _opened(folder, db) as (study, store):
        found = compute_overview(study, store, time.time())
        if output is not None:
            with write_atomically(output, private=True) as part:
                part.write_bytes(write_roster(study, store, found))
    if as_json:
        typer.echo(json_text(_everything(study, found)))
        return
    _show(study, found)
    if output is not None:
        typer.echo(f"\nwrote {output}")


def export_study(folder: Path, output: Path, db: str | None) -> None:
    """Write every stored answer and show progress."""
    from softlabel.serve import export_answers

    with _opened(folder, db) as (study, store), _counting() as tell:
        written = export_answers(study, store, output, tell)
    show_facts({"answers": f"{written:,}", "wrote": str(output)})


@contextmanager
def _opened(folder: Path, db: str | None) -> Iterator[tuple[Study, Store]]:
    """Open a study and its existing database."""
    from softlabel import study as studies
    from softlabel.serve import databases

    study = studies.read(folder)
    with databases.open_to_read(folder, db) as store:
        stored = store.study(study.name)
        if stored is not None and stored.labels != study.labels:
            raise SoftlabelError(
                f"{folder}: study.toml has the labels {', '.join(study.labels)}, but people were "
                f"asked about {', '.join(stored.labels)}; restore these"
            )
        yield study, store


@contextmanager
def _counting() -> Iterator[Any]:
    """Show a running count on a terminal."""
    shown = 0.0

    def tell(done: int) -> None:
        nonlocal shown
        if sys.stderr.isatty() and time.monotonic() - shown >= EVERY:
            shown = time.monotonic()
            typer.echo(f"\r{done:,} answers", err=True, nl=False)

    yield tell
    if shown:
        typer.echo("\r\033[K", err=True, nl=False)


# ── showing ──────────────────────────────────────────────────────────────────────────────────


def _show(study: Study, found: Overview) -> None:
    here, insight = found.counts, found.insight
    assert insight is not None, "it was just computed"
    show_facts(_progress(found) | _quality(insight) | _money(found))
    stages = [{"stage": stage, "people": f"{n:,}"} for stage, n in here.stages.items()]
    show_table("people by stage", stages, SHOWN)
    counts = [
        {"answers": n, "items": f"{items:,}"} for n, items in enumerate(here.histogram) if items
    ]
    show_table(f"items by number of answers ({study.per_item} wanted)", counts, SHOWN)
    show_table("seconds per answer and per field", _seconds(insight), 99)
    flagged = [
        {
            "annotator": one.annotator,
            "answers": one.answers,
            "skips": here.skipped.get(one.annotator, 0),
            "why": "; ".join(one.flags),
        }
        for one in found.people()
        if one.flags
    ]
    show_table(f"{len(flagged)} of {len(insight.people)} annotators have flags", flagged, SHOWN)


def _progress(found: Overview) -> dict[str, str]:
    from softlabel.serve import wording

    here = found.counts
    left = found.hours_left
    assert found.insight is not None, "it was just computed"
    rate = f"{wording.count(found.insight.speed.per_hour)} answers an hour"
    there = wording.share(here.answers, here.wanted)
    to_go = "" if not here.missing or left != left else f", about {wording.duration(left)} to go"
    facts = {
        "items done": f"{here.done:,} of {here.items:,}",
        "answers": f"{here.answers:,} of {here.wanted:,} ({there})",
        "skips": wording.skips(here.skips),
        "stored": f"{here.stored:,} with practice, checks, repeats and skips",
        "people": f"{here.people:,}",
        "speed": rate + to_go,
    }
    if here.simulated:
        facts["simulated"] = f"{here.simulated:,} of {here.people:,}: this is a rehearsal"
    if here.late:
        facts["late"] = (
            f"{here.late:,} answers arrived after their items were complete; they are kept, "
            "exported and used by softlabel label"
        )
    return facts


def _quality(found: Insight) -> dict[str, str]:
    from softlabel.serve import wording

    facts = {}
    if found.agreement is not None and math.isfinite(found.agreement.alpha.value):
        facts["agreement"] = (
            f"alpha {found.agreement.alpha}, mean distance between two people "
            f"{wording.number(found.agreement.variation, 3)} (total variation)"
        )
    if found.repeats.pairs:
        changed, moved = found.repeats.change_rate, wording.number(found.repeats.variation, 3)
        facts["repeats"] = (
            f"{found.repeats.pairs:,}: top label changed in {100 * changed:.1f} %, label moved by "
            f"{moved}"
        )
    if found.unreadable:
        facts["unreadable"] = f"{found.unreadable:,} answers, with the labels and mode as they are"
    if not found.whole:
        facts["sample"] = f"the latest {found.read:,} of {found.stored:,} answers"
    return facts


def _money(found: Overview) -> dict[str, str]:
    from softlabel.serve import wording

    bill = found.bill
    if bill is None:
        return {}
    spent, whole = (wording.money(one, bill.currency) for one in (bill.earned, bill.projected))
    return {"cost": f"{spent} so far, about {whole} in all"}


def _seconds(found: Insight) -> list[dict[str, str]]:
    from softlabel.serve import wording

    rows = []
    for mode in found.seconds:
        steps = {"whole answer": mode.answer, "first input": mode.first, **mode.steps}
        rows += [
            {
                "mode": mode.mode,
                "step": name,
                "median": wording.seconds(one.median),
                "10 %": wording.seconds(one.p10),
                "90 %": wording.seconds(one.p90),
                "answers": f"{one.n:,}",
            }
            for name, one in steps.items()
        ]
    return rows


# ── for programs ─────────────────────────────────────────────────────────────────────────────


def _everything(study: Study, found: Overview) -> dict[str, Any]:
    insight = found.insight
    assert insight is not None, "it was just computed"
    agreed = insight.agreement
    return {
        "study": study.name,
        "progress": asdict(found.counts),
        "hours_left": found.hours_left,
        "per_hour": insight.speed.per_hour,
        "sample": {"read": insight.read, "stored": insight.stored},
        "seconds": [asdict(mode) for mode in insight.seconds],
        "agreement": None
        if agreed is None
        else {
            "shared": agreed.shared,
            "alpha": [agreed.alpha.value, agreed.alpha.low, agreed.alpha.high],
            "observed": agreed.observed.value,
            "variation": agreed.variation,
            "others": agreed.others,
        },
        "repeats": asdict(insight.repeats),
        "people": [_person(card) for card in found.people()],
        "disagreement": insight.disagreement,
        "cost": None if found.bill is None else asdict(found.bill),
    }


def _person(card: Card) -> dict[str, Any]:
    return {
        "annotator": card.annotator,
        "answers": card.answers,
        "seconds": asdict(card.seconds),
        "agreement": card.agreement,
        "entropy": card.sharpness,
        "repeats": asdict(card.repeats),
        "gold": asdict(card.gold),
        "attention": asdict(card.attention),
        "skips": dict(card.skips),
        "flags": list(card.flags),
        "remarks": list(card.remarks),
    }
