"""Forgetting a person: every row about them goes, and the places they took are free again."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.store import sessions
from softlabel.store.places import LEAVE_BATCH, held_batch
from softlabel.store.schema import event, invitation, item, response, session, showing, token

_taken = sa.select(showing.c.item).where(
    showing.c.session == bind("me"),
    showing.c.kind == "target",
    showing.c.state.in_(("open", "answered")),
)
GIVE_BACK = (
    sa.update(item)
    .where(item.c.study == bind("of"), item.c.id.in_(_taken))
    .values(taken=item.c.taken - 1)
)
_person = {"event": event, "invitation": invitation}
BY_SESSION = {  # in the order that foreign keys allow
    "response": sa.delete(response).where(response.c.session == bind("me")),
    "showing": sa.delete(showing).where(showing.c.session == bind("me")),
    "token": sa.delete(token).where(token.c.session == bind("me")),
    "session": sa.delete(session).where(session.c.id == bind("me")),
}
BY_ANNOTATOR = {
    name: sa.delete(table).where(table.c.study == bind("of"), table.c.annotator == bind("who"))
    for name, table in _person.items()
}


def forget(connection: sa.Connection, of: str, annotator: str) -> dict[str, int]:
    """How many rows were deleted from each table."""
    deleted = dict.fromkeys((*BY_SESSION, *BY_ANNOTATOR), 0)
    found = sessions.by_annotator(connection, of, annotator)
    if found is not None:
        connection.execute(GIVE_BACK, {"of": of, "me": found.id})
        held = held_batch(connection, found.id)
        connection.execute(LEAVE_BATCH, {"of": of, "held": held})
        for name, statement in BY_SESSION.items():
            deleted[name] = connection.execute(statement, {"me": found.id}).rowcount
    for name, statement in BY_ANNOTATOR.items():
        deleted[name] = connection.execute(statement, {"of": of, "who": annotator}).rowcount
    return deleted
