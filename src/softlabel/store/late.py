"""An answer whose showing was given back before it came: kept, and counted if there is room."""

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


def late_state(connection: sa.Connection, shown: Any, session_id: str) -> State:
    """What the released showing becomes now that its answer is here.

    The person may have been given the item again meanwhile: then the new showing's place is
    used, or, if that is answered already, this answer is kept and does not count.  The first one
    of a batch that was given back takes up its place in the batch again.
    """
    values = {"me": session_id, "item": shown.item, "kind": shown.kind}
    twin = connection.execute(TWIN, values).first()
    if twin is not None and twin.state == "open":
        connection.execute(DROP, {"me": session_id, "place": twin.position})
        return "answered"
    if twin is not None:
        return "released"
    if shown.kind != "target":
        return "answered"
    quota = connection.execute(QUOTA, {"of": shown.study}).scalar_one()
    if not places.take(connection, shown.study, [shown.item], quota):
        return "released"
    if shown.batch is not None and places.held_batch(connection, session_id) is None:
        connection.execute(places.TAKE_BATCH, {"of": shown.study, "held": shown.batch})
        connection.execute(REJOIN, {"me": session_id, "held": shown.batch})
    return "answered"
