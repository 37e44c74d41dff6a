"""Leasing: what a person is shown, in what order, and for how long it is kept for them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, takewhile

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.errors import Conflict, StoreError
from softlabel.store import places, sessions
from softlabel.store.draws import draw, draw_share
from softlabel.store.pick import Past, Picked, few, is_live, pick
from softlabel.store.rows import LEFT, Kind, Plan, Portion, Session, Showing
from softlabel.store.schema import UNSETTLED, item, showing
from softlabel.store.studies import RETIRED

BEFORE = 3  # answers in front of them: a page that is loaded again can still change the last one
CHECKS = ("training", "gold", "attention")

COLUMNS = tuple(showing.c[name] for name in Showing._fields)
SHOWN = sa.select(*COLUMNS).where(showing.c.session == bind("me")).order_by(showing.c.position)
UNSETTLED_ROWS = SHOWN.where(sa.text(f"({UNSETTLED})"))
TARGETS = SHOWN.where(
    showing.c.kind == "target", (showing.c.state != "released") | showing.c.response.is_not(None)
)
LAST = sa.select(sa.func.max(showing.c.position)).where(showing.c.session == bind("me"))
ANSWERED = (
    sa.select(*COLUMNS)
    .where(
        showing.c.session == bind("me"),
        showing.c.position < bind("first"),
        showing.c.response.is_not(None),
    )
    .order_by(showing.c.position.desc())
    .limit(BEFORE)
)
KINDS = sa.select(item.c.id, item.c.kind).where(
    item.c.study == bind("of"), item.c.id.in_(bind("names", expanding=True))
)
GONE = sa.select(item.c.id).where(
    item.c.study == bind("of"),
    item.c.kind.in_([RETIRED + kind for kind in ("target", *CHECKS)]),
)
AMONG = sa.select(showing.c.item).where(
    showing.c.session == bind("me"),
    showing.c.item.in_(bind("names", expanding=True)),
    *places.ONCE,
)
OPEN = (
    sa.select(showing.c.position)
    .where(showing.c.session == bind("me"), showing.c.state == "open", sa.text(f"({UNSETTLED})"))
    .order_by(showing.c.position)
)
SHOW = sa.insert(showing)


def showings(connection: sa.Connection, session_id: str) -> tuple[Showing, ...]:
    """Everything the session was shown or will be, in order."""
    return tuple(Showing(*row) for row in connection.execute(SHOWN, {"me": session_id}))


def missing(connection: sa.Connection, session_id: str) -> tuple[int, ...]:
    """The positions that still wait for an answer."""
    return tuple(connection.execute(OPEN, {"me": session_id}).scalars())


def lease(connection: sa.Connection, session_id: str, plan: Plan, now: float) -> Portion:
    """Keep what the session holds for another while, and add to it if it runs out."""
    me = sessions.get(connection, session_id)
    if me.stage in LEFT:
        raise Conflict("left", f"session {session_id} is {me.stage}: it gets no more items")
    places.release_expired(connection, me.study, now, spared=me.id)
    held = places.held_batch(connection, me.id)
    before = _past(connection, me.id)
    picked = pick(connection, me, held, plan, before)
    main = _lay_out(connection, me, plan, before, picked)
    _show(connection, me.study, main)
    _take(connection, me, plan, picked, held)
    past = before.add(main)
    gone = set(connection.execute(GONE, {"of": me.study}).scalars())
    again = _repeats(connection, me, plan, past, gone) if picked.last else []
    is_whole = before.targets == 0  # who is given everything at once gets the repeats with it
    due = again if is_whole else _due(plan, again, past)
    repeats = [_repeat(first, past.end + i) for i, first in enumerate(due)]
    _show(connection, me.study, repeats)
    past = past.add(repeats)
    until = now + plan.lease_seconds if past.opened else 0.0
    values = {"holder": me.id, "until": until, "seconds": plan.lease_seconds}
    connection.execute(places.HOLD, values | {"held": held or picked.batch})
    is_all = picked.last and len(due) == len(again) and past.opened <= 2 * plan.ahead
    return Portion(
        showings=_at_hand(connection, me, past, 2 * plan.ahead),
        shown=past.shown,
        done=past.shown - past.opened,
        gone=_count_gone(connection, me, past, gone),
        coming=_coming(plan, past, picked, len(again) - len(due)),
        more=past.opened > 0 and not is_all,
    )


def _past(connection: sa.Connection, session_id: str) -> Past:
    rows = connection.execute(UNSETTLED_ROWS, {"me": session_id})
    last = connection.execute(LAST, {"me": session_id}).scalar()
    return Past(tuple(Showing(*row) for row in rows), 0 if last is None else last + 1)


def _show(connection: sa.Connection, of: str, new: Sequence[Showing]) -> None:
    if new:
        connection.execute(SHOW, [s._asdict() | {"study": of} for s in new])


def _take(
    connection: sa.Connection, me: Session, plan: Plan, picked: Picked, held: str | None
) -> None:
    taken = places.take(connection, me.study, picked.items, plan.per_item)
    assert taken == len(picked.items), f"picked {picked.items}, but some are at their quota"
    if picked.batch is not None and picked.batch != held:
        connection.execute(places.TAKE_BATCH, {"of": me.study, "held": picked.batch})


def _lay_out(
    connection: sa.Connection, me: Session, plan: Plan, past: Past, picked: Picked
) -> list[Showing]:
    """The new showings: practice, then targets with the checks that are due among them."""
    if not picked.items and not past.targets:
        return []  # nothing to ask this person: no practice either
    there = {s.item for s in past.rows if is_live(s)}
    practice = [name for name in plan.practice if name not in there]
    share = 1.0 if picked.last else (past.targets + len(picked.items)) / _span(plan, past, picked)
    due = [
        name
        for name in plan.checks
        if name not in there and draw_share(plan.seed, me.number, name, "due") <= share
    ]
    main = [*picked.items, *due]
    main.sort(key=lambda name: draw(plan.seed, me.number, name))
    kinds = _kinds(connection, me.study, [*practice, *due])
    blank = Showing(me.id, 0, "", "target", None, picked.batch, "open", None)
    return [
        blank._replace(position=past.end + i, item=name)
        if name in picked.items
        else blank._replace(position=past.end + i, item=name, kind=kinds[name], batch=None)
        for i, name in enumerate([*practice, *main])
    ]


def _span(plan: Plan, past: Past, picked: Picked) -> int:
    """Among how many targets the checks are spread: those of a batch."""
    if picked.rest is not None:
        return past.targets + picked.rest
    return min(plan.batch_size, plan.per_annotator or plan.batch_size)


def _kinds(connection: sa.Connection, of: str, names: Sequence[str]) -> dict[str, Kind]:
    """Of practice items and checks, which they are."""
    found = connection.execute(KINDS, {"of": of, "names": names}) if names else ()
    kinds = {row.id: row.kind for row in found if row.kind in CHECKS}
    if unknown := set(names) - set(kinds):
        raise StoreError(f"{min(unknown)!r} is no practice item or check of study {of!r}")
    return kinds


def _repeats(
    connection: sa.Connection, me: Session, plan: Plan, past: Past, gone: set[str]
) -> list[Showing]:
    """The first showings of what is still to be shown again at the end.

    They are named by their place among this person's targets.  What is ``gone`` from the study,
    or was skipped, keeps its place and is not shown.
    """
    there = gone | {s.item for s in past.rows if s.kind == "repeat" and is_live(s)}
    wanted = plan.repeat_positions[: plan.repeats]
    if not wanted:
        return []
    rows = connection.execute(TARGETS, {"me": me.id})
    targets = [Showing(*row) for row in rows]
    firsts = [targets[place] for place in wanted if place < len(targets)]
    return [first for first in firsts if first.state != "skipped" and first.item not in there]


def _due(plan: Plan, again: Sequence[Showing], past: Past) -> list[Showing]:
    """Those whose time has come: whoever reads what is sent does not find an item twice in it."""
    if past.opened > few(plan.ahead):
        return []
    answered = takewhile(lambda first: first.state != "open", again)
    return list(islice(answered, plan.ahead - past.opened))


def _repeat(first: Showing, position: int) -> Showing:
    return first._replace(
        position=position, kind="repeat", repeat_of=first.position, state="open", response=None
    )


def _at_hand(connection: sa.Connection, me: Session, past: Past, most: int) -> tuple[Showing, ...]:
    """The next open showings, and in front of them the last answered ones.

    A first showing is left out where its repeat is to be seen.
    """
    opened = [s for s in past.rows if s.state == "open"][:most]
    first = opened[0].position if opened else past.end
    rows = connection.execute(ANSWERED, {"me": me.id, "first": first})
    repeated = {s.repeat_of for s in opened}
    answered = [s for s in (Showing(*row) for row in rows) if s.position not in repeated]
    return (*reversed(answered), *opened)


def _count_gone(connection: sa.Connection, me: Session, past: Past, gone: set[str]) -> int:
    """Of the showings that count, how many are of items that have left the study."""
    if not gone:
        return 0
    held = connection.execute(AMONG, {"me": me.id, "names": sorted(gone)}).scalars().all()
    others = [s for s in past.rows if s.kind == "repeat" or s.state == "released"]
    return len(held) + sum(is_live(s) and s.item in gone for s in others)


def _coming(plan: Plan, past: Past, picked: Picked, repeats: int) -> int | None:
    """How many showings will follow where the person has a batch; ``repeats`` if it is given."""
    if picked.rest is None or picked.last:
        return None if picked.rest is None else repeats
    rest = picked.rest - len(picked.items)
    checks = len(plan.checks) - sum(s.kind in CHECKS[1:] and is_live(s) for s in past.rows)
    places_left = plan.repeat_positions[: plan.repeats]
    repeats = sum(place < past.targets + rest for place in places_left)
    return rest + max(0, checks) + repeats
