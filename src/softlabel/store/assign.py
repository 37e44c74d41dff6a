"""Assignment: which items a person is shown, in what order, and for how long they are kept.

A person gets the items with the fewest places taken, in a random order of their own, and only a
few at a time.  In a study with batches, a person takes a seat of one batch and gets the rest of
it later; until then nobody else is given those items.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from itertools import count, islice, takewhile
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.errors import Conflict, StoreError
from softlabel.records import CHECKS, PRACTICE
from softlabel.store import ranks, sessions
from softlabel.store.ranks import CIRCLE
from softlabel.store.rows import FINAL_STAGES, RETIRED, Live, Plan, Portion, Session, Showing
from softlabel.store.schema import UNSETTLED, batch, item, session, showing
from softlabel.store.sessions import ONCE, has_item

BEFORE = 3  # answers sent before the open showings: a reloaded page can still revise the last one
STRIDE = 5  # neighbours taken together before the walk starts again elsewhere
RESERVE = 3  # open targets that are still enough: a page fetches three items ahead
PROBED = 8  # items that show whether a batch has a free seat: mostly all or none of them have
PLACES = 2**31  # positions on the circle that assignment walks along
NOBODY, ANY_NUMBER = "", 2**31 - 1


# ── random numbers ───────────────────────────────────────────────────────────────────────────


def draw(*names: object) -> int:
    """Return a random number below 2**64 that these names determine, on every machine.

    >>> draw("seed", 7, "item-1") == draw("seed", 7, "item-1") != draw("seed", 8, "item-1")
    True
    """
    text = "\x1f".join(str(name) for name in names)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def draw_place(*names: object) -> int:
    """Return the position of these names on the circle that assignment walks along."""
    return draw(*names) % PLACES


# ── what a person has been shown ─────────────────────────────────────────────────────────────

COLUMNS = tuple(showing.c[name] for name in Showing._fields)
_my_showing = showing.c.session == bind("me")
SHOWN = sa.select(*COLUMNS).where(_my_showing).order_by(showing.c.position)
UNSETTLED_ROWS = SHOWN.where(sa.text(f"({UNSETTLED})"))
LAST = sa.select(sa.func.max(showing.c.position)).where(_my_showing)
OPEN = (  # the positions that still wait for an answer
    sa.select(showing.c.position)
    .where(_my_showing, showing.c.state == "open", sa.text(f"({UNSETTLED})"))
    .order_by(showing.c.position)
)


class Past(NamedTuple):
    """What a session has been shown: all showings but the answered and skipped targets (perhaps
    thousands), and the next free position.  What was released without a response does not count."""

    rows: tuple[Showing, ...]
    end: int

    @property
    def shown(self) -> int:
        return self.end - sum(not is_live(s) for s in self.rows)

    @property
    def targets(self) -> int:
        return self.shown - sum(s.kind != "target" and is_live(s) for s in self.rows)

    @property
    def opened(self) -> int:
        return sum(s.state == "open" for s in self.rows)

    @property
    def open_targets(self) -> int:
        return sum(s.state == "open" for s in self.rows if s.kind == "target")

    @property
    def has_repeats(self) -> bool:
        """Whether repeats have been shown, which end the list."""
        return any(s.kind == "repeat" and is_live(s) for s in self.rows)

    @property
    def released(self) -> list[Showing]:
        """Targets that were released, answered too late or not at all."""
        return [s for s in self.rows if s.kind == "target" and s.state == "released"]

    @property
    def unanswered(self) -> set[str]:
        """Items that were released and not answered."""
        late = {s.item for s in self.released if is_live(s)}
        return {s.item for s in self.released} - late

    def add(self, new: Sequence[Showing]) -> "Past":
        return Past((*self.rows, *new), self.end + len(new))


def is_live(shown: Showing) -> bool:
    """Return whether a showing still counts: it is open, or it has a response."""
    return shown.state != "released" or shown.response is not None


# ── leasing ──────────────────────────────────────────────────────────────────────────────────

TARGETS = SHOWN.where(
    showing.c.kind == "target", (showing.c.state != "released") | showing.c.response.is_not(None)
)
ANSWERED = (
    sa.select(*COLUMNS)
    .where(_my_showing, showing.c.position < bind("first"), showing.c.response.is_not(None))
    .order_by(showing.c.position.desc())
    .limit(BEFORE)
)
KINDS = sa.select(item.c.id, item.c.kind).where(
    item.c.study == bind("of"), item.c.id.in_(bind("names", expanding=True))
)
GONE = sa.select(item.c.id).where(
    item.c.study == bind("of"),
    item.c.kind.in_([RETIRED + kind for kind in ("target", PRACTICE, *CHECKS)]),
)
AMONG = sa.select(showing.c.item).where(
    _my_showing, showing.c.item.in_(bind("names", expanding=True)), *ONCE
)


class Picked(NamedTuple):
    """Items to show next; ``last`` if this person will get no others after them.

    ``rest`` counts what is left of the person's batch, these included; None without batches.
    ``chances`` are those that items had of being picked, if they are ranked.
    """

    items: tuple[str, ...]
    batch: str | None
    last: bool
    rest: int | None = None
    chances: Mapping[str, float] = {}


def lease(connection: sa.Connection, session_id: str, plan: Plan, now: float) -> Portion:
    """Extend the lease of what the session holds, and add items if it runs out.  While the study is
    paused or closed nothing is added: a Conflict for a person who holds nothing and would get
    some, except that closing ends the list of whoever has been given some."""
    me = sessions.get(connection, session_id)
    if me.stage in FINAL_STAGES:
        raise Conflict("left", f"session {session_id} is {me.stage}: it gets no more items")
    run = sessions.get_control(connection, me.study)
    plan, halted = replace(plan, per_item=run.per_item_set or plan.per_item), run.state != "open"
    sessions.release_expired(connection, me.study, now, spared=me.id)
    held = sessions.get_batch(connection, me.id)
    before = _read_past(connection, session_id)
    picked = Picked((), held, True, 0 if plan.batches else None)
    known = me.answered > 0 or me.skipped > 0 or me.lease_end > 0
    if known or sessions.has_room_for(connection, me.study, run.people_cap):
        picked = pick(connection, me, held, plan, before)
    main = _arrange(connection, me, plan, before, picked)
    withheld = halted and bool(main)  # what this person would get now
    if withheld:
        main, picked = [], picked._replace(items=(), batch=held, last=False)
    _insert_showings(connection, me.study, main)
    taken = sessions.take_places(connection, me.study, picked.items, plan.quota)
    assert taken == len(picked.items), f"picked {picked.items}, but some are at their quota"
    if picked.batch is not None and picked.batch != held:
        connection.execute(sessions.TAKE_BATCH, {"of": me.study, "held": picked.batch})
    past = before.add(main)
    gone = set(connection.execute(GONE, {"of": me.study}).scalars())
    again = _find_repeats(connection, me, plan, past, gone) if picked.last else []
    if halted and again:
        withheld, again = True, []
    if withheld and not past.opened and (run.state == "paused" or not past.shown):
        raise Conflict(run.state, f"study {me.study!r} is {run.state}: it gives out no items")
    due = _take_due(again, plan, before, past)
    _insert_showings(connection, me.study, due)
    past = past.add(due)
    until = me.lease_end if withheld else 0.0  # who waits for a batch keeps the seat for a while
    until = now + plan.lease_seconds if past.opened else until
    values = {"holder": me.id, "until": until, "seconds": plan.lease_seconds}
    connection.execute(sessions.HOLD, values | {"held": held or picked.batch})
    is_all = picked.last and len(due) == len(again) and past.opened <= 2 * plan.ahead
    return Portion(
        showings=_list_next(connection, me, plan, past),
        shown=past.shown,
        done=past.shown - past.opened,
        gone=_count_gone(connection, me, past, gone),
        coming=_count_coming(plan, past, picked, len(again) - len(due)),
        more=run.state != "closed" and past.opened > 0 and (withheld or not is_all),
    )


def _list_next(
    connection: sa.Connection, me: Session, plan: Plan, past: Past
) -> tuple[Showing, ...]:
    """Return the next open showings, preceded by the last answers."""
    opened = [s for s in past.rows if s.state == "open"][: 2 * plan.ahead]
    first = opened[0].position if opened else past.end
    last_ones = connection.execute(ANSWERED, {"me": me.id, "first": first})
    repeated = {s.repeat_of for s in opened}  # not shown together with their repeats
    answered = [s for s in map(Showing._make, last_ones) if s.position not in repeated]
    return (*reversed(answered), *opened)


def _count_gone(connection: sa.Connection, me: Session, past: Past, gone: set[str]) -> int:
    """Count the showings of this person whose items are ``gone`` from the study."""
    if not gone:
        return 0
    held = connection.execute(AMONG, {"me": me.id, "names": sorted(gone)}).all()
    others = [s for s in past.rows if s.kind == "repeat" or s.state == "released"]
    return len(held) + sum(is_live(s) and s.item in gone for s in others)


def _read_past(connection: sa.Connection, session_id: str) -> Past:
    rows = connection.execute(UNSETTLED_ROWS, {"me": session_id})
    last = connection.execute(LAST, {"me": session_id}).scalar()
    return Past(tuple(Showing(*row) for row in rows), 0 if last is None else last + 1)


def _take_due(again: list[Showing], plan: Plan, before: Past, past: Past) -> list[Showing]:
    """Return the repeats that are due now, of first showings that are ``again`` to be shown."""
    due = again  # a person who is given everything at once gets the repeats with it
    if before.targets:  # otherwise no item is sent together with its repeat
        room = 0 if past.opened > _refill_level(plan.ahead) else plan.ahead - past.opened
        due = list(islice(takewhile(lambda first: first.state != "open", again), room))
    return [
        first._replace(
            position=past.end + number,
            kind="repeat",
            repeat_of=first.position,
            state="open",
            response=None,
            propensity=None,
        )
        for number, first in enumerate(due)
    ]


def _refill_level(most: int) -> int:
    """Return the number of open showings, of so many at a time, below which more are given."""
    return min(max(RESERVE, most // 2), most - 1)


def _insert_showings(connection: sa.Connection, of: str, new: Sequence[Showing]) -> None:
    if new:
        connection.execute(sa.insert(showing), [s._asdict() | {"study": of} for s in new])


def _arrange(
    connection: sa.Connection, me: Session, plan: Plan, past: Past, picked: Picked
) -> list[Showing]:
    """Return the new showings: practice, then targets mixed with the checks that are due, which are
    spread over the targets of a batch."""
    if not picked.items and not past.targets:
        return []  # nothing to ask this person: no practice either
    shown = {s.item for s in past.rows if is_live(s)}
    practice = [name for name in plan.practice if name not in shown]
    span = min(plan.batch_size, plan.per_annotator or plan.batch_size)
    if picked.rest is not None:
        span = past.targets + picked.rest
    share = 1.0 if picked.last else (past.targets + len(picked.items)) / span
    due = [
        name
        for name in plan.checks
        if name not in shown and draw(plan.seed, me.number, name, "due") / 2**64 <= share
    ]
    main = [*picked.items, *due]
    main.sort(key=lambda name: draw(plan.seed, me.number, name))
    others = [*practice, *due]
    rows = connection.execute(KINDS, {"of": me.study, "names": others}) if others else ()
    kinds = {row.id: row.kind for row in rows if row.kind in (PRACTICE, *CHECKS)}
    if unknown := set(others) - set(kinds):
        raise StoreError(f"{min(unknown)!r} is no practice item or check of study {me.study!r}")
    blank = Showing(me.id, 0, "", "target", None, picked.batch, "open", None)
    return [
        blank._replace(position=past.end + i, item=name, propensity=picked.chances.get(name))
        if name in picked.items
        else blank._replace(position=past.end + i, item=name, kind=kinds[name], batch=None)
        for i, name in enumerate([*practice, *main])
    ]


def _find_repeats(
    connection: sa.Connection, me: Session, plan: Plan, past: Past, gone: set[str]
) -> list[Showing]:
    """Return the first showings of the items still to be repeated at the end: the plan gives their
    places among this person's targets.  An item that is ``gone`` from the study, or was skipped,
    keeps its place and is not repeated."""
    excluded = gone | {s.item for s in past.rows if s.kind == "repeat" and is_live(s)}
    wanted = plan.repeat_positions[: plan.repeats]
    if not wanted:
        return []
    targets = [Showing(*row) for row in connection.execute(TARGETS, {"me": me.id})]
    firsts = [targets[place] for place in wanted if place < len(targets)]
    return [first for first in firsts if first.state != "skipped" and first.item not in excluded]


def _count_coming(plan: Plan, past: Past, picked: Picked, repeats: int) -> int | None:
    """Count the showings that will follow if the person has a batch, else return None; ``repeats``
    of them are left when the whole batch has been given."""
    if picked.rest is None or picked.last:
        return None if picked.rest is None else repeats
    rest = picked.rest - len(picked.items)
    checks = len(plan.checks) - sum(s.kind in CHECKS and is_live(s) for s in past.rows)
    repeats = sum(place < past.targets + rest for place in plan.repeat_positions[: plan.repeats])
    return rest + max(0, checks) + repeats


# ── picking targets ──────────────────────────────────────────────────────────────────────────

_targets = sa.and_(item.c.study == bind("of"), item.c.kind == "target")
_mine = has_item(bind("me"), item.c.id)
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


def pick(
    connection: sa.Connection, me: Session, held: str | None, plan: Plan, past: Past
) -> Picked:
    """Pick the targets to add to what ``me`` has been shown; ``held`` is the batch they hold."""
    if plan.batches:
        return _pick_in_batch(connection, me, held, plan, past)
    most = min(plan.batch_size, plan.ahead)
    left = sys.maxsize if plan.per_annotator is None else plan.per_annotator - past.targets
    if past.open_targets > _refill_level(most):
        return Picked((), None, left <= 0 or past.has_repeats)
    wanted = max(0, min(left, most - past.open_targets))
    limit = min(left, wanted + 1)  # one more shows whether these are the last ones
    names: list[str] = []
    if past.unanswered:  # what this person was given before comes first
        values = {"of": me.study, "me": me.id, "quota": plan.quota}
        values["names"] = sorted(past.unanswered)
        waiting = connection.execute(WAITING, values).scalars()
        names = sorted(waiting, key=lambda name: draw(plan.seed, me.number, name))[:limit]
    chances = dict.fromkeys(names, 1.0)  # they are sure to come first
    if not past.has_repeats and plan.live is not None:  # repeats end the list
        turn = partial(draw, plan.seed, me.number, past.end)
        asked = ranks.Asked(me.study, me.id, plan.live, plan.per_item, turn)
        chances |= ranks.pick(connection, asked, limit - len(names))
        names = list(chances)
    elif not past.has_repeats:
        names += _walk(connection, me, plan, past, limit - len(names))
    chances = {} if plan.live is None else chances
    last = len(names) < limit or wanted >= left
    return Picked(tuple(names[:wanted]), None, last, chances=chances)


def _walk(connection: sa.Connection, me: Session, plan: Plan, past: Past, wanted: int) -> list[str]:
    """Return the least taken items new to this person, from places drawn for this turn."""
    names: list[str] = []
    released = {s.item for s in past.released}
    level, leap = _find_level(connection, me.study, plan.per_item, 0), 0
    while level is not None and len(names) < wanted:
        leap += 1
        have = released.union(names)
        values = {"of": me.study, "me": me.id, "level": level, "most": STRIDE + len(have)}
        start = draw_place(plan.seed, me.number, past.end, leap)
        for begin in (start, 0):  # once round the circle
            near = connection.execute(WALK, values | {"start": begin}).scalars()
            new = [name for name in near if name not in have][:STRIDE]
            if new:
                break
        else:
            level = _find_level(connection, me.study, plan.per_item, level + 1)
        names += new[: wanted - len(names)]
    return names


def _find_level(connection: sa.Connection, of: str, quota: int, least: int) -> int | None:
    """Return the smallest number of places taken, from ``least`` on, below the quota."""
    values = {"of": of, "least": least, "quota": quota}
    level: int | None = connection.execute(LEVEL, values).scalar()
    return level


# ── batches ──────────────────────────────────────────────────────────────────────────────────

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
    .limit(PROBED)
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
    .where(_my_showing, showing.c.kind == "target")
    .order_by(showing.c.position.desc())
    .limit(1)
)


def has_room(
    connection: sa.Connection, of: str, *, batches: bool, live: Live | None = None
) -> bool:
    run = sessions.get_control(connection, of)
    quota = run.per_item
    if not sessions.has_room_for(connection, of, run.people_cap):
        return False
    if live is not None:
        return ranks.has_room(connection, of, quota, live)
    if not batches:
        return _find_level(connection, of, quota, 0) is not None
    values = {"of": of, "quota": quota}
    rows = connection.execute(BATCHES, values).all()
    return any(_has_seat(connection, values | {"name": row.name}) for row in rows)


def _pick_in_batch(
    connection: sa.Connection, me: Session, held: str | None, plan: Plan, past: Past
) -> Picked:
    """Pick from the one batch of this person: the one they had before, or the least taken one."""
    if past.has_repeats and not past.unanswered:
        return Picked((), held, True, 0)
    name = held or connection.execute(LAST_BATCH, {"me": me.id}).scalar()
    if past.open_targets > _refill_level(plan.ahead):
        rest = _count_rest(connection, me, plan, past, name)
        return Picked((), held, rest <= 0, max(0, rest))
    wanted = plan.ahead - past.open_targets
    names: list[str] = []
    if name is not None:  # one more than wanted shows whether these are the last ones
        names = _next_in_batch(connection, me, plan, name, wanted + 1, held)
    if not names and not past.targets:
        # the least taken batch that has a free seat, and its first items
        values, name = {"of": me.study, "quota": plan.per_item}, None
        rows = connection.execute(BATCHES, values).all()
        for row in sorted(rows, key=lambda row: (row.taken, draw(plan.seed, me.number, row.name))):
            if row.taken < plan.per_item or _has_seat(connection, values | {"name": row.name}):
                names = _next_in_batch(connection, me, plan, row.name, wanted + 1, None)
            if names:
                name = row.name
                break
    last = len(names) <= wanted
    rest = len(names) if last else _count_rest(connection, me, plan, past, name)
    return Picked(tuple(names[:wanted]), name if names else held, last, max(rest, len(names)))


def _count_rest(
    connection: sa.Connection, me: Session, plan: Plan, past: Past, name: str | None
) -> int:
    """Count the items of the batch that this person is still to get."""
    values = {"of": me.study, "me": me.id, "quota": plan.per_item, "name": name}
    size, full = (connection.execute(query, values).scalar_one() for query in (SIZE, FULL))
    return int(size) - int(full) - past.targets


def _next_in_batch(
    connection: sa.Connection, me: Session, plan: Plan, name: str, wanted: int, held: str | None
) -> list[str]:
    """Return the next items of a batch in this person's order, without those kept for others.

    Of two people who hold a seat, what is kept for the later one is open to the earlier one.
    """
    before = me.number if held == name else ANY_NUMBER
    values = {"of": me.study, "me": me.id, "quota": plan.per_item, "name": name, "before": before}
    holders = connection.execute(HOLDERS, values).scalars().all()
    most = wanted + plan.ahead if holders else wanted
    values |= {"factor": 1 + draw(plan.seed, me.number, name) % (CIRCLE - 1), "most": most}
    names: list[str] = []
    for past in count(0, most):
        rows = connection.execute(NEXT, values | {"past": past}).all()
        names += _with_room(connection, rows, holders, plan.per_item)
        if len(names) >= wanted or len(rows) < most:
            break
    return names[:wanted]


def _has_seat(connection: sa.Connection, values: dict[str, Any]) -> bool:
    """Return whether one more person could get an item, judged by the least taken items."""
    nobody = {"me": NOBODY, "before": ANY_NUMBER}
    holders = connection.execute(HOLDERS, values | nobody).scalars().all()
    rows = connection.execute(LEAST, values).all()
    return bool(_with_room(connection, rows, holders, values["quota"]))


def _with_room(
    connection: sa.Connection, rows: Sequence[Any], holders: Sequence[str], quota: int
) -> list[str]:
    """Return the items that have a place left when each holder of the batch has got theirs."""
    scarce = [row.id for row in rows if row.taken + len(holders) >= quota] if holders else []
    have: dict[str, int] = {}
    if scarce:
        values = {"holders": holders, "names": scarce}
        have = {name: times for name, times in connection.execute(HAVE, values)}
    kept = {name: len(holders) - have.get(name, 0) for name in scarce}
    return [row.id for row in rows if row.taken + kept.get(row.id, 0) < quota]
