"""From an overview to the words and numbers of its page."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from softlabel.monitor import Insight, Overview, Person, Spread, words
from softlabel.report.tables import number
from softlabel.serve.research import charts

LATER = "being computed; it appears here in a moment"
STAGES = {
    "consent": "reading the consent form",
    "instructions": "reading the instructions",
    "quiz": "taking the quiz",
    "task": "answering",
    "debrief": "at the last questions",
    "done": "finished",
    "screened-out": "failed the quiz",
    "no-consent": "did not consent",
    "withdrawn": "withdrew",
    "full": "came too late",
    "closed": "came too late",
}


@dataclass(frozen=True)
class Tile:
    """One number to see at a glance."""

    name: str
    value: str
    unit: str = ""
    more: str = ""
    picture: Markup | None = None


def tiles(found: Overview) -> list[Tile]:
    """The row of numbers on top."""
    return [
        *_progress(found),
        _people(found),
        _speed(found),
        _seconds(found.insight),
        _agreement(found.insight),
        _repeats(found.insight),
        _cost(found),
    ]


def _progress(found: Overview) -> list[Tile]:
    here = found.standing
    bar = charts.progress_bar(here.answers, here.wanted, "Answers there")
    part = words.share(here.answers, here.wanted)
    stored = f"{part}; {words.count(here.stored)} stored with practice, checks and repeats"
    full = charts.progress_bar(here.done, here.items, "Items with all their answers")
    return [
        Tile(
            "Answers",
            words.count(here.answers),
            f"of {words.count(here.wanted)}",
            stored,
            Markup(bar),
        ),
        Tile(
            "Items done",
            words.count(here.done),
            f"of {words.count(here.items)}",
            f"{words.share(here.done, here.items)} have all their answers",
            Markup(full),
        ),
    ]


def _people(found: Overview) -> Tile:
    here = found.standing
    answering, done = here.stages.get("task", 0), here.stages.get("done", 0)
    more = f"{words.count(answering)} answering, {words.count(done)} finished"
    return Tile("People", words.count(here.people), more=more)


def _speed(found: Overview) -> Tile:
    if found.insight is None:
        return Tile("Speed", words.NONE, more=LATER)
    rate, left = found.insight.speed.per_hour, found.hours_left
    if not found.standing.missing:
        more = "all answers are there"
    elif left != left:
        more = "nobody answered in the latest hour"
    else:
        more = f"about {words.duration(left)} to go at this speed"
    return Tile("Speed", words.count(rate), "answers an hour", more)


def _seconds(found: Insight | None) -> Tile:
    if found is None or not found.seconds:
        return Tile("Seconds per answer", words.NONE, more=none_yet(found))
    first = found.seconds[0]
    range_ = f"{words.seconds(first.answer.p10)} to {words.seconds(first.answer.p90)}"
    more = f"mode {first.mode}; four of five take {range_} s"
    return Tile("Seconds per answer", words.seconds(first.answer.median), "s", more)


def _agreement(found: Insight | None) -> Tile:
    if found is None or found.agreement is None:
        return Tile("Agreement", words.NONE, more=agreement_note(found))
    alpha = found.agreement.alpha
    more = f"95 % interval {number(alpha.low)} to {number(alpha.high)}"
    return Tile("Agreement", number(alpha.value), "alpha", more)


def _repeats(found: Insight | None) -> Tile:
    if found is None or not found.repeats.pairs:
        return Tile(
            "Stability", words.NONE, more=LATER if found is None else "nothing was shown twice yet"
        )
    twice = found.repeats
    changed = f"{100 * twice.change_rate:.0f} %"
    more = f"of {words.count(twice.pairs)} repeats changed their top label"
    return Tile("Stability", changed, more=more)


def _cost(found: Overview) -> Tile:
    if found.bill is None:
        return Tile("Cost", words.NONE, more="study.toml says nothing about pay")
    bill = found.bill
    more = f"about {words.money(bill.projected, bill.currency)} when all answers are there"
    return Tile("Cost", words.money(bill.earned, bill.currency), more=more)


def none_yet(found: Insight | None) -> str:
    """Why there is nothing to show."""
    return LATER if found is None else "no answers yet"


def agreement_note(found: Insight | None) -> str:
    """Why there is no agreement to show."""
    return LATER if found is None else "no item has two answers yet"


# ── cards ────────────────────────────────────────────────────────────────────────────────────


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
    interval = f"{number(here.alpha.low)} to {number(here.alpha.high)}"
    return [
        ("Krippendorff’s alpha", f"{number(here.alpha.value)} (95 % interval {interval})"),
        ("Two people name the same label", f"{100 * here.observed:.0f} % of the time"),
        ("Distance between two people", f"{number(here.variation)} (mean total variation)"),
        ("Agreement with the others", f"{number(here.others)} (1 − distance to their mean)"),
        ("Items with two answers or more", words.count(here.shared)),
    ]


def repeats_and_cost(found: Overview) -> list[tuple[str, str]]:
    """Stability, then money."""
    rows = []
    if found.insight is not None and found.insight.repeats.pairs:
        twice = found.insight.repeats
        moved = f"{number(twice.variation)} (mean total variation)"
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


def scope(found: Insight | None) -> str:
    """Which answers a number is about."""
    if found is None or found.whole:
        return "all answers"
    return f"the latest {words.count(found.read)} answers"


def scope_note(found: Insight | None) -> str:
    """What the page says about its own numbers."""
    if found is None:
        return "Counts are of now; agreement, speed and flags are being computed."
    when = f"Agreement, speed and flags were computed at {words.clock(found.at)} UTC"
    if found.unreadable:
        when = f"{unreadable(found)} {when}"
    if found.whole:
        return f"{when} from all answers; counts are of now."
    part = f"{words.count(found.read)} of {words.count(found.stored)}"
    return f"{when} from a sample, the latest {part} answers; counts are of now and of everything."


def unreadable(found: Insight) -> str:
    """A warning: something about the study was changed after people had answered."""
    return (
        f"{words.count(found.unreadable)} answers cannot be read with the labels and the mode that "
        "the study has now; they are in none of these numbers, and in every export."
    )


def items_note(found: Insight | None) -> str:
    """What the order of items is made of."""
    measure = "Disagreement is the mean total variation between two people’s labels"
    return f"{measure}, from {scope(found)}." if found is not None else f"{measure}; {LATER}."


# ── people ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class PersonRow:
    """One annotator in the table of people."""

    annotator: str
    stage: str
    answers: str
    seconds: str
    agreement: str
    repeats: str
    checks: str
    flags: tuple[str, ...]
    remarks: tuple[str, ...]


def person_row(person: Person, stage: str) -> PersonRow:
    """The numbers of one annotator, in words."""
    checks = person.gold.n + person.attention.n
    failed = person.gold.failed + person.attention.failed
    return PersonRow(
        person.annotator,
        STAGES.get(stage, stage),
        words.count(person.answers),
        words.seconds(person.seconds.median),
        number(person.agreement),
        f"{person.repeats.changed} of {person.repeats.pairs}"
        if person.repeats.pairs
        else words.NONE,
        f"{failed} of {checks}" if checks else words.NONE,
        person.flags,
        person.remarks,
    )


def person_figures(person: Person, stage: str, entered: str) -> list[tuple[str, str]]:
    """The card of one annotator."""
    row = person_row(person, stage)
    times = person.seconds
    range_ = f"{words.seconds(times.p10)} to {words.seconds(times.p90)}"
    return [
        ("Stage", row.stage),
        ("Came in", f"{entered} UTC"),
        ("Answers to items and repeats", row.answers),
        ("Seconds per answer", f"{row.seconds} (four of five: {range_})"),
        ("Agreement with the others", row.agreement),
        ("Entropy of own labels", f"{number(person.entropy)} nats"),
        ("Repeats with another top label", row.repeats),
        ("Distance between repeats", number(person.repeats.variation)),
        ("Gold: distance to the reference", _check(person.gold.variation, person.gold.failed)),
        ("Checks failed", row.checks),
    ]


def _check(variation: float, failed: int) -> str:
    return number(variation) + (f" ({failed} too far)" if failed else "")


def flagged_note(found: Overview, flagged: int) -> str:
    """How many people have flags."""
    if found.insight is None:
        return f"Flags are {LATER}."
    if not flagged:
        return "Nobody has a flag."
    return f"{words.count(flagged)} of {words.count(len(found.insight.people))} people have flags."


def people_caption(found: Overview, shown: int) -> str:
    """Who is in the table."""
    silent = found.standing.people - shown
    rest = f"; {words.count(silent)} more came in without answering" if silent > 0 else ""
    return f"{words.count(shown)} people answered{rest}"
