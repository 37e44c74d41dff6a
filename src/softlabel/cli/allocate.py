"""``replay`` and ``plan``: what to ask next, on recorded votes and from a pilot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from softlabel.cli import shared
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.allocate import Comparison, Recorded
    from softlabel.io import Progress
    from softlabel.tables import Score

FIRST_SEED = 500


@shared.command()
def replay(  # noqa: PLR0913  (a command has as many arguments as options)
    source: str,
    policy: list[str] | None = None,
    seconds: float | None = None,
    hold: int = 10,
    calibrate: int = 0,
    seeds: int = 1,
    at: str | None = None,
    out: Path | None = None,
    labels: str | None = None,
    load: Path | None = None,
    from_: str | None = None,
    columns: str | None = None,
    missing: shared.Missing = "refuse",
    spelling: shared.Spelling = "refuse",
) -> None:
    """Replay recorded votes: what would each policy have asked, and how good would its labels be?

    Some votes of each item are held out; a policy's questions are answered from the others, in
    random order. Prints KL* (cross-entropy to the held-out shares minus the entropy of all votes,
    in nats; lower is better) at several seconds per item, with 95 % intervals over items, and how
    much lower it is than with equally many answers for all (uniform), which is always replayed
    beside. Rich answers count as votes for the class named first.
    """
    from softlabel import allocate

    shared.load_strategies(load)
    chosen = [shared.parse_strategy("policy", text) for text in policy or ["greedy"]]
    goals = _read_goals(at)
    reading = shared.make_reading(from_, columns, missing, spelling)
    with shared.progress() as tell:
        recorded = _read_votes(source, shared.split_labels(labels), tell, reading, seconds)
        setting = allocate.Setting(
            hold,
            calibrate,
            tuple(range(FIRST_SEED, FIRST_SEED + seeds)),
            goals,
            seconds or allocate.SECONDS_PER_VOTE,
        )
        found = allocate.compare(recorded, chosen, setting, tell)
    _show(found)
    if out is not None:
        _write(found, out)


def _read_goals(at: str | None) -> tuple[float, ...]:
    try:
        goals = tuple(float(part) for part in (at or "").split(",") if part.strip())
    except ValueError:
        goals = (-1.0,)
    if list(goals) != sorted(set(goals)) or any(goal <= 0 for goal in goals):
        raise SoftlabelError(f"--at {at}: give seconds per item above 0, rising, such as 5.4,9,18")
    return goals


def _read_votes(
    text: str, labels: list[str] | None, tell: Progress, reading: Any, price: float | None
) -> Recorded:
    """Read votes with their seconds; with a ``price`` recorded times are not used."""
    from softlabel.allocate import Recorded
    from softlabel.construct import Hard
    from softlabel.tables import Statements

    source, _ = shared.open_answers(text, labels, tell, reading)
    votes, note = source.answers, ""
    if isinstance(votes, Statements):
        votes, note = Hard()(votes), "rich answers taken as votes for the class named first"
    return Recorded(text, votes, None if price else source.seconds, note)


def _show(found: Comparison) -> None:
    facts = {"items": f"{found.items:,}", "seconds per vote": f"{found.price:.3g}"}
    facts |= {"prior from": found.prior, "note": found.note}
    shared.show_facts(facts)
    rows = [
        {
            "policy": row.policy,
            "s/item": f"{row.seconds:.1f}",
            "KL*": f"{row.kl.value:.4f} [{row.kl.low:.4f}, {row.kl.high:.4f}]",
            "below uniform": _cell(row.below_uniform),
            "below raw shares": _cell(row.below_raw),
            "answers: median, 90 %, 99 %": ", ".join(f"{value:.0f}" for value in row.answers),
        }
        for row in found.rows
    ]
    shared.show_table(f"{found.name}, replayed", rows, len(rows), rich=True)


def _cell(score: Score | None) -> str:
    return "–" if score is None else f"{score.value:+.4f} [{score.low:+.4f}, {score.high:+.4f}]"


def _write(found: Comparison, out: Path) -> None:
    from softlabel import allocate, io
    from softlabel.report import standalone_svg

    out.mkdir(parents=True, exist_ok=True)
    shared.write_text(out / "replay.json", f"{shared.json_text(found.to_dict())}\n")
    io.write_table([row.to_dict() for row in found.rows], out / "replay.csv")
    shared.write_text(out / "replay.svg", standalone_svg(allocate.draw_curves(found)))
    typer.echo(f"wrote {out / 'replay.json'}, replay.csv and replay.svg")
