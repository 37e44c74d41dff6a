"""``replay`` and ``plan``: what to ask next, on recorded votes and from a pilot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from softlabel.cli import shared
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.allocate import Comparison, Pilot, Recorded, Step
    from softlabel.io import Progress
    from softlabel.study import Study
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
    judges: str | None = None,
    at: str | None = None,
    out: Path | None = None,
    labels: str | None = None,
    load: Path | None = None,
    told: shared.Told = shared.NOTHING_TOLD,
) -> None:
    """Replay recorded votes, to see what each policy would have asked and how good its labels are.

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
    reading = told.make_reading()
    with shared.progress() as tell:
        recorded = _read_votes(source, shared.split_labels(labels), tell, reading, seconds)
        setting = allocate.Setting(
            hold,
            calibrate,
            tuple(range(FIRST_SEED, FIRST_SEED + seeds)),
            goals,
            seconds or allocate.SECONDS_PER_VOTE,
            _read_judges(judges, recorded),
        )
        found = allocate.compare(recorded, chosen, setting, tell)
    _show(found)
    if out is not None:
        _write(found, out)


def _read_judges(text: str | None, recorded: Recorded) -> Any:
    if text is None:
        return None
    from softlabel import frames

    return frames.read_judges(shared.open_judges(text), recorded.votes.index)


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


# ── plan ─────────────────────────────────────────────────────────────────────────────────────

PARTS = (0.25, 0.5, 0.75, 1.0)  # of the budget


@shared.command()
def plan(  # noqa: PLR0913  (a command has as many arguments as options)
    folder: Path,
    pilot: str,
    budget: float,
    currency: str | None = None,
    policy: str = "greedy",
    judges: str | None = None,
    seconds: float | None = None,
    per_hour: float | None = None,
    draws: int = 40,
    seed: int = 0,
    out: Path | None = None,
    load: Path | None = None,
) -> None:
    """Forecast what a budget will buy, from the answers of a pilot.

    Prints how many answers per item the budget pays for, and how close labels will come to the
    splits of the crowd: the expected KL in nats, with a 90 % interval. The study is simulated many
    times from what the pilot taught, with your policy and with equally many answers for all
    (uniform). What an answer costs follows from the seconds that the pilot took and the pay of the
    study. If the study asks for rich answers, plain votes are forecast beside. What models said of
    the items (--judges) is the start of a second forecast.
    """
    from softlabel import allocate, study

    shared.load_strategies(load)
    chosen = shared.parse_strategy("policy", policy)
    found = study.read(folder)
    money = _check_money(found, currency, budget, per_hour)
    with shared.progress() as tell:
        known, took = _read_pilot(found, pilot, tell)
        few = known.sample(seed=seed)
        starts = {"": few}
        if judges is not None:
            starts[", with models"] = _start_from_models(few, judges)
        curves = {}
        for mode, price, note in _prices(found, seconds or took, bool(seconds)):
            cost = allocate.cost_of_answer(found, price, per_hour)
            whole = budget / cost * price / len(found.items)
            goals = [part * whole for part in PARTS]
            one = allocate.Price(mode, price)
            for end, start in starts.items():
                for asked in (chosen, allocate.Uniform()):
                    steps = allocate.forecast(
                        start, asked, goals, one, draws=draws, seed=seed, tell=tell
                    )
                    curves[f"{mode}, {asked.name}{end}"] = (steps, cost, price, note)
    _show_plan(found, known, curves, budget, money)
    if out is not None:
        _write_plan(curves, out)


def _check_money(found: Study, currency: str | None, budget: float, per_hour: float | None) -> str:
    """Return the currency of the plan."""
    if not 0 < budget < float("inf"):
        raise SoftlabelError(f"--budget {budget:g}: must be an amount above 0")
    ours = found.pay.currency if found.pay else None
    if currency and ours and currency != ours and per_hour is None:
        raise SoftlabelError(
            f"--currency {currency}: the study pays in {ours}; give the budget in {ours}, or the "
            f"pay in {currency} with --per-hour"
        )
    return currency or ours or ""


def _read_pilot(found: Study, pilot: str, tell: Progress) -> tuple[Pilot, float | None]:
    from softlabel import allocate, labelling
    from softlabel.construct import Hard

    source = shared.open_source(pilot, list(found.labels), tell)
    how = labelling.Plan(construct=Hard() if found.mode.name == "hard" else None)
    each, _ = labelling.construct_labels(source, how)
    return allocate.read_pilot(found, each, pilot), allocate.measure_seconds(source.seconds)


def _start_from_models(few: Pilot, judges: str) -> Pilot:
    """Return the same pilot, whose beliefs start from what models said."""
    from dataclasses import replace

    from softlabel import allocate, frames

    said = frames.read_judges(shared.open_judges(judges), few.index)
    return replace(few, fit=allocate.FitJudged(said))


def _prices(found: Study, took: float | None, said: bool) -> list[tuple[str, float, str]]:
    """Return mode, seconds of an answer, and where these come from: of the study's mode, and of
    plain votes beside."""
    from softlabel import registry, study
    from softlabel.elicit import mode as modes

    own = study.estimate(found).seconds if took is None else took
    note = "given" if said else "measured in the pilot" if took else "predicted"
    prices = [(found.mode.name, own, note)]
    if found.mode.name != "hard":
        votes = modes.expected_seconds(registry.make("mode", "hard"))
        if votes is not None and votes.answer < own:
            prices.append(("hard", votes.answer, "predicted"))
    return prices


def _show_plan(
    found: Study, known: Pilot, curves: Mapping[str, Any], budget: float, money: str
) -> None:
    answered = int((known.evidence.sum(axis=1) > 0).sum())
    facts = {
        "items": f"{len(found.items):,}, {answered:,} of them with answers in the pilot",
        "expected KL now": _score(next(iter(curves.values()))[0][0], now=True),
        "budget": f"{budget:,.2f} {money}".strip(),
    }
    for name, (_, cost, price, note) in curves.items():
        mode = name.partition(",")[0]
        facts[f"an answer ({mode})"] = f"{price:.3g} s ({note}), {cost:.4g} {money}".strip()
    shared.show_facts(facts)
    rows = [
        {
            "mode, policy": name,
            "money": f"{part * budget:,.2f}",
            "answers per item": f"{step.answers:.2f}",
            "median, 90 %, 99 %": ", ".join(f"{value:.0f}" for value in step.spread),
            "expected KL": _score(step),
            "gain": f"{step.gain.value:.4f} [{step.gain.low:.4f}, {step.gain.high:.4f}]",
        }
        for name, (steps, *_) in curves.items()
        for part, step in zip(PARTS, steps, strict=True)
    ]
    shared.show_table("What the budget will buy, with 90 % intervals", rows, len(rows), rich=True)


def _score(step: Step, *, now: bool = False) -> str:
    if now:
        return f"{step.kl.value + step.gain.value:.4f}"
    return f"{step.kl.value:.4f} [{step.kl.low:.4f}, {step.kl.high:.4f}]"


def _write_plan(curves: Mapping[str, Any], out: Path) -> None:
    from softlabel import allocate, io
    from softlabel.report import standalone_svg

    out.mkdir(parents=True, exist_ok=True)
    rows = [
        {"plan": name, "money_per_answer": cost, "money_part": part} | step.to_dict()
        for name, (steps, cost, _, _) in curves.items()
        for part, step in zip(PARTS, steps, strict=True)
    ]
    shared.write_text(out / "plan.json", f"{shared.json_text(rows)}\n")
    io.write_table(rows, out / "plan.csv")
    drawn = allocate.draw_plan({name: steps for name, (steps, *_) in curves.items()})
    shared.write_text(out / "plan.svg", standalone_svg(drawn))
    typer.echo(f"wrote {out / 'plan.json'}, plan.csv and plan.svg")
