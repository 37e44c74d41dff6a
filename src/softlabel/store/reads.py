"""Reading the store: answers and events in the order of storing, and counts.

Long reads are split into pieces, each a query of its own.  So memory stays the same whatever the
size of the study, and no long read keeps the database from cleaning up.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.records import PRACTICE
from softlabel.store.rows import (
    AuditEntry,
    Crowd,
    Event,
    Filters,
    Flag,
    Minutes,
    Progress,
    ResponseRow,
    TimedAnswer,
    Timing,
)
from softlabel.store.schema import (
    audit,
    batch,
    event,
    invitation,
    item,
    response,
    session,
    showing,
    submission,
)
from softlabel.store.sessions import COUNTED, get_control

PIECE = 200  # rows per query
Row = sa.Row[Any]


def _columns(names: str) -> list[sa.Column[Any]]:
    return [response.c[name] for name in names.split()]


PLAIN = [name for name in ResponseRow._fields if name in response.c and name != "late"]
TIMES = _columns("first_input_ms submit_ms active_ms hidden_ms")
TIMED = _columns(" ".join(TimedAnswer._fields[:-1]).replace("answer_json", "answer"))
_partial = sa.and_(  # the platform ended the visit before the person was done
    session.c.stage != "done",
    sa.exists().where(
        submission.c.study == session.c.study,
        submission.c.visit == session.c.recruiter_session,
        submission.c.status.in_(("RETURNED", "TIMED-OUT")),
    ),
)
_responses = (
    sa.select(
        *_columns("seq id session annotator item kind position repeat_of batch"),
        session.c.label_order,
        session.c.simulated,
        _partial.label("partial"),
        session.c.excluded_because,
        *_columns("mode mode_version mode_options frame arm answer payload skip supersedes"),
        showing.c.response.label("current"),
        showing.c.propensity,
        *_columns("late received_at"),
        *TIMES,
        response.c.fields,
    )
    .select_from(
        response.join(session, session.c.id == response.c.session).join(
            showing,
            (showing.c.session == response.c.session) & (showing.c.position == response.c.position),
        )
    )
    .where(response.c.study == bind("of"))
)
RESPONSES = (
    _responses.where(response.c.seq > bind("after")).order_by(response.c.seq).limit(bind("most"))
)
_newest_first = _responses.where(response.c.seq < bind("before")).order_by(response.c.seq.desc())
LATEST = _responses.order_by(response.c.seq.desc()).limit(bind("most"))
OF_ITEM = _responses.where(response.c.item == bind("item")).order_by(response.c.seq)
OF_ANNOTATOR = _responses.where(session.c.annotator == bind("who")).order_by(response.c.seq)
TIMINGS = (
    sa.select(*TIMED, *TIMES, response.c.fields)
    .where(response.c.study == bind("of"), response.c.seq > bind("after"))
    .order_by(response.c.seq)
    .limit(bind("most"))
)
EVENTS = (
    sa.select(event.c.seq, event.c.annotator, event.c.name, event.c.detail, event.c.at)
    .where(event.c.study == bind("of"), event.c.seq > bind("after"))
    .order_by(event.c.seq)
    .limit(bind("most"))
)
NAMED_EVENTS = EVENTS.where(event.c.name == bind("name"))
AUDIT = (
    sa.select(*(audit.c[name] for name in AuditEntry._fields))
    .where(audit.c.study == bind("of"), audit.c.seq < bind("before"))
    .order_by(audit.c.seq.desc())
    .limit(bind("most"))
)
LAST_NUMBER = 2**53  # beyond every number of a row
FLAGGED: dict[Flag, sa.ColumnElement[bool]] = {
    "late": response.c.late,
    "replaced": showing.c.response != response.c.id,
    "excluded": session.c.excluded_at.is_not(None),
    "skipped": response.c.skip.is_not(None),
    "repeat": response.c.kind == "repeat",
}
COMMENTED = _newest_first.where(
    response.c.payload.contains('"comment"'), ~response.c.payload.contains('"comment":null')
).limit(bind("most"))
_spent = (  # first by session, then names: a join for every answer would take twice as long
    sa.select(
        response.c.session,
        sa.func.max(response.c.received_at).label("last"),
        sa.func.sum(sa.func.coalesce(response.c.active_ms, 0.0)).label("active"),
    )
    .where(response.c.study == bind("of"))
    .group_by(response.c.session)
    .subquery()
)
MINUTES = sa.select(
    session.c.annotator, _spent.c.last - session.c.entered_at, _spent.c.active
).select_from(_spent.join(session, session.c.id == _spent.c.session))


def select_responses(filters: Filters) -> sa.Select[Any]:
    """Return the statement for the newest responses before number ``before`` that match."""
    conditions: list[sa.ColumnElement[bool]] = []
    if filters.item is not None:
        conditions.append(response.c.item == filters.item)
    if filters.annotator is not None:
        conditions.append(session.c.annotator == filters.annotator)
    if filters.mentions is not None:  # as JSON has it: a superset, since rare labels may be keys
        text = json.dumps(filters.mentions)
        conditions.append(response.c.answer.contains(text, autoescape=True))
    if filters.flag is not None:
        conditions.append(FLAGGED[filters.flag])
    if filters.since is not None:
        conditions.append(response.c.received_at >= filters.since)
    if filters.until is not None:
        conditions.append(response.c.received_at < filters.until)
    return _newest_first.where(*conditions).limit(bind("most"))


def to_audit_entry(row: Row) -> AuditEntry:
    return AuditEntry(row.seq, row.at, row.actor, row.action, json.loads(row.detail))


def get_minutes(connection: sa.Connection, of: str) -> dict[str, Minutes]:
    rows = connection.execute(MINUTES, {"of": of})
    return {who: Minutes(max(0.0, elapsed) / 60, active / 60_000) for who, elapsed, active in rows}


def read_pieces(
    read: Callable[[sa.Select[Any], dict[str, Any]], Sequence[Row]],
    statement: sa.Select[Any],
    values: dict[str, Any],
    most: int | None = None,
) -> Iterator[Row]:
    """Yield the rows of a statement ordered by ``seq``, starting after ``values["after"]``;
    ``read`` executes one query."""
    values = {"after": 0, **values}
    while most is None or most > 0:
        wanted = PIECE if most is None else min(PIECE, most)
        rows = read(statement, values | {"most": wanted})
        yield from rows
        if len(rows) < wanted:
            return
        values["after"] = rows[-1].seq
        most = None if most is None else most - wanted


def to_response(row: Row) -> ResponseRow:
    return ResponseRow(
        **{name: getattr(row, name) for name in PLAIN},
        label_order=tuple(json.loads(row.label_order)),
        answer_json=row.answer,
        superseded=row.current != row.id,
        late=bool(row.late),
        timing=_timing(row),
        simulated=bool(row.simulated),
        partial=bool(row.partial),
        excluded=row.excluded_because,
        propensity=row.propensity,
    )


def to_timed_answer(row: Row) -> TimedAnswer:
    return TimedAnswer._make((*row[: len(TIMED)], _timing(row)))


def to_event(row: Row) -> Event:
    return Event(row.seq, row.annotator, row.name, json.loads(row.detail), row.at)


def _timing(row: Row) -> Timing:
    times = {column.name: getattr(row, column.name) for column in TIMES}
    return Timing(**times, fields=json.loads(row.fields))


_targets = sa.and_(item.c.study == bind("of"), item.c.kind == "target")
ITEMS = sa.select(
    sa.func.count(),
    sa.func.coalesce(sa.func.sum(item.c.taken), 0),
    sa.func.count().filter(item.c.taken >= bind("quota")),
).where(_targets)
_skip = (  # looked up only where it matters, because most showings were answered
    sa.select(response.c.skip).where(response.c.id == showing.c.response).scalar_subquery()
)
_settled = (
    sa.select(
        showing.c.kind,
        showing.c.state,
        showing.c.response.is_not(None).label("told"),
        sa.case((showing.c.state.in_(("released", "skipped")), _skip)).label("reason"),
    )
    .where(showing.c.study == bind("of"), showing.c.state != "open", COUNTED)
    .subquery()
)
# all kinds, states and reasons in one pass over the showings
FATES: sa.Select[Any] = sa.select(*_settled.c, sa.func.count()).group_by(*_settled.c)
RESPONSE_COUNT = sa.select(sa.func.count(), sa.func.max(response.c.received_at)).where(
    response.c.study == bind("of")
)
BEFORE_LATEST = (
    sa.select(response.c.seq)
    .where(response.c.study == bind("of"))
    .order_by(response.c.seq.desc())
    .offset(bind("count"))
    .limit(1)
)
STAGES = (
    sa.select(session.c.stage, sa.func.count())
    .where(session.c.study == bind("of"))
    .group_by(session.c.stage)
    .order_by(session.c.stage)
)
_answers_to_item = sa.and_(
    showing.c.study == item.c.study,
    showing.c.item == item.c.id,
    showing.c.kind == "target",
    showing.c.state == "answered",
    COUNTED,
)
PER_ITEM = (
    sa.select(item.c.id, sa.func.count(showing.c.position))
    .select_from(item.outerjoin(showing, _answers_to_item))
    .where(_targets)
    .group_by(item.c.id)
    .order_by(item.c.id)
)
CROWD = sa.select(
    session.c.simulated, sa.func.count(), sa.func.coalesce(sa.func.sum(session.c.answered), 0)
).group_by(session.c.simulated)
CROWD_OF_STUDY = CROWD.where(session.c.study == bind("of"))
PER_BATCH = (
    sa.select(batch.c.name, batch.c.taken).where(batch.c.study == bind("of")).order_by(batch.c.name)
)
NEWEST = (  # numbers grow with time, so that no table of answers has to be scanned
    sa.select(response.c.received_at).order_by(response.c.seq.desc()).limit(1),
    sa.select(event.c.at).order_by(event.c.seq.desc()).limit(1),
    sa.select(sa.func.max(session.c.entered_at)),
    sa.select(sa.func.max(session.c.lease_end - session.c.lease_seconds)).where(
        session.c.lease_end > 0  # when it was last extended
    ),
)
ROWS_BY_TABLE = {
    table.name: sa.select(sa.func.count()).where(table.c.study == bind("of"))
    for table in (item, session, showing, response, event, invitation)
}


def get_progress(connection: sa.Connection, of: str) -> Progress:
    quota, values = get_control(connection, of).per_item, {"of": of}
    items, taken, full = connection.execute(ITEMS, values | {"quota": quota}).one()
    responses, last_at = connection.execute(RESPONSE_COUNT, values).one()
    answered, late, skips = 0, 0, Counter[str]()
    for kind, state, told, reason, count in connection.execute(FATES, values):
        if state == "skipped" and kind != PRACTICE and told:
            skips[reason] += count
        elif kind == "target" and state == "answered":
            answered += count
        elif kind == "target" and state == "released" and told and reason is None:
            late += count
    return Progress(
        items=items,
        wanted=items * quota,
        taken=taken,
        answered=answered,
        full=full,
        late=late,
        skips=dict(sorted(skips.items())),
        responses=responses,
        sessions={stage: count for stage, count in connection.execute(STAGES, values)},
        last_at=last_at,
    )


def count_rows(connection: sa.Connection, of: str) -> dict[str, int]:
    return {
        name: connection.execute(statement, {"of": of}).scalar_one()
        for name, statement in ROWS_BY_TABLE.items()
    }


def count_crowd(connection: sa.Connection, of: str | None) -> Crowd:
    statement, values = (CROWD, {}) if of is None else (CROWD_OF_STUDY, {"of": of})
    rows = connection.execute(statement, values)
    counts = {bool(row[0]): (row[1], int(row[2])) for row in rows}
    return Crowd(*counts.get(False, (0, 0)), *counts.get(True, (0, 0)))


def find_newest_time(connection: sa.Connection) -> float | None:
    times = [connection.execute(statement).scalar() for statement in NEWEST]
    return max((at for at in times if at is not None), default=None)
