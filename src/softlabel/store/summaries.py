"""Counting: how far a study is, without reading the answers."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import bindparam as bind

from softlabel.errors import StoreError
from softlabel.store import studies
from softlabel.store.rows import Crowd, Progress
from softlabel.store.schema import batch, event, invitation, item, response, session, showing

_targets = sa.and_(item.c.study == bind("of"), item.c.kind == "target")
ITEMS = sa.select(
    sa.func.count(),
    sa.func.coalesce(sa.func.sum(item.c.taken), 0),
    sa.func.count().filter(item.c.taken >= bind("quota")),
).where(_targets)
ANSWERED = sa.select(sa.func.count()).where(
    showing.c.study == bind("of"), showing.c.kind == "target", showing.c.state == "answered"
)
_current = showing.join(response, response.c.id == showing.c.response)
LATE = (
    sa.select(sa.func.count())
    .select_from(_current)
    .where(
        showing.c.study == bind("of"),
        showing.c.kind == "target",
        showing.c.state == "released",
        response.c.skip.is_(None),
    )
)
SKIPS = (
    sa.select(response.c.skip, sa.func.count())
    .select_from(_current)
    .where(
        showing.c.study == bind("of"),
        showing.c.kind != "training",
        showing.c.state == "skipped",
    )
    .group_by(response.c.skip)
    .order_by(response.c.skip)
)
RESPONSES = sa.select(sa.func.count(), sa.func.max(response.c.received_at)).where(
    response.c.study == bind("of")
)
BEFORE_LATEST = (
    sa.select(response.c.seq)
    .where(response.c.study == bind("of"))
    .order_by(response.c.seq.desc())
    .offset(bind("count"))
    .limit(1)
)
STAGES = (
    sa.select(session.c.stage, sa.func.count())
    .where(session.c.study == bind("of"))
    .group_by(session.c.stage)
    .order_by(session.c.stage)
)
PER_ITEM = (
    sa.select(item.c.id, sa.func.count(showing.c.position))
    .select_from(
        item.outerjoin(
            showing,
            (showing.c.study == item.c.study)
            & (showing.c.item == item.c.id)
            & (showing.c.kind == "target")
            & (showing.c.state == "answered"),
        )
    )
    .where(_targets)
    .group_by(item.c.id)
    .order_by(item.c.id)
)
WHO = sa.select(
    session.c.simulated, sa.func.count(), sa.func.coalesce(sa.func.sum(session.c.answered), 0)
).group_by(session.c.simulated)
WHO_OF_STUDY = WHO.where(session.c.study == bind("of"))
PER_BATCH = (
    sa.select(batch.c.name, batch.c.taken).where(batch.c.study == bind("of")).order_by(batch.c.name)
)
NEWEST = (  # numbers grow with time, so that no table of answers has to be read through
    sa.select(response.c.received_at).order_by(response.c.seq.desc()).limit(1),
    sa.select(event.c.at).order_by(event.c.seq.desc()).limit(1),
    sa.select(sa.func.max(session.c.entered_at)),
    sa.select(sa.func.max(session.c.lease_end - session.c.lease_seconds)).where(
        session.c.lease_end > 0  # when it was last extended
    ),
)
TABLES = {
    table.name: sa.select(sa.func.count()).where(table.c.study == bind("of"))
    for table in (item, session, showing, response, event, invitation)
}


def progress(connection: sa.Connection, of: str) -> Progress:
    study = studies.find(connection, of)
    if study is None:
        raise StoreError(f"there is no study {of!r} in the store")
    values = {"of": of}
    items, taken, full = connection.execute(ITEMS, values | {"quota": study.per_item}).one()
    responses, last_at = connection.execute(RESPONSES, values).one()
    return Progress(
        items=items,
        wanted=items * study.per_item,
        taken=taken,
        answered=connection.execute(ANSWERED, values).scalar_one(),
        full=full,
        late=connection.execute(LATE, values).scalar_one(),
        skips={reason: count for reason, count in connection.execute(SKIPS, values)},
        responses=responses,
        sessions={stage: count for stage, count in connection.execute(STAGES, values)},
        last_at=last_at,
    )


def answers_per_item(connection: sa.Connection, of: str) -> dict[str, int]:
    """Answers that count, by target; those without any are there with 0."""
    return {name: count for name, count in connection.execute(PER_ITEM, {"of": of})}


def taken_per_batch(connection: sa.Connection, of: str) -> dict[str, int]:
    return {name: taken for name, taken in connection.execute(PER_BATCH, {"of": of})}


def counts(connection: sa.Connection, of: str) -> dict[str, int]:
    """Rows by table."""
    return {
        name: connection.execute(statement, {"of": of}).scalar_one()
        for name, statement in TABLES.items()
    }


def crowd(connection: sa.Connection, of: str | None) -> Crowd:
    """Who came, to one study or to any of them."""
    found = connection.execute(WHO) if of is None else connection.execute(WHO_OF_STUDY, {"of": of})
    people, simulated = (0, 0), (0, 0)
    for is_simulated, sessions, answered in found:
        if is_simulated:
            simulated = sessions, int(answered)
        else:
            people = sessions, int(answered)
    return Crowd(*people, *simulated)


def newest(connection: sa.Connection) -> float | None:
    """The latest time at which something was written, in any study; None if nothing was."""
    times = [connection.execute(statement).scalar() for statement in NEWEST]
    return max((at for at in times if at is not None), default=None)


def before_latest(connection: sa.Connection, of: str, count: int) -> int:
    """The number after which the latest ``count`` answers begin; 0 if there are not more."""
    found = connection.execute(BEFORE_LATEST, {"of": of, "count": count}).scalar()
    return 0 if found is None else int(found)
