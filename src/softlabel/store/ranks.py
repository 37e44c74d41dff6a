"""Live allocation: the items that a ranking puts first, and the chance that each of them had.

Whoever ranks writes a ``weight`` for every item: what one more answer would be worth if it were
the first.  The priority of an item is weight / (taken + 1)^2, so that every answer which is there
or on its way counts at once, in the transaction that gives it out.  A weight of 0 is an item that
is done.  A person gets, in this order,

1. items with fewer than ``least`` places taken, the least taken first, equals at random;
2. items by priority, equals at random; at each turn, with the chance ``explore``, any other one;
3. items that are not ranked yet, the least taken first.

No item gets more than ``most`` answers, and all together no more than the study wants: ``per_item``
for each on average, or what the budget allows.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.store.rows import Live, Ranking
from softlabel.store.schema import PRIORITY, item, ranking, showing

CIRCLE = 2**31 - 1  # a prime: multiplied by any smaller number, places come in another order
TRIES = 8  # at drawing an item that fits, before all that fit are listed
Draw = Callable[[str, int], int]  # a random number below 2**64 for a purpose and a turn

_this = ranking.c.study == bind("of")
BY_STUDY = sa.select(*(ranking.c[name] for name in Ranking._fields)).where(_this)
CLAIM = sa.update(ranking).where(_this, ranking.c.at <= bind("before")).values(at=bind("now"))
REPORT = (
    sa.update(ranking)
    .where(_this)
    .values(places=bind("total"), explore=bind("share"), report=bind("text"))
)
WEIGH = (
    sa.update(item)
    .where(item.c.study == bind("of"), item.c.id == bind("name"))
    .values(weight=bind("value"))
)

_targets = sa.and_(item.c.study == bind("of"), item.c.kind == "target")
_mine = sa.select(showing.c.item).where(showing.c.session == bind("me"))
_new = item.c.id.not_in(_mine)
_few = item.c.taken < bind("least")
_taken = item.c.taken + 0  # as an expression, for which SQLite does not leave a better index
_unranked = sa.and_(item.c.weight.is_(None), ~_few, item.c.taken < bind("most"))
_priority: sa.ColumnElement[float] = sa.literal_column(f"({PRIORITY})", sa.Float)
_weighed = item.c.weight > sa.literal_column("0")  # as in the index ``item_by_priority``
_open = sa.and_(_weighed, _taken < bind("most"), _taken >= bind("least"))
_shuffled = sa.cast(item.c.place, sa.BigInteger) * bind("factor", type_=sa.BigInteger) % CIRCLE
TAKEN = sa.select(sa.func.coalesce(sa.func.sum(item.c.taken), 0), sa.func.count()).where(_targets)
HAS_OPEN = sa.select(sa.exists().where(_targets, sa.or_(_few, _open, _unranked)))


def _list_level(which: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """The least taken of some items, in random order."""
    columns = sa.select(item.c.id, item.c.taken).where(_targets, which, _new)
    return columns.order_by(item.c.taken, _shuffled, item.c.id).limit(bind("wanted"))


def _count_level(which: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """How many of these items have so many places taken."""
    counts = sa.select(item.c.taken, sa.func.count()).where(_targets, which, _new)
    return counts.where(item.c.taken <= bind("level")).group_by(item.c.taken)


LEVELS = {
    "few": (_list_level(_few), _count_level(_few)),
    "unranked": (_list_level(_unranked), _count_level(_unranked)),
}
_ranked = sa.select(item.c.id, _priority.label("priority")).where(_targets, _open, _new)
TOP = _ranked.order_by(_priority.desc(), _shuffled, item.c.id).limit(bind("wanted"))
TIES = (
    sa.select(_priority, sa.func.count())
    .where(_targets, _open, _new, _priority >= bind("low", type_=sa.Float))
    .group_by(_priority)
)
ANY = _ranked.order_by(_shuffled, item.c.id).limit(bind("wanted"))
# the same one by one, for large studies: the n-th item that is not done, if it is open and new
WEIGHED = sa.select(sa.func.count()).where(_targets, _weighed)
NTH = (
    sa.select(
        item.c.id,
        _priority.label("priority"),
        sa.and_(_open, _new).label("fits"),
    )
    .where(_targets, _weighed)
    .order_by(_priority)
    .limit(1)
    .offset(bind("nth"))
)
# expressions again, so that the few items of a person are looked up one by one
_open_of_mine = (
    sa.select(sa.func.count(showing.c.item.distinct()))
    .select_from(
        showing.join(item, (item.c.study == showing.c.study) & (item.c.id == showing.c.item))
    )
    .where(
        showing.c.session == bind("me"),
        item.c.weight + 0.0 > 0.0,
        _taken < bind("most"),
        _taken >= bind("least"),
    )
)
# how many items there are of each kind, which together are those that are open and new: all
# but those that have the most, those that have few, and those of this person
LEFT = (
    (1, WEIGHED),
    (-1, WEIGHED.where(item.c.taken >= bind("most"))),
    (-1, WEIGHED.where(_few)),
    (-1, _open_of_mine),
)


# ── the ranking of a study ───────────────────────────────────────────────────────────────────


def put(connection: sa.Connection, of: str, most: int | None) -> None:
    """Begin to rank a study, with at most so many answers per item; None: do not rank it."""
    if most is None:
        connection.execute(sa.delete(ranking).where(_this), {"of": of})
    elif find(connection, of) is None:
        values = {"study": of, "most": most, "explore": 0.0, "at": 0.0, "report": "{}"}
        connection.execute(sa.insert(ranking), values)
    else:
        connection.execute(sa.update(ranking).where(_this).values(most=most), {"of": of})


def find(connection: sa.Connection, of: str) -> Ranking | None:
    row = connection.execute(BY_STUDY, {"of": of}).first()
    return None if row is None else Ranking(*row)._replace(report=json.loads(row.report))


def claim(connection: sa.Connection, of: str, now: float, every: float) -> bool:
    """Return whether the caller is to rank now: nobody has begun in the last ``every`` seconds."""
    values = {"of": of, "now": now, "before": now - every}
    return connection.execute(CLAIM, values).rowcount > 0


def weigh(connection: sa.Connection, of: str, weights: Mapping[str, float]) -> None:
    """Set the weights of some items."""
    if weights:
        rows = [{"of": of, "name": name, "value": value} for name, value in weights.items()]
        connection.execute(WEIGH, rows)


def report(
    connection: sa.Connection,
    of: str,
    places: int | None,
    explore: float,
    known: Mapping[str, object],
) -> None:
    """Set how many places there are, the share given at random, and what is known."""
    values = {"of": of, "total": places, "share": explore, "text": json.dumps(dict(known))}
    connection.execute(REPORT, values)


# ── picking ──────────────────────────────────────────────────────────────────────────────────


class Asked(NamedTuple):
    """Who is to be given items of which study, and how it is allocated."""

    study: str
    session: str
    live: Live
    per_item: int
    draw: Draw

    def values(self, purpose: str) -> dict[str, Any]:
        """Return what the statements need, with a random order for this purpose."""
        factor = 1 + self.draw(purpose, 0) % (CIRCLE - 1)
        limits = {"least": min(self.live.least, self.live.most), "most": self.live.most}
        return {"of": self.study, "me": self.session, "factor": factor, **limits}


def count_places(connection: sa.Connection, of: str, per_item: int) -> int:
    """Return how many more answers the whole study wants, beside those given out."""
    taken, items = connection.execute(TAKEN, {"of": of}).one()
    known = find(connection, of)
    total = items * per_item
    if known is not None and known.places is not None:
        total = min(total, known.places)
    return int(total - taken)


def has_room(connection: sa.Connection, of: str, per_item: int, live: Live) -> bool:
    """Return whether somebody new would get an item."""
    values = {"of": of, "least": min(live.least, live.most), "most": live.most}
    if count_places(connection, of, per_item) <= 0:
        return False
    return bool(connection.execute(HAS_OPEN, values).scalar())


def pick(connection: sa.Connection, asked: Asked, wanted: int) -> dict[str, float]:
    """Return up to ``wanted`` items that are new to this person, each with the chance that it had
    at its turn, given the ones before it."""
    wanted = min(wanted, count_places(connection, asked.study, asked.per_item))
    chosen: dict[str, float] = {}
    for step in (_pick_few, _pick_ranked, _pick_unranked):
        if wanted > len(chosen):
            chosen |= step(connection, asked, wanted - len(chosen))
    return chosen


def _pick_few(connection: sa.Connection, asked: Asked, wanted: int) -> dict[str, float]:
    return _pick_level(connection, asked, wanted, "few")


def _pick_unranked(connection: sa.Connection, asked: Asked, wanted: int) -> dict[str, float]:
    return _pick_level(connection, asked, wanted, "unranked")


def _pick_level(
    connection: sa.Connection, asked: Asked, wanted: int, which: str
) -> dict[str, float]:
    listing, counting = LEVELS[which]
    values = asked.values(which)
    rows = connection.execute(listing, values | {"wanted": wanted}).all()
    if not rows:
        return {}
    sizes = connection.execute(counting, values | {"level": rows[-1].taken})
    left = {taken: count for taken, count in sizes}
    chosen = {}
    for row in rows:
        chosen[row.id] = 1 / left[row.taken]
        left[row.taken] -= 1
    return chosen


def _pick_ranked(connection: sa.Connection, asked: Asked, wanted: int) -> dict[str, float]:
    values = asked.values("ranked")
    top = connection.execute(TOP, values | {"wanted": wanted}).all()
    if not top:
        return {}
    low = {"low": top[-1].priority}
    ties = {value: count for value, count in connection.execute(TIES, values | low)}
    known = find(connection, asked.study)
    explore = 0.0 if known is None else known.explore
    left = 0
    if explore:
        left = sum(sign * connection.execute(query, values).scalar_one() for sign, query in LEFT)
    chosen: dict[str, float] = {}
    for turn in range(len(top)):
        best = next(row for row in top if row.id not in chosen)
        row = best
        if asked.draw("explore", turn) < explore * 2**64:
            row = _draw_any(connection, asked, chosen, turn)
        chance = explore / (left - turn) if explore else 0.0
        if row.priority == best.priority:
            chance += (1 - explore) / ties[best.priority]
        chosen[row.id] = chance
        if row.priority in ties:
            ties[row.priority] -= 1
    return chosen


def _draw_any(
    connection: sa.Connection, asked: Asked, chosen: Mapping[str, float], turn: int
) -> Any:
    """Return any open item that is new to this person and not chosen, all with the same chance."""
    values = asked.values(f"any {turn}")
    size = connection.execute(WEIGHED, values).scalar_one()
    for attempt in range(TRIES):
        nth = asked.draw(f"any {turn}", 1 + attempt) % size
        row = connection.execute(NTH, values | {"nth": nth}).one()
        if row.fits and row.id not in chosen:
            return row
    rows = connection.execute(ANY, values | {"wanted": len(chosen) + 1}).all()
    return next(row for row in rows if row.id not in chosen)
