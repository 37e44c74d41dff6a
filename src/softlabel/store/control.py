"""Running a study from outside: what the researcher does to it, each action in one transaction.

Every action adds a row to the audit log, which nothing can change, and counts up the study's
revision, by which running servers notice it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.errors import Absent, Conflict
from softlabel.store import sessions
from softlabel.store.assign import draw_place
from softlabel.store.rows import FINAL_STAGES, RETIRED, Control, ItemRow, Session, StudyState
from softlabel.store.schema import audit, batch, event, item, session, showing, study

CLOSED = "closed"  # the stage of people whose session was ended from outside
EXCLUDED, INCLUDED, ENDED = "excluded", "included", "ended"  # events
MOVES: Mapping[str, tuple[frozenset[StudyState], StudyState]] = {  # action: from, to
    "pause": (frozenset({"open"}), "paused"),
    "resume": (frozenset({"paused"}), "open"),
    "close": (frozenset({"open", "paused"}), "closed"),
    "reopen": (frozenset({"closed"}), "open"),
}

_this_study = sa.update(study).where(study.c.name == bind("of"))
COUNT_REVISION = _this_study.values(revision=study.c.revision + 1)
SET_STATE = _this_study.values(state=bind("to"))
SET_PER_ITEM = _this_study.values(per_item_set=bind("quota"))
SET_CAP = _this_study.values(people_cap=bind("cap"))
_answered = sa.select(showing.c.item).where(
    showing.c.session == bind("me"), showing.c.kind == "target", showing.c.state == "answered"
)
_answered_items = sa.update(item).where(item.c.study == bind("of"), item.c.id.in_(_answered))
FREE_ANSWERED = _answered_items.values(taken=item.c.taken - 1)
TAKE_ANSWERED = _answered_items.values(taken=item.c.taken + 1)
MARK = (
    sa.update(session)
    .where(session.c.id == bind("me"))
    .values(excluded_at=bind("at"), excluded_because=bind("why"))
)
LAST_EXCLUSION = (
    sa.select(event.c.detail)
    .where(event.c.study == bind("of"), event.c.annotator == bind("who"), event.c.name == EXCLUDED)
    .order_by(event.c.seq.desc())
    .limit(1)
)
KNOWN_ITEMS = sa.select(item.c.id, item.c.kind).where(item.c.study == bind("of"))
BATCHES = sa.select(batch.c.name).where(batch.c.study == bind("of"))


class Act(NamedTuple):
    """Who acts on which study, and when."""

    study: str
    actor: str
    now: float


def log(connection: sa.Connection, act: Act, action: str, detail: Mapping[str, object]) -> Control:
    """Add an action to the audit log, and count up the revision."""
    values = {"study": act.study, "at": act.now, "actor": act.actor, "action": action}
    text = json.dumps(detail, ensure_ascii=False)
    connection.execute(sa.insert(audit), values | {"detail": text})
    connection.execute(COUNT_REVISION, {"of": act.study})
    return sessions.get_control(connection, act.study)


# ── the study ────────────────────────────────────────────────────────────────────────────────


def move(connection: sa.Connection, act: Act, action: str) -> Control:
    """Pause, resume, close or reopen the study."""
    before, to = MOVES[action]
    state = sessions.get_control(connection, act.study).state
    if state not in before:
        right = " or ".join(sorted(before))
        text = f"study {act.study!r} is {state}; {action} needs a study that is {right}"
        raise Conflict("state", text)
    connection.execute(SET_STATE, {"of": act.study, "to": to})
    return log(connection, act, action, {"from": state, "to": to})


def set_per_item(connection: sa.Connection, act: Act, quota: int | None) -> Control:
    """Set the number of answers wanted per item; None: as in the study file."""
    before = sessions.get_control(connection, act.study)
    if before.per_item_set == quota:
        raise Conflict("same", f"study {act.study!r} wants {before.per_item} per item already")
    connection.execute(SET_PER_ITEM, {"of": act.study, "quota": quota})
    after = sessions.get_control(connection, act.study)
    detail = {"from": before.per_item, "to": after.per_item, "set": quota}
    return log(connection, act, "quota", detail)


def set_people_cap(connection: sa.Connection, act: Act, cap: int | None) -> Control:
    """Set the largest number of people who may be given items; None: no limit."""
    before = sessions.get_control(connection, act.study).people_cap
    if before == cap:
        now = "has no cap" if cap is None else f"is capped at {cap} people"
        raise Conflict("same", f"study {act.study!r} {now} already")
    connection.execute(SET_CAP, {"of": act.study, "cap": cap})
    return log(connection, act, "cap", {"from": before, "to": cap})


def add_items(connection: sa.Connection, act: Act, rows: Sequence[ItemRow], source: str) -> Control:
    """Add target items; ``source`` names the table that they come from."""
    known = {name: kind for name, kind in connection.execute(KNOWN_ITEMS, {"of": act.study})}
    for row in rows:
        if row.id in known:
            once = "was in the study before" if known[row.id].startswith(RETIRED) else "is in it"
            raise Conflict("item", f"item {row.id!r} {once}; give the new one another id")
    values = [
        row._asdict() | {"study": act.study, "place": draw_place(row.id), "taken": 0}
        for row in rows
    ]
    connection.execute(sa.insert(item), values)
    seats = set(connection.execute(BATCHES, {"of": act.study}).scalars())
    names = dict.fromkeys(row.batch for row in rows if row.batch is not None)
    new = [{"study": act.study, "name": name, "taken": 0} for name in names if name not in seats]
    if new:
        connection.execute(sa.insert(batch), new)
    return log(connection, act, "add", {"items": len(rows), "file": source})


# ── people ───────────────────────────────────────────────────────────────────────────────────


def exclude(connection: sa.Connection, act: Act, annotator: str, reason: str) -> int:
    """Mark a person's answers as left out, end the session, and free all places they took; return
    how many answered items are wanted again.

    The seat of a finished batch is given up, but the session remembers the batch for ``include``.
    """
    me = _find(connection, act.study, annotator)
    if me.excluded_at is not None:
        raise Conflict("same", f"{annotator} is left out already: {me.excluded_because}")
    under_way = me.stage not in FINAL_STAGES
    detail = {"reason": reason, "stage": me.stage if under_way else None}
    if under_way:
        sessions.set_stage(connection, me.id, CLOSED, EXCLUDED, detail, act.now)
    else:
        sessions.add_event(connection, me.study, annotator, EXCLUDED, detail, act.now)
    freed = connection.execute(FREE_ANSWERED, {"of": me.study, "me": me.id}).rowcount
    held = sessions.get_batch(connection, me.id)
    connection.execute(sessions.LEAVE_BATCH, {"of": me.study, "held": held})
    connection.execute(MARK, {"me": me.id, "at": act.now, "why": reason})
    log(connection, act, "exclude", {"annotator": annotator, "reason": reason, "freed": freed})
    return freed


def include(connection: sa.Connection, act: Act, annotator: str) -> int:
    """Undo an exclusion, even if items get more answers than wanted; return how many answers count
    again.  A session that the exclusion ended goes on where it was."""
    me = _find(connection, act.study, annotator)
    if me.excluded_at is None:
        raise Conflict("same", f"{annotator} is not left out")
    taken = connection.execute(TAKE_ANSWERED, {"of": me.study, "me": me.id}).rowcount
    held = sessions.get_batch(connection, me.id)
    connection.execute(sessions.TAKE_BATCH, {"of": me.study, "held": held})
    text = connection.execute(LAST_EXCLUSION, {"of": me.study, "who": annotator}).scalar()
    stage = None if text is None else json.loads(text)["stage"]
    if stage is not None and me.stage == CLOSED:
        connection.execute(sessions.SET_STAGE, {"me": me.id, "to": stage})
    connection.execute(MARK, {"me": me.id, "at": None, "why": None})
    sessions.add_event(connection, me.study, annotator, INCLUDED, {}, act.now)
    log(connection, act, "include", {"annotator": annotator, "taken": taken})
    return taken


def end_session(connection: sa.Connection, act: Act, annotator: str) -> Session:
    """End the session of a person, and release what they did not answer; their answers count."""
    me = _find(connection, act.study, annotator)
    if me.stage in FINAL_STAGES:
        raise Conflict("left", f"the session of {annotator} has ended already: it is {me.stage}")
    detail = {"stage": me.stage}
    ended = sessions.set_stage(connection, me.id, CLOSED, ENDED, detail, act.now)
    log(connection, act, "end", {"annotator": annotator, "stage": me.stage})
    return ended


def _find(connection: sa.Connection, of: str, annotator: str) -> Session:
    me = sessions.find_by_annotator(connection, of, annotator)
    if me is None:
        raise Absent("session", f"study {of!r} has no session of {annotator!r}")
    return me
