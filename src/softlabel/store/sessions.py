"""Sessions: who takes part, what they hold, their personal links, and how they are forgotten.

An item has as many places as the study wants answers to it.  Each open or answered showing of a
target takes one place, and a session that works on a batch takes one seat of that batch.
"""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.errors import Absent, Conflict, StoreError
from softlabel.store import schema
from softlabel.store.rows import FINAL_STAGES, Control, Invitation, Session
from softlabel.store.schema import (
    batch,
    event,
    invitation,
    item,
    payment,
    response,
    session,
    showing,
)

Detail = Mapping[str, object]  # of an event

COLUMNS = tuple(session.c[name] for name in Session._fields)
_me = session.c.id == bind("me")
BY_ID = sa.select(*COLUMNS).where(_me)
BY_TOKEN = sa.select(*COLUMNS).join(schema.token).where(schema.token.c.hash == bind("token"))
_in_study = sa.select(*COLUMNS).where(session.c.study == bind("of"))
BY_ANNOTATOR = _in_study.where(session.c.annotator == bind("who"))
BY_STUDY = _in_study.order_by(session.c.number)
UNANSWERED = sa.select(session.c.id, session.c.lease_end).where(
    session.c.id.in_(bind("some", expanding=True)),
    session.c.answered == 0,
    session.c.stage.not_in(sorted(FINAL_STAGES)),
)
TOKEN_OWNER = sa.select(schema.token.c.session).where(schema.token.c.hash == bind("token"))
COUNT_ENTRY = (
    sa.update(schema.study)
    .where(schema.study.c.name == bind("of"))
    .values(entered=schema.study.c.entered + 1)
)
ENTERED = sa.select(schema.study.c.entered).where(schema.study.c.name == bind("of"))
SET_STAGE = sa.update(session).where(_me).values(stage=bind("to"))
SET_LANGUAGE = sa.update(session).where(_me).values(language=bind("spoken"))
COUNT_TRY = sa.update(session).where(_me).values(quiz_tries=session.c.quiz_tries + 1)


# ── entering and moving on ───────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Entry:
    """A person who enters; ``label_order_of`` returns the label order of the n-th person."""

    study: str
    annotator: str
    token_hash: str
    label_order_of: Callable[[int], Sequence[str]]
    seed: int
    recruiter_session: str | None
    simulated: bool = False


def to_session(row: Any) -> Session:
    labels = tuple(json.loads(row.label_order))
    return Session(*row)._replace(label_order=labels, simulated=bool(row.simulated))


def get(connection: sa.Connection, session_id: str) -> Session:
    """Return the session with this id; raise ``Absent`` if there is none."""
    row = connection.execute(BY_ID, {"me": session_id}).first()
    if row is None:
        raise Absent("session", f"there is no session {session_id!r}")
    return to_session(row)


def find_by_annotator(connection: sa.Connection, of: str, annotator: str) -> Session | None:
    row = connection.execute(BY_ANNOTATOR, {"of": of, "who": annotator}).first()
    return None if row is None else to_session(row)


def enter(connection: sa.Connection, entry: Entry, now: float) -> Session:
    """Return the one session of this person in this study; create it if they are new."""
    me = find_by_annotator(connection, entry.study, entry.annotator)
    if me is None:
        if not connection.execute(COUNT_ENTRY, {"of": entry.study}).rowcount:
            text = f"there is no study {entry.study!r} in the store; call put_study first"
            raise StoreError(text)
        number = connection.execute(ENTERED, {"of": entry.study}).scalar_one() - 1
        me = Session(
            id=secrets.token_hex(8),
            study=entry.study,
            annotator=entry.annotator,
            number=number,
            stage="consent",
            label_order=tuple(entry.label_order_of(number)),
            seed=entry.seed,
            recruiter_session=entry.recruiter_session,
            quiz_tries=0,
            answered=0,
            lease_end=0.0,
            entered_at=now,
            simulated=entry.simulated,
        )
        values = me._asdict() | {"label_order": json.dumps(me.label_order), "lease_seconds": 0.0}
        connection.execute(sa.insert(session), values)
    elif me.recruiter_session != entry.recruiter_session:
        text = f"{entry.annotator} entered {entry.study!r} before, with another recruiter session"
        raise Conflict("session", text)
    owner = connection.execute(TOKEN_OWNER, {"token": entry.token_hash}).scalar()
    if owner is None:
        values = {"hash": entry.token_hash, "session": me.id, "created_at": now}
        connection.execute(sa.insert(schema.token), values)
    elif owner != me.id:
        raise StoreError("this token belongs to another person's session; make a new one")
    return me


def add_event(
    connection: sa.Connection, of: str, annotator: str | None, name: str, detail: Detail, now: float
) -> None:
    values = {"study": of, "annotator": annotator, "name": name, "at": now}
    connection.execute(sa.insert(event), values | {"detail": json.dumps(detail)})


def set_stage(
    connection: sa.Connection,
    session_id: str,
    stage: str,
    name: str,
    detail: Detail,
    now: float,
    leaves: str | None = None,
) -> Session:
    """Move the session from a stage (``leaves``, if given) to another; see ``Store.set_stage``."""
    me = get(connection, session_id)
    if leaves is not None and me.stage != leaves:
        raise Conflict("stage", f"session {session_id} is at {me.stage!r}, no longer at {leaves!r}")
    connection.execute(SET_STAGE, {"me": session_id, "to": stage})
    add_event(connection, me.study, me.annotator, name, detail, now)
    if stage in FINAL_STAGES:
        release(connection, session_id)
    return get(connection, session_id)


def set_language(connection: sa.Connection, session_id: str, language: str) -> None:
    """Keep the language in which a person takes part."""
    connection.execute(SET_LANGUAGE, {"me": session_id, "spoken": language})


def count_quiz_try(
    connection: sa.Connection, session_id: str, passed: bool, detail: Detail, now: float
) -> Session:
    """Count an attempt at the quiz, and add an event with its answers."""
    me = get(connection, session_id)
    connection.execute(COUNT_TRY, {"me": session_id})
    add_event(connection, me.study, me.annotator, "quiz", {"passed": passed, **detail}, now)
    return me._replace(quiz_tries=me.quiz_tries + 1)


# ── places ───────────────────────────────────────────────────────────────────────────────────

# word for word the condition of the index ``showing_once``, so that the databases use it
ONCE = (
    showing.c.kind != sa.literal_column("'repeat'"),
    showing.c.state != sa.literal_column("'released'"),
)


def has_item(who: sa.ColumnElement[str], what: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """The condition that a session was given an item and did not release it."""
    return sa.exists().where(showing.c.session == who, showing.c.item == what, *ONCE)


WANTED = sa.func.coalesce(schema.study.c.per_item_set, schema.study.c.per_item)  # per item, now
_most = sa.select(schema.ranking.c.most).where(schema.ranking.c.study == schema.study.c.name)
# the most answers to one item, which are more than wanted where items are ranked
QUOTA = sa.select(sa.func.coalesce(_most.scalar_subquery(), WANTED)).where(
    schema.study.c.name == bind("of")
)
CONTROL = sa.select(
    schema.study.c.state,
    schema.study.c.revision,
    WANTED,
    schema.study.c.per_item_set,
    schema.study.c.people_cap,
).where(schema.study.c.name == bind("of"))
# people who hold items or have answered some; whoever was left out makes room for somebody else
PEOPLE = sa.select(sa.func.count()).where(
    session.c.study == bind("of"),
    session.c.excluded_at.is_(None),
    (session.c.lease_end > 0) | (session.c.answered > 0) | (session.c.skipped > 0),
)
# showings of people who were not left out
COUNTED = showing.c.session.not_in(
    sa.select(session.c.id).where(session.c.study == bind("of"), session.c.excluded_at.is_not(None))
)
_held = sa.select(showing.c.item).where(
    showing.c.session == bind("holder"), showing.c.state == "open", showing.c.kind == "target"
)
_of_study = sa.update(item).where(item.c.study == bind("of"))
FREE_HELD = _of_study.where(item.c.id.in_(_held)).values(taken=item.c.taken - 1)
RELEASE = (
    sa.update(showing)
    .where(showing.c.session == bind("holder"), showing.c.state == "open")
    .values(state="released")
)
_held_batch = sa.update(batch).where(batch.c.study == bind("of"), batch.c.name == bind("held"))
TAKE_BATCH = _held_batch.values(taken=batch.c.taken + 1)
LEAVE_BATCH = _held_batch.values(taken=batch.c.taken - 1)
_holder = session.c.id == bind("holder")
HOLDER = sa.select(session.c.study, session.c.batch, session.c.lease_end).where(_holder)
HOLD = (
    sa.update(session)
    .where(_holder)
    .values(lease_end=bind("until"), lease_seconds=bind("seconds"), batch=bind("held"))
)
END_LEASE = sa.update(session).where(_holder).values(lease_end=0.0, batch=bind("held"))
_wanted = _of_study.where(item.c.id == bind("wanted"))
TAKE = _wanted.where(item.c.taken < bind("quota")).values(taken=item.c.taken + 1)
FREE = _wanted.values(taken=item.c.taken - 1)
HAS_REST = sa.select(  # whether the batch has items that its holder was still to get
    sa.exists().where(
        item.c.study == bind("of"),
        item.c.batch == bind("held"),
        item.c.kind == "target",
        item.c.taken < QUOTA.scalar_subquery(),
        ~has_item(bind("holder"), item.c.id),
    )
)
EXPIRED = (
    sa.select(session.c.id)
    .where(
        session.c.study == bind("of"),
        session.c.lease_end > 0,
        session.c.lease_end <= bind("now"),
        session.c.id != bind("spared"),
    )
    .order_by(session.c.number)
)


def get_control(connection: sa.Connection, of: str) -> Control:
    """Return how the study is being run."""
    row = connection.execute(CONTROL, {"of": of}).first()
    if row is None:
        raise Absent("study", f"there is no study {of!r} in the store")
    return Control(*row)


def has_room_for(connection: sa.Connection, of: str, cap: int | None) -> bool:
    """Return whether one more person may be given items."""
    return cap is None or connection.execute(PEOPLE, {"of": of}).scalar_one() < cap


def get_batch(connection: sa.Connection, session_id: str) -> str | None:
    """Return the batch in which the session takes a seat."""
    held: str | None = connection.execute(HOLDER, {"holder": session_id}).one().batch
    return held


def take_places(connection: sa.Connection, of: str, wanted: Sequence[str], quota: int) -> int:
    """Take one place of each item that has one free; return how many had."""
    values = [{"of": of, "wanted": name, "quota": quota} for name in wanted]
    return connection.execute(TAKE, values).rowcount if values else 0


def release(connection: sa.Connection, session_id: str) -> int:
    """Release all open showings of the session; return how many there were."""
    of, held, lease_end = connection.execute(HOLDER, {"holder": session_id}).one()
    targets = connection.execute(FREE_HELD, {"of": of, "holder": session_id}).rowcount
    showings = connection.execute(RELEASE, {"holder": session_id}).rowcount
    seat = {"of": of, "held": held}
    if held is not None and (
        targets
        or (lease_end and connection.execute(HAS_REST, seat | {"holder": session_id}).scalar())
    ):
        connection.execute(LEAVE_BATCH, seat)  # the seat of a finished batch stays taken
        held = None
    connection.execute(END_LEASE, {"holder": session_id, "held": held})
    return showings


def release_expired(connection: sa.Connection, of: str, now: float, spared: str = "") -> int:
    values = {"of": of, "now": now, "spared": spared}
    expired = connection.execute(EXPIRED, values).scalars().all()
    return sum(release(connection, session_id) for session_id in expired)


# ── invitations ──────────────────────────────────────────────────────────────────────────────

_links = sa.select(*(invitation.c[name] for name in Invitation._fields))
_link = (invitation.c.study == bind("of"), invitation.c.name == bind("who"))
LINK_BY_TOKEN = _links.where(invitation.c.token_hash == bind("token"))
LINK_BY_NAME = _links.where(*_link)
LINKS_BY_STUDY = _links.where(invitation.c.study == bind("of")).order_by(
    invitation.c.created_at, invitation.c.name
)
REVOKE = (
    sa.update(invitation)
    .where(*_link)
    .values(revoked_at=sa.func.coalesce(invitation.c.revoked_at, bind("now", type_=sa.Float)))
)


def invite(connection: sa.Connection, new: Invitation, token_hash: str) -> None:
    if connection.execute(LINK_BY_NAME, {"of": new.study, "who": new.name}).first() is not None:
        text = f"{new.name!r} is invited to {new.study!r} already; links are never reused"
        raise StoreError(text)
    connection.execute(sa.insert(invitation), new._asdict() | {"token_hash": token_hash})


def revoke(connection: sa.Connection, of: str, name: str, now: float) -> None:
    if not connection.execute(REVOKE, {"of": of, "who": name, "now": now}).rowcount:
        raise StoreError(f"nobody called {name!r} is invited to {of!r}")


# ── forgetting ───────────────────────────────────────────────────────────────────────────────

_taken = sa.select(showing.c.item).where(
    showing.c.session == bind("me"),
    showing.c.kind == "target",
    showing.c.state.in_(("open", "answered")),
)
FREE_TAKEN = _of_study.where(item.c.id.in_(_taken)).values(taken=item.c.taken - 1)
DELETE_SESSION = {  # in the order that foreign keys allow
    "response": sa.delete(response).where(response.c.session == bind("me")),
    "showing": sa.delete(showing).where(showing.c.session == bind("me")),
    "token": sa.delete(schema.token).where(schema.token.c.session == bind("me")),
    "session": sa.delete(session).where(session.c.id == bind("me")),
}
DELETE_PERSON = {
    one.name: sa.delete(one).where(one.c.study == bind("of"), one.c.annotator == bind("who"))
    for one in (event, invitation, schema.submission)
}
_paid_to = sa.and_(payment.c.study == bind("of"), payment.c.annotator == bind("who"))
_is_unsent = payment.c.state.in_(("planned", "approved"))
DROP_PAYMENTS = sa.delete(payment).where(_paid_to, _is_unsent)
# what was sent stays in the sum, under a name that only says that it was paid to this person
HIDE_PAYMENTS = sa.update(payment).where(_paid_to).values(annotator=bind("hidden"), detail="{}")


def forget(connection: sa.Connection, of: str, annotator: str) -> dict[str, int]:
    """Delete every row about a person and free their places; return the row count by table."""
    deleted = dict.fromkeys((*DELETE_SESSION, *DELETE_PERSON, "payment"), 0)
    me = find_by_annotator(connection, of, annotator)
    if me is not None:
        if me.excluded_at is None:  # otherwise they are free already
            connection.execute(FREE_TAKEN, {"of": of, "me": me.id})
            connection.execute(LEAVE_BATCH, {"of": of, "held": get_batch(connection, me.id)})
        for name, statement in DELETE_SESSION.items():
            deleted[name] = connection.execute(statement, {"me": me.id}).rowcount
    for name, statement in DELETE_PERSON.items():
        deleted[name] = connection.execute(statement, {"of": of, "who": annotator}).rowcount
    person = {"of": of, "who": annotator}
    deleted["payment"] = connection.execute(DROP_PAYMENTS, person).rowcount
    hidden = person | {"hidden": hide_name(annotator)}
    deleted["payment"] += connection.execute(HIDE_PAYMENTS, hidden).rowcount
    return deleted


def hide_name(annotator: str) -> str:
    """Return the name of a forgotten person in the ledger: whoever was paid, is forgotten and comes
    back is not paid again."""
    return f"forgotten {sha256(f'paid to {annotator}'.encode()).hexdigest()[:16]}"


def withdraw(connection: sa.Connection, session_id: str, erase: bool, now: float) -> Session | None:
    me = set_stage(connection, session_id, "withdrawn", "withdrawn", {}, now)
    if not erase:
        return me
    forget(connection, me.study, me.annotator)
    return None
