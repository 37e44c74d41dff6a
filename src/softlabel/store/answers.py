"""Storing answers: each exactly once, never beside one that contradicts it, never changed later.

A skip is stored in the same way, but it is not an answer: nothing that counts answers counts it.
"""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.errors import Absent, Conflict
from softlabel.store import sessions
from softlabel.store.rows import FINAL_STAGES, MAX_REVISIONS, Ack, NewResponse, State
from softlabel.store.schema import response, session, showing

Row = Any  # of the statement SHOWN
SCREENED_OUT = "screened-out"  # the stage and the event of a person who skips too many items

_names = ("item", "kind", "repeat_of", "batch", "state", "response", "revisions")
COLUMNS = [showing.c.study, session.c.annotator, session.c.stage]
COLUMNS += [showing.c[name] for name in _names]
_showings = showing.join(session, session.c.id == showing.c.session)
_here = (showing.c.session == bind("me"), showing.c.position == bind("place"))
_current = response.alias()
SHOWN = (
    sa.select(
        *COLUMNS,
        _current.c.skip.label("current_skip"),
        response.c.digest,
        response.c.session.label("known_session"),
        response.c.position.label("known_position"),
    )
    .select_from(
        _showings.outerjoin(response, response.c.id == bind("id")).outerjoin(
            _current, _current.c.id == showing.c.response
        )
    )
    .where(*_here)
)
STORE = sa.insert(response).inline()  # its number is not needed
_this_showing = sa.update(showing).where(*_here)
MARK = _this_showing.values(state=bind("becomes"), response=bind("id"))
COUNT_REVISION = _this_showing.values(revisions=showing.c.revisions + 1)
RELEASE = _this_showing.values(state="released")
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
TWIN = sa.select(showing.c.position, showing.c.state).where(
    showing.c.session == bind("me"),
    showing.c.item == bind("item"),
    showing.c.kind == bind("kind"),
    showing.c.state != "released",
)
REJOIN = sa.update(session).where(session.c.id == bind("me")).values(batch=bind("held"))


class Arrival(NamedTuple):
    """A response that has just arrived; a person with more than ``most_skips`` must leave."""

    session: str
    new: NewResponse
    now: float
    most_skips: int | None = None


def answer(connection: sa.Connection, arrival: Arrival) -> Ack:
    """Store the response, or acknowledge that it is stored already, or raise why it cannot be."""
    session_id, new = arrival.session, arrival.new
    place = {"me": session_id, "place": new.position, "id": new.id}
    shown = connection.execute(SHOWN, place).first()
    if shown is None:
        sessions.get(connection, session_id)
        raise Absent("position", f"session {session_id!r} has no position {new.position}")
    if shown.digest is not None:
        same = (session_id, new.position, new.digest)
        if (shown.known_session, shown.known_position, shown.digest) != same:
            raise Conflict("conflict", f"another answer is stored under the id {new.id}")
        return Ack(new.id, "known", shown.kind, shown.item, shown.stage in FINAL_STAGES)
    if shown.stage == "withdrawn":
        raise Conflict("withdrawn", f"session {session_id} was withdrawn: nothing more is stored")
    if shown.stage in FINAL_STAGES:
        raise Conflict("left", f"session {session_id} is {shown.stage}: nothing more is stored")
    if shown.revisions >= MAX_REVISIONS:
        where = f"position {new.position} of session {session_id}"
        text = f"{where} was revised {MAX_REVISIONS} times; {shown.response} stands"
        raise Conflict("revisions", text)
    becomes = shown.state
    if counts := _counts(connection, shown, session_id, new):
        becomes = _next_state(connection, shown, session_id, skips=new.skip is not None)
    late = "released" in (shown.state, becomes)
    connection.execute(STORE, _row(shown, arrival, late=late))
    if counts:
        connection.execute(MARK, place | {"becomes": becomes})
    if shown.response is not None:
        connection.execute(COUNT_REVISION, place)
    was_answered = shown.response is not None and shown.current_skip is None
    more = int(new.skip is None) - int(was_answered) if counts else 0
    skips = int(becomes == "skipped") - int(shown.state == "skipped")
    skips = 0 if shown.kind == "training" else skips
    values = {"me": session_id, "more": more, "more_skips": skips, "now": arrival.now}
    connection.execute(COUNT, values)
    ended = skips > 0 and _screen_out(connection, arrival)
    return Ack(new.id, "stored", shown.kind, shown.item, ended)


def _counts(connection: sa.Connection, shown: Row, session_id: str, new: NewResponse) -> bool:
    """Return whether this becomes the response that counts; raise if it may not be stored.  One
    that arrives after the one that revises it is stored as the earlier one."""
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


def _screen_out(connection: sa.Connection, arrival: Arrival) -> bool:
    """End the session of a person who has skipped too many items; return whether it ended."""
    skipped = connection.execute(SKIPPED, {"me": arrival.session}).scalar_one()
    if arrival.most_skips is None or skipped <= arrival.most_skips:
        return False
    detail = {"reason": "skips", "skipped": skipped, "most": arrival.most_skips}
    sessions.set_stage(connection, arrival.session, SCREENED_OUT, SCREENED_OUT, detail, arrival.now)
    return True


def _row(shown: Row, arrival: Arrival, *, late: bool) -> dict[str, Any]:
    """Return the response as a row of the table, with what was shown."""
    new = arrival.new
    of_showing = ("study", "annotator", "item", "kind", "repeat_of", "batch")
    as_sent = ("id", "position", "payload", "digest", "skip", "supersedes")
    as_asked = ("mode", "mode_version", "mode_options", "frame", "arm")
    return {
        **{name: getattr(shown, name) for name in of_showing},
        **{name: getattr(new, name) for name in as_sent + as_asked},
        **new.timing._asdict(),
        "fields": json.dumps(dict(new.timing.fields)),
        "session": arrival.session,
        "answer": new.answer_json,
        "received_at": arrival.now,
        "late": late,
    }


def _next_state(connection: sa.Connection, shown: Row, session_id: str, *, skips: bool) -> State:
    """Return the state of a showing after an answer or a skip, and keep its item's places right.

    A skip frees the place, so that somebody else gets the item.  An answer that revises a skip
    takes a place again.  If the item has none left by then, the answer is kept and does not
    count, like an answer that arrives late.

    A late response may come after the person was given the item again.  Then the place of the
    new showing is used; if that is answered or skipped already, this response does not count.
    """
    holds_place = shown.state not in ("released", "skipped")
    if shown.state == "released":
        values = {"me": session_id, "item": shown.item, "kind": shown.kind}
        twin = connection.execute(TWIN, values).first()
        if twin is not None and twin.state != "open":
            return "released"
        if twin is not None:
            connection.execute(RELEASE, {"me": session_id, "place": twin.position})
            holds_place = True
    if skips:
        if holds_place and shown.kind == "target":
            connection.execute(sessions.FREE, {"of": shown.study, "wanted": shown.item})
        return "skipped"
    if holds_place or shown.kind != "target":
        return "answered"
    quota = connection.execute(sessions.QUOTA, {"of": shown.study}).scalar_one()
    if not sessions.take_places(connection, shown.study, [shown.item], quota):
        return "released"
    if shown.batch is not None and sessions.get_batch(connection, session_id) is None:
        # the first such answer in a batch that was given up takes a seat of the batch again
        connection.execute(sessions.TAKE_BATCH, {"of": shown.study, "held": shown.batch})
        connection.execute(REJOIN, {"me": session_id, "held": shown.batch})
    return "answered"


OPEN = (
    sa.select(showing.c.session, showing.c.position, *COLUMNS)
    .select_from(_showings)
    .where(
        showing.c.session.in_(bind("sessions", expanding=True)),  # databases use no index for pairs
        sa.tuple_(showing.c.session, showing.c.position).in_(bind("places", expanding=True)),
        showing.c.state == "open",
        session.c.stage.not_in(sorted(FINAL_STAGES)),
    )
)
KNOWN = sa.select(response.c.id).where(response.c.id.in_(bind("ids", expanding=True)))


def answer_many(connection: sa.Connection, arrivals: Sequence[Arrival]) -> list[Ack | None]:
    """Store the plain responses among these, in five statements; return None for each that
    ``answer`` must handle.  Plain: a first answer, no skip, to an open showing, under a new id."""
    first = {(each.session, each.new.position): each for each in reversed(arrivals)}
    values = {"places": list(first), "sessions": sorted({each.session for each in arrivals})}
    shown = {tuple(row[:2]): row for row in connection.execute(OPEN, values)}
    ids = [each.new.id for each in arrivals]
    taken = set(connection.execute(KNOWN, {"ids": ids}).scalars())
    taken |= {each for each, times in Counter(ids).items() if times > 1}
    by_id = {
        each.new.id: _row(shown[place], each, late=False)
        for place, each in first.items()
        if place in shown
        and each.new.supersedes is None
        and each.new.skip is None
        and each.new.id not in taken
    }
    rows = [by_id[id] for id in ids if id in by_id]
    if rows:
        connection.execute(STORE, rows)
        marks = [{"me": row["session"], "place": row["position"], "id": row["id"]} for row in rows]
        connection.execute(MARK, [mark | {"becomes": "answered"} for mark in marks])
        one = {"more": 1, "more_skips": 0}
        counts = [one | {"me": row["session"], "now": row["received_at"]} for row in rows]
        connection.execute(COUNT, counts)
    acks = {id: Ack(id, "stored", row["kind"], row["item"]) for id, row in by_id.items()}
    return [acks.get(id) for id in ids]
