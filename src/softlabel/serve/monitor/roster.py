"""One row per person: how far they came, how they answer, and what they said at the end."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping

from softlabel.io import Cell, escaped
from softlabel.metrics import spread
from softlabel.serve.monitor.lines import iso
from softlabel.serve.monitor.overview import Overview
from softlabel.serve.monitor.people import Person
from softlabel.store import Session, Store
from softlabel.study import Study

COLUMNS = (
    "annotator",
    "simulated",
    "session",
    "stage",
    "entered_at",
    "quiz_tries",
    "answered",
    "skipped",
    "targets_and_repeats",
    "seconds_median",
    "agreement",
    "entropy",
    "repeats",
    "repeats_changed",
    "repeats_variation",
    "gold",
    "gold_failed",
    "gold_variation",
    "attention",
    "attention_failed",
    "flags",
    "remarks",
)


def roster(study: Study, store: Store, found: Overview) -> bytes:
    """As CSV, in the order in which people came in; formulas are escaped as in the export.

    Columns that need the sample are empty for people without an answer in it.  The questions of
    the debrief are the last columns, in their own words.
    """
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(map(escaped, (*COLUMNS, *(question.text for question in study.debrief))))
    table.writerows(map(escaped, row) for row in _rows(study, store, found))
    return text.getvalue().encode()


def said_at_the_end(study: Study, detail: Mapping[str, object]) -> list[tuple[str, Cell]]:
    """The questions of the debrief with one person's answers; None where one was left out."""
    answers = [detail.get(f"Q{n}") for n in range(len(study.debrief))]
    told = [None if answer is None else str(answer) for answer in answers]
    return [(asked.text, answer) for asked, answer in zip(study.debrief, told, strict=True)]


def _rows(study: Study, store: Store, found: Overview) -> Iterator[tuple[Cell, ...]]:
    known = {one.annotator: one for one in found.people()}
    ends = {event.annotator: event.detail for event in store.debriefs(study.name)}
    for session in store.sessions(study.name):
        name = session.annotator
        person = known.get(name) or Person(name, 0, spread([]))
        told = said_at_the_end(study, ends.get(name, {}))
        yield *_row(session, person), *(answer for _, answer in told)


def _row(session: Session, person: Person) -> tuple[Cell, ...]:
    figures = (
        person.seconds.median,
        person.agreement,
        person.entropy,
        person.repeats.pairs,
        person.repeats.changed,
        person.repeats.variation,
        person.gold.n,
        person.gold.failed,
        person.gold.variation,
        person.attention.n,
        person.attention.failed,
    )
    return (
        session.annotator,
        session.simulated,
        session.id,
        session.stage,
        iso(session.entered_at),
        session.quiz_tries,
        session.answered,
        session.skipped,
        person.answers,
        *(None if math.isnan(value) else value for value in figures),
        "; ".join(person.flags),
        "; ".join(person.remarks),
    )
