"""The numbers of a study in words: formats, notes on the numbers, tables, and tiles."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from softlabel.annotators import Card
from softlabel.elicit import Answer
from softlabel.metrics import spread
from softlabel.serve.researcher import charts
from softlabel.serve.researcher.overview import Insight, Overview
from softlabel.store import Minutes, Session
from softlabel.study import Study
from softlabel.tables import Score

NONE = "–"
LATER = "being computed; it appears here in a moment"
STAGES = {
    "consent": "reading the consent form",
    "questions": "answering the first questions",
    "instructions": "reading the instructions",
    "quiz": "taking the quiz",
    "task": "answering",
    "debrief": "at the last questions",
    "done": "finished",
    "screened-out": "screened out: quiz or skips",
    "no-consent": "did not consent",
    "withdrawn": "withdrew",
    "full": "came too late",
    "closed": "ended by the researcher",
}


# ── formats ──────────────────────────────────────────────────────────────────────────────────


def count(n: float) -> str:
    """1234 -> 1,234; a dash where there is no number."""
    return f"{n:,.0f}" if math.isfinite(n) else NONE


def number(value: float, digits: int = 2) -> str:
    """With so many decimals and a real minus sign; a dash where there is no number."""
    return f"{value:,.{digits}f}".replace("-", "−") if math.isfinite(value) else NONE


def seconds(value: float) -> str:
    """Short times with one decimal, long ones without.

    >>> seconds(2.34), seconds(123.4)
    ('2.3', '123')
    """
    return number(value, 1 if value < 100 else 0)


def skips(by_reason: Mapping[str, int]) -> str:
    """How often items were skipped, and why.

    >>> skips({"cannot_judge": 2, "not_in_list": 1}), skips({})
    ('3 (2 cannot judge, 1 not in list)', '0')
    """
    return f"{count(sum(by_reason.values()))} ({reasons(by_reason)})" if by_reason else "0"


def reasons(by_reason: Mapping[str, int]) -> str:
    """The reasons of skips, each with its count."""
    return ", ".join(f"{count(n)} {reason.replace('_', ' ')}" for reason, n in by_reason.items())


def share(part: float, whole: float) -> str:
    """A percentage; never 100 before all is there.

    >>> share(999, 1000), share(1, 3), share(0, 0)
    ('99 %', '33 %', '–')
    """
    return f"{math.floor(100 * part / whole)} %" if whole else NONE


def duration(hours: float) -> str:
    """How long something will take, to the precision of a forecast.

    >>> duration(0.3), duration(5.2), duration(60)
    ('18 min', '5 h 10 min', '2 days 12 h')
    """
    if not math.isfinite(hours):
        return NONE
    minutes = round(hours * 60)
    if minutes < 60:
        return f"{max(minutes, 1)} min"
    if minutes < 48 * 60:
        tens = round(minutes / 10) * 10
        return f"{tens // 60} h {tens % 60} min" if tens % 60 else f"{tens // 60} h"
    days, rest = divmod(round(hours), 24)
    return f"{days} days {rest} h" if rest else f"{days} days"


def money(amount: float, currency: str) -> str:
    """An amount and its currency."""
    return f"{currency} {amount:,.2f}" if math.isfinite(amount) else NONE


def moment(at: float, now: float) -> str:
    """The time of day in UTC; on another day, the date with it."""
    then, today = (datetime.fromtimestamp(one, UTC) for one in (at, now))
    return then.strftime("%H:%M:%S" if then.date() == today.date() else "%d %b %H:%M")


# ── notes: which answers the numbers are about, and why some are missing ─────────────────────


def empty_note(insight: Insight | None, otherwise: str = "no answers yet") -> str:
    """Why there is nothing to show: not computed yet, or what ``otherwise`` says."""
    return LATER if insight is None else otherwise


def agreement_note(insight: Insight | None) -> str:
    """Why there is no agreement to show."""
    return empty_note(insight, "no item has two answers yet")


def branches_note(answers: Sequence[Answer | None]) -> str:
    """Return which branches were named as wholes, how often, and what became of that."""
    named = Counter(one.name for answer in answers if answer for one in answer.branches)
    if not named:
        return ""
    each = ", ".join(f"{name} (by {count})" for name, count in named.most_common())
    return f"Named as a whole, and shared evenly by the labels in it: {each}."


def wanted_note(study: Study, wanted: int) -> str:
    """How many answers each item is to get."""
    items = f"{count(len(study.items))} items"
    if study.allocate is None:
        return f"{wanted} are wanted for each of the {items}."
    limits = f"from {study.allocate.least} to {study.allocate.most}"
    return f"{wanted} are wanted for each of the {items} on average, {limits} for one of them."


def scope(insight: Insight | None) -> str:
    """Which answers a number is about."""
    if insight is None or insight.whole:
        return "all answers"
    return f"the latest {count(insight.read)} answers"


def scope_note(insight: Insight | None) -> str:
    """When and from which answers the numbers of a page were computed."""
    if insight is None:
        return "Counts are of now; agreement, speed and flags are being computed."
    note = f"Agreement, speed and flags were computed at {moment(insight.at, insight.at)} UTC"
    if insight.unreadable:  # something about the study was changed after people had answered
        note = (
            f"{count(insight.unreadable)} answers cannot be read with the labels and the mode that "
            f"the study has now; they are in none of these numbers, and in every export. {note}"
        )
    if insight.whole:
        return f"{note} from all answers; counts are of now."
    part = f"{count(insight.read)} of {count(insight.stored)}"
    return f"{note} from a sample, the latest {part} answers; counts are of now and of everything."


def items_note(insight: Insight | None) -> str:
    """What the order of items is computed from."""
    measure = "Disagreement is the mean total variation between two people’s labels"
    return f"{measure}; {LATER}." if insight is None else f"{measure}, from {scope(insight)}."


def flagged_note(overview: Overview, flagged: int) -> str:
    """How many people have flags."""
    if overview.insight is None:
        return f"Flags are {LATER}."
    if not flagged:
        return "Nobody has a flag."
    return f"{count(flagged)} of {count(len(overview.insight.people))} people have flags."


def rehearsal_note(simulated: int) -> str:
    """A note on every page of a study that holds simulated people."""
    note = f"Rehearsal: {count(simulated)} of the people in this database are simulated."
    return note if simulated else ""


def people_caption(overview: Overview, shown: int) -> str:
    """Who is in the table of people."""
    silent = overview.counts.people - shown
    rest = f"; {count(silent)} more came in and did neither" if silent > 0 else ""
    return f"{count(shown)} people answered or skipped items{rest}"


# ── tables of the overview ───────────────────────────────────────────────────────────────────


def seconds_rows(insight: Insight | None) -> list[list[str]]:
    """Return a row of seconds for each step of each mode."""
    rows, modes = [], insight.seconds if insight is not None else ()
    for mode in modes:
        prefix = f"{mode.mode}: " if len(modes) > 1 else ""
        steps = {"first input": mode.first, **mode.steps, "whole answer": mode.answer}
        for name, step in steps.items():
            times = map(seconds, (step.median, step.p10, step.p90))
            rows.append([f"{prefix}{name}", *times, count(step.n)])
    return rows


def agreement_rows(insight: Insight | None) -> list[tuple[str, str]]:
    """Return how far people agree, each number with its name."""
    if insight is None or insight.agreement is None:
        return []
    agreement = insight.agreement
    alpha = f"{number(agreement.alpha.value)} ({_interval(agreement.alpha)})"
    return [
        ("Krippendorff’s alpha", alpha),
        ("Two people name the same label", f"{100 * agreement.observed.value:.0f} % of the time"),
        ("Distance between two people", f"{number(agreement.variation)} (mean total variation)"),
        ("Agreement with the others", f"{number(agreement.others)} (1 − distance to their mean)"),
        ("Items with two answers or more", count(agreement.shared)),
    ]


def _interval(alpha: Score) -> str:
    return f"95 % interval {number(alpha.low)} to {number(alpha.high)}"


def repeat_and_cost_rows(overview: Overview) -> list[tuple[str, str]]:
    """Return the stability of repeated answers, then the costs."""
    rows = []
    if overview.insight is not None and overview.insight.repeats.pairs:
        repeats = overview.insight.repeats
        rows += [
            ("Items shown twice", count(repeats.pairs)),
            ("Top label changed", f"{repeats.changed} ({100 * repeats.change_rate:.0f} %)"),
            ("Label moved by", f"{number(repeats.variation)} (mean total variation)"),
        ]
    if (bill := overview.bill) is not None:
        rows += [
            ("Pay per session", money(bill.session, bill.currency)),
            ("Earned so far", money(bill.earned, bill.currency)),
            ("Projected", money(bill.projected, bill.currency)),
            ("Pay per hour of answering", money(bill.hourly, bill.currency)),
        ]
    return rows or [("Repeats", "none yet"), ("Pay", "study.toml has no [pay]")]


def stage_rows(overview: Overview) -> list[list[str]]:
    """Return how many people are at each stage, in the order of the stages."""
    people = overview.counts.stages
    order = [*(stage for stage in STAGES if stage in people), *sorted(set(people) - set(STAGES))]
    return [[STAGES.get(stage, stage), count(people[stage])] for stage in order]


@dataclass(frozen=True)
class Tile:
    """One number to see at a glance."""

    name: str
    value: str
    unit: str = ""
    more: str = ""
    picture: Markup | None = None


def make_tiles(overview: Overview) -> list[Tile]:
    """Make the row of numbers on top of the overview."""
    insight, bill = overview.insight, overview.bill
    tiles = _count_tiles(overview)
    if insight is None:
        tiles.append(Tile("Speed", NONE, more=LATER))
    else:
        more = f"about {duration(overview.hours_left)} to go at this speed"
        if not overview.counts.missing:
            more = "all answers are there"
        elif math.isnan(overview.hours_left):
            more = "nobody answered in the latest hour"
        tiles.append(Tile("Speed", count(insight.speed.per_hour), "answers an hour", more))
    if insight is None or not insight.seconds:
        tiles.append(Tile("Seconds per answer", NONE, more=empty_note(insight)))
    elif not (times := insight.seconds[0].answer).n:
        more = f"mode {insight.seconds[0].mode}; none yet"
        tiles.append(Tile("Seconds per answer", NONE, more=more))
    else:
        middle = f"{seconds(times.p10)} to {seconds(times.p90)}"
        more = f"mode {insight.seconds[0].mode}; four of five take {middle} s"
        tiles.append(Tile("Seconds per answer", seconds(times.median), "s", more))
    if insight is None or insight.agreement is None:
        tiles.append(Tile("Agreement", NONE, more=agreement_note(insight)))
    else:
        alpha = insight.agreement.alpha
        tiles.append(Tile("Agreement", number(alpha.value), "alpha", _interval(alpha)))
    if insight is None or not insight.repeats.pairs:
        why = empty_note(insight, "nothing was shown twice yet")
        tiles.append(Tile("Stability", NONE, more=why))
    else:
        changed = f"{100 * insight.repeats.change_rate:.0f} %"
        more = f"of {count(insight.repeats.pairs)} repeats changed their top label"
        tiles.append(Tile("Stability", changed, more=more))
    if bill is None:
        tiles.append(Tile("Cost", NONE, more="study.toml has no [pay]"))
    else:
        more = f"about {money(bill.projected, bill.currency)} when all answers are there"
        tiles.append(Tile("Cost", money(bill.earned, bill.currency), more=more))
    return tiles


def _count_tiles(overview: Overview) -> list[Tile]:
    """Answers, items, skips and people: counted, and exact."""
    counts = overview.counts
    bar = charts.progress_bar(counts.answers, counts.wanted, "Answers so far")
    part = share(counts.answers, counts.wanted)
    stored = f"{part}; {count(counts.stored)} stored with practice, checks, repeats and skips"
    if counts.late:
        stored += f"; {count(counts.late)} came late, beyond what was wanted"
    full = charts.progress_bar(counts.done, counts.items, "Items with all their answers")
    done = f"{share(counts.done, counts.items)} have all their answers"
    skip = Tile("Skips", "0", more="nobody has skipped an item")
    if counts.skips:
        total, who = count(sum(counts.skips.values())), len(counts.skipped)
        by = f"by {count(who)} {'people' if who > 1 else 'person'}"
        skip = Tile("Skips", total, by, reasons(counts.skips))
    stages = counts.stages
    people = f"{count(stages.get('task', 0))} answering, {count(stages.get('done', 0))} finished"
    return [
        Tile("Answers", count(counts.answers), f"of {count(counts.wanted)}", stored, Markup(bar)),
        Tile("Items done", count(counts.done), f"of {count(counts.items)}", done, Markup(full)),
        skip,
        Tile("People", count(counts.people), more=people),
    ]


def minutes_note(overview: Overview) -> str:
    """How long finished sessions took, from coming in to the last answer."""
    counts = overview.counts
    done = [took.elapsed for who, took in counts.minutes.items() if counts.stage_of[who] == "done"]
    times = spread(done)
    if not times.n:
        return "No session is finished yet."
    middle = f"four of five took {number(times.p10, 1)} to {number(times.p90, 1)}"
    return (
        f"{count(times.n)} finished sessions took {number(times.median, 1)} minutes at the median, "
        f"from coming in to the last answer; {middle}."
    )


def person_row(
    card: Card, stage: str, skipped: int, minutes: Minutes | None = None
) -> dict[str, Any]:
    """Word the numbers of one annotator, who ``skipped`` so many items."""
    checks, failed = card.gold.n + card.attention.n, card.gold.failed + card.attention.failed
    pairs = card.repeats.pairs
    return {
        "annotator": card.annotator,
        "stage": STAGES.get(stage, stage),
        "answers": count(card.answers),
        "skips": count(skipped),
        "minutes": NONE if minutes is None else number(minutes.elapsed, 1),
        "seconds": seconds(card.seconds.median),
        "agreement": number(card.agreement),
        "repeats": f"{card.repeats.changed} of {pairs}" if pairs else NONE,
        "checks": f"{failed} of {checks}" if checks else NONE,
        "flags": card.flags,
        "remarks": card.remarks,
    }


def person_figures(
    card: Card, session: Session, minutes: Minutes | None = None
) -> list[tuple[str, str]]:
    """Word the card of one annotator; reasons of skips only if the sample holds them all."""
    row = person_row(card, session.stage, session.skipped, minutes)
    came = datetime.fromtimestamp(session.entered_at, UTC).strftime("%Y-%m-%d %H:%M")
    active = NONE if minutes is None else number(minutes.active, 1)
    known = card.skipped == session.skipped
    times = card.seconds
    range_ = f" (four of five: {seconds(times.p10)} to {seconds(times.p90)})"
    gold = number(card.gold.variation)
    gold += f" ({card.gold.failed} too far)" if card.gold.failed else ""
    return [
        ("Stage", row["stage"]),
        ("Came in", f"{came} UTC"),
        ("Minutes until the last answer", f"{row['minutes']} ({active} of them looking at items)"),
        ("Answers to items and repeats", row["answers"]),
        ("Items skipped", skips(card.skips) if known else row["skips"]),
        ("Seconds per answer", row["seconds"] + (range_ if times.n else "")),
        ("Agreement with the others", row["agreement"]),
        ("Entropy of own labels", f"{number(card.sharpness)} nats"),
        ("Repeats with another top label", row["repeats"]),
        ("Distance between repeats", number(card.repeats.variation)),
        ("Gold: distance to the reference", gold),
        ("Checks failed", row["checks"]),
    ]
