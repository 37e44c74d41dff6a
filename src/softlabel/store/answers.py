"""Storing an answer: once, beside nothing that contradicts it, and never changed afterwards.

A skip is stored in the same way, and is not an answer: nothing that counts answers counts it.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.errors import Absent, Conflict
from softlabel.store import sessions
from softlabel.store.late import state_after
from softlabel.store.rows import LEFT, MOST_REVISIONS, Ack, NewResponse, State
from softlabel.store.schema import response, session, showing

Row = Any  # of the statement SHOWN
SCREENED_OUT = "screened-out"  # the stage and the event of somebody who skips too much

TOLD = (
    showing.c.study,
    session.c.annotator,
    session.c.stage,
    showing.c.item,
    showing.c.kind,
    showing.c.repeat_of,
    showing.c.batch,
    showing.c.state,
    showing.c.response,
    showing.c.revisions,
)
PLACES = showing.join(session, session.c.id == showing.c.session)
_current = response.alias()
SHOWN = (
    sa.select(
        *TOLD,
        _current.c.skip.label("current_skip"),
        response.c.digest,
        response.c.session.label("known_session"),
        response.c.position.label("known_position"),
    )
    .select_from(
        PLACES.outerjoin(response, response.c.id == bind("id")).outerjoin(
            _current, _current.c.id == showing.c.response
        )
    )
    .where(showing.c.session == bind("me"), showing.c.position == bind("place"))
)
STORE = sa.insert(response).inline()  # nobody asks for the number it gets
MARK = (
    sa.update(showing)
    .where(showing.c.session == bind("me"), showing.c.position == bind("place"))
    .values(state=bind("becomes"), response=bind("id"))
)
REVISED = (
    sa.update(showing)
    .where(showing.c.session == bind("me"), showing.c.position == bind("place"))
    .values(revisions=showing.c.revisions + 1)
)
COUNT = (
    sa.update(session)
    .where(session.c.id == bind("me"))
    .values(
        answered=session.c.answered + bind("more"),
        skipped=session.c.skipped + bind("more_skips"),
        lease_end=sa.case(
            (session.c.lease_end > 0, bind("now", type_=sa.Float) + session.c.lease_seconds),
            else_=0.0,
        ),
    )
)
SKIPPED = sa.select(session.c.skipped).where(session.c.id == bind("me"))
ELSEWHERE = sa.select(response.c.session, response.c.position).where(response.c.id == bind("id"))
FOLLOWER = sa.select(response.c.id).where(
    response.c.session == bind("me"),
    response.c.position == bind("place"),
    response.c.supersedes == bind("id"),
)


class Arrival(NamedTuple):
    """An answer at the door: whose, what, when; who skips more than ``most_skips`` has to leave."""

    session: str
    new: NewResponse
    now: float
    most_skips: int | None = None


def answer(connection: sa.Connection, arrival: Arrival) -> Ack:
    """Store the answer, or say that it is stored already, or why it cannot be."""
    session_id, new = arrival.session, arrival.new
    place = {"me": session_id, "place": new.position, "id": new.id}
    shown = connection.execute(SHOWN, place).first()
    if shown is None:
        sessions.get(connection, session_id)
        raise Absent("position", f"session {session_id!r} has no position {new.position}")
    if shown.digest is not None:
        return _known(shown, session_id, new)
    if shown.stage in LEFT:
        raise _too_late(session_id, shown.stage)
    if shown.revisions >= MOST_REVISIONS:
        where = f"position {new.position} of session {session_id}"
        text = f"{where} was revised {MOST_REVISIONS} times; {shown.response} stands"
        raise Conflict("revisions", text)
    becomes = shown.state
    if counts := _counts(connection, shown, session_id, new):
        becomes = state_after(connection, shown, session_id, skips=new.skip is not None)
    late = "released" in (shown.state, becomes)
    connection.execute(STORE, row_of(shown, arrival, late=late))
    if counts:
        connection.execute(MARK, place | {"becomes": becomes})
    if shown.response is not None:
        connection.execute(REVISED, place)
    skips = _skips(shown, becomes)
    more = _answers(shown, new) if counts else 0
    values = {"me": session_id, "more": more, "more_skips": skips, "now": arrival.now}
    connection.execute(COUNT, values)
    ended = skips > 0 and _screen_out(connection, arrival)
    return Ack(new.id, "stored", shown.kind, shown.item, ended)


def _answers(shown: Row, new: NewResponse) -> int:
    """How many more answers the session has with this response as the one that counts."""
    before = shown.response is not None and shown.current_skip is None
    return int(new.skip is None) - int(before)


def _skips(shown: Row, becomes: State) -> int:
    """How many more items the session has skipped; practice is there to be tried."""
    if shown.kind == "training":
        return 0
    return int(becomes == "skipped") - int(shown.state == "skipped")


def _screen_out(connection: sa.Connection, arrival: Arrival) -> bool:
    """Send away somebody who has skipped too much; whether they had to go."""
    skipped = connection.execute(SKIPPED, {"me": arrival.session}).scalar_one()
    if arrival.most_skips is None or skipped <= arrival.most_skips:
        return False
    detail = {"reason": "skips", "skipped": skipped, "most": arrival.most_skips}
    sessions.set_stage(connection, arrival.session, SCREENED_OUT, SCREENED_OUT, detail, arrival.now)
    return True


def _too_late(session_id: str, stage: str) -> Conflict:
    """Why nothing new is stored of somebody who left; what is stored already is acknowledged."""
    if stage == "withdrawn":
        return Conflict(stage, f"session {session_id} was withdrawn: nothing more is stored")
    return Conflict("left", f"session {session_id} is {stage}: nothing more is stored")


def _known(shown: Row, session_id: str, new: NewResponse) -> Ack:
    same_place = (shown.known_session, shown.known_position) == (session_id, new.position)
    if not same_place or shown.digest != new.digest:
        raise Conflict("conflict", f"another answer is stored under the id {new.id}")
    return Ack(new.id, "known", shown.kind, shown.item, shown.stage in LEFT)


def _counts(connection: sa.Connection, shown: Row, session_id: str, new: NewResponse) -> bool:
    """Whether this becomes the answer that counts here; if it may not be stored, raise.

    An answer may arrive after the one that revises it: then it is stored, as the earlier one.
    """
    place = {"me": session_id, "place": new.position, "id": new.id}
    if new.supersedes is not None and new.supersedes != shown.response:
        where = connection.execute(ELSEWHERE, {"id": new.supersedes}).first()
        if where is not None and tuple(where) != (session_id, new.position):
            text = f"answer {new.id} revises {new.supersedes}, given elsewhere"
            raise Conflict("conflict", text)
    if shown.response is None or shown.response == new.supersedes:
        return True
    if connection.execute(FOLLOWER, place).first() is None:
        text = f"position {new.position} of session {session_id} is answered by {shown.response}"
        raise Conflict("answered", f"{text}; to revise it, name it in supersedes")
    return False


def row_of(shown: Row, arrival: Arrival, *, late: bool) -> dict[str, Any]:
    """The answer as a row, with what was shown."""
    session_id, new = arrival.session, arrival.new
    timing = new.timing
    return {
        "id": new.id,
        "study": shown.study,
        "session": session_id,
        "annotator": shown.annotator,
        "item": shown.item,
        "kind": shown.kind,
        "position": new.position,
        "repeat_of": shown.repeat_of,
        "batch": shown.batch,
        "mode": new.mode,
        "mode_version": new.mode_version,
        "answer": new.answer_json,
        "payload": new.payload,
        "digest": new.digest,
        "skip": new.skip,
        "supersedes": new.supersedes,
        "received_at": arrival.now,
        "first_input_ms": timing.first_input_ms,
        "submit_ms": timing.submit_ms,
        "active_ms": timing.active_ms,
        "hidden_ms": timing.hidden_ms,
        "fields": json.dumps(dict(timing.fields)),
        "late": late,
        "mode_options": new.mode_options,
        "frame": new.frame,
    }
