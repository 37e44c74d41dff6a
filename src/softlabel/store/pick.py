"""Which targets a person gets next: the least taken, in an order of their own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.store.draws import draw, draw_place
from softlabel.store.rows import Plan, Session, Showing
from softlabel.store.schema import batch, item, showing

STRIDE = 5  # neighbours taken together before the walk starts again elsewhere
RESERVE = 3  # open targets that are still enough: a page fetches three items ahead

_targets = sa.and_(item.c.study == bind("of"), item.c.kind == "target")
_seen = sa.exists().where(showing.c.session == bind("me"), showing.c.item == item.c.id)
LEVEL = sa.select(sa.func.min(item.c.taken)).where(
    _targets, item.c.taken >= bind("least"), item.c.taken < bind("quota")
)
WALK = (
    sa.select(item.c.id)
    .where(_targets, item.c.taken == bind("level"), item.c.place >= bind("start"), ~_seen)
    .order_by(item.c.place, item.c.id)
    .limit(bind("most"))
)
ROOM = sa.select(item.c.id).where(_targets, item.c.taken < bind("quota"))
WAITING = (
    sa.select(item.c.id)
    .select_from(showing.join(item))
    .where(
        showing.c.session == bind("me"),
        showing.c.state == "released",
        showing.c.kind == "target",
        item.c.kind == "target",
        item.c.taken < bind("quota"),
    )
)
IN_BATCH = ROOM.where(item.c.batch == bind("name"))
BATCHES = (
    sa.select(batch.c.name, batch.c.taken)
    .where(
        batch.c.study == bind("of"),
        sa.exists().where(_targets, item.c.batch == batch.c.name, item.c.taken < bind("quota")),
    )
    .order_by(batch.c.taken, batch.c.name)
)


class Picked(NamedTuple):
    """Items to show next; ``last`` says that this person will get no others after them."""

    items: tuple[str, ...]
    batch: str | None
    last: bool


def is_live(shown: Showing) -> bool:
    """Whether a showing still counts: it waits for its answer, or has one."""
    return shown.state != "released" or shown.response is not None


def pick(
    connection: sa.Connection, me: Session, held: str | None, plan: Plan, shown: Sequence[Showing]
) -> Picked:
    """The targets to add to what ``me`` has been shown; ``held`` is the batch they hold."""
    if plan.batches:
        return _pick_batch(connection, me, held, plan, shown)
    live = {s.item for s in shown if s.kind == "target" and is_live(s)}
    opened = sum(s.state == "open" for s in shown if s.kind == "target")
    left = sys.maxsize if plan.per_annotator is None else plan.per_annotator - len(live)
    if opened > min(RESERVE, plan.batch_size - 1):
        return Picked((), None, left <= 0)
    wanted = max(0, min(left, plan.batch_size - opened))
    left_behind = any(not is_live(s) for s in shown)
    found = _waiting(connection, me, plan, live)[:wanted] if left_behind else []
    if not any(s.kind == "repeat" and is_live(s) for s in shown):  # repeats end the list
        found += _walk(connection, me, plan, len(shown), wanted - len(found), found)
    return Picked(tuple(found), None, len(found) < wanted or len(found) >= left)


def _waiting(connection: sa.Connection, me: Session, plan: Plan, live: set[str]) -> list[str]:
    """What this person was given before, did not answer, and may have again."""
    values = {"me": me.id, "quota": plan.per_item}
    found = set(connection.execute(WAITING, values).scalars()) - live
    return sorted(found, key=lambda name: draw(plan.seed, me.number, name))


def _walk(
    connection: sa.Connection, me: Session, plan: Plan, turn: int, wanted: int, have: list[str]
) -> list[str]:
    """The least taken items this person has never seen, from places drawn for this turn."""
    found: list[str] = []
    level, leap = _level(connection, me, plan, 0), 0
    while level is not None and len(found) < wanted:
        leap += 1
        start = draw_place(plan.seed, me.number, turn, leap)
        new = _stride(connection, me, level, start, [*have, *found])
        if not new:
            new = _stride(connection, me, level, 0, [*have, *found])  # once round the circle
        if not new:
            level = _level(connection, me, plan, level + 1)
        found += new[: wanted - len(found)]
    return found


def _level(connection: sa.Connection, me: Session, plan: Plan, least: int) -> int | None:
    values = {"of": me.study, "least": least, "quota": plan.per_item}
    level: int | None = connection.execute(LEVEL, values).scalar()
    return level


def _stride(
    connection: sa.Connection, me: Session, level: int, start: int, have: list[str]
) -> list[str]:
    values = {"of": me.study, "me": me.id, "level": level, "start": start}
    near = connection.execute(WALK, values | {"most": STRIDE + len(have)}).scalars()
    return [name for name in near if name not in have][:STRIDE]


def _pick_batch(
    connection: sa.Connection, me: Session, held: str | None, plan: Plan, shown: Sequence[Showing]
) -> Picked:
    """One batch per person: the one they had before, or the least taken one."""
    mine = [s for s in shown if s.kind == "target"]
    live = {s.item for s in mine if is_live(s)}
    if held is not None and live.issuperset(s.item for s in mine if s.batch == held):
        return Picked((), held, True)
    values = {"of": me.study, "quota": plan.per_item}
    name = held or (mine[-1].batch if mine else None)
    found = _in_batch(connection, values, name, live)
    if not found and not live:
        rows = connection.execute(BATCHES, values).all()
        least = [row.name for row in rows if row.taken == rows[0].taken]
        name = min(least, key=lambda name: draw(plan.seed, me.number, name), default=None)
        found = _in_batch(connection, values, name, live)
    return Picked(tuple(found), name if found else None, True)


def _in_batch(
    connection: sa.Connection, values: dict[str, object], name: str | None, live: set[str]
) -> list[str]:
    found = connection.execute(IN_BATCH, values | {"name": name}).scalars()
    return [each for each in found if each not in live]
