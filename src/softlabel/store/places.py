"""Places: every showing of a target takes one of its item's, until it is given back."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.store.schema import batch, item, session, showing

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
HOLDER = sa.select(session.c.study, session.c.batch).where(session.c.id == bind("holder"))
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


def take(connection: sa.Connection, study: str, wanted: Sequence[str], quota: int) -> int:
    """Take one place of each item that has one; how many had."""
    values = [{"of": study, "wanted": name, "quota": quota} for name in wanted]
    return connection.execute(TAKE, values).rowcount if values else 0


def give_back(connection: sa.Connection, study: str, name: str) -> None:
    """Free one place of an item."""
    connection.execute(GIVE_BACK_ONE, {"of": study, "wanted": name})


def release(connection: sa.Connection, session_id: str) -> int:
    """Give back all that the session holds unanswered; how many showings that were."""
    study, held = connection.execute(HOLDER, {"holder": session_id}).one()
    targets = connection.execute(GIVE_BACK, {"of": study, "holder": session_id}).rowcount
    showings = connection.execute(RELEASE, {"holder": session_id}).rowcount
    if targets and held is not None:  # a finished batch stays taken, an unfinished one does not
        connection.execute(LEAVE_BATCH, {"of": study, "held": held})
        held = None
    connection.execute(LET_GO, {"holder": session_id, "held": held})
    return showings


def release_expired(connection: sa.Connection, study: str, now: float, spared: str = "") -> int:
    """Give back what people hold who have not been heard of since their lease ended."""
    values = {"of": study, "now": now, "spared": spared}
    expired = connection.execute(EXPIRED, values).scalars().all()
    return sum(release(connection, session_id) for session_id in expired)
