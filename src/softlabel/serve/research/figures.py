"""The numbers of the overview, each with its name."""

from __future__ import annotations

from softlabel.serve.monitor import Insight, Overview, Spread, words

STAGES = {
    "consent": "reading the consent form",
    "instructions": "reading the instructions",
    "quiz": "taking the quiz",
    "task": "answering",
    "debrief": "at the last questions",
    "done": "finished",
    "screened-out": "screened out: quiz or skips",
    "no-consent": "did not consent",
    "withdrawn": "withdrew",
    "full": "came too late",
    "closed": "invitation withdrawn",
}


def fields(found: Insight | None) -> list[list[str]]:
    """Seconds per field: a row per step of each mode."""
    rows = []
    modes = found.seconds if found is not None else ()
    for mode in modes:
        prefix = f"{mode.mode}: " if len(modes) > 1 else ""
        rows.append([f"{prefix}first input", *_spread(mode.first)])
        rows += [[f"{prefix}{name}", *_spread(spread)] for name, spread in mode.steps.items()]
        rows.append([f"{prefix}whole answer", *_spread(mode.answer)])
    return rows


def _spread(spread: Spread) -> list[str]:
    times = (spread.median, spread.p10, spread.p90)
    return [*map(words.seconds, times), words.count(spread.n)]


def agreement(found: Insight | None) -> list[tuple[str, str]]:
    """How far people agree, each number with what it is."""
    if found is None or found.agreement is None:
        return []
    here = found.agreement
    interval = f"{words.number(here.alpha.low)} to {words.number(here.alpha.high)}"
    return [
        ("Krippendorff’s alpha", f"{words.number(here.alpha.value)} (95 % interval {interval})"),
        ("Two people name the same label", f"{100 * here.observed:.0f} % of the time"),
        ("Distance between two people", f"{words.number(here.variation)} (mean total variation)"),
        ("Agreement with the others", f"{words.number(here.others)} (1 − distance to their mean)"),
        ("Items with two answers or more", words.count(here.shared)),
    ]


def repeats_and_cost(found: Overview) -> list[tuple[str, str]]:
    """Stability, then money."""
    rows = []
    if found.insight is not None and found.insight.repeats.pairs:
        twice = found.insight.repeats
        moved = f"{words.number(twice.variation)} (mean total variation)"
        rows += [
            ("Items shown twice", words.count(twice.pairs)),
            ("Top label changed", f"{twice.changed} ({100 * twice.change_rate:.0f} %)"),
            ("Label moved by", moved),
        ]
    if found.bill is not None:
        bill = found.bill
        rows += [
            ("Pay per session", words.money(bill.session, bill.currency)),
            ("Earned so far", words.money(bill.earned, bill.currency)),
            ("Projected", words.money(bill.projected, bill.currency)),
            ("Pay per hour of answering", words.money(bill.hourly, bill.currency)),
        ]
    return rows or [("Repeats", "none yet"), ("Pay", "study.toml says nothing about it")]


def stages(found: Overview) -> list[list[str]]:
    """How many people are where, in the order of the way."""
    here = found.standing.stages
    order = [*(stage for stage in STAGES if stage in here), *sorted(set(here) - set(STAGES))]
    return [[STAGES.get(stage, stage), words.count(here[stage])] for stage in order]
