"""People coming in, moving on, and leaving."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.errors import Absent, Conflict, StoreError
from softlabel.store import places
from softlabel.store.rows import LEFT, Session
from softlabel.store.schema import event, session, study, token

COLUMNS = tuple(session.c[name] for name in Session._fields)
BY_ID = sa.select(*COLUMNS).where(session.c.id == bind("me"))
BY_TOKEN = sa.select(*COLUMNS).join(token).where(token.c.hash == bind("token"))
BY_ANNOTATOR = sa.select(*COLUMNS).where(
    session.c.study == bind("of"), session.c.annotator == bind("who")
)
BY_STUDY = sa.select(*COLUMNS).where(session.c.study == bind("of")).order_by(session.c.number)
UNANSWERED = sa.select(session.c.id, session.c.lease_end).where(
    session.c.id.in_(bind("some", expanding=True)),
    session.c.answered == 0,
    session.c.stage.not_in(sorted(LEFT)),
)
HAS_TOKEN = sa.select(token.c.session).where(token.c.hash == bind("token"))
COUNT_IN = sa.update(study).where(study.c.name == bind("of")).values(entered=study.c.entered + 1)
ENTERED = sa.select(study.c.entered).where(study.c.name == bind("of"))
MOVE = sa.update(session).where(session.c.id == bind("me")).values(stage=bind("to"))
TRY = (
    sa.update(session).where(session.c.id == bind("me")).values(quiz_tries=session.c.quiz_tries + 1)
)


@dataclass(frozen=True)
class Entry:
    """Somebody at the door; ``label_order_of`` gives the n-th person their order of labels."""

    study: str
    annotator: str
    token_hash: str
    label_order_of: Callable[[int], Sequence[str]]
    seed: int
    recruiter_session: str | None
    simulated: bool = False


def session_of(row: Any) -> Session:
    found = Session(*row)
    order = tuple(json.loads(row.label_order))
    return found._replace(label_order=order, simulated=bool(row.simulated))


def get(connection: sa.Connection, session_id: str) -> Session:
    row = connection.execute(BY_ID, {"me": session_id}).first()
    if row is None:
        raise Absent("session", f"there is no session {session_id!r}")
    return session_of(row)


def by_token(connection: sa.Connection, token_hash: str) -> Session | None:
    row = connection.execute(BY_TOKEN, {"token": token_hash}).first()
    return None if row is None else session_of(row)


def by_annotator(connection: sa.Connection, of: str, annotator: str) -> Session | None:
    row = connection.execute(BY_ANNOTATOR, {"of": of, "who": annotator}).first()
    return None if row is None else session_of(row)


def by_study(connection: sa.Connection, of: str) -> tuple[Session, ...]:
    return tuple(session_of(row) for row in connection.execute(BY_STUDY, {"of": of}))


def unanswered(connection: sa.Connection, some: Sequence[str]) -> dict[str, float]:
    """Of these sessions, those under way that have no answer, and when their lease ends."""
    return {row.id: row.lease_end for row in connection.execute(UNANSWERED, {"some": some})}


def enter(connection: sa.Connection, entry: Entry, now: float) -> Session:
    """The one session of this person in this study, made now if they are new."""
    found = by_annotator(connection, entry.study, entry.annotator)
    if found is None:
        found = _make(connection, entry, now)
    elif found.recruiter_session != entry.recruiter_session:
        text = f"{entry.annotator} came to {entry.study!r} before, in another recruiter's session"
        raise Conflict("session", text)
    owner = connection.execute(HAS_TOKEN, {"token": entry.token_hash}).scalar()
    if owner is None:
        values = {"hash": entry.token_hash, "session": found.id, "created_at": now}
        connection.execute(sa.insert(token), values)
    elif owner != found.id:
        raise StoreError("this token belongs to the session of somebody else; make a new one")
    return found


def _make(connection: sa.Connection, entry: Entry, now: float) -> Session:
    if not connection.execute(COUNT_IN, {"of": entry.study}).rowcount:
        raise StoreError(f"there is no study {entry.study!r} in the store; put_study comes first")
    number = connection.execute(ENTERED, {"of": entry.study}).scalar_one() - 1
    made = Session(
        id=secrets.token_hex(8),
        study=entry.study,
        annotator=entry.annotator,
        number=number,
        stage="consent",
        label_order=tuple(entry.label_order_of(number)),
        seed=entry.seed,
        recruiter_session=entry.recruiter_session,
        quiz_tries=0,
        answered=0,
        lease_end=0.0,
        entered_at=now,
        simulated=entry.simulated,
    )
    values = made._asdict() | {"label_order": json.dumps(made.label_order), "lease_seconds": 0.0}
    connection.execute(sa.insert(session), values)
    return made


def note(
    connection: sa.Connection,
    of: str,
    annotator: str | None,
    name: str,
    detail: Mapping[str, object],
    now: float,
) -> None:
    """Write down that something happened."""
    values = {"study": of, "annotator": annotator, "name": name, "at": now}
    connection.execute(sa.insert(event), values | {"detail": json.dumps(detail)})


def set_stage(
    connection: sa.Connection,
    session_id: str,
    stage: str,
    name: str,
    detail: Mapping[str, object],
    now: float,
    leaves: str | None = None,
) -> Session:
    """Move the session on, write down why, and take back what a leaving person holds."""
    me = get(connection, session_id)
    if leaves is not None and me.stage != leaves:
        raise Conflict("stage", f"session {session_id} is at {me.stage!r}, no longer at {leaves!r}")
    connection.execute(MOVE, {"me": session_id, "to": stage})
    note(connection, me.study, me.annotator, name, detail, now)
    if stage in LEFT:
        places.release(connection, session_id)
    return get(connection, session_id)


def quiz_try(
    connection: sa.Connection,
    session_id: str,
    passed: bool,
    detail: Mapping[str, object],
    now: float,
) -> Session:
    """Count a try at the quiz, and write down what was said."""
    me = get(connection, session_id)
    connection.execute(TRY, {"me": session_id})
    note(connection, me.study, me.annotator, "quiz", {"passed": passed, **detail}, now)
    return me._replace(quiz_tries=me.quiz_tries + 1)
