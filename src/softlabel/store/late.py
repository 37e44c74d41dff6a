"""What a showing becomes when its response comes: also late, when its place was given back."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.store import places
from softlabel.store.rows import State
from softlabel.store.schema import session, showing, study

QUOTA = sa.select(study.c.per_item).where(study.c.name == bind("of"))
TWIN = sa.select(showing.c.position, showing.c.state).where(
    showing.c.session == bind("me"),
    showing.c.item == bind("item"),
    showing.c.kind == bind("kind"),
    showing.c.state != "released",
)
DROP = (
    sa.update(showing)
    .where(showing.c.session == bind("me"), showing.c.position == bind("place"))
    .values(state="released")
)
REJOIN = sa.update(session).where(session.c.id == bind("me")).values(batch=bind("held"))


def state_after(connection: sa.Connection, shown: Any, session_id: str, *, skips: bool) -> State:
    """What the showing becomes by an answer, or by a skip, with the item's places kept right.

    A skip gives the place back, so that somebody else gets the item.  An answer that revises a
    skip takes a place again; if the item has none left by then, the answer is kept and does not
    count, as one that comes late.
    """
    if shown.state == "released":
        return _late_state(connection, shown, session_id, skips=skips)
    if skips:
        if shown.state != "skipped":
            _give_back(connection, shown)
        return "skipped"
    if shown.state == "skipped":
        return _taken_again(connection, shown, session_id)
    return "answered"


def _late_state(connection: sa.Connection, shown: Any, session_id: str, *, skips: bool) -> State:
    """What a released showing becomes.

    The person may have been given the item again meanwhile: then the new showing's place is
    used, or, if that is answered or skipped already, this response is kept and does not count.
    """
    values = {"me": session_id, "item": shown.item, "kind": shown.kind}
    twin = connection.execute(TWIN, values).first()
    if twin is not None and twin.state != "open":
        return "released"
    if twin is not None:
        connection.execute(DROP, {"me": session_id, "place": twin.position})
        if skips:
            _give_back(connection, shown)
        return "skipped" if skips else "answered"
    return "skipped" if skips else _taken_again(connection, shown, session_id)


def _give_back(connection: sa.Connection, shown: Any) -> None:
    if shown.kind == "target":
        places.give_back(connection, shown.study, shown.item)


def _taken_again(connection: sa.Connection, shown: Any, session_id: str) -> State:
    """An answer whose place was given back counts if there is still one.

    The first one of a batch that was given back takes up its place in the batch again.
    """
    if shown.kind != "target":
        return "answered"
    quota = connection.execute(QUOTA, {"of": shown.study}).scalar_one()
    if not places.take(connection, shown.study, [shown.item], quota):
        return "released"
    if shown.batch is not None and places.held_batch(connection, session_id) is None:
        connection.execute(places.TAKE_BATCH, {"of": shown.study, "held": shown.batch})
        connection.execute(REJOIN, {"me": session_id, "held": shown.batch})
    return "answered"
