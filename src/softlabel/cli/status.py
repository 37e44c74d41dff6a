"""``status``, and the export of a study folder."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from softlabel.cli import shared
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.serve import Insight, Overview
    from softlabel.store import Store
    from softlabel.study import Study

SHOWN = 20  # people


@shared.command()
def status(
    folder: Path,
    db: str | None = None,
    output: Path | None = None,
    as_json: bool = False,
    load: Path | None = None,
) -> None:
    """Report the progress of a study: answers, seconds, agreement, repeats, flags and cost.

    Works with and without a running server.
    """
    from softlabel import io
    from softlabel._util.files import write_atomically
    from softlabel.serve import compute_overview, write_roster

    shared.load_strategies(load)
    if output is not None:
        io.check_output(output, ("csv",), str(folder))
    with open_study(folder, db) as (study, store):
        overview = compute_overview(study, store, time.time())
        if output is not None:
            with write_atomically(output, private=True) as part:
                part.write_bytes(write_roster(study, store, overview))
    assert overview.insight is not None, "it was just computed"
    if as_json:
        typer.echo(shared.json_text(_make_document(study, overview, overview.insight)))
        return
    _show(study, overview, overview.insight)
    if output is not None:
        typer.echo(f"\nwrote {output}")


def export_study(folder: Path, output: Path, db: str | None) -> None:
    """Write every stored answer and show progress; ``people.csv`` and ``questions.jsonl`` hold the
    people and what they said beside the items."""
    from softlabel._util.files import write_atomically
    from softlabel.serve import compute_overview, export_answers, write_questions, write_roster

    if output.name in ("people.csv", "questions.jsonl"):
        with open_study(folder, db) as (study, store):
            people = output.suffix == ".csv"
            with write_atomically(output, private=True) as part:
                if people:
                    overview = compute_overview(study, store, time.time())
                    part.write_bytes(write_roster(study, store, overview))
                    count = overview.counts.people
                else:
                    lines = list(write_questions(study, store))
                    part.write_text("".join(lines), encoding="utf-8")
                    count = len(lines)
        shared.show_facts({"people" if people else "answers": f"{count:,}", "wrote": str(output)})
        return
    found = {"answers": "0"}
    with open_study(folder, db) as (study, store), shared.progress() as tell:

        def show(answers: int, skips: int) -> None:
            more = f", and {skips:,} skip{'s' if skips > 1 else ''}" if skips else ""
            found["answers"] = f"{answers:,}{more}"
            tell(f"writing: {answers:,} answers")

        export_answers(study, store, output, show)
    shared.show_facts(found | {"wrote": str(output)})


@contextmanager
def open_study(folder: Path, db: str | None) -> Iterator[tuple[Study, Store]]:
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


def _show(study: Study, overview: Overview, insight: Insight) -> None:
    from softlabel.serve import wording

    counts = overview.counts
    shared.show_facts(_describe(overview, insight) | _describe_allocation(study, overview))
    stages = [{"stage": stage, "people": f"{n:,}"} for stage, n in counts.stages.items()]
    shared.show_table("people by stage", stages, SHOWN)
    answers = enumerate(counts.histogram)
    items = [{"answers": n, "items": f"{items:,}"} for n, items in answers if items]
    needed = "needed" if study.allocate is None else "wanted on average"
    title = f"items by number of answers ({counts.per_item_wanted} {needed})"
    shared.show_table(title, items, SHOWN)
    seconds = [
        {
            "mode": mode.mode,
            "step": name,
            "median": wording.seconds(step.median),
            "10 %": wording.seconds(step.p10),
            "90 %": wording.seconds(step.p90),
            "answers": f"{step.n:,}",
        }
        for mode in insight.seconds
        for name, step in (
            ("whole answer", mode.answer),
            ("first input", mode.first),
            *mode.steps.items(),
        )
    ]
    shared.show_table("seconds per answer and per field", seconds, 99)
    flagged = [
        {
            "annotator": card.annotator,
            "answers": card.answers,
            "skips": counts.skipped.get(card.annotator, 0),
            "why": "; ".join(card.flags),
        }
        for card in overview.people()
        if card.flags
    ]
    if counts.excluded:
        out = [{"annotator": who, "because": why} for who, why in counts.excluded.items()]
        shared.show_table("people left out", out, SHOWN)
    title = f"{len(flagged)} of {len(insight.people)} annotators have flags"
    shared.show_table(title, flagged, SHOWN)


def _describe(overview: Overview, insight: Insight) -> dict[str, str]:
    from softlabel.serve import wording

    counts, left, bill = overview.counts, overview.hours_left, overview.bill
    speed = f"{wording.count(insight.speed.per_hour)} answers per hour"
    if counts.missing and left == left:
        speed += f", about {wording.duration(left)} left"
    facts = {
        "items done": f"{counts.done:,} of {counts.items:,}",
        "answers": f"{counts.answers:,} of {counts.wanted:,} "
        f"({wording.share(counts.answers, counts.wanted)})",
        "skips": wording.skips(counts.skips),
        "stored": f"{counts.stored:,} with practice, checks, repeats and skips",
        "people": f"{counts.people:,}",
        "speed": speed,
    }
    if counts.simulated:
        facts["simulated"] = f"{counts.simulated:,} of {counts.people:,}: this is a rehearsal"
    facts |= _describe_control(overview)
    if counts.late:
        facts["late"] = (
            f"{counts.late:,} answers arrived after their items were complete; they are kept, "
            "exported and used by softlabel label"
        )
    if bill is not None:
        facts["cost"] = (
            f"{wording.money(bill.earned, bill.currency)} so far, about "
            f"{wording.money(bill.projected, bill.currency)} in total"
        )
    repeats, agreement = insight.repeats, insight.agreement
    if agreement is not None and math.isfinite(agreement.alpha.value):
        facts["agreement"] = (
            f"alpha {agreement.alpha}, mean distance between two people "
            f"{wording.number(agreement.variation, 3)} (total variation)"
        )
    if repeats.pairs:
        facts["repeats"] = (
            f"{repeats.pairs:,}: top label changed in {100 * repeats.change_rate:.1f} %, label "
            f"moved by {wording.number(repeats.variation, 3)}"
        )
    if insight.unreadable:
        facts["unreadable"] = f"{insight.unreadable:,} answers, with the current labels and mode"
    if not insight.whole:
        facts["sample"] = f"the latest {insight.read:,} of {insight.stored:,} answers"
    return facts


def _describe_control(overview: Overview) -> dict[str, str]:
    """Return how the study is run, where that is not as in the study file."""
    counts = overview.counts
    facts: dict[str, str] = {} if counts.state == "open" else {"state": counts.state}
    if counts.people_cap is not None:
        facts["cap"] = f"at most {counts.people_cap:,} people"
    if counts.excluded:
        facts["left out"] = f"{len(counts.excluded):,} people; their answers are kept and marked"
    return facts


def _describe_allocation(study: Study, overview: Overview) -> dict[str, str]:
    """Return how far a study is that decides live what to ask next."""
    from softlabel.serve import allocation

    progress = allocation.read_progress(study, overview.counts)
    if progress is None:
        return {}
    facts = {name.lower(): value for name, value in allocation.list_facts(progress)}
    del facts["items done"]  # stands there already
    return facts | {"allocation": allocation.describe(progress)}


def _make_document(study: Study, overview: Overview, insight: Insight) -> dict[str, Any]:
    """Return everything that ``--json`` prints."""
    agreement, ranking = insight.agreement, overview.counts.ranking
    progress = asdict(overview.counts)
    del progress["ranking"]
    return {
        "study": study.name,
        "progress": progress,
        **({} if ranking is None else {"allocation": ranking.report}),
        "hours_left": overview.hours_left,
        "per_hour": insight.speed.per_hour,
        "sample": {"read": insight.read, "stored": insight.stored},
        "seconds": [asdict(mode) for mode in insight.seconds],
        "agreement": agreement
        and {
            "shared": agreement.shared,
            "alpha": [agreement.alpha.value, agreement.alpha.low, agreement.alpha.high],
            "observed": agreement.observed.value,
            "variation": agreement.variation,
            "others": agreement.others,
        },
        "repeats": asdict(insight.repeats),
        "people": [
            {
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
            for card in overview.people()
        ],
        "disagreement": insight.disagreement,
        "cost": None if overview.bill is None else asdict(overview.bill),
    }
