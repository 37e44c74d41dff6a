"""Places: every showing of a target takes one of its item's, until it is given back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.store.schema import batch, item, session, showing, study

# word for word as the index ``showing_once`` has it, so that the databases use it
ONCE = (
    showing.c.kind != sa.literal_column("'repeat'"),
    showing.c.state != sa.literal_column("'released'"),
)


def has(who: sa.ColumnElement[str], what: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """Whether a session has an item and has not given it back."""
    return sa.exists().where(showing.c.session == who, showing.c.item == what, *ONCE)


_held = sa.select(showing.c.item).where(
    showing.c.session == bind("holder"), showing.c.state == "open", showing.c.kind == "target"
)
GIVE_BACK = (
    sa.update(item)
    .where(item.c.study == bind("of"), item.c.id.in_(_held))
    .values(taken=item.c.taken - 1)
)
RELEASE = (
    sa.update(showing)
    .where(showing.c.session == bind("holder"), showing.c.state == "open")
    .values(state="released")
)
LEAVE_BATCH = (
    sa.update(batch)
    .where(batch.c.study == bind("of"), batch.c.name == bind("held"))
    .values(taken=batch.c.taken - 1)
)
TAKE_BATCH = (
    sa.update(batch)
    .where(batch.c.study == bind("of"), batch.c.name == bind("held"))
    .values(taken=batch.c.taken + 1)
)
HOLD = (
    sa.update(session)
    .where(session.c.id == bind("holder"))
    .values(lease_end=bind("until"), lease_seconds=bind("seconds"), batch=bind("held"))
)
LET_GO = (
    sa.update(session)
    .where(session.c.id == bind("holder"))
    .values(lease_end=0.0, batch=bind("held"))
)
TAKE = (
    sa.update(item)
    .where(item.c.study == bind("of"), item.c.id == bind("wanted"), item.c.taken < bind("quota"))
    .values(taken=item.c.taken + 1)
)
GIVE_BACK_ONE = (
    sa.update(item)
    .where(item.c.study == bind("of"), item.c.id == bind("wanted"))
    .values(taken=item.c.taken - 1)
)
_quota = sa.select(study.c.per_item).where(study.c.name == bind("of")).scalar_subquery()
HOLDER = sa.select(session.c.study, session.c.batch, session.c.lease_end).where(
    session.c.id == bind("holder")
)
HAS_REST = sa.select(
    sa.exists().where(
        item.c.study == bind("of"),
        item.c.batch == bind("held"),
        item.c.kind == "target",
        item.c.taken < _quota,
        ~has(bind("holder"), item.c.id),
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


def held_batch(connection: sa.Connection, session_id: str) -> str | None:
    """The batch whose place the session takes up."""
    held: str | None = connection.execute(HOLDER, {"holder": session_id}).one().batch
    return held


def take(connection: sa.Connection, of: str, wanted: Sequence[str], quota: int) -> int:
    """Take one place of each item that has one; how many had."""
    values = [{"of": of, "wanted": name, "quota": quota} for name in wanted]
    return connection.execute(TAKE, values).rowcount if values else 0


def give_back(connection: sa.Connection, study: str, name: str) -> None:
    """Free one place of an item."""
    connection.execute(GIVE_BACK_ONE, {"of": study, "wanted": name})


def release(connection: sa.Connection, session_id: str) -> int:
    """Give back all that the session holds unanswered; how many showings that were."""
    of, held, lease_end = connection.execute(HOLDER, {"holder": session_id}).one()
    targets = connection.execute(GIVE_BACK, {"of": of, "holder": session_id}).rowcount
    showings = connection.execute(RELEASE, {"holder": session_id}).rowcount
    seat = {"of": of, "held": held}
    if held is not None and (targets or (lease_end and _has_rest(connection, session_id, seat))):
        connection.execute(LEAVE_BATCH, seat)  # a finished batch stays taken
        held = None
    connection.execute(LET_GO, {"holder": session_id, "held": held})
    return showings


def _has_rest(connection: sa.Connection, session_id: str, seat: dict[str, Any]) -> bool:
    """Whether the batch has items that its holder was still to get."""
    return bool(connection.execute(HAS_REST, seat | {"holder": session_id}).scalar())


def release_expired(connection: sa.Connection, of: str, now: float, spared: str = "") -> int:
    """Give back what people hold who have not been heard of since their lease ended."""
    values = {"of": of, "now": now, "spared": spared}
    expired = connection.execute(EXPIRED, values).scalars().all()
    return sum(release(connection, session_id) for session_id in expired)
