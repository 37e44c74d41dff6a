"""Storing an answer: once, beside nothing that contradicts it, and never changed afterwards."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.errors import Absent, Conflict
from softlabel.store import sessions
from softlabel.store.late import late_state
from softlabel.store.rows import LEFT, Ack, NewResponse
from softlabel.store.schema import response, session, showing

Row = Any  # of the statement SHOWN

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
)
PLACES = showing.join(session, session.c.id == showing.c.session)
SHOWN = (
    sa.select(
        *TOLD,
        response.c.digest,
        response.c.session.label("known_session"),
        response.c.position.label("known_position"),
    )
    .select_from(PLACES.outerjoin(response, response.c.id == bind("id")))
    .where(showing.c.session == bind("me"), showing.c.position == bind("place"))
)
STORE = sa.insert(response).inline()  # nobody asks for the number it gets
MARK = (
    sa.update(showing)
    .where(showing.c.session == bind("me"), showing.c.position == bind("place"))
    .values(state=bind("becomes"), response=bind("id"))
)
COUNT = (
    sa.update(session)
    .where(session.c.id == bind("me"))
    .values(
        answered=session.c.answered + bind("more"),
        lease_end=sa.case(
            (session.c.lease_end > 0, bind("now", type_=sa.Float) + session.c.lease_seconds),
            else_=0.0,
        ),
    )
)
ELSEWHERE = sa.select(response.c.session, response.c.position).where(response.c.id == bind("id"))
FOLLOWER = sa.select(response.c.id).where(
    response.c.session == bind("me"),
    response.c.position == bind("place"),
    response.c.supersedes == bind("id"),
)


class Arrival(NamedTuple):
    """An answer at the door: whose, what, when."""

    session: str
    new: NewResponse
    now: float


def answer(connection: sa.Connection, arrival: Arrival) -> Ack:
    """Store the answer, or say that it is stored already, or why it cannot be."""
    session_id, new, now = arrival
    place = {"me": session_id, "place": new.position, "id": new.id}
    shown = connection.execute(SHOWN, place).first()
    if shown is None:
        sessions.get(connection, session_id)
        raise Absent("position", f"session {session_id!r} has no position {new.position}")
    if shown.digest is not None:
        return _known(shown, session_id, new)
    if shown.stage in LEFT:
        raise _too_late(session_id, shown.stage)
    counts = _counts(connection, shown, session_id, new)
    late = shown.state == "released"
    connection.execute(STORE, row_of(shown, arrival, late=late))
    if counts:
        becomes = late_state(connection, shown, session_id) if late else "answered"
        connection.execute(MARK, place | {"becomes": becomes})
    more = int(shown.response is None)
    connection.execute(COUNT, {"me": session_id, "more": more, "now": now})
    return Ack(new.id, "stored", shown.kind, shown.item)


def _too_late(session_id: str, stage: str) -> Conflict:
    """Why nothing new is stored of somebody who left; what is stored already is acknowledged."""
    if stage == "withdrawn":
        return Conflict(stage, f"session {session_id} was withdrawn: nothing more is stored")
    return Conflict("left", f"session {session_id} is {stage}: nothing more is stored")


def _known(shown: Row, session_id: str, new: NewResponse) -> Ack:
    same_place = (shown.known_session, shown.known_position) == (session_id, new.position)
    if not same_place or shown.digest != new.digest:
        raise Conflict("conflict", f"another answer is stored under the id {new.id}")
    return Ack(new.id, "known", shown.kind, shown.item)


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
    session_id, new, now = arrival
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
        "received_at": now,
        "first_input_ms": timing.first_input_ms,
        "submit_ms": timing.submit_ms,
        "active_ms": timing.active_ms,
        "hidden_ms": timing.hidden_ms,
        "fields": json.dumps(dict(timing.fields)),
        "late": late,
        "mode_options": new.mode_options,
        "frame": new.frame,
    }
