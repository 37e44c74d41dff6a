"""Leasing: what a person is shown, in what order, and for how long it is kept for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.errors import Conflict, StoreError
from softlabel.store import places, sessions
from softlabel.store.draws import draw
from softlabel.store.pick import Picked, is_live, pick
from softlabel.store.rows import LEFT, Plan, Session, Showing
from softlabel.store.schema import item, showing
from softlabel.store.studies import RETIRED

COLUMNS = tuple(showing.c[name] for name in Showing._fields)
SHOWN = sa.select(*COLUMNS).where(showing.c.session == bind("me")).order_by(showing.c.position)
KINDS = sa.select(item.c.id, item.c.kind).where(
    item.c.study == bind("of"), item.c.kind.in_(("training", "gold", "attention"))
)
GONE = sa.select(item.c.id).where(item.c.study == bind("of"), item.c.kind == RETIRED + "target")
SHOW = sa.insert(showing)


def showings(connection: sa.Connection, session_id: str) -> tuple[Showing, ...]:
    """Everything the session was shown or will be, in order."""
    return tuple(Showing(*row) for row in connection.execute(SHOWN, {"me": session_id}))


def lease(
    connection: sa.Connection, session_id: str, plan: Plan, now: float
) -> tuple[Showing, ...]:
    """Keep what the session holds for another while, and add to it if it runs out."""
    me = sessions.get(connection, session_id)
    if me.stage in LEFT:
        raise Conflict("left", f"session {session_id} is {me.stage}: it gets no more items")
    places.release_expired(connection, me.study, now, spared=me.id)
    held = places.held_batch(connection, me.id)
    shown = showings(connection, me.id)
    picked = pick(connection, me, held, plan, shown)
    new = _lay_out(connection, me, plan, shown, picked)
    if new:
        connection.execute(SHOW, [s._asdict() | {"study": me.study} for s in new])
    _take(connection, me, plan, picked, held)
    shown = (*shown, *new)
    holds = any(s.state == "open" for s in shown)
    until = now + plan.lease_seconds if holds else 0.0
    values = {"holder": me.id, "until": until, "seconds": plan.lease_seconds}
    connection.execute(places.HOLD, values | {"held": held or picked.batch})
    return shown


def _take(
    connection: sa.Connection, me: Session, plan: Plan, picked: Picked, held: str | None
) -> None:
    taken = places.take(connection, me.study, picked.items, plan.per_item)
    assert taken == len(picked.items), f"picked {picked.items}, but some are at their quota"
    if picked.batch is not None and picked.batch != held:
        connection.execute(places.TAKE_BATCH, {"of": me.study, "held": picked.batch})


def _lay_out(
    connection: sa.Connection, me: Session, plan: Plan, shown: Sequence[Showing], picked: Picked
) -> list[Showing]:
    """The new showings: practice, then targets with checks among them, then the repeats."""
    if not picked.items and not any(s.kind == "target" and is_live(s) for s in shown):
        return []  # nothing to ask this person: no practice either
    there = {s.item for s in shown if is_live(s)}
    kinds = {row.id: row.kind for row in connection.execute(KINDS, {"of": me.study})}
    practice = [name for name in plan.practice if name not in there]
    main = [*picked.items, *(name for name in plan.checks if name not in there)]
    main.sort(key=lambda name: draw(plan.seed, me.number, name))
    unknown = {*practice, *main} - {*kinds, *picked.items}
    if unknown:
        raise StoreError(f"{min(unknown)!r} is no practice item or check of study {me.study!r}")
    first = shown[-1].position + 1 if shown else 0
    blank = Showing(me.id, 0, "", "target", None, picked.batch, "open", None)
    new = [
        blank._replace(position=first + i, item=name)
        if name in picked.items
        else blank._replace(position=first + i, item=name, kind=kinds[name], batch=None)
        for i, name in enumerate([*practice, *main])
    ]
    gone = set(connection.execute(GONE, {"of": me.study}).scalars())
    return [*new, *_repeats(plan, [*shown, *new], gone)] if picked.last else new


def _repeats(plan: Plan, shown: Sequence[Showing], gone: set[str]) -> Iterator[Showing]:
    """What is shown again at the end, by its place among this person's targets.

    What is ``gone`` from the study, or was skipped, keeps its place and is not shown.
    """
    targets = [s for s in shown if s.kind == "target" and is_live(s)]
    there = gone | {s.item for s in shown if s.kind == "repeat" and is_live(s)}
    position = shown[-1].position
    for place in plan.repeat_positions[: plan.repeats]:
        again = targets[place] if place < len(targets) else None
        if again is not None and again.state != "skipped" and again.item not in there:
            position += 1
            yield again._replace(
                position=position,
                kind="repeat",
                repeat_of=again.position,
                state="open",
                response=None,
            )
