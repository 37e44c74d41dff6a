"""One stored answer as the dashboard tells it: who said what about which item, and how fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from softlabel.serve.monitor import words
from softlabel.serve.monitor.lines import iso
from softlabel.serve.monitor.sample import labelled, statements
from softlabel.serve.monitor.window import Reader
from softlabel.serve.research.charts import in_words
from softlabel.store import ResponseRow
from softlabel.tables import Floats


@dataclass(frozen=True)
class Told:
    """A row of a table of answers."""

    time: str
    iso: str
    item: str
    item_link: str
    annotator: str
    kind: str
    note: str
    answer: str
    seconds: str


def beliefs(reader: Reader, rows: Sequence[ResponseRow]) -> list[Floats | None]:
    """(k,) what each row says about every label; None where it says nothing."""
    seen = [reader.seen(row) for row in rows]
    said = statements(reader.study.labels, seen)
    soft = iter(labelled(said, {one.mode for one in seen}).soft() if len(said) else ())
    return [None if one.said is None else next(soft) for one in seen]


def told(reader: Reader, rows: Sequence[ResponseRow], now: float) -> list[Told]:
    """The rows in their order."""
    return [
        Told(
            time=words.moment(row.received_at, now),
            iso=iso(row.received_at),
            item=row.item,
            item_link=f"/research/items?{urlencode({'find': row.item})}",
            annotator=row.annotator,
            kind=row.kind,
            note=_note(row),
            answer=_answer(reader, row, belief),
            seconds=words.seconds(_active(row)),
        )
        for row, belief in zip(rows, beliefs(reader, rows), strict=True)
    ]


def _note(row: ResponseRow) -> str:
    notes = [name for name, true in (("late", row.late), ("replaced", row.superseded)) if true]
    return ", ".join(notes)


def _answer(reader: Reader, row: ResponseRow, belief: Floats | None) -> str:
    if row.skip is not None:
        return f"skipped: {row.skip.replace('_', ' ')}"
    return "cannot be read" if belief is None else in_words(belief, reader.study.labels)


def _active(row: ResponseRow) -> float:
    ms = row.timing.active_ms
    return float("nan") if ms is None else ms / 1000
