"""Which targets a person gets next: the least taken, in an order of their own.

However many there are, a person is given a few at a time.  Whoever has the seat of a batch gets
the rest of it later; until then nobody else is given those items.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.store.draws import draw, draw_place
from softlabel.store.places import ONCE, has
from softlabel.store.rows import Plan, Session, Showing
from softlabel.store.schema import batch, item, session, showing, study

STRIDE = 5  # neighbours taken together before the walk starts again elsewhere
RESERVE = 3  # open targets that are still enough: a page fetches three items ahead
LOOKS = 8  # items that tell whether a batch has a free seat: mostly all of them have room, or none
CIRCLE = 2**31 - 1  # a prime: multiplied by any smaller number, places come in another order
Row = Any  # of a statement that selects ``id`` and ``taken``
NOBODY, ANY_NUMBER = "", 2**31 - 1

_targets = sa.and_(item.c.study == bind("of"), item.c.kind == "target")
_mine = has(bind("me"), item.c.id)
QUOTA = sa.select(study.c.per_item).where(study.c.name == bind("of"))
LEVEL = sa.select(sa.func.min(item.c.taken)).where(
    _targets, item.c.taken >= bind("least"), item.c.taken < bind("quota")
)
WALK = (
    sa.select(item.c.id)
    .where(_targets, item.c.taken == bind("level"), item.c.place >= bind("start"), ~_mine)
    .order_by(item.c.place, item.c.id)
    .limit(bind("most"))
)
WAITING = sa.select(item.c.id).where(
    _targets, item.c.id.in_(bind("names", expanding=True)), item.c.taken < bind("quota"), ~_mine
)
BATCHES = (
    sa.select(batch.c.name, batch.c.taken)
    .where(
        batch.c.study == bind("of"),
        sa.exists().where(_targets, item.c.batch == batch.c.name, item.c.taken < bind("quota")),
    )
    .order_by(batch.c.taken, batch.c.name)
)
_in_batch = sa.and_(_targets, item.c.batch == bind("name"), item.c.taken < bind("quota"))
SIZE = sa.select(sa.func.count()).where(_targets, item.c.batch == bind("name"))
FULL = SIZE.where(item.c.taken >= bind("quota"), ~_mine)
_order = sa.cast(item.c.place, sa.BigInteger) * bind("factor", type_=sa.BigInteger) % CIRCLE
NEXT = (
    sa.select(item.c.id, item.c.taken)
    .where(_in_batch, ~_mine)
    .order_by(_order, item.c.id)
    .limit(bind("most"))
    .offset(bind("past"))
)
LEAST = (
    sa.select(item.c.id, item.c.taken)
    .where(_in_batch)
    .order_by(item.c.taken, item.c.id)
    .limit(LOOKS)
)
HOLDERS = sa.select(session.c.id).where(
    session.c.study == bind("of"),
    session.c.lease_end > 0,
    session.c.batch == bind("name"),
    session.c.id != bind("me"),
    session.c.number < bind("before"),
)
HAVE = (
    sa.select(showing.c.item, sa.func.count())
    .where(
        showing.c.session.in_(bind("holders", expanding=True)),
        showing.c.item.in_(bind("names", expanding=True)),
        *ONCE,
    )
    .group_by(showing.c.item)
)
LAST_BATCH = (
    sa.select(showing.c.batch)
    .where(showing.c.session == bind("me"), showing.c.kind == "target")
    .order_by(showing.c.position.desc())
    .limit(1)
)


class Picked(NamedTuple):
    """Items to show next; ``last`` says that this person will get no others after them.

    ``rest`` is how many there are with these in the person's batch, None without batches.
    """

    items: tuple[str, ...]
    batch: str | None
    last: bool
    rest: int | None = None


class Past(NamedTuple):
    """What a session was shown: ``rows`` are all but the targets that are answered or skipped.

    Those are only counted, because there may be thousands.  ``end`` is the next free position.
    """

    rows: tuple[Showing, ...]
    end: int

    @property
    def shown(self) -> int:
        """Showings that count."""
        return self.end - sum(not is_live(s) for s in self.rows)

    @property
    def targets(self) -> int:
        """Targets that count."""
        return self.shown - sum(s.kind != "target" and is_live(s) for s in self.rows)

    @property
    def opened(self) -> int:
        """Showings that wait for an answer."""
        return sum(s.state == "open" for s in self.rows)

    @property
    def open_targets(self) -> int:
        return sum(s.state == "open" for s in self.rows if s.kind == "target")

    @property
    def has_repeats(self) -> bool:
        """Whether the list has come to its end already."""
        return any(s.kind == "repeat" and is_live(s) for s in self.rows)

    @property
    def left_behind(self) -> set[str]:
        """Targets that were given back unanswered."""
        back = [s for s in self.rows if s.kind == "target" and s.state == "released"]
        return {s.item for s in back} - {s.item for s in back if is_live(s)}

    @property
    def given_back(self) -> set[str]:
        """Targets that were given back, answered too late or not at all."""
        return {s.item for s in self.rows if s.kind == "target" and s.state == "released"}

    def add(self, new: Sequence[Showing]) -> Past:
        return Past((*self.rows, *new), self.end + len(new))


def is_live(shown: Showing) -> bool:
    """Whether a showing still counts: it waits for its answer, or has one."""
    return shown.state != "released" or shown.response is not None


def few(most: int) -> int:
    """Of so many at a time, how many open ones are so few that more are given."""
    return min(max(RESERVE, most // 2), most - 1)


def pick(
    connection: sa.Connection, me: Session, held: str | None, plan: Plan, past: Past
) -> Picked:
    """The targets to add to what ``me`` has been shown; ``held`` is the batch they hold."""
    if plan.batches:
        return _pick_in_batch(connection, me, held, plan, past)
    most = min(plan.batch_size, plan.ahead)
    left = sys.maxsize if plan.per_annotator is None else plan.per_annotator - past.targets
    if past.open_targets > few(most):
        return Picked((), None, left <= 0 or past.has_repeats)
    wanted = max(0, min(left, most - past.open_targets))
    looked_for = min(left, wanted + 1)  # one more tells whether these are the last ones
    found = _waiting(connection, me, plan, past.left_behind)[:looked_for]
    if not past.has_repeats:  # they end the list
        found += _walk(connection, me, plan, past, looked_for - len(found))
    return Picked(tuple(found[:wanted]), None, len(found) < looked_for or wanted >= left)


def _waiting(connection: sa.Connection, me: Session, plan: Plan, names: set[str]) -> list[str]:
    """Of what this person was given before and did not answer, what they may have again."""
    if not names:
        return []
    values = {"of": me.study, "me": me.id, "quota": plan.per_item, "names": sorted(names)}
    found = connection.execute(WAITING, values).scalars()
    return sorted(found, key=lambda name: draw(plan.seed, me.number, name))


def _walk(connection: sa.Connection, me: Session, plan: Plan, past: Past, wanted: int) -> list[str]:
    """The least taken items this person has never seen, from places drawn for this turn."""
    found: list[str] = []
    seen = past.given_back
    level, leap = _level(connection, me.study, plan.per_item, 0), 0
    while level is not None and len(found) < wanted:
        leap += 1
        start = draw_place(plan.seed, me.number, past.end, leap)
        new = _stride(connection, me, level, start, seen.union(found))
        if not new:
            new = _stride(connection, me, level, 0, seen.union(found))  # once round the circle
        if not new:
            level = _level(connection, me.study, plan.per_item, level + 1)
        found += new[: wanted - len(found)]
    return found


def _level(connection: sa.Connection, of: str, quota: int, least: int) -> int | None:
    values = {"of": of, "least": least, "quota": quota}
    level: int | None = connection.execute(LEVEL, values).scalar()
    return level


def _stride(
    connection: sa.Connection, me: Session, level: int, start: int, have: set[str]
) -> list[str]:
    values = {"of": me.study, "me": me.id, "level": level, "start": start}
    near = connection.execute(WALK, values | {"most": STRIDE + len(have)}).scalars()
    return [name for name in near if name not in have][:STRIDE]


# ── batches ──────────────────────────────────────────────────────────────────────────────────


def has_room(connection: sa.Connection, of: str, *, batches: bool) -> bool:
    """Whether somebody who comes now would be given something."""
    quota = connection.execute(QUOTA, {"of": of}).scalar_one()
    if not batches:
        return _level(connection, of, quota, 0) is not None
    values = {"of": of, "quota": quota}
    rows = connection.execute(BATCHES, values).all()
    return any(_has_seat(connection, values | {"name": row.name}) for row in rows)


def _pick_in_batch(
    connection: sa.Connection, me: Session, held: str | None, plan: Plan, past: Past
) -> Picked:
    """One batch per person: the rest of the one they had before, or the least taken one."""
    if past.has_repeats and not past.left_behind:
        return Picked((), held, True, 0)
    name = held or connection.execute(LAST_BATCH, {"me": me.id}).scalar()
    if past.open_targets > few(plan.ahead):
        rest = _count_rest(connection, me, plan, past, name)
        return Picked((), held, rest <= 0, max(0, rest))
    wanted = plan.ahead - past.open_targets
    found: list[str] = []
    if name is not None:  # one more than wanted tells whether these are the last ones
        found = _next_in_batch(connection, me, plan, name, wanted + 1, held)
    if not found and not past.targets:
        name, found = _choose_batch(connection, me, plan, wanted + 1)
    last = len(found) <= wanted
    rest = len(found) if last else _count_rest(connection, me, plan, past, name)
    return Picked(tuple(found[:wanted]), name if found else held, last, max(rest, len(found)))


def _count_rest(
    connection: sa.Connection, me: Session, plan: Plan, past: Past, name: str | None
) -> int:
    """How many items of the batch this person is still to get."""
    values = {"of": me.study, "me": me.id, "quota": plan.per_item, "name": name}
    size, full = (connection.execute(query, values).scalar_one() for query in (SIZE, FULL))
    return int(size) - int(full) - past.targets


def _choose_batch(
    connection: sa.Connection, me: Session, plan: Plan, wanted: int
) -> tuple[str | None, list[str]]:
    """The least taken batch that has a free seat, and the first items of it."""
    values = {"of": me.study, "quota": plan.per_item}
    rows = connection.execute(BATCHES, values).all()
    for row in sorted(rows, key=lambda row: (row.taken, draw(plan.seed, me.number, row.name))):
        free = row.taken < plan.per_item or _has_seat(connection, values | {"name": row.name})
        if free and (found := _next_in_batch(connection, me, plan, row.name, wanted, None)):
            return row.name, found
    return None, []


def _next_in_batch(
    connection: sa.Connection, me: Session, plan: Plan, name: str, wanted: int, held: str | None
) -> list[str]:
    """The next items of a batch in this person's order, less those that are kept for others.

    Of two who have a seat, what is kept for the later one does not bind the earlier one.
    """
    before = me.number if held == name else ANY_NUMBER
    values = {"of": me.study, "me": me.id, "quota": plan.per_item, "name": name, "before": before}
    holders = connection.execute(HOLDERS, values).scalars().all()
    most = wanted + plan.ahead if holders else wanted
    values |= {"factor": 1 + draw(plan.seed, me.number, name) % (CIRCLE - 1), "most": most}
    found: list[str] = []
    for past in count(0, most):
        rows = connection.execute(NEXT, values | {"past": past}).all()
        found += _with_room(connection, rows, holders, plan.per_item)
        if len(found) >= wanted or len(rows) < most:
            break
    return found[:wanted]


def _has_seat(connection: sa.Connection, values: dict[str, Any]) -> bool:
    """Whether somebody more could have an item of the batch, judged by the least taken ones."""
    nobody = {"me": NOBODY, "before": ANY_NUMBER}
    holders = connection.execute(HOLDERS, values | nobody).scalars().all()
    rows = connection.execute(LEAST, values).all()
    return bool(_with_room(connection, rows, holders, values["quota"]))


def _with_room(
    connection: sa.Connection, rows: Sequence[Row], holders: Sequence[str], quota: int
) -> list[str]:
    """The items that have a place left when each holder of the batch has got theirs."""
    scarce = [row.id for row in rows if row.taken + len(holders) >= quota] if holders else []
    have: dict[str, int] = {}
    if scarce:
        values = {"holders": holders, "names": scarce}
        have = {name: times for name, times in connection.execute(HAVE, values)}
    kept = {name: len(holders) - have.get(name, 0) for name in scarce}
    return [row.id for row in rows if row.taken + kept.get(row.id, 0) < quota]
