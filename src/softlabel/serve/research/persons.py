"""One annotator in words: a row of the table, and the card on their own page."""

from __future__ import annotations

from dataclasses import dataclass

from softlabel.serve.monitor.people import Person
from softlabel.serve.researcher import wording as words
from softlabel.serve.researcher.wording import STAGES
from softlabel.store import Session


@dataclass(frozen=True)
class PersonRow:
    """One annotator in the table of people."""

    annotator: str
    stage: str
    answers: str
    skips: str
    seconds: str
    agreement: str
    repeats: str
    checks: str
    flags: tuple[str, ...]
    remarks: tuple[str, ...]


def person_row(person: Person, stage: str, skipped: int) -> PersonRow:
    """The numbers of one annotator, in words; they ``skipped`` so many items."""
    checks = person.gold.n + person.attention.n
    failed = person.gold.failed + person.attention.failed
    return PersonRow(
        person.annotator,
        STAGES.get(stage, stage),
        words.count(person.answers),
        words.count(skipped),
        words.seconds(person.seconds.median),
        words.number(person.agreement),
        f"{person.repeats.changed} of {person.repeats.pairs}"
        if person.repeats.pairs
        else words.NONE,
        f"{failed} of {checks}" if checks else words.NONE,
        person.flags,
        person.remarks,
    )


def person_figures(person: Person, session: Session) -> list[tuple[str, str]]:
    """The card of one annotator; reasons of skips that the sample holds all of."""
    row = person_row(person, session.stage, session.skipped)
    known = sum(person.skips.values()) == session.skipped
    times = person.seconds
    range_ = f" (four of five: {words.seconds(times.p10)} to {words.seconds(times.p90)})"
    return [
        ("Stage", row.stage),
        ("Came in", f"{words.day(session.entered_at)} UTC"),
        ("Answers to items and repeats", row.answers),
        ("Items skipped", words.skips(person.skips) if known else row.skips),
        ("Seconds per answer", row.seconds + (range_ if times.n else "")),
        ("Agreement with the others", row.agreement),
        ("Entropy of own labels", f"{words.number(person.entropy)} nats"),
        ("Repeats with another top label", row.repeats),
        ("Distance between repeats", words.number(person.repeats.variation)),
        ("Gold: distance to the reference", _check(person.gold.variation, person.gold.failed)),
        ("Checks failed", row.checks),
    ]


def _check(variation: float, failed: int) -> str:
    return words.number(variation) + (f" ({failed} too far)" if failed else "")
