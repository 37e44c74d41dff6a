"""The row of numbers on top of the overview."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from softlabel.serve.monitor import Insight, Overview, words
from softlabel.serve.research import charts
from softlabel.serve.research.notes import LATER, agreement_note, none_yet


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
        _skips(found),
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
    stored = f"{part}; {words.count(here.stored)} stored with practice, checks, repeats and skips"
    if here.late:
        stored += f"; {words.count(here.late)} came late, beyond what was wanted"
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


def _skips(found: Overview) -> Tile:
    here = found.standing
    if not here.skips:
        return Tile("Skips", "0", more="nobody has skipped an item")
    why = [f"{words.count(n)} {reason.replace('_', ' ')}" for reason, n in here.skips.items()]
    people = (
        f"by {words.count(len(here.skipped))} {'people' if len(here.skipped) > 1 else 'person'}"
    )
    return Tile("Skips", words.count(sum(here.skips.values())), people, ", ".join(why))


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
    if not first.answer.n:
        return Tile("Seconds per answer", words.NONE, more=f"mode {first.mode}; none yet")
    range_ = f"{words.seconds(first.answer.p10)} to {words.seconds(first.answer.p90)}"
    more = f"mode {first.mode}; four of five take {range_} s"
    return Tile("Seconds per answer", words.seconds(first.answer.median), "s", more)


def _agreement(found: Insight | None) -> Tile:
    if found is None or found.agreement is None:
        return Tile("Agreement", words.NONE, more=agreement_note(found))
    alpha = found.agreement.alpha
    more = f"95 % interval {words.number(alpha.low)} to {words.number(alpha.high)}"
    return Tile("Agreement", words.number(alpha.value), "alpha", more)


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
