"""Storing many answers at once: nearly all are plain, and plain ones need no look at each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.store.answers import COUNT, MARK, PLACES, STORE, TOLD, Arrival, row_of
from softlabel.store.rows import LEFT, Ack, NewResponse
from softlabel.store.schema import response, session, showing

OPEN = (
    sa.select(showing.c.session, showing.c.position, *TOLD)
    .select_from(PLACES)
    .where(
        showing.c.session.in_(bind("sessions", expanding=True)),  # by itself a pair is no key
        sa.tuple_(showing.c.session, showing.c.position).in_(bind("places", expanding=True)),
        showing.c.state == "open",
        session.c.stage.not_in(sorted(LEFT)),
    )
)
KNOWN = sa.select(response.c.id).where(response.c.id.in_(bind("ids", expanding=True)))


def answer_many(connection: sa.Connection, arrivals: Sequence[Arrival]) -> list[Ack | None]:
    """Store the plain ones among these answers; None for each that ``answer`` must look at.

    Plain is the first answer to an open showing, under an id of its own; a skip is not plain.
    However many they are, they take five statements.
    """
    first = {(each.session, each.new.position): each for each in reversed(arrivals)}
    values = {"places": list(first), "sessions": sorted({each.session for each in arrivals})}
    shown = {tuple(row[:2]): row for row in connection.execute(OPEN, values)}
    taken = _taken_ids(connection, [each.new.id for each in arrivals])
    rows = {
        each.new.id: row_of(shown[place], each, late=False)
        for place, each in first.items()
        if place in shown and _is_plain(each.new) and each.new.id not in taken
    }
    if rows:
        _store(connection, [rows[each.new.id] for each in arrivals if each.new.id in rows])
    return [_ack(rows[each.new.id]) if each.new.id in rows else None for each in arrivals]


def _is_plain(new: NewResponse) -> bool:
    return new.supersedes is None and new.skip is None


def _taken_ids(connection: sa.Connection, ids: list[str]) -> set[str]:
    """Those that are stored already, and those that came twice."""
    stored = set(connection.execute(KNOWN, {"ids": ids}).scalars())
    return stored | {each for each, times in Counter(ids).items() if times > 1}


def _ack(row: dict[str, Any]) -> Ack:
    return Ack(row["id"], "stored", row["kind"], row["item"])


def _store(connection: sa.Connection, rows: list[dict[str, object]]) -> None:
    connection.execute(STORE, rows)
    marks = [{"me": row["session"], "place": row["position"], "id": row["id"]} for row in rows]
    connection.execute(MARK, [mark | {"becomes": "answered"} for mark in marks])
    one = {"more": 1, "more_skips": 0}
    seen = [one | {"me": row["session"], "now": row["received_at"]} for row in rows]
    connection.execute(COUNT, seen)
