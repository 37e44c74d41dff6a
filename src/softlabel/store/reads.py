"""Reading answers and events back, in the order of storing and a piece at a time.

Every piece is a query of its own: whatever the size of the study, memory stays the same, and no
long reading keeps the database from tidying up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.store.rows import Event, ResponseRow, TimedAnswer, Timing
from softlabel.store.schema import event, response, session, showing

PIECE = 200
Row = sa.Row[Any]
TOLD = [name for name in ResponseRow._fields if name in response.c and name != "late"]
TIMES = (
    response.c.first_input_ms,
    response.c.submit_ms,
    response.c.active_ms,
    response.c.hidden_ms,
)
_shown = response.join(session, session.c.id == response.c.session).join(
    showing,
    (showing.c.session == response.c.session) & (showing.c.position == response.c.position),
)
_responses = (
    sa.select(
        response.c.seq,
        response.c.id,
        response.c.session,
        response.c.annotator,
        response.c.item,
        response.c.kind,
        response.c.position,
        response.c.repeat_of,
        response.c.batch,
        session.c.label_order,
        session.c.simulated,
        response.c.mode,
        response.c.mode_version,
        response.c.mode_options,
        response.c.frame,
        response.c.answer,
        response.c.payload,
        response.c.skip,
        response.c.supersedes,
        showing.c.response.label("current"),
        response.c.late,
        response.c.received_at,
        *TIMES,
        response.c.fields,
    )
    .select_from(_shown)
    .where(response.c.study == bind("of"))
)
RESPONSES = (
    _responses.where(response.c.seq > bind("after")).order_by(response.c.seq).limit(bind("most"))
)
LATEST = _responses.order_by(response.c.seq.desc()).limit(bind("most"))
OF_ITEM = _responses.where(response.c.item == bind("item")).order_by(response.c.seq)
OF_ANNOTATOR = _responses.where(session.c.annotator == bind("who")).order_by(response.c.seq)
EVENTS = (
    sa.select(event.c.seq, event.c.annotator, event.c.name, event.c.detail, event.c.at)
    .where(event.c.study == bind("of"), event.c.seq > bind("after"))
    .order_by(event.c.seq)
    .limit(bind("most"))
)
NAMED_EVENTS = EVENTS.where(event.c.name == bind("name"))
TIMED = (
    response.c.seq,
    response.c.id,
    response.c.session,
    response.c.annotator,
    response.c.item,
    response.c.kind,
    response.c.mode,
    response.c.mode_version,
    response.c.mode_options,
    response.c.frame,
    response.c.answer,
    response.c.skip,
    response.c.supersedes,
    response.c.received_at,
)
TIMINGS = (
    sa.select(*TIMED, *TIMES, response.c.fields)
    .where(response.c.study == bind("of"), response.c.seq > bind("after"))
    .order_by(response.c.seq)
    .limit(bind("most"))
)


def rows_of(
    connection: sa.Connection, statement: sa.Select[Any], values: dict[str, Any]
) -> Sequence[Row]:
    return connection.execute(statement, values).all()


def pieces(
    read: Callable[..., Sequence[Row]],
    statement: sa.Select[Any],
    values: dict[str, Any],
    most: int | None = None,
) -> Iterator[Row]:
    """The rows of a statement that goes by ``seq``, from ``values["after"]`` on.

    ``read`` calls what it is given with a connection.
    """
    values = {"after": 0, **values}
    while most is None or most > 0:
        wanted = PIECE if most is None else min(PIECE, most)
        rows = read(rows_of, statement, values | {"most": wanted})
        yield from rows
        if len(rows) < wanted:
            return
        values["after"] = rows[-1].seq
        most = None if most is None else most - wanted


def response_of(row: Row) -> ResponseRow:
    told = {name: getattr(row, name) for name in TOLD}
    return ResponseRow(
        **told,
        label_order=tuple(json.loads(row.label_order)),
        answer_json=row.answer,
        superseded=row.current != row.id,
        late=bool(row.late),
        timing=timing_of(row),
        simulated=bool(row.simulated),
    )


def timed_of(row: Row) -> TimedAnswer:
    return TimedAnswer._make((*row[: len(TIMED)], timing_of(row)))


def event_of(row: Row) -> Event:
    return Event(row.seq, row.annotator, row.name, json.loads(row.detail), row.at)


def timing_of(row: Row) -> Timing:
    return Timing(
        row.first_input_ms, row.submit_ms, row.active_ms, row.hidden_ms, json.loads(row.fields)
    )
